//! The result of a model for a note or a unit: committed, remembered, and not requested again.

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

#[derive(Debug, Clone)]
pub(crate) struct Kept {
    pub(crate) captured: Written,
    /// The commit; `None` if there was nothing to keep.
    pub(crate) commit: Option<String>,
    /// Whether the model was stopped early; the next run continues.
    pub(crate) is_partial: bool,
    /// Whether an earlier run produced it.
    pub(crate) is_known: bool,
    pub(crate) warnings: Vec<String>,
    /// Files that the user has to decide about first.
    pub(crate) proposed: Vec<String>,
}

/// Why the result may be incomplete.
#[derive(Debug, Clone, Copy)]
pub(super) enum Cut {
    Turns(u32),
    /// The page quota was used up.
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

pub(super) struct Piece {
    /// The connection that it is remembered under.
    pub(super) owner: ConnectionId,
    pub(super) key: String,
    pub(super) stage: &'static str,
    /// The hash of all model input, in hexadecimal digits.
    pub(super) input: String,
    pub(super) title: String,
    /// Further lines of the commit message.
    pub(super) closing: Vec<String>,
    pub(super) files: Vec<String>,
}

impl Piece {
    /// Returns the line of the commit message that identifies the piece in a clone.
    pub(super) fn mark(&self) -> String {
        format!("ktx-{}: {}", self.stage, self.input)
    }
}

/// The work of a context source: its permissions and its name.
pub(super) struct Worker<'a> {
    pub(super) source: &'a ConnectionId,
    pub(super) warehouse: Option<&'a (ConnectionId, Dialect)>,
    /// The unit, or another piece of work.
    pub(super) work: &'a str,
    pub(super) files: &'a BTreeMap<ProjectPath, Vec<u8>>,
}

/// The part of a context source's work to commit.
pub(super) struct Landing {
    pub(super) made: Made,
    /// Files that the user has to decide about first.
    pub(super) kept_back: Vec<String>,
}

/// Stores pieces in the project's git and its local state.
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

    /// Records the current position of the branch.
    pub(super) fn begin(&self) -> Outcome<Base> {
        self.publisher
            .begin()
            .map_err(|error| publish_failure(&error))
    }

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

    /// Commits and remembers the result. If the model was stopped early, it is asked again.
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

    /// As [`Self::keep`], for a unit of a context source. A clone asks again for the part kept
    /// back.
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

    /// Commits the changes under this title, and remembers nothing.
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

    /// Selects the part of a context source's work to commit. The other part is written as a
    /// proposal first, so that an interrupted command repeats it.
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

    /// Remembers the result of a piece in another commit, by its files: when they disappear, the
    /// pages and sources written from them are reviewed.
    pub(super) fn remember_part(&self, piece: &Piece, kept: &Kept) -> Outcome<()> {
        self.remember(piece, kept)
    }

    /// Remembers the result together with earlier results of the same piece.
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

    /// Returns the result of the same piece in an earlier run, here or in the repository that this
    /// one was cloned from, if its commit is on the branch.
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

/// Begins a commit message: a title, and what was written.
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

/// Returns the names in a field of a remembered result.
pub(super) fn names(output: &Value, field: &str) -> Vec<String> {
    let list = output.get(field).and_then(Value::as_array);
    let texts = list.into_iter().flatten().filter_map(Value::as_str);
    texts.map(str::to_owned).collect()
}

/// Parses what a commit message lists as written.
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
