//! Reads the ledger of a source when its run begins, and updates it when the run ends.

use std::collections::{BTreeMap, BTreeSet};

use ktx_context_sources::Unit;
use ktx_project_store::{Change, PublishBase};

use super::units::{items, work_item};
use crate::error::IngestError;
use crate::journal::{DisappearedUnit, DocumentLane, FoundCandidate, ItemResult, Row, UnitResult};
use crate::ledger::{Entry, UnitOutcome, folder, removal};
use crate::source_run::SourceRun;
use crate::work_item::WorkItem;

struct Committed {
    base: PublishBase,
    entries: BTreeMap<String, Entry>,
    warnings: Vec<String>,
}

/// Returns warnings: units of unreadable entries are read again.
pub(crate) fn take_over(run: &SourceRun<'_>) -> Result<Vec<String>, IngestError> {
    let committed = committed(run)?;
    let journal = run.journal();
    let rows: BTreeMap<String, Row<UnitResult>> = journal
        .all::<UnitResult>()?
        .into_iter()
        .map(|row| (row.key.clone(), row))
        .collect();
    let items = items(run);
    let is_current = |input: &str, unit: &str| {
        let item = items.get(unit);
        item.is_some_and(|item| item.inputs().any(|known| known == input))
    };
    for entry in committed.entries.values() {
        let row = rows.get(&entry.unit);
        let is_known = row.is_some_and(|row| is_current(&row.input, &entry.unit));
        let is_newer = entry.outcome.is_final() && is_current(&entry.input, &entry.unit);
        if row.is_none() || (is_newer && !is_known) {
            take(run, entry)?;
        }
    }
    if !committed.entries.is_empty() {
        // Another clone has already handled these missing units.
        for unit in rows.keys() {
            let is_listed = committed.entries.contains_key(unit) || items.contains_key(unit);
            if is_own(run, unit) && !is_listed {
                journal.remove::<UnitResult>(unit)?;
            }
        }
    }
    let gone = committed.entries.values();
    let gone = gone.filter(|entry| entry.outcome.is_final() && !items.contains_key(&entry.unit));
    let mut gone: BTreeMap<&str, &Entry> =
        gone.map(|entry| (entry.content.as_str(), entry)).collect();
    for item in items.values() {
        if rows.contains_key(&item.key) || committed.entries.contains_key(&item.key) {
            continue;
        }
        if let Some(moved) = gone.remove(item.content.as_str()) {
            take(
                run,
                &Entry {
                    unit: item.key.clone(),
                    input: item.input.clone(),
                    files: item.files.clone(),
                    ..moved.clone()
                },
            )?;
            journal.remove::<UnitResult>(&moved.unit)?;
            journal.remove::<DocumentLane>(&moved.unit)?;
        }
    }
    Ok(committed.warnings)
}

/// Returns a line about each. Their units are read again, because the proposed changes are lost.
pub(crate) fn drop_expired(run: &SourceRun<'_>) -> Result<Vec<String>, IngestError> {
    let mut expired = run.run_store.expired(&run.source.id)?;
    expired.retain(|proposal| !proposal.is_of_a_unit() || is_own(run, &proposal.work));
    let units = expired.iter().filter(|proposal| proposal.is_of_a_unit());
    ask_again(run, &units.map(|proposal| proposal.work.as_str()).collect())?;
    // Last, so that a killed run does all of it again.
    let lines = expired.iter();
    lines
        .map(|proposal| run.run_store.drop_expired(proposal))
        .collect()
}

fn ask_again(run: &SourceRun<'_>, units: &BTreeSet<&str>) -> Result<(), IngestError> {
    if units.is_empty() {
        return Ok(());
    }
    let Committed { base, entries, .. } = committed(run)?;
    let mut changes: Vec<Change> = Vec::new();
    for unit in units {
        if let Some(entry) = entries.get(*unit)
            && entry.outcome == UnitOutcome::Withheld
        {
            let open = Entry {
                outcome: UnitOutcome::Partial,
                ..entry.clone()
            };
            changes.push(open.change(&run.source.id)?);
        }
    }
    if !changes.is_empty() {
        let message = format!("ktx ingest: ledger of {}\n", run.source.id);
        run.run_store.publish(&base, &changes, &message)?;
    }
    let journal = run.journal();
    for unit in units {
        if let Some(mut row) = journal.get::<UnitResult>(unit)? {
            row.input.clear();
            row.record.0.is_withheld = false;
            journal.put(&row)?;
        }
    }
    Ok(())
}

