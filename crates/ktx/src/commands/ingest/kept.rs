//! What a model has made of a note or a unit: committed, remembered, and not asked for again.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use ktx_diagnostics::Code;
use ktx_ingest::{Divided, divide, is_own, marks};
use ktx_memory::{Made, Written};
use ktx_project_store::{
    Base, Change, ProjectPath, PublishError, PublishRequest, Published, Publisher, StageRow,
    StateDatabase,
};
use ktx_vocabulary::ConnectionId;
use ktx_warehouse::Dialect;
use serde_json::{Value, json};

use super::proposals;
use crate::report::{Failure, Outcome};
use crate::scanning::{publish_failure, state_failure};
use crate::session::{Opened, Session};

/// What became of one piece of work.
#[derive(Debug, Clone)]
pub(crate) struct Kept {
    /// What was written.
    pub(crate) captured: Written,
    /// The commit; none when there was nothing worth keeping.
    pub(crate) commit: Option<String>,
    /// Whether the model was stopped before it came to an end; the next run goes on.
    pub(crate) is_partial: bool,
    /// Whether an earlier run has made it.
    pub(crate) is_known: bool,
    /// What a person should know.
    pub(crate) warnings: Vec<String>,
    /// Files that a person has to decide about first.
    pub(crate) proposed: Vec<String>,
}

/// Why there may be more to say.
#[derive(Debug, Clone, Copy)]
pub(super) enum Cut {
    /// The model had as many turns as it may have.
    Turns(u32),
    /// As many pages were written as may be.
    Pages,
}

impl Cut {
    fn words(self) -> String {
        match self {
            Self::Turns(steps) => format!(
                "the model was stopped after {steps} turns; what it had written by then is kept"
            ),
            Self::Pages => {
                "as many pages were written as one run may write (`max_knowledge_creates_per_run`, \
                            `max_knowledge_updates_per_run`)"
                    .to_owned()
            }
        }
    }
}

/// One piece of work for a model.
pub(super) struct Piece {
    /// Under whose name it is remembered.
    pub(super) owner: ConnectionId,
    /// Its name there.
    pub(super) key: String,
    /// What kind of work it is.
    pub(super) stage: &'static str,
    /// The hash of everything that the model is given, in hexadecimal digits.
    pub(super) input: String,
    /// The first line of the commit message.
    pub(super) title: String,
    /// Further lines of it.
    pub(super) closing: Vec<String>,
    /// The files that it is made of.
    pub(super) files: Vec<String>,
}

impl Piece {
    /// The line of the commit message by which a clone knows the piece.
    pub(super) fn mark(&self) -> String {
        format!("ktx-{}: {}", self.stage, self.input)
    }
}

/// What a context source's work may change, and what it is called.
pub(super) struct Worker<'a> {
    pub(super) source: &'a ConnectionId,
    pub(super) warehouse: Option<&'a (ConnectionId, Dialect)>,
    /// The unit, or another piece of work.
    pub(super) work: &'a str,
    /// The files that the work began with.
    pub(super) files: &'a BTreeMap<ProjectPath, Vec<u8>>,
}

/// What of a context source's work is committed.
pub(super) struct Landing {
    pub(super) made: Made,
    /// Files that a person has to decide about first.
    pub(super) kept_back: Vec<String>,
}

/// Where pieces are kept: the project's git, and its state beside it.
pub(super) struct Keeper<'a> {
    session: &'a Session,
    opened: &'a Opened,
    publisher: Publisher,
    state: StateDatabase,
}

impl<'a> Keeper<'a> {
    pub(super) fn open(session: &'a Session, opened: &'a Opened) -> Outcome<Self> {
        let publisher = opened.store.publisher();
        let state = opened.store.state();
        Ok(Self {
            session,
            opened,
            publisher: publisher.map_err(|error| publish_failure(&error))?,
            state: state.map_err(|error| state_failure(&error))?,
        })
    }

    pub(super) fn state(&self) -> &StateDatabase {
        &self.state
    }

    /// Notes where the branch is.
    pub(super) fn begin(&self) -> Outcome<Base> {
        self.publisher
            .begin()
            .map_err(|error| publish_failure(&error))
    }

