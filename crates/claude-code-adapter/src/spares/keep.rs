//! Keeps one spare until its call or its end.

use std::sync::Arc;

use tokio::io::AsyncReadExt as _;
use tokio::sync::oneshot;
use tokio::time::{Duration, Instant, sleep, sleep_until};

use super::{SharedSpares, SpareOrder};
use crate::conversation::{Action, PromptTiming};
use crate::invocation::Query;
use crate::link::ChildLink;
use crate::process::{ProcessEnding, RunningChild};
use crate::protocol::{DecodedLine, Frame};

/// On the shelf until its task ends.
pub(super) struct Spare {
    pub(super) shared: Arc<SharedSpares>,
    pub(super) kind: Arc<str>,
    pub(super) number: u64,
}

impl Drop for Spare {
    fn drop(&mut self) {
        self.shared.forget(&self.kind, self.number);
    }
}

enum SpareAction {
    Wait,
    End(ProcessEnding),
    Give(oneshot::Sender<ChildLink>),
}

impl Spare {
    pub(super) async fn keep(
        self,
        query: Query,
        pause: Duration,
        mut orders: oneshot::Receiver<SpareOrder>,
    ) {
        let opened = tokio::select! {
            biased;
            // There is no child yet.
            _ = &mut orders => return,
            opened = self.open(query, pause) => opened,
        };
        let Some(mut link) = opened else { return };
        let limits = &self.shared.settings.timeouts;
        let ending = match attend(&mut link, limits, &mut orders).await {
            SpareAction::Give(reply) => match reply.send(link) {
                Ok(()) => return,
                Err(returned) => {
                    link = returned;
                    ProcessEnding::Stop
                }
            },
            SpareAction::End(ending) => ending,
            SpareAction::Wait => ProcessEnding::Stop,
        };
        let ChildLink { running, place, .. } = link;
        running.end(ending, limits).await;
        drop(place);
    }

    async fn open(&self, query: Query, pause: Duration) -> Option<ChildLink> {
        sleep(pause).await;
        let place = self.shared.claim(&self.kind, self.number)?;
        let SharedSpares {
            settings, guard, ..
        } = &*self.shared;
        match ChildLink::open(settings, guard, query, PromptTiming::Release, place).await {
            Ok(link) => Some(link),
            Err(error) => {
                tracing::debug!(%error, "a spare Claude Code process could not be started");
                None
            }
        }
    }
}

async fn attend(
    link: &mut ChildLink,
    limits: &crate::Timeouts,
    orders: &mut oneshot::Receiver<SpareOrder>,
) -> SpareAction {
    let mut buffer = vec![0; 8 * 1024];
    let mut deadline = Instant::now() + limits.initialize;
    loop {
        let was_ready = link.conversation.is_ready();
        let (stdout, child) = link.running.parts();
        let next = tokio::select! {
            biased;
            _ = RunningChild::exited(child) => SpareAction::End(ProcessEnding::Wait),
            order = &mut *orders => match order {
                Ok(SpareOrder::Take(reply)) => SpareAction::Give(reply),
                Ok(SpareOrder::End(ending)) => SpareAction::End(ending),
                Err(_) => SpareAction::End(ProcessEnding::Stop),
            },
            () = sleep_until(deadline) => SpareAction::End(if was_ready { ProcessEnding::Wait } else { ProcessEnding::Stop }),
            read = stdout.read(&mut buffer) => match read {
                Ok(count @ 1..) => handle_output(link, buffer.get(..count).unwrap_or_default()),
                Ok(0) | Err(_) => SpareAction::End(ProcessEnding::Stop),
            },
        };
        if !matches!(next, SpareAction::Wait) {
            return next;
        }
        if !was_ready && link.conversation.is_ready() {
            deadline = Instant::now() + limits.spare_idle;
        }
    }
}

/// Other messages make it unfit.
fn handle_output(link: &mut ChildLink, bytes: &[u8]) -> SpareAction {
    let Ok(lines) = link.decoder.push(bytes) else {
        return SpareAction::End(ProcessEnding::Kill);
    };
    for line in lines {
        let value = match line {
            DecodedLine::Json(value) => value,
            DecodedLine::Broken(_) => return SpareAction::End(ProcessEnding::Kill),
            DecodedLine::Stray(_) => continue,
        };
        for action in link.conversation.on_frame(Frame::read(&value)) {
            match action {
                Action::Send(line) => link.running.input.send(&line),
                Action::Note(_) => {}
                Action::Call { .. } | Action::Abort { .. } | Action::Fail(_) | Action::Finish => {
                    return SpareAction::End(ProcessEnding::Kill);
                }
            }
        }
    }
    if link.conversation.is_verified() {
        return SpareAction::End(ProcessEnding::Kill);
    }
    SpareAction::Wait
}
