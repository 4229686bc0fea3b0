//! `ktx runs retry`.

use std::collections::{BTreeMap, BTreeSet};

use ktx_diagnostics::{Code, Exit, Failure, counted};
use ktx_project_store::{Run, RunStatus};
use serde_json::{Value, json};

use super::{Rest, find};
use crate::cli::{IngestArgs, OutputArgs, RunsRetryArgs, ScanArgs};
use crate::invocation::{Invocation, OpenProject, load};
use crate::printer::{Mode, Printer};
use crate::report::{Outcome, Report as _};
use crate::run_records::{OpenNotes, RetryScope, RunPlan, SourceScope, UnitScope};

pub(crate) enum Retry {
    Ingest(IngestArgs, RetryScope),
    Scan(ScanArgs, RetryScope),
}

/// Parts that are done or need a decision.
const ENDED: [&str; 4] = ["done", "unchanged", "skipped", "kept-back"];

#[derive(Default)]
struct Remainder {
    scope: RetryScope,
    retries: Vec<String>,
    leaves: Vec<String>,
    done: usize,
    waiting: usize,
}

pub(super) fn plan(
    args: &RunsRetryArgs,
    output: &OutputArgs,
    invocation: &Invocation,
    printer: &Printer,
) -> Outcome<Rest> {
    // The retried command opens the project again and waits for its lock.
    let dir = invocation.project_dir()?;
    let project = load(&dir, &invocation.environment)?;
    let run = find(args.id.as_deref(), &project)?;
    require_ended(&run, &project)?;
    let plan = RunPlan::of_detail(&run.detail);
    let kept = OpenNotes::of(&run.id, &project)?;
    let mut rest = Remainder::of(&run, &plan, kept.as_ref(), &project);
    rest.scope.run = run.id.to_string();
    rest.scope.report = json!({
        "run": run.id.as_str(),
        "retries": rest.retries,
        "leaves": rest.left(),
    });
    rest.print(&run, printer)?;
    if rest.retries.is_empty() {
        return Ok(Rest::Ended(Exit::Success));
    }
    let scope = rest.scope;
    let retry = if run.command == "ktx scan" {
        let args = ScanArgs {
            structural: plan.is_structural,
            wait: args.wait,
            output: output.clone(),
            ..ScanArgs::default()
        };
        Retry::Scan(args, scope)
    } else {
        Retry::Ingest(ingest_args(args, output, plan, kept), scope)
    };
    Ok(Rest::Retry(Box::new(retry)))
}

fn ingest_args(
    args: &RunsRetryArgs,
    output: &OutputArgs,
    plan: RunPlan,
    kept: Option<OpenNotes>,
) -> IngestArgs {
    let mut again = IngestArgs {
        facts: plan.is_facts_only,
        note_connection: plan.connection_id,
        spending: args.spending,
        wait: args.wait,
        output: output.clone(),
        ..IngestArgs::default()
    };
    again.history.query_history = plan.reads_query_history;
    if let Some(kept) = kept {
        again.note_connection = kept.connection_id;
        again.user = kept.user;
        again.user_id = kept.author;
    }
    again
}

/// A killed run is still `running` in the journal; a free lock shows that it ended.
fn require_ended(run: &Run, project: &OpenProject) -> Outcome<()> {
    if run.status != RunStatus::Running {
        return Ok(());
    }
    let is_locked = project.store.is_locked();
    let is_locked = is_locked.map_err(|error| Failure::from_error(Code::Locked, &error))?;
    if !is_locked {
        return Ok(());
    }
    Err(
        Failure::new(Code::ProjectLocked, format!("run {} is not over", run.id))
            .hint("wait until it has ended, or end it with `ktx runs cancel`"),
    )
}

