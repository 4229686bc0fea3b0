//! Which process writes about a message, whether it still runs, and what becomes of its messages.

use std::path::Path;
use std::time::Duration;

use ktx_usage_ledger::{Ledger, LedgerError, Owner};

/// How long whoever reads waits for another program that writes.
const PATIENCE: Duration = Duration::from_secs(1);

/// This process.
pub(super) fn this_process() -> Owner {
    let process = std::process::id();
    Owner {
        process,
        started: start_of(process),
    }
}

/// Whether it still is the same process. One that cannot be known counts as gone: should it live
/// after all, its facts take the place of what was made of their beginnings.
pub(super) fn is_running(owner: Owner) -> bool {
    let is_known = owner.started.is_some() && start_of(owner.process) == owner.started;
    is_known || owner == this_process()
}

/// When a process started, in clock ticks since the boot. Field 22 of `/proc/<id>/stat`; `None` when
/// there is no such process, when it has ended and nobody has asked how, or where there is no such file.
fn start_of(process: u32) -> Option<u64> {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    let (_, after_name) = stat.rsplit_once(')')?;
    let mut fields = after_name.split_whitespace();
    let has_ended = matches!(fields.next()?, "Z" | "X" | "x");
    let started = fields.nth(18)?.parse().ok()?;
    (!has_ended).then_some(started)
}

/// The ledger for those who read it. What programs that are gone have begun is in it as facts.
pub(crate) fn ledger_to_read(path: &Path) -> Result<Ledger, LedgerError> {
    // Nothing was ever used when there is no ledger; looking must not make one.
    if !path.is_file() {
        return Ledger::in_memory();
    }
    let ledger = Ledger::open_waiting(path, PATIENCE)?;
    // Who cannot write may read all the same; the next one who can makes facts of what is left.
    if let Err(error) = ledger.settle(is_running) {
        tracing::debug!(%error, "messages that were cut off are not in the usage ledger yet");
    }
    Ok(ledger)
}
