//! Reminders, and messages that arrive during a turn.

use std::collections::BTreeSet;

use jiff::Timestamp;
use ktx_llm_runtime::{Message, MessageRole};
use ktx_tool_descriptors::ToolSet;

use super::recording::Bookmark;
use super::{Session, SessionError};
use crate::event::{Event, Origin};
use crate::pool::{Accepted, PoolError};
use crate::schedule::Trigger;
use crate::todo::Task;
use crate::{reminders, todo};

const MOST_QUEUED: usize = 20;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sending {
    New,
    Repeated,
}

impl Session {
    /// Queues a message for the next step or the end of the turn. It is on disk when this returns.
    pub fn queue(&self, text: &str) -> Result<(), SessionError> {
        self.queue_as(text, None, None).map(|_| ())
    }

    /// As [`Self::queue`], returning the answering turn. A repeated key returns the earlier
    /// message.
    pub(crate) fn accept(
        &self,
        text: &str,
        key: Option<&str>,
    ) -> Result<(Accepted, Sending), PoolError> {
        let history = self.history();
        if let Some(sent) = key.and_then(|key| history.sent_with(key)) {
            if sent.text != reminders::escaped(text) {
                return Err(PoolError::KeyUsed);
            }
            let accepted = Accepted {
                turn: sent.turn,
                seq: sent.seq,
                at: self.time_of(sent.seq)?,
            };
            return Ok((accepted, Sending::Repeated));
        }
        let turn = if history.is_unfinished() {
            history.turn()
        } else {
            // Each waiting message begins a turn or joins the previous one.
            history.turn() + 1
        };
        let Bookmark { seq, at } = self.queue_as(text, key, Some(turn))?;
        Ok((Accepted { turn, seq, at }, Sending::New))
    }

    fn time_of(&self, seq: u64) -> Result<Timestamp, SessionError> {
        let mut reader = self.log().reader()?;
        while let Some(record) = reader.next_record()? {
            if record.seq == seq {
                return Ok(record.ts);
            }
        }
        Ok(self.now())
    }

    fn queue_as(
        &self,
        text: &str,
        key: Option<&str>,
        turn: Option<u32>,
    ) -> Result<Bookmark, SessionError> {
        if self.lock().queued().len() >= MOST_QUEUED {
            return Err(SessionError::Queue {
                session: self.id.clone(),
                most: MOST_QUEUED,
            });
        }
        self.record_at(&[Event::Queued {
            message: reminders::escaped(text),
            key: key.map(str::to_owned),
            turn,
        }])
    }

    /// Adds waiting messages up to the session's limit of questions.
    pub(crate) fn join_queued(&self, most: u32) -> Result<Vec<Message>, SessionError> {
        let mut joined = Vec::new();
        loop {
            let next = {
                let history = self.lock();
                let next = history.queued().first().cloned();
                next.filter(|_| history.questions() < most)
            };
            let Some(text) = next else {
                return Ok(joined);
            };
            let message = Message::text(MessageRole::User, text);
            self.say(message.clone(), Origin::Queued)?;
            joined.push(message);
        }
    }

    pub(crate) fn begin_by(&self, trigger: Trigger) -> Result<(), SessionError> {
        self.record(&Event::SchedulerTriggered(trigger))
    }

    pub(crate) fn write_tasks(&self, current: Vec<Task>) -> Result<(), SessionError> {
        let previous = self.lock().tasks().to_vec();
        self.record(&Event::TodoChanged { current, previous })
    }

    pub(crate) fn tell_reminder(
        &self,
        category: &str,
        content: &str,
    ) -> Result<String, SessionError> {
        self.record(&Event::ReminderSent {
            category: category.to_owned(),
            content: content.to_owned(),
        })?;
        Ok(reminders::note(category, &reminders::escaped(content)))
    }

    pub(crate) fn tell_of_tasks(&self) -> Result<(), SessionError> {
        let tasks = self.lock().tasks().to_vec();
        self.record(&Event::TodoReminder { tasks })
    }

    pub(crate) fn tell_manuals(&self, tools: &[String]) -> Result<(), SessionError> {
        if self.lock().manuals() == tools {
            return Ok(());
        }
        self.record(&Event::ToolManualUpdated {
            tools: tools.to_vec(),
        })
    }

    /// Reports each change by others to a file that the model has read.
    pub(crate) fn remind_of_files(&self, tools: &ToolSet) -> Result<Option<Message>, SessionError> {
        let changed = tools.iter().flat_map(|tool| tool.handler.changed_files());
        let changed: BTreeSet<String> = changed.collect();
        if changed.is_empty() {
            return Ok(None);
        }
        let mut list = String::new();
        for path in changed {
            list.extend(["\n- ", &path]);
            self.record(&Event::FileChanged { path })?;
        }
        let content = format!(
            "These files have changed since you read them; read them again before you use or write them:{list}"
        );
        let note = self.tell_reminder(reminders::FILE, &content)?;
        let message = Message::text(MessageRole::User, note);
        self.say(message.clone(), Origin::Reminder)?;
        Ok(Some(message))
    }

    pub(crate) fn remind_of_tasks(&self) -> Result<(), SessionError> {
        self.tell_of_tasks()?;
        let content = todo::reminder(self.lock().tasks());
        let note = self.tell_reminder(reminders::TODO, &content)?;
        self.say(Message::text(MessageRole::User, note), Origin::Reminder)
    }
}
