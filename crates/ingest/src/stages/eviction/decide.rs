//! Decides without a model where the ledger and the history of a file suffice.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use ktx_project_store::{Change, Content, ProjectPath};
use ktx_wiki::PagePath;

use super::owners::{FilesOfThings, LineWriter, Owner, Owners, UnitNames, line_writers};
use super::parts::{EditedFile, Formula, PartPlace, SourcePart, Twin, parts, twins, without};
use crate::artifacts::Artifacts;
use crate::error::IngestError;
use crate::fingerprint::digest;
use crate::imports::{ImportTarget, import};
use crate::source_run::{SourceRun, Workspace};
use crate::verdict::{DecidedBy, EvictionVerdict, Thing, ThingVerdict};

pub(super) type Files = BTreeMap<ProjectPath, Vec<u8>>;

/// A thing about which only a model can decide.
#[derive(Debug, Clone)]
pub(super) struct Undecided {
    pub(super) thing: Thing,
    pub(super) path: ProjectPath,
    pub(super) place: Option<PartPlace>,
    /// Numbers of lines, from 1; the end is excluded.
    pub(super) lines: Range<usize>,
    /// The lines that may come from the files that are gone.
    pub(super) suspects: BTreeSet<usize>,
    pub(super) owners: Vec<Owner>,
    pub(super) gone: Vec<String>,
}

impl Undecided {
    pub(super) fn verdict(
        &self,
        verdict: EvictionVerdict,
        reason: &str,
        decided_by: DecidedBy,
    ) -> ThingVerdict {
        ThingVerdict {
            kind: self.thing.kind,
            name: self.thing.name.clone(),
            verdict,
            reason: reason.to_owned(),
            decided_by,
            gone: self.gone.clone(),
            text: String::new(),
        }
    }
}

#[derive(Debug, Default)]
pub(super) struct Decisions {
    /// Pages and sources that only units that are gone have written.
    pub(super) pages: BTreeMap<String, ProjectPath>,
    pub(super) sources: BTreeMap<String, ProjectPath>,
    /// The parts of shared sources that only they have written.
    pub(super) dropped: BTreeMap<ProjectPath, BTreeSet<PartPlace>>,
    /// Files whose measures would compute another number.
    pub(super) numbers: BTreeSet<ProjectPath>,
    pub(super) verdicts: Vec<(ProjectPath, ThingVerdict)>,
    pub(super) undecided: Vec<Undecided>,
    /// Things whose files have uncommitted changes.
    pub(super) blocked: Vec<Thing>,
}

pub(super) struct Scene<'a> {
    pub(super) run: &'a SourceRun<'a>,
    pub(super) workspace: &'a Workspace,
    pub(super) gone: &'a [Artifacts],
    pub(super) owners: Owners,
    pub(super) files: FilesOfThings,
    pub(super) known: BTreeMap<Thing, ThingVerdict>,
}

