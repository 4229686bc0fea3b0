//! What asks the program to end: heard from the first long or paid step on, in it and between it and
//! the next, until the program ends.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use ktx_diagnostics::Exit;

/// What runs has so long to let go of its children after it was told to end at once.
const GRACE: Duration = Duration::from_secs(3);

/// How far the program was asked to end.
#[derive(Debug, Default)]
pub(super) struct Ending {
    /// Fired by the first signal: what runs ends in order, and nothing else begins.
    pub(super) asked: CancellationToken,
    /// Fired by the second one.
    pub(super) at_once: CancellationToken,
    /// Whether something runs that ends by itself when it is told to.
    works: Arc<AtomicBool>,
}

impl Ending {
    /// Something runs, until what is given back is dropped.
    pub(super) fn work(&self) -> impl Drop + use<> {
        self.works.store(true, Ordering::Relaxed);
        Working(Arc::clone(&self.works))
    }
}

struct Working(Arc<AtomicBool>);

impl Drop for Working {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Relaxed);
    }
}

/// A handler stays with the process for good, so one place hears of signals, and for good.
static ENDING: OnceLock<Ending> = OnceLock::new();

/// Whether the end that was asked for was the usual one of the command.
static SERVED: AtomicBool = AtomicBool::new(false);

/// Hears of signals from now on.
pub(super) fn listen() -> &'static Ending {
    ENDING.get_or_init(|| {
        let ending = Ending::default();
        // Where none can be heard, the system ends the program at the first one.
        if let Err(error) = hear(&ending) {
            tracing::warn!(%error, "Ctrl-C ends the program without order");
        }
        ending
    })
}

/// Whether the program was asked to end and has not ended as usual by that.
pub(crate) fn was_asked_to_end() -> bool {
    let asked = ENDING
        .get()
        .is_some_and(|ending| ending.asked.is_cancelled());
    asked && !SERVED.load(Ordering::Relaxed)
}

/// The command is one that goes on until it is asked to end, and it has ended in order.
pub(crate) fn was_served() {
    SERVED.store(true, Ordering::Relaxed);
}

/// Starts to hear, in a thread of its own: what runs between two steps waits for nothing.
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
                if !signals.next().await {
                    return;
                }
                token.cancel();
            }
            if works.load(Ordering::Relaxed) {
                // However that ends, the time is over; a third one does not wait for it.
                tokio::time::timeout(GRACE, signals.next()).await.ok();
            }
            end();
        });
    };
    let thread = std::thread::Builder::new().name("signals".to_owned());
    thread.spawn(listener)?;
    Ok(())
}

/// Ends the program without order: its children have a guard, and its files are whole at any moment.
#[expect(clippy::exit, reason = "whoever asks twice is not kept waiting")]
fn end() -> ! {
    std::process::exit(i32::from(Exit::Interrupted.code()))
}

/// What asks the program to end: Ctrl-C, a service manager, a terminal that closes.
#[cfg(unix)]
struct EndSignals {
    interrupt: tokio::signal::unix::Signal,
    terminate: tokio::signal::unix::Signal,
    /// None for a program that goes on without its terminal, as `nohup` asks for.
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

    /// Waits for the next one; false when none can come.
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

/// Whether the program was started so that a hangup does not end it. Where that cannot be known, it
/// is left as it is.
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
