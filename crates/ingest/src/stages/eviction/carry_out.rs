//! Turns verdicts into changes of files.

use std::collections::{BTreeMap, BTreeSet};

use ktx_memory::{Changeset, is_sound, one_line};
use ktx_project_store::{Change, ProjectPath};
use ktx_wiki::PagePath;

use super::ask::{AskedVerdict, ThingAnswer};
use super::decide::{Decisions, Scene, Undecided, apply, imports, lines_of};
use super::parts::{EditedFile, PartPlace, parts, without};
use crate::fingerprint::digest;
use crate::verdict::{DecidedBy, EvictionVerdict, ThingKind, ThingVerdict};

/// Changes of files, with the verdicts that they carry out.
#[derive(Debug, Default)]
pub(super) struct EvictionWork {
    pub(super) changes: BTreeMap<ProjectPath, Change>,
    /// As (name, path).
    sources: BTreeMap<String, ProjectPath>,
    pages: BTreeMap<String, ProjectPath>,
    /// Files that lose only what came from the files that are gone.
    pub(super) cleared: BTreeSet<ProjectPath>,
    pub(super) verdicts: Vec<(ProjectPath, ThingVerdict)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Whole {
    Included,
    /// Others refer to what would be removed.
    Left,
}

impl EvictionWork {
    pub(super) fn changeset(&self) -> Changeset {
        Changeset::of_files(
            self.pages.keys().cloned().collect(),
            self.sources
                .iter()
                .map(|(name, path)| (name.clone(), path.clone()))
                .collect(),
            self.changes.values().cloned().collect(),
        )
    }

    /// Changes of import files, which define what the files no longer do.
    pub(super) fn imports(&self, scene: &Scene<'_>, landing: &[Change]) -> Vec<Change> {
        let mut files = scene.workspace.files.as_ref().clone();
        apply(&mut files, landing);
        let is_of_a_source = |path: &ProjectPath| self.sources.values().any(|own| own == path);
        if landing.iter().any(|change| is_of_a_source(&change.path)) {
            imports(scene.run, &files)
        } else {
            Vec::new()
        }
    }

    pub(super) fn is_sound(&self, scene: &Scene<'_>) -> bool {
        let changes: Vec<Change> = self.changes.values().cloned().collect();
        let with_imports = [self.imports(scene, &changes), changes].concat();
        let warehouse = scene.run.source.warehouse.as_ref();
        is_sound(&scene.workspace.files, &with_imports, warehouse)
    }

    fn put(&mut self, path: &ProjectPath, text: Option<String>) {
        let change = match text {
            Some(text) => Change::write(path.clone(), text),
            None => Change::delete(path.clone()),
        };
        self.changes.insert(path.clone(), change);
    }