impl Scene<'_> {
    pub(super) fn decide(&self) -> Result<Decisions, IngestError> {
        let mut decisions = Decisions::default();
        let pages: BTreeSet<&String> = self.gone.iter().flat_map(|unit| &unit.wiki).collect();
        for key in pages {
            if let Some(path) = self.files.pages.get(key) {
                self.page(key, path, &mut decisions)?;
            }
        }
        let sources: BTreeSet<&String> = self.gone.iter().flat_map(|unit| &unit.sl).collect();
        for name in sources {
            if let Some(path) = self.files.sources.get(name) {
                self.source(name, path, &mut decisions)?;
            }
        }
        Ok(decisions)
    }

    pub(super) fn text(&self, path: &ProjectPath) -> String {
        let bytes = self.workspace.files.get(path);
        String::from_utf8_lossy(bytes.map_or(&[], Vec::as_slice)).into_owned()
    }

    /// The files of the units that have written a thing.
    fn gone_files(&self, wrote: impl Fn(&Artifacts) -> bool) -> Vec<String> {
        let units = self.gone.iter().filter(|unit| wrote(unit));
        let files: BTreeSet<&String> = units.flat_map(|unit| &unit.files).collect();
        files.into_iter().cloned().collect()
    }

    fn page(
        &self,
        key: &String,
        path: &ProjectPath,
        decisions: &mut Decisions,
    ) -> Result<(), IngestError> {
        let owners = self.owners.of_page(key);
        let gone = self.gone_files(|unit| unit.wiki.contains(key));
        let text = self.text(path);
        let undecided = Undecided {
            thing: Thing::page(key),
            path: path.clone(),
            place: None,
            lines: 1..text.lines().count() + 1,
            suspects: BTreeSet::new(),
            owners: owners.to_vec(),
            gone,
        };
        if !owners.is_empty() {
            return self.shared_page(undecided, &text, decisions);
        }
        decisions.pages.insert(key.clone(), path.clone());
        let units = self.gone.iter().filter(|unit| unit.wiki.contains(key));
        if units.count() > 1 {
            let reason = "all of its units are gone";
            decisions.say(&undecided, EvictionVerdict::Remove, reason);
        }
        Ok(())
    }

    fn shared_page(
        &self,
        page: Undecided,
        text: &str,
        decisions: &mut Decisions,
    ) -> Result<(), IngestError> {
        let names = UnitNames {
            gone: self.gone,
            owners: &self.owners,
        };
        let Some(writers) = line_writers(self.run, &page.path, text, names)? else {
            decisions.blocked.push(page.thing);
            return Ok(());
        };
        let first = body_line(&page.path, text);
        let suspects = suspects(text, &writers, 1..writers.len() + 1);
        let in_body: Vec<usize> = suspects
            .iter()
            .copied()
            .filter(|line| *line >= first)
            .collect();
        let said = |line: &usize| self.who_says(text, *line, &page.owners);
        let sayers: Option<BTreeSet<String>> = in_body.iter().map(said).collect();
        match sayers {
            _ if in_body.is_empty() => {
                let reason = "no line of it comes from the files that are gone";
                decisions.say(&page, EvictionVerdict::Keep, reason);
            }
            Some(files) => {
                let files: Vec<String> = files.into_iter().collect();
                let reason = format!("{} still says it", files.join(", "));
                decisions.say(&page, EvictionVerdict::Keep, &reason);
            }
            None => self.ask(Undecided { suspects, ..page }, decisions),
        }
        Ok(())
    }

    /// Finds the file of another owner that has the words of a line.
    fn who_says(&self, text: &str, line: usize, owners: &[Owner]) -> Option<String> {
        let words = plain(text.lines().nth(line.checked_sub(1)?)?);
        let own = owners
            .iter()
            .filter(|owner| owner.source == self.run.source.id);
        let mut files = own.flat_map(|owner| &owner.files);
        let says = |path: &&String| {
            let said = self.run.source.snapshot.files.get(*path);
            said.is_some_and(|said| format!(" {} ", plain(said)).contains(&format!(" {words} ")))
        };
        files.find(says).cloned()
    }

    /// Leaves a thing to the model, unless the model has decided about the same text before.
    fn ask(&self, undecided: Undecided, decisions: &mut Decisions) {
        let known = self.known.get(&undecided.thing).filter(|known| {
            known.gone == undecided.gone
                && known.verdict != EvictionVerdict::Remove
                && known.text == digest(self.part_text(&undecided).as_bytes())
        });
        match known {
            Some(known) => decisions
                .verdicts
                .push((undecided.path.clone(), known.clone())),
            None => decisions.undecided.push(undecided),
        }
    }

    pub(super) fn part_text(&self, undecided: &Undecided) -> String {
        lines_of(&self.text(&undecided.path), &undecided.lines)
    }

    fn source(
        &self,
        name: &String,
        path: &ProjectPath,
        decisions: &mut Decisions,
    ) -> Result<(), IngestError> {
        let owners = self.owners.of_source(name);
        let text = self.text(path);
        let gone = self.gone_files(|unit| unit.sl.contains(name));
        let undecided = |part: &SourcePart, suspects| Undecided {
            thing: part.thing.clone(),
            path: path.clone(),
            place: Some(part.place),
            lines: part.lines.clone(),
            suspects,
            owners: owners.to_vec(),
            gone: gone.clone(),
        };
        let parts = parts(name, &text);
        let mut theirs: Vec<&SourcePart> = Vec::new();
        if owners.is_empty() {
            decisions.sources.insert(name.clone(), path.clone());
            theirs.extend(&parts);
        } else {
            let names = UnitNames {
                gone: self.gone,
                owners: &self.owners,
            };
            let Some(writers) = line_writers(self.run, path, &text, names)? else {
                let things = parts.iter().map(|part| part.thing.clone());
                decisions.blocked.extend(things);
                return Ok(());
            };
            for part in &parts {
                let suspects = suspects(&text, &writers, part.lines.clone());
                let of_part = writers.get(part.lines.start - 1..part.lines.end - 1);
                let is_theirs = |writer: &LineWriter| *writer == LineWriter::Gone;
                if suspects.is_empty() {
                    continue;
                }
                let is_alone = of_part.is_some_and(|of_part| of_part.iter().all(is_theirs));
                if is_alone && self.can_go(path, &text, part) {
                    decisions.drop_part(path, part);
                    theirs.push(part);
                } else {
                    self.ask(undecided(part, suspects), decisions);
                }
            }
        }
        let shared = twins(
            path,
            text.as_bytes(),
            &self.imports_without(path, &text, &theirs),
        );
        for part in theirs {
            if let Some(twin) = shared.get(&part.thing) {
                decisions.import_decides(&undecided(part, BTreeSet::new()), twin);
            }
        }
        Ok(())
    }

    fn can_go(&self, path: &ProjectPath, text: &str, part: &SourcePart) -> bool {
        let Some(left) = without(text, &BTreeSet::from([part.place])) else {
            return false;
        };
        let change = match left {
            EditedFile::Text(left) => Change::write(path.clone(), left),
            EditedFile::Removed => Change::delete(path.clone()),
        };
        let warehouse = self.run.source.warehouse.as_ref();
        ktx_memory::is_sound(&self.workspace.files, &[change], warehouse)
    }

    /// The imports as they would be without these parts.
    fn imports_without(&self, path: &ProjectPath, text: &str, parts: &[&SourcePart]) -> Files {
        let places = parts.iter().map(|part| part.place).collect();
        let mut files = self.workspace.files.as_ref().clone();
        match without(text, &places) {
            Some(EditedFile::Text(left)) => {
                files.insert(path.clone(), left.into_bytes());
            }
            Some(EditedFile::Removed) => {
                files.remove(path);
            }
            None => {}
        }
        let imported = imports(self.run, &files);
        apply(&mut files, &imported);
        files.retain(|path, _| path.as_str().contains("/_imports/"));
        files
    }
}

