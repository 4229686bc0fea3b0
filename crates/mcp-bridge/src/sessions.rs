//! HTTP sessions: their use, and which one to close for a new one.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio_util::sync::CancellationToken;

use crate::caller::Caller;
use crate::streams::SessionTable;

const MOST: usize = 256;

/// An agent used again the next morning begins a new session.
pub(crate) const IDLE: Duration = Duration::from_hours(8);

/// Without a tool call or a listener.
const UNUSED: Duration = Duration::from_mins(15);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Doing {
    Asks,
    Listens,
}

#[derive(Clone)]
pub(crate) struct Sessions {
    manager: Arc<SessionTable>,
    uses: Arc<Mutex<HashMap<Arc<str>, Use>>>,
}

#[derive(Debug, Clone)]
struct Use {
    asks: usize,
    listens: usize,
    last: Instant,
    has_called: Arc<AtomicBool>,
    end: CancellationToken,
}

impl Use {
    fn new(now: Instant) -> Self {
        Self {
            asks: 0,
            listens: 0,
            last: now,
            has_called: Arc::default(),
            end: CancellationToken::new(),
        }
    }

    fn count(&mut self, doing: Doing) -> &mut usize {
        match doing {
            Doing::Asks => &mut self.asks,
            Doing::Listens => &mut self.listens,
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
    pub(crate) fn new(manager: Arc<SessionTable>) -> Self {
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
        Visit::new(
            used,
            Some(Place {
                sessions: self.clone(),
                id,
                doing,
            }),
        )
    }

    pub(crate) fn end(&self, id: &str) {
        if let Some(used) = self.uses().remove(id) {
            used.end.cancel();
        }
    }

    /// False if all sessions are busy.
    pub(crate) fn make_room(&self) -> bool {
        let open = self.manager.ids();
        let (count, leaving) = {
            let mut uses = self.uses();
            // Sessions also end by themselves.
            uses.retain(|id, _| open.contains(id));
            (open.len(), leaving(&uses, open.len(), Instant::now()))
        };
        for id in &leaving {
            self.end(id);
            self.manager.close(id);
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

/// One request. Without a session, its call is canceled when it is dropped before the whole answer;
/// with one, the client may still read on.
pub(crate) struct Visit {
    gone: CancellationToken,
    has_called: Arc<AtomicBool>,
    place: Option<Place>,
}

struct Place {
    sessions: Sessions,
    id: Arc<str>,
    doing: Doing,
}

impl Visit {
    fn new(used: &Use, place: Option<Place>) -> Self {
        Self {
            gone: used.end.child_token(),
            has_called: Arc::clone(&used.has_called),
            place,
        }
    }

    pub(crate) fn caller(&self) -> Caller {
        Caller::new(self.gone.clone(), Arc::clone(&self.has_called))
    }
}

impl Drop for Visit {
    fn drop(&mut self) {
        let Some(Place {
            sessions,
            id,
            doing,
        }) = self.place.take()
        else {
            self.gone.cancel();
            return;
        };
        if let Some(used) = sessions.uses().get_mut(&id) {
            let count = used.count(doing);
            *count = count.saturating_sub(1);
            used.last = Instant::now();
        }
    }
}

#[cfg(test)]
mod tests;
