//! Which process writes about a message, whether it still runs, and what becomes of its messages.

use std::path::Path;

use ktx_usage_ledger::{Ledger, LedgerError, Owner};

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
    owner.started.is_some() && start_of(owner.process) == owner.started
}

/// When a process started, in clock ticks since the boot. Field 22 of `/proc/<id>/stat`; `None` when
/// there is no such process, or no such file on this system.
fn start_of(process: u32) -> Option<u64> {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    let (_, after_name) = stat.rsplit_once(')')?;
    after_name.split_whitespace().nth(19)?.parse().ok()
}

/// The ledger for those who read it. What programs that are gone have begun is in it as facts.
pub(crate) fn ledger_to_read(path: &Path) -> Result<Ledger, LedgerError> {
    // Nothing was ever used when there is no ledger; looking must not make one.
    if !path.is_file() {
        return Ledger::in_memory();
    }
    let ledger = Ledger::open(path)?;
    ledger.settle(is_running)?;
    Ok(ledger)
}
