//! `ktx agent room`: several agents that hear the user and each other (KODE-70).

use std::sync::Arc;

use ktx_agent_session::{
    Agent, Channels, Host, Member, Room, RoomAnswer, RoomReport, SessionError, Sessions, Strategy,
    Talk, envelope,
};
use ktx_diagnostics::{Code, Exit, Failure};
use ktx_session_log::{Channel, LogError, Record, SessionId};
use serde_json::{Value, json};
use tokio::sync::mpsc;

use super::display::channels;
use super::failures::session_failure;
use super::hosting::ProjectHost;
use super::session_store;
use crate::cli::AgentRoomArgs;
use crate::compose;
use crate::input::read_message;
use crate::invocation::Invocation;
use crate::opening::open_project;
use crate::printer::{Mode, Printer};
use crate::report::{Outcome, Report as _};

const PERSON: &str = "user";

pub(super) fn run(args: &AgentRoomArgs, invocation: &Invocation) -> Outcome {
    let printer = invocation.printer(&args.output)?;
    let limits = compose::limits_of(&args.spending)?;
    let message = read_message(&args.message)?;
    let project = open_project(invocation, &printer)?;
    let sessions = session_store::sessions(invocation, &project.dir);
    let id = match &args.room {
        Some(text) => {
            SessionId::parse(text).map_err(|error| session_failure(LogError::from(error)))?
        }
        None => session_store::new_id(invocation, &message)?,
    };
    let host = ProjectHost {
        invocation: invocation.clone(),
        dir: project.dir.clone(),
        printer: printer.clone(),
        limits,
    };
    let host: Arc<dyn Host> = Arc::new(host);
    let mut room = Room::new(id.as_str());
    for (name, agent) in members_of(args)? {
        let member = opened(&sessions, &id, name, host.agent(Some(agent))?)?;
        let joined = room.join(name, member);
        joined.map_err(|error| Failure::from_error(Code::Usage, &error))?;
    }
    // Checks names before any turn.
    room.named_in(&message)
        .map_err(|error| Failure::from_error(Code::Usage, &error))?;
    let running = compose::usual_conversations(&project.config);
    let report = compose::block_on(|cancel| async {
        let (heard, records) = mpsc::unbounded_channel();
        let talk = Talk {
            host: &host,
            on_ask: args.on_ask.into(),
            running,
            hops: args.hops,
            cancel,
            heard,
            channels: match printer.mode {
                Mode::Json => channels(&args.channels),
                Mode::Pretty | Mode::Plain => Channels::new([Channel::Progress]),
            },
        };
        heard_while(&room, &message, talk, records, &printer).await
    })?;
    told(&report, &id, &printer)
}

async fn heard_while(
    room: &Room,
    message: &str,
    talk: Talk<'_>,
    mut records: mpsc::UnboundedReceiver<(String, Record)>,
    printer: &Printer,
) -> Outcome<RoomReport> {
    let said = async move { room.say(PERSON, message, &talk).await };
    tokio::pin!(said);
    let print = |member: &str, record: &Record| -> Outcome<()> {
        let Some(session) = room.members().get(member).map(|it| it.session.id()) else {
            return Ok(());
        };
        if printer.mode == Mode::Json {
            let mut line = envelope(session, record);
            line["member"] = json!(member);
            return printer.json_line(&line);
        }
        if record.kind() == "text_chunk_end"
            && let Some(text) = record.event.get("text").and_then(|text| text.as_str())
        {
            printer.page(&format!("{member}: {}\n", text.trim_end()))?;
        }
        Ok(())
    };
    let mut printed = Ok(());
    let report = loop {
        tokio::select! {
            report = &mut said => break report,
            Some((member, record)) = records.recv() => {
                printed = printed.and_then(|()| print(&member, &record));
            }
        }
    };
    while let Ok((member, record)) = records.try_recv() {
        printed = printed.and_then(|()| print(&member, &record));
    }
    printed?;
    report.map_err(|error| Failure::from_error(Code::Usage, &error))
}

fn members_of(args: &AgentRoomArgs) -> Outcome<Vec<(&str, &str)>> {
    let pairs = args.member.iter().map(|text| {
        let (name, agent) = text.split_once('=').unwrap_or((text, text));
        if name.is_empty() || agent.is_empty() {
            let failure = Failure::new(Code::Usage, format!("`--member {text}` names no agent"));
            return Err(failure.hint("write `--member NAME=AGENT`"));
        }
        Ok((name, agent))
    });
    pairs.collect()
}

fn opened(sessions: &Sessions, room: &SessionId, name: &str, agent: Agent) -> Outcome<Member> {
    let name = name.to_ascii_lowercase().replace('_', "-");
    let id = SessionId::parse(&format!("{room}-{name}"));
    let id = id.map_err(|error| session_failure(LogError::from(error)))?;
    let session = match sessions.create(&id, &agent) {
        Ok(session) => session,
        Err(SessionError::Log(LogError::Exists { .. })) => sessions
            .resume(id, Strategy::Crash)
            .map_err(session_failure)?,
        Err(error) => return Err(session_failure(error)),
    };
    Ok(Member {
        agent,
        session: Arc::new(session),
    })
}

fn told(report: &RoomReport, room: &SessionId, printer: &Printer) -> Outcome {
    let mut exit = Exit::Success;
    for answer in &report.answers {
        if let Err(error) = &answer.result {
            exit = Exit::Partial;
            if printer.mode != Mode::Json {
                printer.note(&format!("{} has no answer: {error}", answer.member));
            }
        }
    }
    if printer.mode == Mode::Json {
        let answers: Vec<_> = report.answers.iter().map(answer_json).collect();
        let line = json!({
            "type": "result",
            "room": room,
            "answers": answers,
            "stopped": report.is_stopped,
        });
        printer.json_line(&line)?;
        return Ok(exit);
    }
    if report.is_stopped {
        printer.note("the room is silent: the message was passed on as often as `--hops` allows");
    }
    printer.note(&format!(
        "to continue: ktx agent room --room {room} --member … -m …"
    ));
    Ok(exit)
}

fn answer_json(answer: &RoomAnswer) -> Value {
    match &answer.result {
        Ok(text) => json!({ "member": answer.member, "hop": answer.hop, "text": text }),
        Err(error) => {
            json!({ "member": answer.member, "hop": answer.hop, "error": error.to_string() })
        }
    }
}