impl Decisions {
    fn say(&mut self, about: &Undecided, verdict: EvictionVerdict, reason: &str) {
        let said = about.verdict(verdict, reason, DecidedBy::Ledger);
        self.verdicts.push((about.path.clone(), said));
    }

    fn drop_part(&mut self, path: &ProjectPath, part: &SourcePart) {
        let dropped = self.dropped.entry(path.clone()).or_default();
        dropped.insert(part.place);
    }

    fn import_decides(&mut self, about: &Undecided, twin: &Twin) {
        match twin.formula {
            Formula::Same => {
                let reason = format!("{} still defines it", twin.path);
                self.say(about, EvictionVerdict::Keep, &reason);
            }
            Formula::Other => {
                self.numbers.insert(about.path.clone());
                let reason = format!("{} defines another number", twin.path);
                self.say(about, EvictionVerdict::Propose, &reason);
            }
        }
    }
}

/// What the source defines, as changes of the import files beside these files.
pub(super) fn imports(run: &SourceRun<'_>, files: &Files) -> Vec<Change> {
    let source = run.source;
    let Some((warehouse, dialect)) = source.warehouse.as_ref().filter(|_| source.has_facts) else {
        return Vec::new();
    };
    let target = ImportTarget {
        warehouse,
        dialect: *dialect,
        files,
    };
    let coverage = crate::imports::Coverage::of(&source.facts);
    import(&source.definitions, &source.id, target, coverage).0
}

pub(super) fn apply(files: &mut Files, changes: &[Change]) {
    for change in changes {
        match &change.content {
            Content::Write(bytes) => {
                files.insert(change.path.clone(), bytes.clone());
            }
            Content::Delete => {
                files.remove(&change.path);
            }
        }
    }
}

pub(super) fn lines_of(text: &str, lines: &Range<usize>) -> String {
    let all = text.lines().skip(lines.start - 1);
    let lines: Vec<&str> = all.take(lines.len()).collect();
    lines.join("\n")
}

/// The lines that say something and may come from files that are gone.
fn suspects(text: &str, writers: &[LineWriter], range: Range<usize>) -> BTreeSet<usize> {
    let lines = text.lines().zip(writers).enumerate();
    let numbered = lines.map(|(index, (line, writer))| (index + 1, line, writer));
    let suspects = numbered.filter(|(number, line, writer)| {
        range.contains(number) && writer.is_suspect() && !plain(line).is_empty()
    });
    suspects.map(|(number, _, _)| number).collect()
}

/// The number of the first line after the front matter.
fn body_line(path: &ProjectPath, text: &str) -> usize {
    let Ok(place) = PagePath::parse(path.as_str()) else {
        return 1;
    };
    let page = ktx_wiki::parse(place, text).page;
    let head = text.len() - page.body().len();
    text.get(..head).unwrap_or_default().matches('\n').count() + 1
}

fn plain(text: &str) -> String {
    let words = text.split(|letter: char| !letter.is_alphanumeric());
    let words: Vec<String> = words
        .filter(|word| !word.is_empty())
        .map(str::to_lowercase)
        .collect();
    words.join(" ")
}
