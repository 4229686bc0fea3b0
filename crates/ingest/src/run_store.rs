//! Stores the results of work items in git, one commit each, and in the journal, so that later runs
//! do not ask again.

mod review;

use std::cell::{OnceCell, RefCell};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Arc;

use jiff::Timestamp;
use ktx_memory::{Changeset, Written};
use ktx_project_store::{
    Change, History, ProjectPath, ProposedCommit, PublishBase, PublishRequest, PublishResult,
    Publisher, SkippedFile, StateDatabase, StateError, Store,
};
use ktx_vocabulary::ConnectionId;

use crate::committed_files::{self, CommitIndex, CommittedFiles};
use crate::error::IngestError;
use crate::journal::{ItemResult, Journal, NoteResult, Row, UnitResult};
use crate::ledger::Entry;
use crate::ownership::marks;
use crate::work_item::{Truncation, WorkItem, WorkKind};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    ThisRun,
    /// An earlier run, here or in the repository that this one was cloned from.
    EarlierRun,
}

#[derive(Debug, Clone)]
pub struct Committed {
    pub written: Written,
    pub commit: Option<String>,
    pub origin: Origin,
    pub truncation: Option<Truncation>,
    /// Files whose version on the disk was left unchanged.
    pub skipped: Vec<SkippedFile>,
    pub withheld: Vec<String>,
}

impl Committed {
    pub(crate) fn nothing() -> Self {
        Self {
            origin: Origin::ThisRun,
            ..Self::earlier(Written::default(), None)
        }
    }

    pub(crate) const fn earlier(written: Written, commit: Option<String>) -> Self {
        Self {
            written,
            commit,
            origin: Origin::EarlierRun,
            truncation: None,
            skipped: Vec::new(),
            withheld: Vec::new(),
        }
    }
}

pub(crate) struct ReviewedChanges {
    pub(crate) changes: Changeset,
    pub(crate) withheld: Vec<String>,
}

#[derive(Debug)]
pub struct RunStore {
    store: Store,
    publisher: Publisher,
    state: StateDatabase,
    now: Timestamp,
    history: OnceCell<History>,
    earlier: OnceCell<Vec<ProposedCommit>>,
    files: RefCell<Option<CommittedFiles>>,
    commits: RefCell<Option<CommitIndex>>,
}

pub(crate) type BaseFiles = Arc<BTreeMap<ProjectPath, Vec<u8>>>;

impl RunStore {
    pub fn open(store: &Store, now: Timestamp) -> Result<Self, IngestError> {
        Ok(Self {
            publisher: store.publisher()?,
            state: store.state()?,
            store: store.clone(),
            now,
            history: OnceCell::new(),
            earlier: OnceCell::new(),
            files: RefCell::default(),
            commits: RefCell::default(),
        })
    }

    pub const fn state(&self) -> &StateDatabase {
        &self.state
    }

    pub(crate) const fn store(&self) -> &Store {
        &self.store
    }

    pub(crate) const fn journal<'a>(&'a self, connection: &'a ConnectionId) -> Journal<'a> {
        Journal {
            state: &self.state,
            connection,
            now: self.now,
        }
    }

    pub(crate) fn begin(&self) -> Result<PublishBase, IngestError> {
        Ok(self.publisher.begin()?)
    }

    /// Returns an earlier position of the branch; `None` if another branch is checked out, or if
    /// git has lost the commit.
    pub(crate) fn base_at(
        &self,
        branch: &str,
        commit: &str,
    ) -> Result<Option<PublishBase>, IngestError> {
        let now = self.begin()?;
        let is_there = now.branch == branch && self.history()?.commit(commit).is_ok();
        Ok(is_there.then(|| PublishBase {
            commit: Some(commit.to_owned()),
            ..now
        }))
    }

    pub(crate) fn files(
        &self,
        base: &PublishBase,
        warehouse: Option<&ConnectionId>,
    ) -> Result<BaseFiles, IngestError> {
        let Some(commit) = &base.commit else {
            return Ok(BaseFiles::default());
        };
        let history = self.history()?;
        let mut read = self.files.borrow_mut();
        match read.as_mut().filter(|files| files.is_about(warehouse)) {
            Some(files) => files.update(history, commit)?,
            None => *read = Some(CommittedFiles::read(history, commit, warehouse)?),
        }
        Ok(read.as_ref().map(CommittedFiles::files).unwrap_or_default())
    }

    pub(crate) fn history(&self) -> Result<&History, IngestError> {
        if let Some(history) = self.history.get() {
            return Ok(history);
        }
        let history = self.store.history()?;
        Ok(self.history.get_or_init(|| history))
    }