impl Remainder {
    fn of(run: &Run, plan: &RunPlan, kept: Option<&OpenNotes>, project: &OpenProject) -> Self {
        let mut rest = Self::default();
        let parts = |name: &str| -> BTreeMap<String, Value> {
            let parts = run.detail.get(name).and_then(Value::as_array);
            let parts = parts.into_iter().flatten();
            parts
                .map(|part| (text(part, "connectionId").to_owned(), part.clone()))
                .collect()
        };
        let (warehouses, sources) = (parts("warehouses"), parts("sources"));
        let is_known = |id: &str| project.config.connection(id).is_some();
        for id in &plan.warehouses {
            match warehouses.get(id) {
                Some(part) if ENDED.contains(&text(part, "status")) => rest.done += 1,
                _ if !is_known(id) => rest.leaves.push(gone(id)),
                _ => {
                    rest.retries.push(format!("warehouse {id}"));
                    rest.scope.warehouses.insert(id.clone());
                }
            }
        }
        for id in names(&plan.sources, &sources) {
            match sources.get(&id) {
                _ if !is_known(&id) => rest.leaves.push(gone(&id)),
                Some(part) if part.get("units").is_some() => rest.add_source(&id, part),
                _ => {
                    rest.retries.push(format!("context source {id}"));
                    rest.scope.sources.push(SourceScope {
                        connection: id,
                        units: UnitScope::All,
                    });
                }
            }
        }
        rest.add_notes(plan, kept);
        rest
    }

    fn add_source(&mut self, id: &str, part: &Value) {
        let list = |name: &str| {
            let items = part.get(name).and_then(Value::as_array);
            items.into_iter().flatten()
        };
        let mut open = BTreeSet::new();
        for unit in list("units") {
            match text(unit, "status") {
                "kept-back" => self.waiting += 1,
                status if ENDED.contains(&status) => self.done += 1,
                _ => {
                    open.insert(text(unit, "unitKey").to_owned());
                }
            }
        }
        let mut work: Vec<String> = open.iter().map(|unit| format!("unit {unit}")).collect();
        let is_open = |part: &Value| part.is_object() && !ENDED.contains(&text(part, "status"));
        for name in ["eviction", "reconciliation"] {
            if part.get(name).is_some_and(is_open) {
                work.push(name.to_owned());
            }
        }
        let curation = part.get("curation");
        let undecided = curation.and_then(|found| found.get("open")?.as_u64());
        if undecided.is_some_and(|open| open > 0) {
            work.push("curation".to_owned());
        }
        let has_failed = |step: &Value| text(step, "status") == "failed";
        if work.is_empty() && list("steps").any(has_failed) {
            work.push("facts".to_owned());
        }
        if work.is_empty() {
            return;
        }
        self.retries
            .extend(work.into_iter().map(|work| format!("{work} of {id}")));
        self.scope.sources.push(SourceScope {
            connection: id.to_owned(),
            units: UnitScope::Named(open),
        });
    }

    fn add_notes(&mut self, plan: &RunPlan, kept: Option<&OpenNotes>) {
        let notes = kept.map_or(&[][..], |kept| &kept.notes);
        for note in notes {
            self.retries.push(format!("note {}", note.label));
            self.scope.notes.push(note.clone());
        }
        self.done += plan.notes.len().saturating_sub(notes.len());
    }

    fn left(&self) -> Vec<String> {
        let mut left = self.leaves.clone();
        if self.waiting > 0 {
            left.push(format!(
                "{} (`ktx review`)",
                counted(self.waiting, "kept-back unit")
            ));
        }
        if self.done > 0 {
            left.push(counted(self.done, "finished part"));
        }
        left
    }

    fn print(&self, run: &Run, printer: &Printer) -> Outcome<()> {
        if printer.mode == Mode::Json {
            if self.retries.is_empty() {
                let report = &self.scope.report;
                printer.json(&json!({ "kind": "runs.retry", "data": report }))?;
            }
            return Ok(());
        }
        for one in &self.retries {
            printer.note(&format!("retries: {one}"));
        }
        for one in self.left() {
            printer.note(&format!("leaves: {one}"));
        }
        if self.retries.is_empty() {
            printer.note(&format!(
                "nothing to retry: no part of run {} failed or was stopped",
                run.id
            ));
        }
        Ok(())
    }
}

/// Includes sources missing from older plans.
fn names(planned: &[String], parts: &BTreeMap<String, Value>) -> Vec<String> {
    let others = parts.keys().filter(|id| !planned.contains(id));
    planned.iter().chain(others).cloned().collect()
}

fn gone(id: &str) -> String {
    format!("connection {id}, which is not in `ktx.yaml` any more")
}

fn text<'a>(part: &'a Value, key: &str) -> &'a str {
    part.get(key).and_then(Value::as_str).unwrap_or_default()
}
