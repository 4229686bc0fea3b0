//! Limits the connections of a server and closes one for the next.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio_util::sync::CancellationToken;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bounds {
    pub connections: usize,
    pub of_one_address: usize,
    /// Also limits the wait for a next request.
    pub head: Duration,
    pub body: Duration,
}

impl Default for Bounds {
    fn default() -> Self {
        Self {
            connections: 512,
            of_one_address: 256,
            head: Duration::from_secs(30),
            body: Duration::from_secs(30),
        }
    }
}

#[derive(Debug)]
pub(crate) struct Connections {
    bounds: Bounds,
    open: Mutex<Table>,
}

#[derive(Debug, Default)]
struct Table {
    next: u64,
    open: HashMap<u64, Connection>,
}

#[derive(Debug)]
struct Connection {
    peer: IpAddr,
    /// When the client began to owe a complete request.
    owes_since: Option<Instant>,
    leave: CancellationToken,
}

impl Connections {
    pub(crate) fn new(bounds: Bounds) -> Arc<Self> {
        Arc::new(Self {
            bounds,
            open: Mutex::default(),
        })
    }

    pub(crate) fn bounds(&self) -> Bounds {
        self.bounds
    }

    fn table(&self) -> MutexGuard<'_, Table> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Without room, closes the connection that has owed a request the longest: a client that opens
    /// many and sends nothing only loses its own. `None` if all are busy.
    pub(crate) fn admit(self: &Arc<Self>, peer: IpAddr) -> Option<Arc<ConnectionSlot>> {
        let mut table = self.table();
        let of_peer = |(_, open): &(&u64, &Connection)| open.peer == peer;
        let is_full = table.open.len() >= self.bounds.connections;
        let is_peer_full = table.open.iter().filter(of_peer).count() >= self.bounds.of_one_address;
        if is_full || is_peer_full {
            let candidates = table.open.iter();
            let candidates = candidates.filter(|entry| !is_peer_full || of_peer(entry));
            let owing = candidates.filter_map(|(id, open)| Some((open.owes_since?, *id)));
            let (_, id) = owing.min()?;
            if let Some(gone) = table.open.remove(&id) {
                gone.leave.cancel();
            }
        }
        let id = table.next;
        table.next += 1;
        let leave = CancellationToken::new();
        let connection = Connection {
            peer,
            owes_since: Some(Instant::now()),
            leave: leave.clone(),
        };
        table.open.insert(id, connection);
        Some(Arc::new(ConnectionSlot {
            connections: Arc::clone(self),
            id,
            leave,
        }))
    }
}

#[derive(Debug)]
pub(crate) struct ConnectionSlot {
    connections: Arc<Connections>,
    id: u64,
    leave: CancellationToken,
}

impl ConnectionSlot {
    pub(crate) async fn lost(&self) {
        self.leave.cancelled().await;
    }

    /// The client owes nothing until the guard is dropped.
    pub(crate) fn answering(self: &Arc<Self>) -> Answering {
        self.owes_since(None);
        Answering(Arc::clone(self))
    }

    fn owes_since(&self, since: Option<Instant>) {
        if let Some(open) = self.connections.table().open.get_mut(&self.id) {
            open.owes_since = since;
        }
    }
}

impl Drop for ConnectionSlot {
    fn drop(&mut self) {
        self.connections.table().open.remove(&self.id);
    }
}

#[derive(Debug)]
pub(crate) struct Answering(Arc<ConnectionSlot>);

impl Drop for Answering {
    fn drop(&mut self) {
        self.0.owes_since(Some(Instant::now()));
    }
}

#[cfg(test)]
mod tests;