    /// The files that a draft begins with, as they are committed.
    pub(super) fn files(
        &self,
        base: &Base,
        warehouse: Option<&ConnectionId>,
    ) -> Outcome<BTreeMap<ProjectPath, Vec<u8>>> {
        let Some(commit) = &base.commit else {
            return Ok(BTreeMap::new());
        };
        let mut folders = vec!["wiki/global".to_owned()];
        folders.extend(warehouse.map(|id| format!("semantic-layer/{id}")));
        let unreadable = |error: &(dyn std::error::Error + 'static)| {
            Failure::from_error(Code::PublishFailed, error)
        };
        let history = self.opened.store.history();
        let history = history.map_err(|error| unreadable(&error))?;
        let mut files = BTreeMap::new();
        for folder in folders {
            let folder = ProjectPath::parse(&folder)
                .map_err(|error| Failure::from_error(Code::Internal, &error))?;
            let found = history.files(commit, &folder);
            files.extend(found.map_err(|error| unreadable(&error))?);
        }
        Ok(files)
    }

    /// The manifest shards of a warehouse, as they are committed.
    pub(super) fn shards(
        &self,
        base: &Base,
        warehouse: &ConnectionId,
    ) -> Outcome<BTreeMap<ProjectPath, Vec<u8>>> {
        let mut files = self.files(base, Some(warehouse))?;
        let folder = format!("semantic-layer/{warehouse}/_schema/");
        files.retain(|path, _| path.as_str().starts_with(&folder));
        Ok(files)
    }

    /// Commits what was made and remembers it. When the model was stopped before it came to an end, it is
    /// asked again.
    pub(super) fn keep(
        &self,
        piece: &Piece,
        base: &Base,
        made: &Made,
        cut: Option<Cut>,
    ) -> Outcome<Kept> {
        let mut lines = piece.closing.clone();
        if cut.is_none() {
            lines.push(piece.mark());
        }
        let kept = self.keep_once(base, made, cut, &piece.title, &lines)?;
        self.remember(piece, &kept)?;
        Ok(kept)
    }

    /// As [`Self::keep`], for what a unit of a context source made. A clone asks again about what was kept back.
    pub(super) fn keep_landing(
        &self,
        piece: &Piece,
        base: &Base,
        landing: Landing,
        cut: Option<Cut>,
    ) -> Outcome<Kept> {
        let mut lines = piece.closing.clone();
        lines.extend(marks(&piece.owner, &landing.made.changes));
        if cut.is_none() && landing.kept_back.is_empty() {
            lines.push(piece.mark());
        }
        let mut kept = self.keep_once(base, &landing.made, cut, &piece.title, &lines)?;
        kept.proposed = landing.kept_back;
        self.remember(piece, &kept)?;
        Ok(kept)
    }

    /// Commits what was made under this title, and remembers nothing.
    pub(super) fn keep_once(
        &self,
        base: &Base,
        made: &Made,
        cut: Option<Cut>,
        title: &str,
        closing: &[String],
    ) -> Outcome<Kept> {
        let mut message = message(title, made);
        for line in closing {
            let _ = writeln!(message, "{line}");
        }
        self.committed(base, made, cut, &message)
    }

    fn committed(
        &self,
        base: &Base,
        made: &Made,
        cut: Option<Cut>,
        message: &str,
    ) -> Outcome<Kept> {
        self.opened.store.failpoint("memory:captured");
        let published = self.publish(base, &made.changes, message)?;
        let mut warnings: Vec<String> = published
            .skipped
            .iter()
            .map(|skipped| {
                let reason = crate::commands::scan::reason(skipped.reason);
                format!("`{}` was left as it is: {reason}", skipped.path)
            })
            .collect();
        warnings.extend(cut.map(Cut::words));
        Ok(Kept {
            captured: Written {
                wiki: made.wiki.clone(),
                sl: made.sl.clone(),
                xrefs: made.xrefs.clone(),
            },
            commit: published.commit,
            is_partial: cut.is_some(),
            is_known: false,
            warnings,
            proposed: Vec::new(),
        })
    }

    /// What of a context source's work may be committed. The other part is written down as a proposal first: who
    /// is killed in between makes it again.
    pub(super) fn landing(
        &self,
        worker: &Worker<'_>,
        base: &Base,
        made: &Made,
    ) -> Outcome<Landing> {
        let mut foreign = BTreeSet::new();
        let paths: Vec<&ProjectPath> = made.changes.iter().map(|change| &change.path).collect();
        let failed = |error: PublishError| publish_failure(&error);
        foreign.extend(self.publisher.in_the_making(&paths).map_err(failed)?);
        for path in paths {
            let Some(bytes) = worker.files.get(path) else {
                continue;
            };
            let messages = self.publisher.messages_about(base, path).map_err(failed)?;
            if !is_own(worker.source, path, bytes, &messages) {
                foreign.insert(path.clone());
            }
        }
        let Divided { landing, kept_back } = divide(made, &foreign, worker.files, worker.warehouse);
        proposals::replace(worker, &kept_back, self.publisher.prefix(), self.opened)?;
        Ok(Landing {
            made: landing,
            kept_back: kept_back
                .iter()
                .map(|change| change.path.to_string())
                .collect(),
        })
    }

