//! Output about context sources.

use std::path::Path;

use ktx_diagnostics::Failure;
use ktx_ingest::{
    CurationReport, EvictionReport, FactsReport, Failed, ImportReport, Lane, LoopReport, Origin,
    Reading, SourceReport, UnitReport,
};
use ktx_memory::one_line;
use ktx_vocabulary::ConnectionId;
use serde_json::{Value, json};

use super::Results;
use super::progress::turn_json;
use crate::ingesting::failures::failure;
use crate::ingesting::warnings;
use crate::invocation::OpenProject;
use crate::printer::Printer;
use crate::proposals::{ProposalReport, changed_files};
use crate::report::{Outcome, Report as _};
use crate::tables::Report;

/// The format of KTX 0.12.
pub(in crate::commands::ingest) fn targets(
    ids: &[&ConnectionId],
    project: &OpenProject,
) -> Vec<Value> {
    let target = |id: &&ConnectionId| {
        let connection = project.config.connection(id.as_str());
        json!({
            "connectionId": id.as_str(),
            "driver": connection.map(|found| found.driver.as_str()),
            "operation": "source-ingest",
            "adapter": connection.map(|found| found.driver.as_str()),
            "sourceDir": connection.and_then(|found| found.text(&["source_dir"])),
            "debugCommand": format!("ktx ingest {id} --debug"),
            "steps": ["source-ingest", "memory-update"],
        })
    };
    ids.iter().map(target).collect()
}

/// The format of KTX 0.12 with additional facts.
pub(in crate::commands::ingest) fn items(results: &Results, project: &OpenProject) -> Vec<Value> {
    let item = |(id, result): &(ConnectionId, Outcome<SourceReport>)| {
        let connection = project.config.connection(id.as_str());
        let mut item = json!({
            "connectionId": id.as_str(),
            "driver": connection.map(|found| found.driver.as_str()),
            "steps": steps(id, result, &project.dir),
        });
        if let (Ok(done), Some(item)) = (result, item.as_object_mut()) {
            let dir = &project.dir;
            let units: Vec<Value> = done.units.iter().map(|done| unit(done, dir)).collect();
            item.insert("facts".to_owned(), facts(&done.facts, dir));
            if let Some(imported) = imported(done) {
                item.insert("imports".to_owned(), json!(imported));
            }
            item.insert("units".to_owned(), json!(units));
            if let Some(curated) = &done.curation {
                item.insert("curation".to_owned(), curation(curated, dir));
            }
            let evicted = done.eviction.as_ref().map(|done| eviction(done, dir));
            item.insert("eviction".to_owned(), json!(evicted));
            let reconciled = done.reconciliation.as_ref().map(|done| looped(done, dir));
            item.insert("reconciliation".to_owned(), json!(reconciled));
            let proposals: Vec<ProposalReport> =
                done.proposals.iter().map(ProposalReport::from).collect();
            item.insert("proposals".to_owned(), json!(proposals));
            let turns: Vec<Value> = done.turns.iter().map(turn_json).collect();
            item.insert("events".to_owned(), json!(turns));
            item.insert("warnings".to_owned(), json!(done.warnings));
        }
        item
    };
    results.iter().map(item).collect()
}

fn steps(id: &ConnectionId, result: &Outcome<SourceReport>, dir: &Path) -> Value {
    let step = |operation: &str, failure: Option<Failure>, otherwise: &str| {
        let mut step = json!({ "operation": operation, "status": otherwise });
        if let (Some(failure), Some(step)) = (failure, step.as_object_mut()) {
            step.insert("status".to_owned(), json!("failed"));
            step.insert("detail".to_owned(), json!(failure.message));
            let command = format!("ktx ingest {id} --debug");
            step.insert("debugCommand".to_owned(), json!(command));
        }
        step
    };
    match result {
        Err(failure) => json!([
            step("source-ingest", Some(failure.clone()), ""),
            step("memory-update", None, "not-run"),
        ]),
        Ok(done) => {
            let first = |failed: Option<&Failed>| failed.map(|failed| failure(failed, dir));
            let is_tried = done.units.is_empty() || done.loops().next().is_some();
            json!([
                step("source-ingest", first(done.facts.as_ref().err()), "done"),
                step(
                    "memory-update",
                    first(done.failures_of_reading().next()),
                    if is_tried { "done" } else { "not-run" }
                ),
            ])
        }
    }
}

fn facts(facts: &Result<FactsReport, Failed>, dir: &Path) -> Value {
    match facts {
        Ok(facts) => json!({
            "tables": facts.tables,
            "unknownTables": facts.unknown,
            "commitHash": facts.commit,
            "error": null,
        }),
        Err(failed) => {
            let failure = failure(failed, dir);
            json!({ "error": failure.message, "hints": failure.hints })
        }
    }
}

fn imported(done: &SourceReport) -> Option<&ImportReport> {
    let facts = done.facts.as_ref().ok()?;
    (facts.imports.all() > 0).then_some(&facts.imports)
}