    /// Returns whether the file on the disk or in the index differs from the committed one.
    pub(crate) fn is_in_the_making(&self, path: &ProjectPath) -> Result<bool, IngestError> {
        Ok(!self.publisher.uncommitted_paths(&[path])?.is_empty())
    }

    pub(crate) fn committed(
        &self,
        base: &PublishBase,
        folder: &ProjectPath,
    ) -> Result<BTreeMap<ProjectPath, Vec<u8>>, IngestError> {
        match &base.commit {
            None => Ok(BTreeMap::new()),
            Some(commit) => Ok(self.history()?.files(commit, folder)?),
        }
    }

    /// Searches the current branch.
    pub(crate) fn marked_commit(&self, input: &str) -> Result<Option<String>, IngestError> {
        let mark = format!("{}: {input}", WorkKind::Unit.mark());
        let marked = |commits: &CommitIndex| commits.marked(&mark).map(|commit| commit.id.clone());
        self.with_commits(marked)
    }

    pub(crate) fn shards(
        &self,
        base: &PublishBase,
        warehouse: &ConnectionId,
    ) -> Result<BTreeMap<ProjectPath, Vec<u8>>, IngestError> {
        let files = self.files(base, Some(warehouse))?;
        let folder = format!("semantic-layer/{warehouse}/_schema/");
        let shards = files.iter();
        let shards = shards.filter(|(path, _)| path.as_str().starts_with(&folder));
        Ok(shards
            .map(|(path, bytes)| (path.clone(), bytes.clone()))
            .collect())
    }

    /// Commits an item and records its result. A truncated item is asked again.
    pub(crate) fn commit_item(
        &self,
        item: &WorkItem,
        base: &PublishBase,
        changes: &Changeset,
        truncation: Option<Truncation>,
    ) -> Result<Committed, IngestError> {
        let mut lines = item.closing.clone();
        if truncation.is_none() {
            lines.push(item.mark());
        }
        let committed = self.commit(
            base,
            changes,
            truncation,
            &message(&item.title, changes, &lines),
        )?;
        self.remember(item, &committed)?;
        Ok(committed)
    }

    /// Like [`Self::commit_item`], for a unit, with its ledger entry. A clone asks again for the
    /// withheld part.
    pub(crate) fn commit_unit(
        &self,
        item: &WorkItem,
        base: &PublishBase,
        mut reviewed: ReviewedChanges,
        truncation: Option<Truncation>,
    ) -> Result<Committed, IngestError> {
        let mut lines = item.closing.clone();
        lines.extend(marks(&item.owner, &reviewed.changes.changes));
        if truncation.is_none() && reviewed.withheld.is_empty() {
            lines.push(item.mark());
        }
        // Entries of units that wrote nothing are committed together at the end of the run.
        if !reviewed.changes.changes.is_empty() {
            let written = written(&reviewed.changes);
            let result = self.result(item, &written, &reviewed.withheld)?;
            let entry = Entry::of(item, &result, truncation);
            reviewed.changes.changes.push(entry.change(&item.owner)?);
        }
        let committed = self.commit_reviewed(base, reviewed, truncation, &item.title, &lines)?;
        self.remember(item, &committed)?;
        Ok(committed)
    }

    pub(crate) fn commit_reviewed(
        &self,
        base: &PublishBase,
        reviewed: ReviewedChanges,
        truncation: Option<Truncation>,
        title: &str,
        lines: &[String],
    ) -> Result<Committed, IngestError> {
        let ReviewedChanges { changes, withheld } = reviewed;
        let message = message(title, &changes, lines);
        let committed = self.commit(base, &changes, truncation, &message)?;
        Ok(Committed {
            withheld,
            ..committed
        })
    }

    fn commit(
        &self,
        base: &PublishBase,
        changes: &Changeset,
        truncation: Option<Truncation>,
        message: &str,
    ) -> Result<Committed, IngestError> {
        self.store.failpoint("memory:captured");
        let published = self.publish(base, &changes.changes, message)?;
        if let (Some(commit), Some(index)) = (&published.commit, self.commits.borrow_mut().as_mut())
        {
            index.add(commit, message);
        }
        Ok(Committed {
            written: written(changes),
            commit: published.commit,
            origin: Origin::ThisRun,
            truncation,
            skipped: published.skipped,
            withheld: Vec::new(),
        })
    }

    pub(crate) fn publish(
        &self,
        base: &PublishBase,
        changes: &[Change],
        message: &str,
    ) -> Result<PublishResult, IngestError> {
        let request = PublishRequest {
            changes,
            message,
            at: self.now,
        };
        Ok(self.publisher.publish(base, &request)?)
    }

