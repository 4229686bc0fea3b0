//! The conversation after a person's message.

use std::collections::BTreeMap;
use std::sync::Arc;

use ktx_llm_runtime::Deltas;
use ktx_session_log::Record;
use tokio::sync::{Semaphore, mpsc};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::{MOST_HOPS, Member, ROOM, Room, RoomError, RoomOrigin};
use crate::approvals::OnAsk;
use crate::event::Event;
use crate::pool::{Host, PoolError};
use crate::session::Channels;
use crate::turn::{Turn, ask};

#[derive(Debug)]
pub struct RoomAnswer {
    pub member: String,
    pub hop: u32,
    pub result: Result<String, PoolError>,
}

#[derive(Debug, Default)]
pub struct RoomReport {
    /// Ordered by hop, then by name.
    pub answers: Vec<RoomAnswer>,
    pub is_stopped: bool,
}

pub struct Talk<'a> {
    pub host: &'a Arc<dyn Host>,
    pub on_ask: OnAsk,
    /// Maximum concurrent answers.
    pub running: usize,
    /// Maximum forwards of a person's message.
    pub hops: u32,
    pub cancel: CancellationToken,
    pub heard: mpsc::UnboundedSender<(String, Record)>,
    pub channels: Channels,
}

impl std::fmt::Debug for Talk<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Talk")
            .field("running", &self.running)
            .field("hops", &self.hops)
            .finish_non_exhaustive()
    }
}

/// Speakers and texts of waiting messages, by member.
type Waiting = BTreeMap<String, Vec<(String, String)>>;

impl Room {
    /// Sends a person's message and lets the members answer it and each other. Nothing is delivered
    /// if a name is unknown.
    pub async fn say(
        &self,
        from: &str,
        text: &str,
        talk: &Talk<'_>,
    ) -> Result<RoomReport, RoomError> {
        let named = self.named_in(text)?;
        let to = if named.is_empty() {
            self.members
                .keys()
                .filter(|name| *name != from)
                .cloned()
                .collect()
        } else {
            named
        };
        let mut waiting: Waiting = BTreeMap::new();
        for name in to {
            waiting
                .entry(name)
                .or_default()
                .push((from.to_owned(), text.to_owned()));
        }
        let mut report = RoomReport::default();
        let most = if talk.hops == 0 { MOST_HOPS } else { talk.hops };
        for hop in 1.. {
            if waiting.is_empty() || talk.cancel.is_cancelled() {
                break;
            }
            if hop > most {
                self.stop(&waiting, most);
                report.is_stopped = true;
                break;
            }
            let answers = self.deliver(std::mem::take(&mut waiting), hop, talk).await;
            for answer in &answers {
                if let Ok(text) = &answer.result {
                    self.pass_on(&answer.member, text, &mut waiting);
                }
            }
            report.answers.extend(answers);
        }
        Ok(report)
    }

    fn pass_on(&self, from: &str, text: &str, waiting: &mut Waiting) {
        match self.named_in(text) {
            Ok(named) => {
                for name in named.into_iter().filter(|name| name != from) {
                    let message = (from.to_owned(), text.to_owned());
                    waiting.entry(name).or_default().push(message);
                }
            }
            Err(error) => {
                let message = (ROOM.to_owned(), error.to_string());
                waiting.entry(from.to_owned()).or_default().push(message);
            }
        }
    }

    /// Records the stop for members with waiting messages.
    fn stop(&self, waiting: &Waiting, hop: u32) {
        for member in waiting.keys().filter_map(|name| self.members.get(name)) {
            let stopped = Event::RoomStopped {
                room: self.id.clone(),
                hop,
            };
            if let Err(error) = member.session.record(&stopped) {
                tracing::warn!(%error, "the end of a room is not kept");
            }
        }
    }

    async fn deliver(&self, waiting: Waiting, hop: u32, talk: &Talk<'_>) -> Vec<RoomAnswer> {
        let room = Arc::new(Semaphore::new(talk.running.max(1)));
        let mut running = JoinSet::new();
        for (name, messages) in waiting {
            let Some(member) = self.members.get(&name).cloned() else {
                continue;
            };
            let speakers: Vec<&str> = messages.iter().map(|(from, _)| from.as_str()).collect();
            let origin = RoomOrigin {
                room: self.id.clone(),
                from: speakers.join(","),
                hop,
            };
            let texts = messages
                .iter()
                .map(|(from, text)| format!("[from:{from}] {text}"));
            let delivery = Delivery {
                name: name.clone(),
                text: texts.collect::<Vec<String>>().join("\n\n"),
                origin,
                member,
                host: Arc::clone(talk.host),
                on_ask: talk.on_ask.clone(),
                cancel: talk.cancel.child_token(),
                heard: talk.heard.clone(),
                channels: talk.channels.clone(),
            };
            let room = Arc::clone(&room);
            running.spawn(async move {
                let _permit = room.acquire().await;
                let result = delivery.take().await;
                RoomAnswer {
                    member: name,
                    hop,
                    result,
                }
            });
        }
        let mut answers = Vec::new();
        while let Some(answer) = running.join_next().await {
            answers.extend(answer.ok());
        }
        answers.sort_by(|one, other| one.member.cmp(&other.member));
        answers
    }
}

struct Delivery {
    name: String,
    text: String,
    origin: RoomOrigin,
    member: Member,
    host: Arc<dyn Host>,
    on_ask: OnAsk,
    cancel: CancellationToken,
    heard: mpsc::UnboundedSender<(String, Record)>,
    channels: Channels,
}

impl Delivery {
    async fn take(self) -> Result<String, PoolError> {
        let Member { agent, session } = &self.member;
        let ready = self.host.ready(agent).await?;
        let turn = Turn {
            agent: agent.clone(),
            tools: ready.tools,
            on_ask: self.on_ask,
            deltas: Deltas::ByTurn,
            stage: ready.stage,
            run_id: ready.run_id,
            cancel: self.cancel,
            delegation: ready.delegation,
            previews: ready.previews,
            room: Some(self.origin),
        };
        let mut heard = session.subscribe(self.channels, session.last())?;
        let asked = ask(session, ready.runtime.as_ref(), turn, &self.text);
        tokio::pin!(asked);
        let tell = |record| {
            // The receiver may be gone.
            drop(self.heard.send((self.name.clone(), record)));
        };
        let result = loop {
            tokio::select! {
                result = &mut asked => break result,
                Ok(Some(record)) = heard.next_record() => tell(record),
            }
        };
        while let Ok(Some(record)) = heard.next_written() {
            tell(record);
        }
        ready.release.await;
        let result = result?;
        match result.error_reason {
            Some(reason) => Err(PoolError::Incomplete(reason)),
            None => Ok(result.response),
        }
    }
}
