//! Stores the results of work items: in the project's git, one commit each, and in the journal, so
//! that they are not requested again.

use std::cell::{OnceCell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::sync::Arc;

use jiff::Timestamp;
use ktx_memory::{Changeset, Written};
use ktx_project_store::{
    Base, Change, History, ProjectPath, PublishRequest, Published, Publisher, Skipped,
    StateDatabase, StateError, Store,
};
use ktx_vocabulary::ConnectionId;

use crate::committed_files::{self, CommitIndex, CommittedFiles};
use crate::error::IngestError;
use crate::journal::{ItemResult, Journal, NoteResult, Row, UnitResult};
use crate::ownership::{Divided, divide, is_own, marks};
use crate::proposals::{self, Author};

/// The kind of a work item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WorkKind {
    /// A unit of a context source.
    Unit,
    /// A note.
    Note,
}

impl WorkKind {
    const fn mark(self) -> &'static str {
        match self {
            Self::Unit => "ktx-unit",
            Self::Note => "ktx-note",
        }
    }
}

/// Work whose result is committed and remembered.
#[derive(Debug, Clone)]
pub(crate) struct WorkItem {
    /// The connection that it is remembered under.
    pub(crate) owner: ConnectionId,
    /// Its name among the items of its kind.
    pub(crate) key: String,
    /// Its kind.
    pub(crate) kind: WorkKind,
    /// The hash of all model input, in hexadecimal digits.
    pub(crate) input: String,
    /// The title of its commit.
    pub(crate) title: String,
    /// Further lines of the commit message.
    pub(crate) closing: Vec<String>,
    /// The source files that it is written from.
    pub(crate) files: Vec<String>,
}

impl WorkItem {
    /// Returns the line of the commit message that identifies the item in a clone.
    pub(crate) fn mark(&self) -> String {
        format!("{}: {}", self.kind.mark(), self.input)
    }
}

/// Why a result may be incomplete.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Truncation {
    /// The model was stopped after this many turns.
    Turns(u32),
    /// The page quota of a run was used up.
    PageQuota,
}

/// The run that produced a result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// This one.
    ThisRun,
    /// An earlier one, here or in the repository that this one was cloned from.
    EarlierRun,
}

/// The committed result of a work item.
#[derive(Debug, Clone)]
pub struct Committed {
    /// The pages and sources.
    pub written: Written,
    /// The commit; `None` if there was nothing to commit.
    pub commit: Option<String>,
    /// The run that produced it.
    pub origin: Origin,
    /// Why it may be incomplete; the next run continues.
    pub truncation: Option<Truncation>,
    /// Files whose version on the disk was left unchanged.
    pub skipped: Vec<Skipped>,
    /// Files whose changes wait for the user's review.
    pub withheld: Vec<String>,
}

impl Committed {
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

/// The changes of a context source, split by who decides about them.
pub(crate) struct Reviewed {
    pub(crate) changes: Changeset,
    /// Files that the user has to decide about first.
    pub(crate) withheld: Vec<String>,
}

/// The git and the local state of a project during a run.
#[derive(Debug)]
pub struct RunStore {
    store: Store,
    publisher: Publisher,
    state: StateDatabase,
    now: Timestamp,
    history: OnceCell<History>,
    /// The files of the newest commit that a loop has begun with.
    files: RefCell<Option<CommittedFiles>>,
    /// The commits of ktx; `None` until they are needed.
    commits: RefCell<Option<CommitIndex>>,
}

/// The committed files that a model's loop begins with.
pub(crate) type BaseFiles = Arc<BTreeMap<ProjectPath, Vec<u8>>>;

impl RunStore {
    /// Opens the git and the local state of a project. Commits carry the time `now`.
    ///
    /// # Errors
    ///
    /// If one of them cannot be used.
    pub fn open(store: &Store, now: Timestamp) -> Result<Self, IngestError> {
        Ok(Self {
            publisher: store.publisher()?,
            state: store.state()?,
            store: store.clone(),
            now,
            history: OnceCell::new(),
            files: RefCell::default(),
            commits: RefCell::default(),
        })
    }

    /// Returns the local state.
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

    /// Records the current position of the branch.
    pub(crate) fn begin(&self) -> Result<Base, IngestError> {
        Ok(self.publisher.begin()?)
    }