    pub(crate) fn remember(
        &self,
        item: &WorkItem,
        committed: &Committed,
    ) -> Result<(), IngestError> {
        let mut result = self.result(item, &committed.written, &committed.withheld)?;
        result.commit.clone_from(&committed.commit);
        let input = match committed.truncation {
            None => item.input.clone(),
            Some(_) => String::new(),
        };
        self.put(item, input, result)
    }

    pub(crate) fn remember_failure(&self, item: &WorkItem) -> Result<(), IngestError> {
        let mut result = self.row(item)?.map(|row| row.record).unwrap_or_default();
        result.failures = result.failures.saturating_add(1);
        result.files.clone_from(&item.files);
        self.put(item, String::new(), result)
    }

    fn result(
        &self,
        item: &WorkItem,
        written: &Written,
        withheld: &[String],
    ) -> Result<ItemResult, IngestError> {
        let mut result = self.row(item)?.map(|row| row.record).unwrap_or_default();
        let Written { wiki, sl, xrefs } = written.clone();
        result.wiki.extend(wiki);
        result.sl.extend(sl);
        result.xrefs.extend(xrefs);
        result.files.clone_from(&item.files);
        result.is_withheld = !withheld.is_empty();
        result.failures = 0;
        Ok(result)
    }

    fn put(&self, item: &WorkItem, input: String, result: ItemResult) -> Result<(), IngestError> {
        let journal = self.journal(&item.owner);
        let key = item.key.clone();
        match item.kind {
            WorkKind::Unit => journal.put(&Row {
                key,
                input,
                record: UnitResult(result),
            })?,
            WorkKind::Note => journal.put(&Row {
                key,
                input,
                record: NoteResult(result),
            })?,
        }
        Ok(())
    }

    fn row(&self, item: &WorkItem) -> Result<Option<Row<ItemResult>>, StateError> {
        let journal = self.journal(&item.owner);
        Ok(match item.kind {
            WorkKind::Unit => journal.get::<UnitResult>(&item.key)?.map(|row| Row {
                key: row.key,
                input: row.input,
                record: row.record.0,
            }),
            WorkKind::Note => journal.get::<NoteResult>(&item.key)?.map(|row| Row {
                key: row.key,
                input: row.input,
                record: row.record.0,
            }),
        })
    }

    /// Finds the result of an earlier run, here or in the original of this clone, if its commit is
    /// on the branch.
    pub(crate) fn find_committed(&self, item: &WorkItem) -> Result<Option<Committed>, IngestError> {
        let row = self.row(item)?;
        let row = row.filter(|row| item.inputs().any(|input| *input == row.input));
        if let Some(Row { input, record, .. }) = row {
            let is_there = |commits: &CommitIndex| {
                let commit = record.commit.as_ref();
                commit.is_none_or(|commit| commits.contains(commit))
            };
            if self.with_commits(is_there)? {
                let names = record.names();
                let commit = record.commit.clone();
                if input != item.input {
                    // From now on under the current hash, which ignores comments.
                    self.put(item, item.input.clone(), record)?;
                }
                return Ok(Some(Committed::earlier(names, commit)));
            }
        }
        let mark = |commits: &CommitIndex| {
            let mut marks = item.inputs().map(|input| item.mark_of(input));
            marks.find_map(|mark| commits.marked(&mark).cloned())
        };
        let Some(marked) = self.with_commits(mark)? else {
            return Ok(None);
        };
        let committed = Committed::earlier(marked.written, Some(marked.id));
        self.remember(item, &committed)?;
        Ok(Some(committed))
    }

    fn with_commits<T>(&self, look: impl FnOnce(&CommitIndex) -> T) -> Result<T, IngestError> {
        let mut commits = self.commits.borrow_mut();
        let commits = match commits.as_mut() {
            Some(commits) => commits,
            None => commits.insert(self.read_commits()?),
        };
        Ok(look(commits))
    }

    fn read_commits(&self) -> Result<CommitIndex, IngestError> {
        let Some(commit) = self.begin()?.commit else {
            return Ok(CommitIndex::default());
        };
        let commits = self
            .history()?
            .commits_with(&commit, committed_files::NAME)?;
        Ok(CommitIndex::new(commits))
    }
}

fn written(changes: &Changeset) -> Written {
    Written {
        wiki: changes.wiki.clone(),
        sl: changes.sl.clone(),
        xrefs: changes.xrefs.clone(),
    }
}

fn message(title: &str, changes: &Changeset, lines: &[String]) -> String {
    let mut message = format!("{title}\n\n");
    for (what, names) in [("pages", &changes.wiki), ("sources", &changes.sl)] {
        if !names.is_empty() {
            let _ = writeln!(message, "{what}: {}", names.join(", "));
        }
    }
    for line in lines {
        let _ = writeln!(message, "{line}");
    }
    message
}
