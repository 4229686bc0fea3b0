//! Signals that ask the program to end: handled from the first long or paid step until the program
//! ends, also between steps.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use ktx_diagnostics::Exit;

/// Time for running work to release its children after an immediate end was requested.
const GRACE: Duration = Duration::from_secs(3);

#[derive(Debug, Default)]
pub(super) struct Ending {
    /// Canceled by the first signal: running work ends gracefully, and no other work begins.
    pub(super) asked: CancellationToken,
    /// Canceled by the second signal.
    pub(super) at_once: CancellationToken,
    /// Whether work is running that ends by itself on request.
    works: Arc<AtomicBool>,
}

impl Ending {
    pub(super) fn work(&self) -> impl Drop + use<> {
        self.works.store(true, Ordering::Relaxed);
        WorkGuard(Arc::clone(&self.works))
    }
}

struct WorkGuard(Arc<AtomicBool>);

impl Drop for WorkGuard {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Relaxed);
    }
}

/// A handler stays for the life of the process, so there is one.
static ENDING: OnceLock<Ending> = OnceLock::new();

/// Work that the next signal ends instead of the program.
static INTERRUPTIBLE: Mutex<Option<CancellationToken>> = Mutex::new(None);

/// Whether the requested end was the normal end of the command.
static SERVED: AtomicBool = AtomicBool::new(false);

pub(super) fn listen() -> &'static Ending {
    ENDING.get_or_init(|| {
        let ending = Ending::default();
        // Without a handler, the system ends the program at the first signal.
        if let Err(error) = hear(&ending) {
            tracing::warn!(%error, "Ctrl-C ends the program without order");
        }
        ending
    })
}

/// Returns whether the program was asked to end, unless that is the normal end of the command.
pub(crate) fn was_asked_to_end() -> bool {
    let asked = ENDING
        .get()
        .is_some_and(|ending| ending.asked.is_cancelled());
    asked && !SERVED.load(Ordering::Relaxed)
}

pub(crate) fn end_only(work: CancellationToken) -> impl Drop {
    *interruptible() = Some(work);
    Interruptible
}

struct Interruptible;

impl Drop for Interruptible {
    fn drop(&mut self) {
        interruptible().take();
    }
}

fn interruptible() -> MutexGuard<'static, Option<CancellationToken>> {
    INTERRUPTIBLE.lock().unwrap_or_else(PoisonError::into_inner)
}

pub(crate) fn was_served() {
    SERVED.store(true, Ordering::Relaxed);
}

/// Starts a thread that handles signals, because the code between two steps does not await
/// anything.
fn hear(ending: &Ending) -> std::io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let mut signals = {
        let _inside = runtime.enter();
        EndSignals::new()?
    };
    let tokens = [ending.asked.clone(), ending.at_once.clone()];
    let works = Arc::clone(&ending.works);
    let listener = move || {
        runtime.block_on(async {
            for token in tokens {
                loop {
                    if !signals.next().await {
                        return;
                    }
                    match interruptible().take() {
                        Some(work) => work.cancel(),
                        None => break,
                    }
                }
                token.cancel();
            }
            if works.load(Ordering::Relaxed) {
                // The time is over in any case; a third signal does not wait for it.
                tokio::time::timeout(GRACE, signals.next()).await.ok();
            }
            end();
        });
    };
    let thread = std::thread::Builder::new().name("signals".to_owned());
    thread.spawn(listener)?;
    Ok(())
}

/// Ends the program immediately: its children have a guard, and its files are consistent at any
/// moment.
#[expect(clippy::exit, reason = "a second signal must end the program at once")]
fn end() -> ! {
    std::process::exit(i32::from(Exit::Interrupted.code()))
}

/// The signals that ask the program to end: Ctrl-C, a service manager, a closed terminal.
#[cfg(unix)]
struct EndSignals {
    interrupt: tokio::signal::unix::Signal,
    terminate: tokio::signal::unix::Signal,
    /// `None` for a program that should outlive its terminal, as with `nohup`.
    hangup: Option<tokio::signal::unix::Signal>,
}

#[cfg(unix)]
impl EndSignals {
    fn new() -> std::io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        let hangup = (!is_hangup_ignored()).then(|| signal(SignalKind::hangup()));
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
            hangup: hangup.transpose()?,
        })
    }

    /// Returns false if no signal can come.
    async fn next(&mut self) -> bool {
        let hangup = async {
            match &mut self.hangup {
                Some(hangup) => hangup.recv().await,
                None => std::future::pending().await,
            }
        };
        let told = tokio::select! {
            told = self.interrupt.recv() => told,
            told = self.terminate.recv() => told,
            told = hangup => told,
        };
        told.is_some()
    }
}

/// If that is unknown, the handler stays unchanged.
#[cfg(unix)]
fn is_hangup_ignored() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status
        .lines()
        .find_map(|line| line.strip_prefix("SigIgn:"))
        .and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    ignored.is_none_or(|mask| mask & 1 == 1)
}

#[cfg(not(unix))]
struct EndSignals;

#[cfg(not(unix))]
impl EndSignals {
    fn new() -> std::io::Result<Self> {
        Ok(Self)
    }

    async fn next(&mut self) -> bool {
        tokio::signal::ctrl_c().await.is_ok()
    }
}
