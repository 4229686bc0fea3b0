//! The output and exit code of a test run.

use std::fs;
use std::path::Path;

use ktx_agent_eval::{
    ArmReport, CaseKey, CaseReport, Report, RunChanges, Verdict, arm_grid, changes, html, junit,
    markdown, side_by_side, verdicts,
};
use ktx_diagnostics::{Code, Exit, Failure, counted};
use ktx_project_store::write_atomically;
use serde_json::{Value, json};

use crate::cli::{TestReportArgs, TestReportFormat};
use crate::printer::{Mode, Printer};
use crate::report::{Outcome, Report as _};
use crate::tables::Report as Table;

pub(super) struct Finished {
    pub(super) report: Report,
    pub(super) changes: Option<RunChanges>,
}

fn form_of(path: &Path) -> Outcome<TestReportFormat> {
    let ending = path.extension().and_then(|ending| ending.to_str());
    match ending {
        Some("json") => Ok(TestReportFormat::Json),
        Some("xml") => Ok(TestReportFormat::Junit),
        Some("md") => Ok(TestReportFormat::Md),
        Some("html") => Ok(TestReportFormat::Html),
        _ => Err(Failure::new(
            Code::Usage,
            format!("`--report {}` has no ending of a report", path.display()),
        )
        .hint("name a file that ends with .json, .xml (JUnit), .md or .html")),
    }
}

/// Checks report files before any cost.
pub(super) fn check(args: &TestReportArgs) -> Outcome<()> {
    args.report
        .iter()
        .try_for_each(|path| form_of(path).map(drop))
}

pub(super) fn earlier(path: Option<&Path>, current: &Path) -> Outcome<Option<Report>> {
    let Some(path) = path else {
        return Ok(None);
    };
    let unreadable = |error: &(dyn std::error::Error + 'static)| {
        Failure::from_error(Code::FileUnreadable, error)
            .context(format!(
                "`{}` is not a report that can be compared",
                path.display()
            ))
            .hint("name a report that `ktx agent test --report FILE.json` has written")
    };
    let bytes = fs::read(current.join(path)).map_err(|error| unreadable(&error))?;
    let report = serde_json::from_slice(&bytes).map_err(|error| unreadable(&error))?;
    Ok(Some(report))
}

impl Finished {
    pub(super) fn new(report: Report, earlier: Option<&Report>) -> Self {
        Self {
            changes: earlier.map(|before| changes(before, &report)),
            report,
        }
    }

    fn json(&self) -> Outcome<Value> {
        let not_json = |error| Failure::from_error(Code::Internal, &error);
        let mut value = serde_json::to_value(&self.report).map_err(not_json)?;
        if let (Value::Object(fields), Some(changes)) = (&mut value, &self.changes) {
            let changes = serde_json::to_value(changes).map_err(not_json)?;
            fields.insert("changes".to_owned(), changes);
        }
        Ok(value)
    }

    fn text(&self, form: TestReportFormat) -> Outcome<String> {
        Ok(match form {
            TestReportFormat::Json => format!("{:#}\n", self.json()?),
            TestReportFormat::Md => markdown(&self.report),
            TestReportFormat::Junit => junit(&self.report),
            TestReportFormat::Html => html(&self.report),
        })
    }

    pub(super) fn write(
        &self,
        journal: &Path,
        args: &TestReportArgs,
        current: &Path,
    ) -> Outcome<()> {
        write(
            &journal.with_file_name("report.json"),
            &self.text(TestReportFormat::Json)?,
        )?;
        for path in &args.report {
            write(&current.join(path), &self.text(form_of(path)?)?)?;
        }
        Ok(())
    }