fn unit(unit: &UnitReport, dir: &Path) -> Value {
    let mut value = match &unit.result {
        Some(done) => looped(done, dir),
        None => json!({ "status": "not-run" }),
    };
    if let Some(value) = value.as_object_mut() {
        value.insert("unitKey".to_owned(), json!(unit.key));
        if let Some(label) = &unit.label {
            value.insert("label".to_owned(), json!(label));
        }
        if let Some(judged) = &unit.judgement {
            if judged.verdict.lane == Lane::Skip && unit.result.is_some() {
                value.insert("status".to_owned(), json!("skipped"));
            }
            value.insert("lane".to_owned(), json!(judged.verdict.lane));
            value.insert("reason".to_owned(), json!(judged.verdict.reason));
            value.insert("candidates".to_owned(), json!(judged.candidates));
        }
    }
    value
}

fn curation(curated: &CurationReport, dir: &Path) -> Value {
    let passes = curated.passes.iter();
    let passes: Vec<Value> = passes.map(|pass| looped(pass, dir)).collect();
    json!({
        "passes": passes,
        "decisions": curated.decisions,
        "open": curated.open,
    })
}

/// What needed no model, with the verdicts; `asked` is what a model decided.
fn eviction(evicted: &EvictionReport, dir: &Path) -> Value {
    let first = evicted.loops().next();
    let mut value = first.map_or_else(
        || json!({ "status": "unchanged" }),
        |done| looped(done, dir),
    );
    if let Some(value) = value.as_object_mut() {
        let asked = evicted.asked.as_ref().map(|done| looped(done, dir));
        value.insert("asked".to_owned(), json!(asked));
        value.insert("verdicts".to_owned(), json!(evicted.verdicts));
        let open: Vec<String> = evicted.open.iter().map(ToString::to_string).collect();
        value.insert("open".to_owned(), json!(open));
        if !evicted.open.is_empty() {
            value.insert("status".to_owned(), json!("partial"));
        }
    }
    value
}

fn looped(done: &LoopReport, dir: &Path) -> Value {
    let committed = done.result.as_ref().ok();
    let failed = done.result.as_ref().err();
    let failure = failed.map(|failed| failure(failed, dir));
    let failure = failure.as_ref();
    let written = committed.map(|committed| committed.written.clone());
    json!({
        "status": status(done),
        "steps": done.steps,
        "captured": written.unwrap_or_default(),
        "commitHash": committed.and_then(|committed| committed.commit.as_deref()),
        "error": failure.map(|failure| failure.message.as_str()),
        "errorCode": failure.map(|failure| failure.code.as_str()),
        "hints": failure.map(|failure| failure.hints.as_slice()).unwrap_or_default(),
        "warnings": committed.map(warnings).unwrap_or_default(),
        "keptBack": committed.map(|committed| committed.withheld.as_slice()).unwrap_or_default(),
    })
}

fn status(done: &LoopReport) -> &'static str {
    match &done.result {
        Ok(committed) if committed.truncation.is_some() => "partial",
        Ok(committed) if !committed.withheld.is_empty() => "kept-back",
        Ok(committed) if committed.origin == Origin::EarlierRun => "unchanged",
        Ok(_) => "done",
        Err(_) => "failed",
    }
}

pub(in crate::commands::ingest) fn print(
    results: &Results,
    project: &OpenProject,
    printer: &Printer,
) -> Outcome<()> {
    let mut table = Report::new(["Source", "Unit", "Status", "Pages", "Sources", "Commit"]);
    for (id, result) in results {
        match result {
            Ok(done) => rows(id, done, &mut table),
            Err(_) => table.row([id.as_str(), "", "failed", "", "", ""]),
        }
    }
    table.print(printer)?;
    for (id, result) in results {
        match result {
            Ok(done) => notes(id, done, &project.dir, printer),
            Err(failure) => printer.notes(failure.to_text().trim_end()),
        }
    }
    Ok(())
}

