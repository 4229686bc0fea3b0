//! Chats with a program in JSON lines.

use std::sync::Arc;

use async_trait::async_trait;
use ktx_agent_session::{
    AgentSession, Approver, Call, Decision, DecisionRecord, Session, TurnStart, check_message,
};
use ktx_diagnostics::{Code, Exit, Failure};
use ktx_session_log::SessionId;
use serde::Deserialize;
use serde_json::json;

use super::conversation::Conversation;
use super::input::Line;
use crate::commands::agent::failures::{ask_failure, session_failure};
use crate::report::{Outcome, Report as _};

#[derive(Debug, Deserialize)]
#[serde(tag = "type", rename_all = "lowercase", deny_unknown_fields)]
enum Request {
    Message {
        text: String,
    },
    Decide {
        call: String,
        decision: Decision,
        note: Option<String>,
        /// The session of the sub-agent that made the call; this session if absent.
        session: Option<SessionId>,
    },
    Interrupt,
    Close,
}

pub(super) struct ByMessage;

#[async_trait]
impl Approver for ByMessage {
    async fn decide(&self, _: &Call, _: Option<&str>) -> Option<DecisionRecord> {
        std::future::pending().await
    }
}

/// Ends when the program closes the chat or its end of the pipe.
pub(super) async fn speak(chat: &mut Conversation<'_>) -> Outcome {
    loop {
        let line = {
            let input = Arc::clone(&chat.input);
            let mut input = input.lock().await;
            tokio::select! {
                line = input.next("") => line,
                () = chat.cancel.cancelled() => return Ok(Exit::Interrupted),
            }
        };
        let Line::Text(text) = line else {
            return Ok(Exit::Success);
        };
        match read(&text) {
            Ok(Request::Message { text }) => {
                let told = match chat.session_for(&text) {
                    Ok(session) => turn(chat, &session, &text).await,
                    Err(failure) => Err(failure),
                };
                match told {
                    Ok(PeerState::Closed) => return Ok(Exit::Success),
                    Ok(PeerState::Open) => {}
                    Err(failure) => complain(chat, &failure)?,
                }
            }
            Ok(Request::Decide { .. }) => {
                let failure = Failure::new(Code::NoWaitingCall, "no tool call waits");
                complain(chat, &failure)?;
            }
            Ok(Request::Interrupt) => {}
            Ok(Request::Close) => return Ok(Exit::Success),
            Err(failure) => complain(chat, &failure)?,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PeerState {
    Open,
    Closed,
}

/// Meanwhile the program can decide and interrupt.
async fn turn(
    chat: &Conversation<'_>,
    session: &AgentSession<'_>,
    text: &str,
) -> Outcome<PeerState> {
    let stop = chat.cancel.child_token();
    let asked = chat.work.turn(session, TurnStart::from(text), &stop);
    tokio::pin!(asked);
    let mut heard = PeerState::Open;
    let input = Arc::clone(&chat.input);
    let mut input = input.lock().await;
    let result = loop {
        tokio::select! {
            result = &mut asked => break result,
            line = input.next(""), if heard == PeerState::Open => match line {
                Line::Text(text) => match listen(&text, session.kept(), chat) {
                    Ok(Wish::None) => {}
                    Ok(Wish::Stop) => stop.cancel(),
                    Ok(Wish::Close) => {
                        heard = PeerState::Closed;
                        stop.cancel();
                    }
                    Err(failure) => complain(chat, &failure)?,
                },
                // The current turn continues; no further input is possible.
                Line::End | Line::Interrupted => heard = PeerState::Closed,
            },
        }
    };
    let result = result?;
    let mut line = json!({ "type": "result", "session": session.kept().id() });
    if let (Some(line), Ok(serde_json::Value::Object(fields))) =
        (line.as_object_mut(), serde_json::to_value(&result))
    {
        line.extend(fields);
    }
    chat.work.context.printer.json_line(&line)?;
    Ok(heard)
}

enum Wish {
    None,
    Stop,
    Close,
}

fn listen(text: &str, session: &Session, chat: &Conversation<'_>) -> Outcome<Wish> {
    match read(text)? {
        Request::Decide {
            call,
            decision,
            note,
            session: of,
        } => {
            let record = DecisionRecord {
                call_id: call,
                decision,
                decided_by: "the program at the other end".to_owned(),
                note,
                session: None,
            };
            match of {
                Some(of) if of != *session.id() => {
                    let name = chat.work.context.invocation.next_run()?.run_id;
                    let decided = chat.sessions.decide(&of, record, name.as_str());
                    decided.map_err(session_failure)?;
                }
                _ => session.decide(record).map_err(session_failure)?,
            }
            Ok(Wish::None)
        }
        Request::Interrupt => Ok(Wish::Stop),
        Request::Close => Ok(Wish::Close),
        Request::Message { text } => {
            check_message(&text, &chat.work.agent)
                .map_err(|error| ask_failure(error, session.id()))?;
            session.queue(&text).map_err(session_failure)?;
            Ok(Wish::None)
        }
    }
}

fn read(text: &str) -> Outcome<Request> {
    serde_json::from_str(text).map_err(|error| {
        Failure::from_error(Code::Message, &error)
            .context("the line cannot be understood")
            .hint("send `{\"type\":\"message\",\"text\":…}`, or a `decide`, `interrupt` or `close`")
    })
}

fn complain(chat: &Conversation<'_>, failure: &Failure) -> Outcome<()> {
    let line = json!({ "type": "failure", "error": failure.to_json()["error"] });
    chat.work.context.printer.json_line(&line)
}
