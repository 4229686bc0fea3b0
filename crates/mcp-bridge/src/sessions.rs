//! HTTP sessions: their use, and which one to close for a new one.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rmcp::transport::streamable_http_server::session::SessionManager as _;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use tokio::runtime::Handle;
use tokio_util::sync::CancellationToken;

use crate::caller::Caller;
use crate::heard::Hearing;

const MOST: usize = 256;

/// An agent used again the next morning begins a new session.
pub(crate) const IDLE: Duration = Duration::from_hours(8);

/// Without a tool call or a listener.
const UNUSED: Duration = Duration::from_mins(15);

/// Time to resume an answer after a disconnect.
const ABSENCE: Duration = Duration::from_secs(1);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Doing {
    Asks,
    Listens,
    Resumes,
}

#[derive(Clone)]
pub(crate) struct Sessions {
    manager: Arc<LocalSessionManager>,
    uses: Arc<Mutex<HashMap<Arc<str>, Use>>>,
}

#[derive(Debug, Clone)]
struct Use {
    asks: usize,
    listens: usize,
    last: Instant,
    has_called: Arc<AtomicBool>,
    end: CancellationToken,
    /// Calls of disconnected clients.
    orphans: Vec<CancellationToken>,
}

impl Use {
    fn new(now: Instant) -> Self {
        Self {
            asks: 0,
            listens: 0,
            last: now,
            has_called: Arc::default(),
            end: CancellationToken::new(),
            orphans: Vec::new(),
        }
    }

    fn count(&mut self, doing: Doing) -> &mut usize {
        match doing {
            Doing::Asks => &mut self.asks,
            Doing::Listens | Doing::Resumes => &mut self.listens,
        }
    }

    fn is_abandoned(&self, now: Instant) -> bool {
        let is_used = self.has_called.load(Ordering::Relaxed) || self.asks + self.listens > 0;
        !is_used && now.duration_since(self.last) >= UNUSED
    }

    /// A tool call counts most, then a listener, then recent use.
    fn worth(&self) -> (bool, bool, Instant) {
        let has_called = self.has_called.load(Ordering::Relaxed);
        (has_called, self.listens > 0, self.last)
    }
}

impl Sessions {
    pub(crate) fn new(manager: Arc<LocalSessionManager>) -> Self {
        Self {
            manager,
            uses: Arc::default(),
        }
    }

    fn uses(&self) -> MutexGuard<'_, HashMap<Arc<str>, Use>> {
        self.uses.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn began(&self, id: &str) {
        self.uses().insert(id.into(), Use::new(Instant::now()));
    }

    pub(crate) fn visit(&self, id: Option<&str>, doing: Doing) -> Visit {
        let mut uses = self.uses();
        let known = id.and_then(|id| Some((Arc::from(id), uses.get_mut(id)?)));
        let Some((id, used)) = known else {
            let nobody = Use::new(Instant::now());
            return Visit::new(&nobody, None);
        };
        *used.count(doing) += 1;
        used.last = Instant::now();
        let mut visit = Visit::new(used, Some((self.clone(), id, doing)));
        if doing == Doing::Resumes {
            visit.calls.append(&mut used.orphans);
        }
        visit
    }

    pub(crate) fn end(&self, id: &str) {
        if let Some(used) = self.uses().remove(id) {
            used.end.cancel();
        }
    }

    /// Skips clients that have come back.
    fn give_up(&self, id: &str, calls: &[CancellationToken]) {
        if let Some(used) = self.uses().get_mut(id) {
            used.orphans.retain(|orphan| {
                let is_given_up = calls.contains(orphan);
                if is_given_up {
                    orphan.cancel();
                }
                !is_given_up
            });
        }
    }

    /// False if all sessions are busy.
    pub(crate) async fn make_room(&self) -> bool {
        let open: Vec<Arc<str>> = self.manager.sessions.read().await.keys().cloned().collect();
        let (count, leaving) = {
            let mut uses = self.uses();
            // Sessions also end by themselves.
            uses.retain(|id, _| open.contains(id));
            (open.len(), leaving(&uses, open.len(), Instant::now()))
        };
        for id in &leaving {
            self.end(id);
            if let Err(error) = self.manager.close_session(id).await {
                tracing::debug!(%error, "a session of an MCP client did not end in order");
            }
        }
        count - leaving.len() < MOST
    }
}

fn leaving(uses: &HashMap<Arc<str>, Use>, open: usize, now: Instant) -> Vec<Arc<str>> {
    let (abandoned, others): (Vec<_>, Vec<_>) =
        uses.iter().partition(|(_, used)| used.is_abandoned(now));
    let mut leaving: Vec<Arc<str>> = abandoned.into_iter().map(|(id, _)| id.clone()).collect();
    let mut idle: Vec<_> = others
        .into_iter()
        .filter(|(_, used)| used.asks == 0)
        .collect();
    idle.sort_by_key(|(_, used)| used.worth());
    let too_many = (open + 1).saturating_sub(MOST + leaving.len());
    leaving.extend(idle.into_iter().take(too_many).map(|(id, _)| id.clone()));
    leaving
}

/// One request. If it is dropped before the whole answer, its calls are canceled unless the client
/// soon resumes.
pub(crate) struct Visit {
    gone: CancellationToken,
    calls: Vec<CancellationToken>,
    has_called: Arc<AtomicBool>,
    is_whole: bool,
    place: Option<(Sessions, Arc<str>, Doing)>,
}

impl Visit {
    fn new(used: &Use, place: Option<(Sessions, Arc<str>, Doing)>) -> Self {
        let gone = used.end.child_token();
        Self {
            calls: vec![gone.clone()],
            gone,
            has_called: Arc::clone(&used.has_called),
            is_whole: false,
            place,
        }
    }

    pub(crate) fn caller(&self) -> Caller {
        Caller::new(self.gone.clone(), Arc::clone(&self.has_called))
    }
}

impl Hearing for Visit {
    fn whole(&mut self) {
        self.is_whole = true;
    }
}

impl Drop for Visit {
    fn drop(&mut self) {
        let calls = std::mem::take(&mut self.calls);
        let Some((sessions, id, doing)) = self.place.take() else {
            cancel(&calls);
            return;
        };
        let mut uses = sessions.uses();
        let Some(used) = uses.get_mut(&id) else {
            cancel(&calls);
            return;
        };
        let count = used.count(doing);
        *count = count.saturating_sub(1);
        used.last = Instant::now();
        match Handle::try_current() {
            Ok(runtime) if !self.is_whole && doing != Doing::Listens => {
                used.orphans.extend(calls.iter().cloned());
                drop(uses);
                drop(runtime.spawn(async move {
                    tokio::time::sleep(ABSENCE).await;
                    sessions.give_up(&id, &calls);
                }));
            }
            _ => cancel(&calls),
        }
    }
}

fn cancel(calls: &[CancellationToken]) {
    for call in calls {
        call.cancel();
    }
}

#[cfg(test)]
mod tests;
