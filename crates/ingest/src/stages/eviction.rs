//! Eviction: removes, without a model, results from removed files that only one unit owned. Shared
//! results are left to the reconciliation.

use std::collections::{BTreeMap, BTreeSet};

use ktx_memory::{Changeset, Quota, is_sound};
use ktx_project_store::ProjectPath;

use crate::artifacts::Artifacts;
use crate::error::{Failed, IngestError};
use crate::journal::UnitResult;
use crate::policy::measures;
use crate::proposals::EVICTION;
use crate::report::LoopReport;
use crate::run_store::Committed;
use crate::source_run::{SourceRun, Workspace};
use crate::unit::LoopResult;

pub(crate) fn evict(run: &SourceRun<'_>) -> Result<Option<LoopReport>, IngestError> {
    let mut gone = run.journal().pending()?.gone;
    if let Some(scope) = &run.source.scope {
        gone.retain(|gone| gone.unit.starts_with(scope));
    }
    let units = run.journal().all::<UnitResult>()?;
    // A unit that still has files goes to a model, which decides what remains true.
    gone.retain(|gone| units.iter().all(|unit| unit.key != gone.unit));
    // A source without any known file is more likely to be the wrong folder: a model has to look at
    // it.
    if gone.is_empty() || units.is_empty() {
        return Ok(None);
    }
    let mut owned = Owned::default();
    for unit in &units {
        owned.pages.extend(unit.record.0.wiki.iter().cloned());
        owned.sources.extend(unit.record.0.sl.iter().cloned());
    }
    let workspace = run.workspace()?;
    let files = files_of_things(&workspace);
    let mut evicted = Evicted::default();
    for unit in &gone {
        evicted.add(unit, &owned, &files);
    }
    if evicted.files.is_empty() {
        close(run, &gone, &owned)?;
        return Ok(None);
    }
    let result = match remove(run, &workspace, &evicted) {
        Ok(None) => return Ok(None),
        Ok(Some(committed)) => {
            close(run, &gone, &owned)?;
            Ok(committed)
        }
        Err(error) => Err(Failed::from(error)),
    };
    Ok(Some(LoopReport { steps: 0, result }))
}

#[derive(Default)]
struct Owned {
    pages: BTreeSet<String>,
    sources: BTreeSet<String>,
}

impl Owned {
    fn shared(&self, unit: &Artifacts) -> Artifacts {
        let kept = |names: &[String], owned: &BTreeSet<String>| {
            let names = names.iter().filter(|name| owned.contains(*name));
            names.cloned().collect()
        };
        Artifacts {
            unit: unit.unit.clone(),
            wiki: kept(&unit.wiki, &self.pages),
            sl: kept(&unit.sl, &self.sources),
            files: unit.files.clone(),
        }
    }
}

struct FilesOfThings {
    pages: BTreeMap<String, ProjectPath>,
    sources: BTreeMap<String, ProjectPath>,
}

fn files_of_things(workspace: &Workspace) -> FilesOfThings {
    let mut found = FilesOfThings {
        pages: BTreeMap::new(),
        sources: BTreeMap::new(),
    };
    for (path, bytes) in workspace.files.iter() {
        let text = path.as_str();
        let page = text.strip_prefix("wiki/global/");
        if let Some(key) = page.and_then(|page| page.strip_suffix(".md")) {
            found.pages.insert(key.to_owned(), path.clone());
        } else if text.starts_with("semantic-layer/")
            && !["/_schema/", "/_imports/", "/_review/"]
                .iter()
                .any(|part| text.contains(part))
        {
            found.sources.insert(measures(text, bytes).0, path.clone());
        }
    }
    found
}

#[derive(Default)]
struct Evicted {
    pages: BTreeSet<String>,
    sources: BTreeSet<String>,
    files: BTreeMap<String, ProjectPath>,
}

impl Evicted {
    fn add(&mut self, unit: &Artifacts, owned: &Owned, files: &FilesOfThings) {
        for page in unit.wiki.iter().filter(|page| !owned.pages.contains(*page)) {
            if let Some(path) = files.pages.get(page) {
                self.pages.insert(page.clone());
                self.files.insert(format!("wiki {page}"), path.clone());
            }
        }
        for source in unit.sl.iter().filter(|name| !owned.sources.contains(*name)) {
            if let Some(path) = files.sources.get(source) {
                self.sources.insert(source.clone());
                self.files.insert(format!("source {source}"), path.clone());
            }
        }
    }
}

/// Removals of files that a person has changed become a proposal. `None` if remaining pages link to
/// removed ones: a model has to change them.
fn remove(
    run: &SourceRun<'_>,
    workspace: &Workspace,
    evicted: &Evicted,
) -> Result<Option<Committed>, IngestError> {
    let sources = evicted.sources.iter().filter_map(|name| {
        let path = evicted.files.get(&format!("source {name}"))?;
        Some((name.clone(), path.clone()))
    });
    let made = Changeset::removals(
        evicted.pages.iter().cloned().collect(),
        sources.collect(),
        evicted.files.values().cloned().collect(),
    );
    if !is_sound(
        &workspace.files,
        &made.changes,
        run.source.warehouse.as_ref(),
    ) {
        return Ok(None);
    }
    let worked = LoopResult {
        made,
        truncated: false,
        quota_reached: false,
        used: Quota::default(),
    };
    let reviewed = run.review(EVICTION, workspace, &worked)?;
    let title = format!("ktx ingest: {} without what is gone", run.source.id);
    let store = run.run_store;
    let committed = store.commit_reviewed(&workspace.base, reviewed, None, &title, &[])?;
    Ok(Some(committed))
}

fn close(run: &SourceRun<'_>, gone: &[Artifacts], owned: &Owned) -> Result<(), IngestError> {
    for unit in gone {
        let shared = owned.shared(unit);
        if shared.wiki.is_empty() && shared.sl.is_empty() {
            run.journal().forget_gone(&unit.unit)?;
        } else {
            run.journal().keep_gone(&shared)?;
        }
    }
    Ok(())
}