    /// Commits changes.
    pub(super) fn publish(
        &self,
        base: &Base,
        changes: &[Change],
        message: &str,
    ) -> Outcome<Published> {
        let request = PublishRequest {
            changes,
            message,
            at: self.session.now,
        };
        self.publisher
            .publish(base, &request)
            .map_err(|error| publish_failure(&error))
    }

    /// Remembers what was made of a piece as a part of another commit, for its files: when they are gone, what
    /// was written from them is looked at.
    pub(super) fn remember_part(&self, piece: &Piece, kept: &Kept) -> Outcome<()> {
        self.remember(piece, kept)
    }

    /// Remembers what was made, with what was made of the same piece before.
    fn remember(&self, piece: &Piece, kept: &Kept) -> Outcome<()> {
        let before = self.row(piece)?;
        let joined = |field: &str, more: &[String]| -> BTreeSet<String> {
            let before = before.iter().flat_map(|row| names(&row.output, field));
            before.chain(more.iter().cloned()).collect()
        };
        let row = StageRow {
            table_key: piece.key.clone(),
            stage: piece.stage.to_owned(),
            structure_hash: String::new(),
            input_hash: if kept.is_partial {
                String::new()
            } else {
                piece.input.clone()
            },
            output: json!({
                "wiki": joined("wiki", &kept.captured.wiki),
                "sl": joined("sl", &kept.captured.sl),
                "xrefs": joined("xrefs", &kept.captured.xrefs),
                "files": piece.files,
                "commit": kept.commit,
            }),
            updated: self.session.now,
        };
        self.state
            .put_stage(&piece.owner, &row)
            .map_err(|error| state_failure(&error))
    }

    fn row(&self, piece: &Piece) -> Outcome<Option<StageRow>> {
        self.state
            .stage(&piece.owner, &piece.key, piece.stage)
            .map_err(|error| state_failure(&error))
    }

    /// What an earlier run has made of the same piece, here or in the repository that this one was cloned
    /// from, as long as its commit is part of the branch.
    pub(super) fn known(&self, piece: &Piece) -> Outcome<Option<Kept>> {
        let row = self.row(piece)?;
        if let Some(row) = row.filter(|row| row.input_hash == piece.input) {
            let commit = row.output.get("commit").and_then(Value::as_str);
            let is_standing = match commit {
                Some(commit) => self
                    .publisher
                    .is_part(commit)
                    .map_err(|error| publish_failure(&error))?,
                None => true,
            };
            if is_standing {
                let captured = Written {
                    wiki: names(&row.output, "wiki"),
                    sl: names(&row.output, "sl"),
                    xrefs: names(&row.output, "xrefs"),
                };
                return Ok(Some(earlier(captured, commit.map(str::to_owned))));
            }
        }
        let said = self.publisher.commit_that_says(&piece.mark());
        let said = said.map_err(|error| publish_failure(&error))?;
        let Some((commit, message)) = said else {
            return Ok(None);
        };
        let kept = earlier(told(&message), Some(commit));
        self.remember(piece, &kept)?;
        Ok(Some(kept))
    }
}

/// The begin of a commit message: a title, and what was written.
fn message(title: &str, made: &Made) -> String {
    let mut message = format!("{title}\n\n");
    for (what, names) in [("pages", &made.wiki), ("sources", &made.sl)] {
        if !names.is_empty() {
            let _ = writeln!(message, "{what}: {}", names.join(", "));
        }
    }
    message
}

fn earlier(captured: Written, commit: Option<String>) -> Kept {
    Kept {
        captured,
        commit,
        is_partial: false,
        is_known: true,
        warnings: Vec::new(),
        proposed: Vec::new(),
    }
}

/// The names in a field of what was remembered.
pub(super) fn names(output: &Value, field: &str) -> Vec<String> {
    let list = output.get(field).and_then(Value::as_array);
    let texts = list.into_iter().flatten().filter_map(Value::as_str);
    texts.map(str::to_owned).collect()
}

/// What a commit message says was written.
fn told(message: &str) -> Written {
    let named = |what: &str| -> Vec<String> {
        let lines = message.lines();
        let names = lines.filter_map(|line| line.strip_prefix(what)?.strip_prefix(": "));
        let names = names.flat_map(|names| names.split(", "));
        names.map(str::to_owned).collect()
    };
    Written {
        wiki: named("pages"),
        sl: named("sources"),
        xrefs: Vec::new(),
    }
}