fn take(run: &SourceRun<'_>, entry: &Entry) -> Result<(), IngestError> {
    let journal = run.journal();
    let input = if entry.outcome.is_final() {
        entry.input.clone()
    } else {
        String::new()
    };
    if let Some(verdict) = &entry.triage {
        journal.put(&Row {
            key: entry.unit.clone(),
            input: input.clone(),
            record: DocumentLane(verdict.clone()),
        })?;
    }
    journal.put(&Row {
        key: entry.unit.clone(),
        input,
        record: UnitResult(ItemResult {
            wiki: entry.pages.iter().cloned().collect(),
            sl: entry.sources.iter().cloned().collect(),
            files: entry.files.clone(),
            commit: run.run_store.marked_commit(&entry.input)?,
            failures: entry.failures,
            is_withheld: entry.outcome == UnitOutcome::Withheld,
            ..ItemResult::default()
        }),
    })?;
    Ok(())
}

pub(crate) fn bring_up_to_date(run: &SourceRun<'_>) -> Result<(), IngestError> {
    let Committed { base, entries, .. } = committed(run)?;
    if base.commit.is_none() {
        return Ok(());
    }
    let source = &run.source.id;
    let mut changes: Vec<Change> = Vec::new();
    let mut units: BTreeSet<&str> = BTreeSet::new();
    for unit in &run.source.units {
        units.insert(&unit.key);
        let Some(found) = learned(run, unit)? else {
            continue;
        };
        if entries.get(&unit.key) != Some(&found) {
            changes.push(found.change(source)?);
        }
    }
    let journal = run.journal();
    for (unit, entry) in &entries {
        let is_there = units.contains(unit.as_str()) || journal.get::<UnitResult>(unit)?.is_some();
        let is_pending = journal.get::<DisappearedUnit>(unit)?.is_some();
        if !is_there && !is_pending {
            changes.push(removal(source, &entry.unit)?);
        }
    }
    if changes.is_empty() {
        return Ok(());
    }
    let message = format!("ktx ingest: ledger of {source}\n");
    run.run_store.publish(&base, &changes, &message)?;
    Ok(())
}

/// Returns `None` if the model was not asked about the present files.
fn learned(run: &SourceRun<'_>, unit: &Unit) -> Result<Option<Entry>, IngestError> {
    let item = work_item(run, unit);
    let journal = run.journal();
    let triage = journal.get::<DocumentLane>(&unit.key)?;
    let triage = triage.filter(|row| row.input == item.input);
    let row = journal.get::<UnitResult>(&unit.key)?;
    if let Some(triage) = triage {
        let verdict = triage.record.0;
        if !verdict.lane.is_full() {
            return Ok(sorted_out(run, &item)?.map(|found| Entry {
                triage: Some(verdict),
                ..found
            }));
        }
    }
    let Some(row) = row else {
        return Ok(None);
    };
    let result = row.record.0;
    if result.failures > 0 {
        return Ok(Some(Entry {
            outcome: UnitOutcome::Failed,
            failures: result.failures,
            ..Entry::of(&item, &result, None)
        }));
    }
    let is_about_it = item.inputs().any(|input| *input == row.input);
    Ok(is_about_it.then(|| Entry::of(&item, &result, None)))
}

/// Returns `None` while a candidate is undecided.
fn sorted_out(run: &SourceRun<'_>, item: &WorkItem) -> Result<Option<Entry>, IngestError> {
    let mut pages: BTreeSet<String> = BTreeSet::new();
    for row in run.journal().all::<FoundCandidate>()? {
        if row.unit() != item.key {
            continue;
        }
        match row.record.decision {
            None => return Ok(None),
            Some(decision) => pages.extend(decision.page),
        }
    }
    let outcome = if pages.is_empty() {
        UnitOutcome::Skipped
    } else {
        UnitOutcome::Written
    };
    let result = ItemResult {
        wiki: pages,
        ..ItemResult::default()
    };
    Ok(Some(Entry {
        outcome,
        ..Entry::of(item, &result, None)
    }))
}

fn is_own(run: &SourceRun<'_>, unit: &str) -> bool {
    unit.starts_with(run.source.scope.as_deref().unwrap_or_default())
}

fn committed(run: &SourceRun<'_>) -> Result<Committed, IngestError> {
    let base = run.run_store.begin()?;
    let mut entries = BTreeMap::new();
    let mut warnings = Vec::new();
    for (path, bytes) in run.run_store.committed(&base, &folder(&run.source.id)?)? {
        match Entry::parse(&bytes) {
            Ok(entry) if is_own(run, &entry.unit) => {
                entries.insert(entry.unit.clone(), entry);
            }
            Ok(_) => {}
            Err(error) => warnings.push(format!(
                "{path}:{}:{}: this is not a ledger entry ({error}); ktx reads its unit again",
                error.line(),
                error.column()
            )),
        }
    }
    Ok(Committed {
        base,
        entries,
        warnings,
    })
}
