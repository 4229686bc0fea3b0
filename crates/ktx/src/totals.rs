//! What a run used, from the ledger.

use ktx_diagnostics::{Code, Failure};
use ktx_usage_ledger::{Group, Ledger, Report, ReportRow, Window};

use crate::compose;
use crate::invocation::{Invocation, OpenProject};
use crate::printer::Printer;
use crate::report::{Outcome, Report as _};

/// Prints one line with the totals of this run on stderr.
pub(crate) fn print_totals(invocation: &Invocation, project: &OpenProject, printer: &Printer) {
    let window = Window {
        run_id: Some(invocation.run_id.to_string()),
        since: None,
    };
    let total = match read_report(project, Group::All, &window) {
        Ok(report) => report.total,
        // The run's results stand even if its ledger cannot be read; missing usage has been
        // reported already.
        Err(failure) => return tracing::info!(?failure, "the usage ledger cannot be read"),
    };
    if total.facts() > 0 {
        printer.note(&format!(
            "{} model messages, {} tokens in, {} out, list price {}{}",
            total.messages,
            total.usage.input_total(),
            total.usage.output,
            cost(&total),
            left_out(&total)
        ));
    }
}

/// Reads a report from the ledger of the project.
pub(crate) fn read_report(project: &OpenProject, group: Group, window: &Window) -> Outcome<Report> {
    let path = compose::ledger_path(project);
    Ledger::open_to_read(&path)
        .and_then(|ledger| ledger.report(group, window))
        .map_err(|error| {
            Failure::from_error(Code::UsageLedger, &error)
                .context(format!("`{}` cannot be used", path.display()))
        })
}

/// Describes what a known cost does not include.
pub(crate) fn left_out(row: &ReportRow) -> String {
    if row.unpriced == 0 || !row.cost_is_known() {
        return String::new();
    }
    format!(
        " without {} messages whose price is not known",
        row.unpriced
    )
}

/// Returns the cost of a row; `~` marks an estimate.
pub(crate) fn cost(row: &ReportRow) -> String {
    if !row.cost_is_known() {
        return "unknown".to_owned();
    }
    let is_estimated = row.estimated > 0 || row.incomplete > 0;
    let mark = if is_estimated { "~" } else { "" };
    format!("{mark}{}", row.cost)
}