    pub(super) fn print(&self, args: &TestReportArgs, printer: &Printer) -> Outcome<()> {
        match args.format {
            Some(TestReportFormat::Json) => return printer.json(&self.json()?),
            Some(form) => return printer.out(&self.text(form)?),
            None if printer.mode == Mode::Json => return printer.json(&self.json()?),
            None => {}
        }
        if self.report.arms.len() == 1 {
            self.print_cases(printer)?;
        } else {
            self.print_arms(printer)?;
        }
        self.print_changes(printer)?;
        if let [arm] = self.report.arms.as_slice() {
            printer.note(&summary(arm));
        }
        self.print_steps(printer);
        Ok(())
    }

    fn print_cases(&self, printer: &Printer) -> Outcome<()> {
        let mut table = Table::new(["case", "verdict", "passes", "reason", "session"]);
        for case in &self.report.cases {
            let session = case.sessions.first().map(String::as_str);
            table.row([
                &case.name,
                &verdict(case),
                &format!("{}/{}", case.passes, case.repeats),
                case.reason.as_deref().unwrap_or_default(),
                session.unwrap_or_default(),
            ]);
        }
        self.without_sessions(table).print(printer)
    }

    fn print_arms(&self, printer: &Printer) -> Outcome<()> {
        Table::of_grid(side_by_side(&self.report)).print(printer)?;
        let base = self.report.arms.first().map(|arm| arm.name.as_str());
        let is_troubled = |case: &&CaseReport| {
            let in_base = Some(case.arm.as_str()) == base;
            in_base && matches!(case.verdict, Verdict::Failed | Verdict::Error)
        };
        let mut reasons = Table::new(["case", "reason", "session"]);
        let mut failed_cases = self.report.cases.iter().filter(is_troubled).peekable();
        let has_reasons = failed_cases.peek().is_some();
        for case in failed_cases {
            let session = case.sessions.first().map(String::as_str);
            let reason = case.reason.as_deref().unwrap_or_default();
            reasons.row([&case.name, reason, session.unwrap_or_default()]);
        }
        if has_reasons {
            printer.line("")?;
            self.without_sessions(reasons).print(printer)?;
        }
        printer.line("")?;
        Table::of_grid(arm_grid(&self.report)).print(printer)?;
        printer.line("")?;
        for (names, verdict) in verdicts(&self.report) {
            printer.line(&format!("{names}: {verdict}"))?;
        }
        Ok(())
    }

    fn without_sessions(&self, table: Table) -> Table {
        let mut cases = self.report.cases.iter();
        if cases.all(|case| case.sessions.is_empty()) {
            table.without("session")
        } else {
            table
        }
    }

    fn print_changes(&self, printer: &Printer) -> Outcome<()> {
        let Some(changes) = &self.changes else {
            return Ok(());
        };
        let lists = [
            ("better", &changes.better),
            ("worse", &changes.worse),
            ("new", &changes.new),
            ("gone", &changes.gone),
        ];
        for (what, keys) in lists {
            if !keys.is_empty() {
                let names: Vec<String> = keys.iter().map(|key| self.shown(key)).collect();
                printer.line(&format!("{what}: {}", names.join(", ")))?;
            }
        }
        if lists.iter().all(|(_, keys)| keys.is_empty()) {
            printer.line("nothing has changed since the earlier report")?;
        }
        Ok(())
    }

    fn shown(&self, key: &CaseKey) -> String {
        if self.report.arms.len() == 1 {
            key.name.clone()
        } else {
            format!("{} ({})", key.name, key.arm)
        }
    }

    fn print_steps(&self, printer: &Printer) {
        let failed = self
            .report
            .cases
            .iter()
            .find(|case| case.verdict == Verdict::Failed && !case.sessions.is_empty());
        if let Some(session) = failed.and_then(|case| case.sessions.first()) {
            printer.note(&format!(
                "to see what went wrong: ktx agent sessions show {session}"
            ));
        }
    }

