//! Eviction of pages and sources whose files are gone. What only these files have said goes without a
//! model; everything that others share gets a verdict.

mod ask;
mod carry_out;
mod decide;
mod owners;
mod parts;

use std::collections::{BTreeMap, BTreeSet};

use ask::{BATCH, ask};
use carry_out::{EvictionWork, Whole, answered, as_landed, without_model};
use decide::{Decisions, Scene, Undecided};
use owners::{FilesOfThings, Owners};

use crate::artifacts::Artifacts;
use crate::error::{Failed, IngestError};
use crate::events::{Event, Task};
use crate::journal::UnitResult;
use crate::ownership::marks;
use crate::report::{EvictionReport, LoopReport};
use crate::run_store::Committed;
use crate::source_run::{SourceRun, Workspace};
use crate::verdict::{Thing, ThingKind, ThingVerdict, folder};

pub(crate) async fn evict(run: &SourceRun<'_>) -> Result<Option<EvictionReport>, IngestError> {
    let gone = vanished(run)?;
    if gone.is_empty() {
        return Ok(None);
    }
    let mut report = EvictionReport::default();
    let workspace = run.workspace()?;
    let scene = scene(run, &workspace, &gone)?;
    let decisions = scene.decide()?;
    let (work, left) = certain(&scene, &decisions);
    if let Some(result) = land(&scene, work, &mut report).transpose() {
        report.decided = Some(LoopReport {
            steps: 0,
            result: result.map_err(Failed::from),
        });
    }
    let is_stopped = report.loops().any(|done| done.result.is_err());
    report.open = decisions.blocked;
    let undecided = decisions.undecided;
    report
        .open
        .extend(undecided.iter().map(|about| about.thing.clone()));
    if !undecided.is_empty() && !is_stopped {
        ask_all(run, &gone, undecided, &mut report).await?;
    }
    if !is_stopped {
        close(run, &gone, &left, &report.open)?;
    }
    Ok((!report.is_empty()).then_some(report))
}

/// Returns the units without any file.
fn vanished(run: &SourceRun<'_>) -> Result<Vec<Artifacts>, IngestError> {
    let mut gone = run.journal().pending()?.gone;
    if let Some(scope) = &run.source.scope {
        gone.retain(|gone| gone.unit.starts_with(scope));
    }
    let units = run.journal().all::<UnitResult>()?;
    // A unit that still has files goes to a model, which decides what remains true.
    gone.retain(|gone| units.iter().all(|unit| unit.key != gone.unit));
    // A source without any known file is more likely to be the wrong folder: a model has to look at
    // it.
    if units.is_empty() {
        gone.clear();
    }
    Ok(gone)
}

fn scene<'a>(
    run: &'a SourceRun<'a>,
    workspace: &'a Workspace,
    gone: &'a [Artifacts],
) -> Result<Scene<'a>, IngestError> {
    Ok(Scene {
        run,
        workspace,
        gone,
        owners: Owners::of(run, workspace)?,
        files: FilesOfThings::of(workspace),
        known: known(run, workspace)?,
    })
}

fn known(
    run: &SourceRun<'_>,
    workspace: &Workspace,
) -> Result<BTreeMap<Thing, ThingVerdict>, IngestError> {
    let committed = run
        .run_store
        .committed(&workspace.base, &folder(&run.source.id)?)?;
    let records = committed
        .values()
        .filter_map(|bytes| ThingVerdict::parse(bytes));
    Ok(records.map(|record| (record.thing(), record)).collect())
}

/// `ThingNames` of pages and sources.
type ThingNames = BTreeSet<(ThingKind, String)>;

/// Returns the work that needs no model, and the names that the reconciliation takes because others
/// refer to it.
fn certain(scene: &Scene<'_>, decisions: &Decisions) -> (EvictionWork, ThingNames) {
    let all = without_model(scene, decisions, Whole::Included);
    if all.is_sound(scene) {
        return (all, ThingNames::new());
    }
    let pages = decisions.pages.keys();
    let sources = decisions.sources.keys();
    let mut left: ThingNames = pages.map(|key| (ThingKind::Page, key.clone())).collect();
    left.extend(sources.map(|name| (ThingKind::Measure, name.clone())));
    let work = without_model(scene, decisions, Whole::Left);
    if work.is_sound(scene) {
        return (work, left);
    }
    let files = &scene.files.sources;
    let dropped = files
        .iter()
        .filter(|(_, path)| decisions.dropped.contains_key(path));
    left.extend(dropped.map(|(name, _)| (ThingKind::Measure, name.clone())));
    (EvictionWork::default(), left)
}

/// Commits changes together with their verdicts. Files of a person become a proposal.
fn land(
    scene: &Scene<'_>,
    work: EvictionWork,
    report: &mut EvictionReport,
) -> Result<Option<Committed>, IngestError> {
    let (run, workspace) = (scene.run, scene.workspace);
    let mut reviewed = run.review_eviction(workspace, &work.changeset(), &work.cleared)?;
    let marks = marks(&run.source.id, &reviewed.changes.changes);
    let imports = work.imports(scene, &reviewed.changes.changes);
    let verdicts = as_landed(work.verdicts, &reviewed.withheld, scene);
    let is_new = |verdict: &&ThingVerdict| scene.known.get(&verdict.thing()) != Some(*verdict);
    let records = verdicts.iter().filter(is_new);
    let records = records.map(|verdict| verdict.change(&run.source.id));
    let records = records.collect::<Result<Vec<_>, _>>()?;
    reviewed.changes.changes.extend(imports);
    reviewed.changes.changes.extend(records);
    let has_nothing = reviewed.changes.changes.is_empty() && reviewed.withheld.is_empty();
    let committed = if has_nothing {
        None
    } else {
        let title = format!("ktx ingest: {} without what is gone", run.source.id);
        let store = run.run_store;
        Some(store.commit_reviewed(&workspace.base, reviewed, None, &title, &marks)?)
    };
    report.verdicts.extend(verdicts);
    Ok(committed)
}