fn rows(id: &ConnectionId, done: &SourceReport, table: &mut Report) {
    let id = id.as_str();
    if let (Ok(facts), true) = (&done.facts, done.has_facts) {
        let commit = facts.commit.as_deref().unwrap_or("nothing changed");
        let what = match facts.tables {
            1 => "facts of 1 table".to_owned(),
            tables => format!("facts of {tables} tables"),
        };
        table.row([id, &what, "done", "", "", commit]);
    }
    if let Some(imports) = imported(done) {
        let what = match imports.all() {
            1 => "1 definition".to_owned(),
            all => format!("{all} definitions"),
        };
        let status = format!("{} imported", imports.all() - imports.left.len());
        table.row([id, &what, &status, "", "", ""]);
    }
    // `--facts` plans no units.
    let units = done
        .units
        .iter()
        .filter(|_| done.reading != Reading::FactsWanted);
    for unit in units {
        let what = one_line(unit.label.as_deref().unwrap_or(&unit.key));
        match (&unit.result, &unit.judgement) {
            (Some(_), Some(judged)) if judged.verdict.lane == Lane::Skip => {
                table.row([id, &what, "skipped", "", "", ""]);
            }
            (Some(result), Some(judged)) if judged.verdict.lane == Lane::Light => {
                let found = match judged.candidates {
                    1 => "1 candidate".to_owned(),
                    count => format!("{count} candidates"),
                };
                let pages = result.result.as_ref().map(|done| list(&done.written.wiki));
                table.row([id, &what, &found, &pages.unwrap_or_default(), "", ""]);
            }
            (Some(result), _) => row(id, &what, result, table),
            (None, _) => table.row([id, &what, "not-run", "", "", ""]),
        }
    }
    let passes = done.curation.iter().flat_map(|curated| &curated.passes);
    for (index, pass) in passes.enumerate() {
        row(id, &format!("curation, pass {}", index + 1), pass, table);
    }
    if let Some(evicted) = &done.eviction {
        if let Some(result) = &evicted.decided {
            row(id, "files that are gone", result, table);
        }
        if let Some(result) = &evicted.asked {
            row(id, "shared with files that are gone", result, table);
        }
    }
    if let Some(result) = &done.reconciliation {
        row(id, "reconciliation", result, table);
    }
}

fn row(id: &str, what: &str, done: &LoopReport, table: &mut Report) {
    let status = status(done);
    match &done.result {
        Ok(committed) => table.row([
            id,
            what,
            status,
            &list(&committed.written.wiki),
            &list(&committed.written.sl),
            committed.commit.as_deref().unwrap_or("nothing to keep"),
        ]),
        Err(_) => table.row([id, what, status, "", "", ""]),
    }
}

fn list(names: &[String]) -> String {
    names.join(", ")
}

fn notes(id: &ConnectionId, done: &SourceReport, dir: &Path, printer: &Printer) {
    let print_failure = |failed: &Failed| {
        printer.notes(failure(failed, dir).to_text().trim_end());
    };
    for warning in &done.warnings {
        printer.note(&format!("warning: {id}: {warning}"));
    }
    match &done.facts {
        Ok(facts) if !facts.unknown.is_empty() => printer.note(&format!(
            "warning: {id}: no scan has found {}; if they exist, run `ktx scan`",
            facts.unknown.join(", ")
        )),
        Ok(_) => {}
        Err(failed) => print_failure(failed),
    }
    if let Some(imports) = imported(done) {
        print_imports(id, imports, printer);
    }
    for done in done.loops() {
        match &done.result {
            Ok(committed) => {
                for warning in warnings(committed) {
                    printer.note(&format!("warning: {id}: {warning}"));
                }
            }
            Err(failed) => print_failure(failed),
        }
    }
    if let Some(failed) = &done.stopped {
        print_failure(failed);
    }
    if done.reading == Reading::FactsOnly && !done.units.is_empty() {
        printer.note(&format!(
            "{id}: its units were not read, which needs a model (`llm.provider.backend` is `none`)"
        ));
    }
    for verdict in done.eviction.iter().flat_map(|done| &done.verdicts) {
        printer.note(&format!(
            "{id}: {}: {}: {}",
            one_line(&verdict.thing().to_string()),
            verdict.verdict.name(),
            one_line(&verdict.reason)
        ));
    }
    for thing in done.eviction.iter().flat_map(|done| &done.open) {
        printer.note(&format!(
            "{id}: {} has no verdict yet, and stays until it has one",
            one_line(&thing.to_string())
        ));
    }
    for proposal in &done.proposals {
        printer.note(&format!(
            "{id}: {} waits for you: {}; look with `ktx review show {}`",
            one_line(&proposal.work),
            changed_files(proposal),
            proposal.id
        ));
    }
    if let Some(curated) = done.curation.as_ref().filter(|curated| curated.open > 0) {
        printer.note(&format!(
            "{id}: {} candidates are not decided yet",
            curated.open
        ));
    }
    if done.is_unfinished() {
        printer.note("hint: run the same command again; ktx keeps finished work and does not ask for it again");
    }
}

const MOST_NAMED: usize = 10;

fn print_imports(id: &ConnectionId, imports: &ImportReport, printer: &Printer) {
    for one in imports.partly.iter().take(MOST_NAMED) {
        printer.note(&format!(
            "{id}: {}: {} `{}` was imported in part: {}",
            one.spot,
            one.kind.name(),
            one.name,
            one.lost.join("; ")
        ));
    }
    for one in imports.left.iter().take(MOST_NAMED) {
        printer.note(&format!(
            "{id}: {}: {} `{}` was not imported: {}",
            one.spot,
            one.kind.name(),
            one.name,
            one.reason
        ));
    }
    let named = imports.partly.len().min(MOST_NAMED) + imports.left.len().min(MOST_NAMED);
    let more = imports.partly.len() + imports.left.len() - named;
    if more > 0 {
        printer.note(&format!(
            "{id}: {more} more definitions lose something or were not imported; `ktx ingest {id} --facts --json` \
             lists them"
        ));
    }
}
