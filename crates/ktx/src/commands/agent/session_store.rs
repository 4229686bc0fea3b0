//! Creates, finds and removes sessions.

use std::path::Path;
use std::sync::Arc;

use jiff::Timestamp;
use ktx_agent_session::{Agent, Parent, Session, Sessions, Strategy};
use ktx_diagnostics::{Code, Failure};
use ktx_project_store::{Failpoints, Holder, Layout};
use ktx_session_log::{LogError, SessionId, SessionStore};

use super::failures::session_failure;
use crate::cli::{AgentChangeArgs, SessionArgs};
use crate::invocation::Invocation;
use crate::report::{Outcome, Report as _};

/// Characters of the question in a session id.
const SLUG: usize = 24;

pub(super) fn sessions(invocation: &Invocation, dir: &Path) -> Sessions {
    sessions_in(invocation, SessionStore::new(Layout::new(dir).sessions()))
}

pub(super) fn sessions_in(invocation: &Invocation, store: SessionStore) -> Sessions {
    let holder = Holder::this_process(&format!("ktx {}", invocation.command), Some(invocation.now));
    let telemetry = invocation.telemetry.clone();
    let set: Option<Timestamp> = invocation
        .environment
        .test_now()
        .and_then(|text| text.parse().ok());
    let clock = move || set.unwrap_or_else(Timestamp::now);
    Sessions::new(store, holder, Arc::new(clock))
        .redacted_by(Arc::new(move |text| telemetry.redact(text)))
        .with_failpoints(Failpoints::kill_at(invocation.environment.test_kill_at()))
}

/// `None` means a new session.
pub(super) fn wanted(sessions: &Sessions, args: &SessionArgs) -> Outcome<Option<SessionId>> {
    match &args.session {
        Some(text) => match sessions.store().find(text) {
            Ok(id) => Ok(Some(id)),
            Err(LogError::NotFound { .. }) if args.create => Ok(None),
            Err(error) => Err(session_failure(error)),
        },
        None if args.resume_newest => newest(sessions).map(Some),
        None => Ok(None),
    }
}

/// `None` if this version does not understand the agent.
pub(super) fn recorded(sessions: &Sessions, id: &SessionId) -> Outcome<Option<Agent>> {
    let report = sessions.read(id).map_err(session_failure)?;
    Ok(Agent::from_snapshot(&report.history.agent().snapshot).ok())
}

pub(super) fn begin(
    sessions: &Sessions,
    args: &SessionArgs,
    agent: &Agent,
    invocation: &Invocation,
    topic: &str,
) -> Outcome<Arc<Session>> {
    let id = match &args.session {
        Some(text) => parsed(text)?,
        None => new_id(invocation, topic)?,
    };
    let session = sessions.create(&id, agent).map_err(session_failure)?;
    Ok(Arc::new(session))
}

/// A continued session: its recorded agent and the current version.
#[derive(Debug, Clone, Copy)]
pub(super) struct Continued<'a> {
    pub(super) before: Option<&'a Agent>,
    pub(super) now: &'a Agent,
}

/// Continues a session. If the agent has changed, the flags choose the version.
pub(super) fn resume(
    sessions: &Sessions,
    id: SessionId,
    agent: Continued<'_>,
    change: AgentChangeArgs,
) -> Outcome<Arc<Session>> {
    let Continued { before, now } = agent;
    let has_changed = before != Some(now);
    if has_changed && !change.adopt && !change.as_recorded {
        return Err(changed(&id, before, now));
    }
    let session = sessions
        .resume(id, Strategy::Crash)
        .map_err(session_failure)?;
    if has_changed && change.adopt {
        session.adopt(now).map_err(session_failure)?;
    }
    Ok(Arc::new(session))
}