    /// Returns the committed pages, and the semantic sources of a warehouse.
    pub(crate) fn files(
        &self,
        base: &Base,
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

    fn history(&self) -> Result<&History, IngestError> {
        if let Some(history) = self.history.get() {
            return Ok(history);
        }
        let history = self.store.history()?;
        Ok(self.history.get_or_init(|| history))
    }

    /// Returns the committed manifest shards of a warehouse.
    pub(crate) fn shards(
        &self,
        base: &Base,
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

    /// Commits and remembers the result of an item. A truncated item is asked again.
    pub(crate) fn commit_item(
        &self,
        item: &WorkItem,
        base: &Base,
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

    /// As [`Self::commit_item`], for a unit of a context source. A clone asks again for the part that
    /// was withheld.
    pub(crate) fn commit_unit(
        &self,
        item: &WorkItem,
        base: &Base,
        reviewed: Reviewed,
        truncation: Option<Truncation>,
    ) -> Result<Committed, IngestError> {
        let mut lines = item.closing.clone();
        lines.extend(marks(&item.owner, &reviewed.changes.changes));
        if truncation.is_none() && reviewed.withheld.is_empty() {
            lines.push(item.mark());
        }
        let committed = self.commit_reviewed(base, reviewed, truncation, &item.title, &lines)?;
        self.remember(item, &committed)?;
        Ok(committed)
    }

    /// Commits the changes under this title, and remembers nothing.
    pub(crate) fn commit_reviewed(
        &self,
        base: &Base,
        reviewed: Reviewed,
        truncation: Option<Truncation>,
        title: &str,
        lines: &[String],
    ) -> Result<Committed, IngestError> {
        let Reviewed { changes, withheld } = reviewed;
        let message = message(title, &changes, lines);
        let committed = self.commit(base, &changes, truncation, &message)?;
        Ok(Committed {
            withheld,
            ..committed
        })
    }

    fn commit(
        &self,
        base: &Base,
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
            written: Written {
                wiki: changes.wiki.clone(),
                sl: changes.sl.clone(),
                xrefs: changes.xrefs.clone(),
            },
            commit: published.commit,
            origin: Origin::ThisRun,
            truncation,
            skipped: published.skipped,
            withheld: Vec::new(),
        })
    }

    pub(crate) fn publish(
        &self,
        base: &Base,
        changes: &[Change],
        message: &str,
    ) -> Result<Published, IngestError> {
        let request = PublishRequest {
            changes,
            message,
            at: self.now,
        };
        Ok(self.publisher.publish(base, &request)?)
    }

    /// Selects the changes of a context source that need no review. The others are written as a
    /// proposal first, so that an interrupted command repeats it.
    pub(crate) fn review(
        &self,
        author: &Author<'_>,
        base: &Base,
        changes: &Changeset,
    ) -> Result<Reviewed, IngestError> {
        let paths: Vec<&ProjectPath> = changes.changes.iter().map(|change| &change.path).collect();
        let mut foreign: BTreeSet<ProjectPath> = BTreeSet::new();
        foreign.extend(self.publisher.in_the_making(&paths)?);
        for path in paths {
            let Some(bytes) = author.files.get(path) else {
                continue;
            };
            let messages = self.publisher.messages_about(base, path)?;
            if !is_own(author.source, path, bytes, &messages) {
                foreign.insert(path.clone());
            }
        }
        let Divided { landing, kept_back } =
            divide(changes, &foreign, author.files, author.warehouse);
        proposals::replace(author, &kept_back, self.publisher.prefix(), &self.store)?;
        Ok(Reviewed {
            changes: landing,
            withheld: kept_back
                .iter()
                .map(|change| change.path.to_string())
                .collect(),
        })
    }

    /// Remembers the result of an item together with its earlier results.
    pub(crate) fn remember(
        &self,
        item: &WorkItem,
        committed: &Committed,
    ) -> Result<(), StateError> {
        let mut result = self.row(item)?.map(|row| row.record).unwrap_or_default();
        let Written { wiki, sl, xrefs } = committed.written.clone();
        result.wiki.extend(wiki);
        result.sl.extend(sl);
        result.xrefs.extend(xrefs);
        result.files.clone_from(&item.files);
        result.commit.clone_from(&committed.commit);
        let input = match committed.truncation {
            None => item.input.clone(),
            Some(_) => String::new(),
        };
        let journal = self.journal(&item.owner);
        let key = item.key.clone();
        match item.kind {
            WorkKind::Unit => journal.put(&Row {
                key,
                input,
                record: UnitResult(result),
            }),
            WorkKind::Note => journal.put(&Row {
                key,
                input,
                record: NoteResult(result),
            }),
        }
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

    /// Returns the result of the same item in an earlier run, here or in the repository that this
    /// one was cloned from, if its commit is on the branch.
    pub(crate) fn known(&self, item: &WorkItem) -> Result<Option<Committed>, IngestError> {
        if self.commits.borrow().is_none() {
            *self.commits.borrow_mut() = Some(self.read_commits()?);
        }
        let commits = self.commits.borrow();
        let Some(commits) = commits.as_ref() else {
            return Ok(None);
        };
        let row = self.row(item)?.filter(|row| row.input == item.input);
        if let Some(Row { record, .. }) = row
            && record
                .commit
                .as_ref()
                .is_none_or(|commit| commits.contains(commit))
        {
            let names = record.names();
            return Ok(Some(Committed::earlier(names, record.commit)));
        }
        let Some(marked) = commits.marked(&item.mark()).cloned() else {
            return Ok(None);
        };
        let committed = Committed::earlier(marked.written, Some(marked.id));
        self.remember(item, &committed)?;
        Ok(Some(committed))
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

/// Builds a commit message: a title, what was written, and closing lines.
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
