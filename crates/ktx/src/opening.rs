//! Opens a command's project.

use std::sync::Mutex;

use crate::cli::LockWait;
use crate::compose;
use crate::invocation::{Invocation, OpenProject, load};
use crate::locking::wait_for_lock;
use crate::printer::{Mode, Printer};
use crate::report::Outcome;

const ASKS_A_MODEL: [&str; 4] = ["agent", "ingest", "llm", "sync"];

/// With `--wait`, locks before reading: another command can change the configuration.
pub(crate) fn open_project(invocation: &Invocation, printer: &Printer) -> Outcome<OpenProject> {
    let dir = invocation.project_dir()?;
    let mut project = load(&dir, &invocation.environment)?;
    if printer.mode != Mode::Json {
        printer.note(&format!("Project: {}", dir.display()));
    }
    if let LockWait::AtMost(longest) = invocation.lock_wait {
        let command = format!("ktx {}", invocation.command);
        let lock = wait_for_lock(&project.store, &command, longest, printer)?;
        project = load(&dir, &invocation.environment)?;
        project.waited = Mutex::new(Some(lock));
    }
    project.lock_wait = invocation.lock_wait;
    compose::end_left_over(&project);
    let asks_a_model = ASKS_A_MODEL.contains(&invocation.command);
    for warning in &project.warnings {
        // Commands with a model fail with the same text.
        let is_told_later = asks_a_model && project.config.llm.is_refused(warning);
        if !is_told_later {
            printer.note(&format!("warning: {warning}"));
        }
    }
    invocation.debug(printer, &format!("projectDir={}", dir.display()));
    Ok(project)
}