    fn name(&mut self, scene: &Scene<'_>, path: &ProjectPath) {
        let find = |known: &BTreeMap<String, ProjectPath>| {
            let mut known = known.iter();
            let found = known.find(|(_, other)| *other == path);
            found.map(|(name, _)| name.clone())
        };
        if let Some(key) = find(&scene.files.pages) {
            self.pages.insert(key, path.clone());
        } else if let Some(name) = find(&scene.files.sources) {
            self.sources.insert(name, path.clone());
        }
    }
}

/// What the ledger decides.
pub(super) fn without_model(
    scene: &Scene<'_>,
    decisions: &Decisions,
    whole: Whole,
) -> EvictionWork {
    let mut work = EvictionWork {
        verdicts: decisions.verdicts.clone(),
        ..EvictionWork::default()
    };
    let removed = decisions.pages.values().chain(decisions.sources.values());
    for path in removed.filter(|_| whole == Whole::Included) {
        work.put(path, None);
        work.name(scene, path);
        work.cleared.insert(path.clone());
    }
    for (path, dropped) in &decisions.dropped {
        if let Some(left) = without(&scene.text(path), dropped) {
            work.put(path, left.into_text());
            work.name(scene, path);
            work.cleared.insert(path.clone());
        }
    }
    work.cleared
        .retain(|path| !decisions.numbers.contains(path));
    work
}

/// What a model decides; the things that it left or whose verdict cannot be carried out.
pub(super) fn answered(
    scene: &Scene<'_>,
    asked: &[(Undecided, Option<ThingAnswer>)],
) -> (EvictionWork, Vec<Undecided>) {
    let together = work_of(scene, asked);
    let is_open = |(_, answer): &&(Undecided, Option<ThingAnswer>)| answer.is_none();
    let open = || asked.iter().filter(is_open).map(|(about, _)| about.clone());
    if let Some(work) = together.filter(|work| work.is_sound(scene)) {
        return (work, open().collect());
    }
    // One wrong answer must not drop the others.
    let mut left: Vec<Undecided> = open().collect();
    let mut valid: Vec<(Undecided, Option<ThingAnswer>)> = Vec::new();
    for one in asked.iter().filter(|one| !is_open(one)) {
        let more: Vec<_> = valid.iter().chain([one]).cloned().collect();
        if work_of(scene, &more).is_some_and(|work| work.is_sound(scene)) {
            valid = more;
        } else {
            left.push(one.0.clone());
        }
    }
    (work_of(scene, &valid).unwrap_or_default(), left)
}

/// Returns `None` if a file cannot be edited so.
fn work_of(scene: &Scene<'_>, asked: &[(Undecided, Option<ThingAnswer>)]) -> Option<EvictionWork> {
    let mut work = EvictionWork::default();
    let mut by_file: BTreeMap<&ProjectPath, Vec<(&Undecided, &ThingAnswer)>> = BTreeMap::new();
    for (about, answer) in asked {
        if let Some(answer) = answer {
            by_file
                .entry(&about.path)
                .or_default()
                .push((about, answer));
        }
    }
    for (path, answers) in by_file {
        let before = scene.text(path);
        let after = edited(path, &before, &answers)?.into_text();
        let rewritten =
            |(_, answer): &&(&Undecided, &ThingAnswer)| answer.verdict == AskedVerdict::Rewrite;
        if after.as_deref() != Some(before.as_str()) {
            if !answers.iter().any(|answer| rewritten(&answer)) {
                work.cleared.insert(path.clone());
            }
            work.put(path, after.clone());
            work.name(scene, path);
        }
        for (about, answer) in answers {
            let verdict = match answer.verdict {
                AskedVerdict::Keep => EvictionVerdict::Keep,
                AskedVerdict::Rewrite => EvictionVerdict::Rewrite,
                AskedVerdict::Remove => EvictionVerdict::Remove,
            };
            let verdict = about.verdict(verdict, &one_line(&answer.reason), DecidedBy::Model);
            let text = text_after(about, after.as_deref());
            let text = text.map(|text| digest(text.as_bytes())).unwrap_or_default();
            work.verdicts
                .push((path.clone(), ThingVerdict { text, ..verdict }));
        }
    }
    Some(work)
}

/// Returns `None` if the verdicts cannot be carried out.
fn edited(
    path: &ProjectPath,
    text: &str,
    answers: &[(&Undecided, &ThingAnswer)],
) -> Option<EditedFile> {
    let mut dropped: BTreeSet<PartPlace> = BTreeSet::new();
    let mut lines: BTreeMap<usize, Option<String>> = BTreeMap::new();
    for (about, answer) in answers {
        match (answer.verdict, about.place) {
            (AskedVerdict::Keep, _) => {}
            (AskedVerdict::Remove, None) => return Some(EditedFile::Removed),
            (AskedVerdict::Remove, Some(place)) => {
                dropped.insert(place);
            }
            (AskedVerdict::Rewrite, _) => {
                for changed in &answer.lines {
                    let text = changed.text.clone();
                    let text = text.filter(|text| !text.trim().is_empty());
                    lines.insert(changed.line, text);
                }
            }
        }
    }
    let mut after = with_lines(text, &lines);
    if !dropped.is_empty() {
        match without(&after, &dropped)? {
            EditedFile::Text(left) => after = left,
            EditedFile::Removed => return Some(EditedFile::Removed),
        }
    }
    if let Ok(place) = PagePath::parse(path.as_str()) {
        let page = ktx_wiki::parse(place, &after);
        let is_whole = page.diagnostics.is_empty() && !page.page.body().trim().is_empty();
        return is_whole.then_some(EditedFile::Text(after));
    }
    let names_of = |text: &str| -> Vec<String> {
        let parts = parts("", text);
        parts.into_iter().map(|part| part.thing.name).collect()
    };
    let mut names = names_of(text);
    let gone: Vec<String> = answers
        .iter()
        .filter(|(_, answer)| answer.verdict == AskedVerdict::Remove)
        .filter_map(|(about, _)| Some(about.thing.name.split_once('.')?.1.to_owned()))
        .collect();
    names.retain(|name| !gone.iter().any(|gone| format!(".{gone}") == *name));
    // A line must not take another part with it.
    (names_of(&after) == names).then_some(EditedFile::Text(after))
}

fn with_lines(text: &str, lines: &BTreeMap<usize, Option<String>>) -> String {
    let mut after = String::new();
    for (index, line) in text.split_inclusive('\n').enumerate() {
        match lines.get(&(index + 1)) {
            None => after.push_str(line),
            Some(None) => {}
            Some(Some(text)) => {
                after.push_str(text);
                after.push('\n');
            }
        }
    }
    after
}

fn text_after(about: &Undecided, after: Option<&str>) -> Option<String> {
    let after = after?;
    if about.thing.kind == ThingKind::Page {
        return Some(lines_of(after, &(1..after.lines().count() + 1)));
    }
    let (source, _) = about.thing.name.split_once('.')?;
    let parts = parts(source, after);
    let part = parts.into_iter().find(|part| part.thing == about.thing)?;
    Some(lines_of(after, &part.lines))
}

/// Marks what waits for a person.
pub(super) fn as_landed(
    verdicts: Vec<(ProjectPath, ThingVerdict)>,
    withheld: &[String],
    scene: &Scene<'_>,
) -> Vec<ThingVerdict> {
    let verdicts = verdicts.into_iter().map(|(path, verdict)| {
        let waits = withheld.iter().any(|held| held == path.as_str());
        if !waits || verdict.verdict == EvictionVerdict::Keep {
            return verdict;
        }
        let text = scene.text(&path);
        let thing = verdict.thing();
        let source = thing.name.split_once('.').map_or("", |(source, _)| source);
        let parts = parts(source, &text);
        let part = parts.into_iter().find(|part| part.thing == thing);
        let lines = part.map_or(1..text.lines().count() + 1, |part| part.lines);
        ThingVerdict {
            verdict: EvictionVerdict::Propose,
            text: digest(lines_of(&text, &lines).as_bytes()),
            ..verdict
        }
    });
    verdicts.collect()
}