    /// Only the first arm is tested; the others are for comparison.
    pub(super) fn exit(&self, args: &TestReportArgs) -> Exit {
        let Some(base) = self.report.arms.first() else {
            return Exit::Success;
        };
        let regressed = self
            .changes
            .as_ref()
            .is_some_and(|changes| !changes.regressions.is_empty());
        // An unjudged case has no score for the threshold.
        let below = args.fail_under.map(|least| match base.accuracy {
            Some(accuracy) => accuracy < least - f64::EPSILON,
            None => base.errors == 0,
        });
        let failed = match (below, args.no_regression) {
            (None, false) => base.failed > 0,
            (below, no_regression) => below == Some(true) || (no_regression && regressed),
        };
        if failed {
            Exit::Check
        } else if self.report.totals.errors > 0 {
            Exit::Partial
        } else {
            Exit::Success
        }
    }
}

fn write(path: &Path, text: &str) -> Outcome<()> {
    let written = write_atomically(path, text.as_bytes());
    written
        .map(drop)
        .map_err(|error| Failure::from_error(Code::File, &error))
}

fn verdict(case: &CaseReport) -> String {
    let class = case.class.map(|class| format!(": {}", class.as_str()));
    let flaky = if case.flaky { ", flaky" } else { "" };
    format!(
        "{}{}{flaky}",
        case.verdict.as_str(),
        class.unwrap_or_default()
    )
}

fn summary(arm: &ArmReport) -> String {
    let mut parts = vec![format!("{} passed", arm.passed)];
    let counts = [
        (arm.failed, "failed"),
        (arm.errors, "could not be judged"),
        (arm.skipped, "skipped"),
    ];
    let counts = counts.iter().filter(|(count, _)| *count > 0);
    parts.extend(counts.map(|(count, what)| format!("{count} {what}")));
    let mut line = format!(
        "{}: {}: {}",
        arm.name,
        counted(arm.cases, "case"),
        parts.join(", ")
    );
    if let (Some(accuracy), Some(interval)) = (arm.accuracy, arm.ci) {
        let [mean, low, high] = [accuracy, interval.low, interval.high].map(|it| it * 100.0);
        line = format!("{line}; accuracy {mean:.0} % (95 %: {low:.0}…{high:.0})");
    }
    if arm.tokens > 0 {
        let cost = arm.cost_usd.map(|cost| format!("${cost:.4}"));
        let cost = cost.unwrap_or_else(|| "an unknown price".to_owned());
        line = format!("{line}; {} tokens for {cost}", arm.tokens);
    }
    line
}

pub(super) struct Preview<'a> {
    pub(super) case: &'a ktx_agent_eval::Case,
    pub(super) tags: &'a [String],
}

pub(super) fn print_preview(
    cases: &[Preview<'_>],
    arms: &[String],
    printer: &Printer,
) -> Outcome<()> {
    if printer.mode == Mode::Json {
        let items: Vec<Value> = cases
            .iter()
            .map(|preview| {
                json!({
                    "name": preview.case.name,
                    "tags": preview.tags,
                    "turns": preview.case.turns.len(),
                    "repeats": preview.case.repeats,
                    "arms": arms,
                    "skip": preview.case.skip,
                })
            })
            .collect();
        return printer.json(&crate::lists::envelope(&items, "agent test"));
    }
    let mut table = Table::new(["case", "tags", "turns", "repeats", "skipped"]);
    let mut attempts = 0;
    for Preview { case, tags } in cases {
        if case.skip.is_none() {
            attempts += usize::try_from(case.repeats).unwrap_or(usize::MAX) * arms.len();
        }
        table.row([
            &case.name,
            &tags.join(", "),
            &case.turns.len().to_string(),
            &case.repeats.to_string(),
            case.skip.as_deref().unwrap_or_default(),
        ]);
    }
    table.print(printer)?;
    printer.note(&format!(
        "{} in {} would be asked {}: {}",
        counted(cases.len(), "case"),
        counted(arms.len(), "arm"),
        counted(attempts, "time"),
        arms.join(", ")
    ));
    Ok(())
}
