//! The process that writes a message, whether it still runs, and the settlement of its messages.

use std::path::Path;
use std::time::Duration;

use ktx_usage_ledger::{Ledger, LedgerError, Owner};

/// How long readers wait for another program that writes.
const PATIENCE: Duration = Duration::from_secs(1);

pub(super) fn this_process() -> Owner {
    let process = std::process::id();
    Owner {
        process,
        started: start_of(process),
    }
}

/// Returns whether it is still the same process. An unknown process counts as gone: if it lives
/// after all, its facts replace the settled ones.
pub(super) fn is_running(owner: Owner) -> bool {
    let is_known = owner.started.is_some() && start_of(owner.process) == owner.started;
    is_known || owner == this_process()
}

/// Returns when a process started, in clock ticks since the boot. Reads field 22 of
/// `/proc/<id>/stat`; `None` if the process is missing or a zombie, or the system has no such file.
fn start_of(process: u32) -> Option<u64> {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    let (_, after_name) = stat.rsplit_once(')')?;
    let mut fields = after_name.split_whitespace();
    let has_ended = matches!(fields.next()?, "Z" | "X" | "x");
    let started = fields.nth(18)?.parse().ok()?;
    (!has_ended).then_some(started)
}

/// Opens the ledger for reading. Settles messages of ended programs as facts.
pub(crate) fn ledger_to_read(path: &Path) -> Result<Ledger, LedgerError> {
    // Without a ledger there was no usage; reading must not create one.
    if !path.is_file() {
        return Ledger::in_memory();
    }
    let ledger = Ledger::open_waiting(path, PATIENCE)?;
    // A reader without write access can still read; the next writer settles the remaining messages.
    if let Err(error) = ledger.settle(is_running) {
        tracing::debug!(%error, "messages that were cut off are not in the usage ledger yet");
    }
    Ok(ledger)
}
