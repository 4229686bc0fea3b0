//! A run's usage from the ledger.

use std::collections::BTreeSet;

use ktx_diagnostics::{Code, Failure};
use ktx_usage_ledger::{Ledger, LedgerError, ReportGroup, ReportRow, ReportWindow, UsageReport};

use crate::compose;
use crate::invocation::{Invocation, OpenProject};
use crate::printer::Printer;
use crate::report::{Outcome, Report as _};

pub(crate) fn print_totals(invocation: &Invocation, project: &OpenProject, printer: &Printer) {
    let window = ReportWindow {
        run_id: Some(invocation.run_id.to_string()),
        since: None,
    };
    let total = match read_report(project, ReportGroup::All, &window) {
        Ok(report) => report.total,
        // Results stand without a readable ledger; lost usage is already reported.
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

pub(crate) fn read_report(
    project: &OpenProject,
    group: ReportGroup,
    window: &ReportWindow,
) -> Outcome<UsageReport> {
    let path = compose::ledger_path(project);
    Ledger::open_to_read(&path)
        .and_then(|ledger| ledger.report(group, window))
        .map_err(|error| {
            Failure::from_error(Code::UsageLedger, &error)
                .context(format!("`{}` cannot be used", path.display()))
        })
}

/// Sums each session's messages in order, and all messages.
pub(crate) fn read_sums(project: &OpenProject, sessions: &[MessagesOf]) -> Outcome<UsageReport> {
    let path = compose::ledger_path(project);
    let sums = || {
        let ledger = Ledger::open_to_read(&path)?;
        let rows = sessions.iter().map(|session| {
            let messages = session.messages.iter();
            ledger.sum_of(
                &session.key,
                messages.map(|(run, id)| (run.as_str(), id.as_str())),
            )
        });
        let rows = rows.collect::<Result<Vec<ReportRow>, LedgerError>>()?;
        let all: BTreeSet<&(String, String)> = sessions
            .iter()
            .flat_map(|session| &session.messages)
            .collect();
        let total = ledger.sum_of("", all.iter().map(|(run, id)| (run.as_str(), id.as_str())))?;
        Ok(UsageReport { rows, total })
    };
    sums().map_err(|error: LedgerError| {
        Failure::from_error(Code::UsageLedger, &error)
            .context(format!("`{}` cannot be used", path.display()))
    })
}

pub(crate) struct MessagesOf {
    pub key: String,
    pub messages: BTreeSet<(String, String)>,
}

pub(crate) fn left_out(row: &ReportRow) -> String {
    if row.unpriced == 0 || !row.cost_is_known() {
        return String::new();
    }
    format!(" without {} messages whose price is unknown", row.unpriced)
}

/// `~` marks an estimate.
pub(crate) fn cost(row: &ReportRow) -> String {
    if !row.cost_is_known() {
        return "unknown".to_owned();
    }
    let is_estimated = row.estimated > 0 || row.incomplete > 0;
    let mark = if is_estimated { "~" } else { "" };
    format!("{mark}{}", row.cost)
}