fn changed(id: &SessionId, before: Option<&Agent>, current: &Agent) -> Failure {
    let what = match before {
        Some(before) => {
            let parts = before.differences(current);
            format!(
                "the agent of the session `{id}` has changed since it began: {}",
                parts.join(", ")
            )
        }
        None => format!("the agent of the session `{id}` is of another version of ktx"),
    };
    Failure::new(Code::AgentChanged, what)
        .hint("continue with `--adopt` to take the agent as it is now")
        .hint("or with `--as-recorded` to keep the agent as it was")
}

pub(super) fn agent_of(session: &Session) -> Outcome<Agent> {
    let history = session.history();
    Agent::from_snapshot(&history.agent().snapshot).map_err(|error| {
        Failure::from_error(Code::AgentChanged, &error)
            .context(format!(
                "the agent of the session `{}` is of another version of ktx",
                session.id()
            ))
            .hint("write `--adopt` to go on with the agent as it is now")
    })
}

pub(super) fn find(sessions: &Sessions, text: &str) -> Outcome<SessionId> {
    sessions.store().find(text).map_err(session_failure)
}

pub(super) fn newest(sessions: &Sessions) -> Outcome<SessionId> {
    let store = sessions.store();
    let newest = store.newest().map_err(session_failure)?;
    newest.ok_or_else(|| {
        Failure::new(Code::SessionNotFound, "the project has no session yet")
            .hint("ask without `--continue` to begin one")
    })
}

fn parsed(text: &str) -> Outcome<SessionId> {
    SessionId::parse(text).map_err(|error| session_failure(LogError::from(error)))
}

/// A random start, which is enough to name the session, such as `k3f7x2`, and words of the
/// question.
pub(super) fn new_id(invocation: &Invocation, topic: &str) -> Outcome<SessionId> {
    const LETTERS: &[u8; 24] = b"abcdefghijkmnpqrstuvwxyz";
    const DIGITS: &[u8; 8] = b"23456789";
    let run = invocation.run_id.to_string();
    let random = run.bytes().rev().filter(u8::is_ascii_hexdigit).take(12);
    let mut bits = random.fold(0_u64, |bits, digit| {
        bits << 4 | u64::from(char::from(digit).to_digit(16).unwrap_or_default())
    });
    let mut id = String::new();
    for _ in 0..3 {
        for signs in [LETTERS.as_slice(), DIGITS.as_slice()] {
            let count = u64::try_from(signs.len()).unwrap_or(1);
            let place = usize::try_from(bits % count).unwrap_or_default();
            id.extend(signs.get(place).map(|sign| char::from(*sign)));
            bits /= count;
        }
    }
    let slug = slug(topic);
    if !slug.is_empty() {
        id = format!("{id}-{slug}");
    }
    parsed(&id)
}

fn slug(topic: &str) -> String {
    let mut slug = String::new();
    for word in topic
        .split(|letter: char| !letter.is_ascii_alphanumeric())
        .filter(|word| !word.is_empty())
    {
        if slug.len() + word.len() >= SLUG {
            break;
        }
        if !slug.is_empty() {
            slug.push('-');
        }
        slug.push_str(&word.to_ascii_lowercase());
    }
    slug
}

pub(super) fn discard(sessions: &Sessions, session: Arc<Session>) {
    let id = session.id().clone();
    let has_worked = session.history().turn() > 0;
    drop(session);
    if has_worked {
        discard_asked(sessions, &id);
    }
    if let Err(error) = sessions.delete(&id) {
        tracing::warn!(%error, "an unwanted session is left");
    }
}

fn discard_asked(sessions: &Sessions, id: &SessionId) {
    for other in sessions.store().list().unwrap_or_default() {
        let report = sessions.read(&other);
        let parent = report.ok().and_then(|it| it.history.agent().parent.clone());
        if !matches!(parent, Some(Parent::Call { session, .. }) if session == *id) {
            continue;
        }
        discard_asked(sessions, &other);
        if let Err(error) = sessions.delete(&other) {
            tracing::warn!(%error, "an unwanted session is left");
        }
    }
}
