//! Handles termination signals from the first long or paid step.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use ktx_diagnostics::Exit;

/// Time for work to release its children.
const GRACE: Duration = Duration::from_secs(3);

#[derive(Debug, Default)]
pub(super) struct EndTokens {
    /// Canceled by the first signal: work ends gracefully and no other begins.
    pub(super) asked: CancellationToken,
    /// Canceled by the second signal.
    pub(super) at_once: CancellationToken,
    /// True while running work can end itself.
    works: Arc<AtomicBool>,
}

impl EndTokens {
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

/// Handlers stay for the life of the process.
static ENDING: OnceLock<EndTokens> = OnceLock::new();

/// The next signal ends this work instead of the program.
static INTERRUPTIBLE: Mutex<Option<CancellationToken>> = Mutex::new(None);

/// True if the requested end was the command's normal end.
static SERVED: AtomicBool = AtomicBool::new(false);

pub(super) fn listen() -> &'static EndTokens {
    ENDING.get_or_init(|| {
        let ending = EndTokens::default();
        // Without a handler, the first signal ends the program.
        if let Err(error) = hear(&ending) {
            tracing::warn!(%error, "Ctrl-C ends the program without order");
        }
        ending
    })
}

/// False if the end is normal for the command.
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

/// Needs a thread, because nothing is awaited between steps.
fn hear(ending: &EndTokens) -> std::io::Result<()> {
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
                // A third signal skips the wait.
                tokio::time::timeout(GRACE, signals.next()).await.ok();
            }
            end();
        });
    };
    let thread = std::thread::Builder::new().name("signals".to_owned());
    thread.spawn(listener)?;
    Ok(())
}

/// Safe at any moment: children have a guard and files are consistent.
#[expect(clippy::exit, reason = "a second signal must end the program at once")]
fn end() -> ! {
    std::process::exit(i32::from(Exit::Interrupted.code()))
}

/// Ctrl-C, a service manager or a closed terminal.
#[cfg(unix)]
struct EndSignals {
    interrupt: tokio::signal::unix::Signal,
    terminate: tokio::signal::unix::Signal,
    /// `None` under `nohup`.
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

    /// False if no signal can come.
    async fn next(&mut self) -> bool {
        let hangup = async {
            match &mut self.hangup {
                Some(hangup) => hangup.recv().await,
                None => std::future::pending().await,
            }
        };
        let signal = tokio::select! {
            signal = self.interrupt.recv() => signal,
            signal = self.terminate.recv() => signal,
            signal = hangup => signal,
        };
        signal.is_some()
    }
}

/// False if unknown.
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