/// Asks about all, and removes from `report.open` what has a verdict. After a failure, the rest stays
/// open.
async fn ask_all(
    run: &SourceRun<'_>,
    gone: &[Artifacts],
    undecided: Vec<Undecided>,
    report: &mut EvictionReport,
) -> Result<(), IngestError> {
    let workspace = run.workspace()?;
    let scene = scene(run, &workspace, gone)?;
    let mut undecided = undecided;
    if report.decided.is_some() {
        // What has just landed may have moved lines.
        let again = scene.decide()?;
        let is_new = |verdict: &ThingVerdict| {
            let mut known = report.verdicts.iter();
            !known.any(|known| known.thing() == verdict.thing())
        };
        let new: Vec<ThingVerdict> = again
            .verdicts
            .into_iter()
            .map(|(_, verdict)| verdict)
            .filter(is_new)
            .collect();
        report.verdicts.extend(new);
        report.open = again.blocked;
        undecided = again.undecided;
    }
    run.progress.report(Event::Started(Task::Verdicts));
    let mut asked = Vec::new();
    let mut failure = run.require_usable().await.err();
    let mut calls = 0;
    for batch in undecided.chunks(BATCH) {
        let mut answers = if failure.is_some() {
            BTreeMap::new()
        } else {
            calls += 1;
            ask(&scene, batch).await.unwrap_or_else(|error| {
                failure = Some(error);
                BTreeMap::new()
            })
        };
        let batch = batch.iter().cloned().enumerate();
        asked.extend(batch.map(|(index, about)| (about, answers.remove(&index))));
    }
    let (work, left) = answered(&scene, &asked);
    let blocked = |thing: &Thing| !asked.iter().any(|(about, _)| about.thing == *thing);
    report.open.retain(blocked);
    report
        .open
        .extend(left.into_iter().map(|about| about.thing));
    let landed = land(&scene, work, report);
    let result = match (landed, failure) {
        (Err(error), _) | (Ok(_), Some(error)) => Err(Failed::from(error)),
        (Ok(committed), None) => Ok(committed.unwrap_or_else(Committed::nothing)),
    };
    report.asked = Some(LoopReport {
        steps: calls,
        result,
    });
    Ok(())
}

/// Keeps only what has no verdict yet.
fn close(
    run: &SourceRun<'_>,
    gone: &[Artifacts],
    left: &ThingNames,
    open: &[Thing],
) -> Result<(), IngestError> {
    for unit in gone {
        let kept = |kind: ThingKind, names: &[String]| {
            let is_kept = |name: &&String| {
                left.contains(&(kind, (*name).clone())) || is_open(kind, name, open)
            };
            names.iter().filter(is_kept).cloned().collect::<Vec<_>>()
        };
        let rest = Artifacts {
            unit: unit.unit.clone(),
            wiki: kept(ThingKind::Page, &unit.wiki),
            sl: kept(ThingKind::Measure, &unit.sl),
            files: unit.files.clone(),
        };
        if has_things(&rest) {
            run.journal().keep_gone(&rest)?;
        } else {
            run.journal().forget_gone(&unit.unit)?;
        }
    }
    Ok(())
}

/// `kind` is a page or any part of a source.
fn is_open(kind: ThingKind, name: &str, open: &[Thing]) -> bool {
    open.iter().any(|thing| {
        if thing.kind == ThingKind::Page {
            kind == ThingKind::Page && thing.name == name
        } else {
            let source = thing.name.split_once('.').map(|(source, _)| source);
            kind != ThingKind::Page && source == Some(name)
        }
    })
}

/// Returns the units of which the reconciliation decides: others than those that wait for a verdict.
pub(crate) fn for_reconciliation(gone: Vec<Artifacts>, open: &[Thing]) -> Vec<Artifacts> {
    let units = gone.into_iter().map(|unit| Artifacts {
        wiki: not_open(ThingKind::Page, unit.wiki, open),
        sl: not_open(ThingKind::Measure, unit.sl, open),
        ..unit
    });
    units.filter(has_things).collect()
}

/// Returns what waits for a verdict of each unit.
pub(crate) fn waiting_only(gone: Vec<Artifacts>, open: &[Thing]) -> Vec<Artifacts> {
    let waiting = |kind, names: Vec<String>| -> Vec<String> {
        let names = names.into_iter();
        names.filter(|name| is_open(kind, name, open)).collect()
    };
    let units = gone.into_iter().map(|unit| Artifacts {
        wiki: waiting(ThingKind::Page, unit.wiki),
        sl: waiting(ThingKind::Measure, unit.sl),
        ..unit
    });
    units.filter(has_things).collect()
}

fn not_open(kind: ThingKind, mut names: Vec<String>, open: &[Thing]) -> Vec<String> {
    names.retain(|name| !is_open(kind, name, open));
    names
}

const fn has_things(unit: &Artifacts) -> bool {
    !(unit.wiki.is_empty() && unit.sl.is_empty())
}
