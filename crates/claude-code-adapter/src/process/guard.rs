//! One small process that kills all children after their owner, which closes its input.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::launch;
use super::version::KnownProgram;
use crate::settings::{ClaudeCodeSettings, Launcher};

#[derive(Debug)]
pub(crate) struct Guard {
    pub(super) known: KnownProgram,
    program: Option<PathBuf>,
    state: Mutex<GuardState>,
}

#[derive(Debug, Default)]
struct GuardState {
    post: Option<GuardProcess>,
    watched: BTreeMap<String, Option<StartedChild>>,
}

#[derive(Debug, Clone)]
struct StartedChild {
    process: u32,
    below: Option<PathBuf>,
}

#[derive(Debug)]
struct GuardProcess {
    process: Child,
    orders: ChildStdin,
}

#[derive(Debug)]
pub(super) struct GuardWatch {
    guard: Arc<Guard>,
    token: String,
}

impl Guard {
    pub(crate) fn new(settings: &ClaudeCodeSettings) -> Self {
        let program = match &settings.launcher {
            Launcher::Direct => None,
            Launcher::Guarded(program) => Some(program.clone()),
        };
        Self {
            known: KnownProgram::default(),
            program,
            state: Mutex::default(),
        }
    }

    /// Must be called before the child starts.
    pub(super) fn watch(self: &Arc<Self>, token: &str) -> Option<GuardWatch> {
        let program = self.program.as_ref()?;
        let mut state = self.state();
        state.watched.insert(token.to_owned(), None);
        state.send(program, &order(token, None));
        Some(GuardWatch {
            guard: Arc::clone(self),
            token: token.to_owned(),
        })
    }

    fn state(&self) -> MutexGuard<'_, GuardState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl GuardWatch {
    /// The guard records the child's descendants in `below`.
    pub(super) fn started(&self, process: u32, below: Option<PathBuf>) {
        if let Some(program) = &self.guard.program {
            let started = Some(StartedChild { process, below });
            let order = order(&self.token, started.as_ref());
            let mut state = self.guard.state();
            state.watched.insert(self.token.clone(), started);
            state.send(program, &order);
        }
    }
}

impl Drop for GuardWatch {
    fn drop(&mut self) {
        let mut state = self.guard.state();
        state.watched.remove(&self.token);
        if let Some(post) = &mut state.post
            && let Err(error) = post
                .orders
                .write_all(format!("-{}\n", self.token).as_bytes())
        {
            tracing::debug!(%error, "the guard of the Claude Code processes does not accept orders");
        }
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        // Every watch holds a reference: no child is watched.
        if let Some(post) = self.state().post.take() {
            post.end();
        }
    }
}

fn order(token: &str, started: Option<&StartedChild>) -> String {
    let Some(StartedChild { process, below }) = started else {
        return format!("+{token}\n");
    };
    // A path with a line break cannot be sent.
    let below = below.as_ref().and_then(|path| path.to_str());
    match below.filter(|path| !path.contains('\n')) {
        Some(below) => format!("+{token} {process} {below}\n"),
        None => format!("+{token} {process}\n"),
    }
}

impl GuardState {
    /// A guard that does not accept the order is replaced, and the new one gets the whole list.
    fn send(&mut self, program: &Path, order: &str) {
        if let Some(post) = &mut self.post {
            match post.orders.write_all(order.as_bytes()) {
                Ok(()) => return,
                Err(error) => {
                    tracing::warn!(%error, "the guard of the Claude Code processes has ended and is replaced");
                }
            }
        }
        if let Some(post) = self.post.take() {
            post.end();
        }
        match GuardProcess::start(program, &self.watched) {
            Ok(post) => self.post = Some(post),
            Err(error) => {
                tracing::warn!(%error, "the guard does not run: if ktx is killed, its Claude Code process may continue");
            }
        }
    }
}

impl GuardProcess {
    fn start(
        program: &std::path::Path,
        watched: &BTreeMap<String, Option<StartedChild>>,
    ) -> std::io::Result<Self> {
        let mut process = launch::guard(program).spawn()?;
        let Some(orders) = process.stdin.take() else {
            return Err(std::io::Error::other("its pipe is missing"));
        };
        // A suspended guard must not block ktx.
        rustix::io::ioctl_fionbio(&orders, true)?;
        let mut post = Self { process, orders };
        for (token, started) in watched {
            post.orders
                .write_all(order(token, started.as_ref()).as_bytes())?;
        }
        Ok(post)
    }

    fn end(self) {
        let Self {
            mut process,
            orders,
        } = self;
        drop(orders);
        let ended = process.kill().and_then(|()| process.wait());
        if let Err(error) = ended {
            tracing::debug!(%error, "the guard of the Claude Code processes could not be ended");
        }
    }
}
