//! Proposals: changes that wait for a person, as commits beside the branch.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use ktx_context_sources::{Snapshot, Unit};
use ktx_project_store::{
    Change, Content, History, HistoryError, ProjectPath, ProposedCommit, ProposedFile, PublishBase,
    PublishRequest, PublishResult, Publisher, Store, read_optional,
};
use ktx_secrets::Redactor;
use ktx_sql::Dialect;
use ktx_vocabulary::ConnectionId;

use crate::error::IngestError;
use crate::policy::WhyHeld;
use crate::proposal::{
    ProposalMessage, difference, former_id, proposal_id, proposal_name, reasons,
};

pub(crate) const EVICTION: &str = "eviction";

pub(crate) const RECONCILIATION: &str = "reconciliation";

/// Work that repeats for other subjects; its earlier proposals stay.
const REPEATED: [&str; 3] = ["curation", EVICTION, RECONCILIATION];

/// Folders that a proposal may change. A fetched branch must not change others.
const FOLDERS: [&str; 2] = ["wiki/", "semantic-layer/"];

const MOST_EVIDENCE: usize = 8;

const SHORTEST_WORD: usize = 4;

pub(crate) struct Author<'a> {
    pub(crate) source: &'a ConnectionId,
    pub(crate) warehouse: Option<&'a (ConnectionId, Dialect)>,
    pub(crate) work: &'a str,
    pub(crate) files: &'a BTreeMap<ProjectPath, Vec<u8>>,
    pub(crate) read: &'a BTreeMap<String, String>,
    /// Files that lose only what came from files that are gone.
    pub(crate) cleared: &'a BTreeSet<ProjectPath>,
}

impl Author<'_> {
    /// Whether an own file may be removed without a person: the work must know the whole source, or
    /// that files are gone.
    pub(crate) fn may_remove(&self, change: &Change) -> bool {
        match self.work {
            EVICTION => self.cleared.contains(&change.path),
            RECONCILIATION => change.content == Content::Delete,
            _ => false,
        }
    }
}

pub(crate) fn files_of(
    units: &[Unit],
    work: &str,
    snapshot: &Snapshot,
) -> BTreeMap<String, String> {
    let unit = units.iter().find(|unit| unit.key == work);
    let paths = unit.into_iter().flat_map(|unit| &unit.files);
    let files = paths.filter_map(|path| Some((path.clone(), snapshot.files.get(path)?.clone())));
    files.collect()
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProposalState {
    Open,
    /// A file has changed on the branch since.
    Expired,
}

impl ProposalState {
    pub const fn name(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Expired => "expired",
        }
    }
}

#[derive(Debug, Clone)]
pub struct WaitingProposal {
    pub id: String,
    pub source: ConnectionId,
    pub work: String,
    pub state: ProposalState,
    pub branch: String,
    pub paths: Vec<String>,
    /// As (path, reason).
    pub held: Vec<(String, String)>,
    /// Supporting lines of the source: `file:line: text`.
    pub evidence: Vec<String>,
    pub files: BTreeMap<ProjectPath, ProposedFile>,
    commit: ProposedCommit,
}

impl WaitingProposal {
    pub fn difference(&self) -> String {
        let files = self.files.iter().map(|(path, file)| {
            difference(path.as_str(), file.before.as_deref(), file.after.as_deref())
        });
        files.collect()
    }

    pub fn changes(&self) -> Vec<Change> {
        let files = self.files.iter();
        let changes = files.map(|(path, file)| Change {
            path: path.clone(),
            content: file.after.clone().map_or(Content::Delete, Content::Write),
        });
        changes.collect()
    }

    pub(crate) fn is_of_a_unit(&self) -> bool {
        !REPEATED.contains(&self.work.as_str())
    }

    /// Returns the remote that has the proposal; `None` if it is a local branch.
    pub fn remote(&self) -> Option<&str> {
        self.commit.remote.as_deref()
    }
}

pub(crate) struct ProposalGit<'a> {
    pub(crate) publisher: &'a Publisher,
    pub(crate) history: &'a History,
    pub(crate) earlier: &'a [ProposedCommit],
    pub(crate) at: Timestamp,
}

/// Writes a proposal in place of an earlier one, unless a person has rejected it.
pub(crate) fn replace(
    author: &Author<'_>,
    withheld: &[Change],
    held: &BTreeMap<ProjectPath, WhyHeld>,
    base: &PublishBase,
    git: &ProposalGit<'_>,
) -> Result<IsRejected, IngestError> {
    let ProposalGit {
        publisher,
        history,
        earlier,
        at,
    } = *git;
    let begin = proposal_name(author.source, author.work);
    let mut own = None;
    let mut is_rejected = IsRejected::No;
    if !withheld.is_empty() {
        let name = format!(
            "{begin}{}",
            proposal_id(author.source, author.work, withheld, author.files)
        );
        if history.decided_proposals()?.contains(&name) {
            is_rejected = IsRejected::Yes;
        } else {
            let message = ProposalMessage {
                source: author.source.clone(),
                work: author.work.to_owned(),
                held: reasons(withheld, held),
                evidence: evidence(withheld, author),
            };
            let request = PublishRequest {
                changes: withheld,
                message: &message.render(),
                at,
            };
            publisher.propose(base, &name, &request)?;
            own = Some(name);
        }
    }
    let former = format!("{begin}{}", former_id(author.source, author.work, withheld));
    let is_replaced = |proposal: &&ProposedCommit| {
        if REPEATED.contains(&author.work) {
            return own.is_some() && proposal.name == former;
        }
        proposal.name.starts_with(&begin) && own.as_ref() != Some(&proposal.name)
    };
    for proposal in earlier.iter().filter(is_replaced) {
        publisher.drop_proposal(proposal)?;
    }
    Ok(is_rejected)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum IsRejected {
    Yes,
    No,
}

fn evidence(withheld: &[Change], author: &Author<'_>) -> Vec<String> {
    let mut words: BTreeSet<String> = BTreeSet::new();
    for change in withheld {
        let before = author.files.get(&change.path).map(Vec::as_slice);
        let before = words_of(&String::from_utf8_lossy(before.unwrap_or_default()));
        if let Content::Write(after) = &change.content {
            let after = words_of(&String::from_utf8_lossy(after));
            words.extend(after.difference(&before).cloned());
        }
    }
    let redactor = Redactor::new();
    let mut found: Vec<(usize, &String, usize, String)> = Vec::new();
    for (path, text) in author.read {
        for (index, line) in text.lines().enumerate() {
            let shared = words_of(line).intersection(&words).count();
            if shared > 0 {
                found.push((shared, path, index + 1, redactor.redact(line.trim())));
            }
        }
    }
    found.sort_by(|one, other| (other.0, one.1, one.2).cmp(&(one.0, other.1, other.2)));
    found.truncate(MOST_EVIDENCE);
    let lines = found.into_iter();
    lines
        .map(|(_, path, line, text)| format!("{path}:{line}: {text}"))
        .collect()
}

fn words_of(text: &str) -> BTreeSet<String> {
    let words = text.split(|letter: char| !letter.is_alphanumeric() && letter != '_');
    let words = words.filter(|word| word.chars().count() >= SHORTEST_WORD);
    words.map(str::to_lowercase).collect()
}

/// Returns the proposals that wait for a decision, by name; none without git.
pub fn waiting_proposals(store: &Store) -> Result<Vec<WaitingProposal>, IngestError> {
    let history = match store.history() {
        Ok(history) => history,
        Err(HistoryError::NoWorkTree { .. }) => return Ok(Vec::new()),
        Err(error) => return Err(error.into()),
    };
    let mut waiting = Vec::new();
    for commit in history.proposals()? {
        let Some(message) = ProposalMessage::parse(&commit.message) else {
            continue;
        };
        let files = history.proposed_files(&commit)?;
        let is_ours = |path: &ProjectPath| {
            let mut folders = FOLDERS.iter();
            folders.any(|folder| path.as_str().starts_with(folder))
        };
        if !files.keys().all(is_ours) {
            continue;
        }
        if is_taken(&files, store)? {
            continue;
        }
        let is_there = |file: &ProposedFile| file.now == file.before || file.now == file.after;
        let state = if files.values().all(is_there) {
            ProposalState::Open
        } else {
            ProposalState::Expired
        };
        let id = commit.name.rsplit('.').next().unwrap_or_default();
        let remote = commit.remote.as_ref().map(|remote| format!("{remote}/"));
        waiting.push(WaitingProposal {
            id: id.to_owned(),
            source: message.source,
            work: message.work,
            state,
            branch: format!("{}ktx/review/{}", remote.unwrap_or_default(), commit.name),
            paths: files.keys().map(ToString::to_string).collect(),
            held: message.held,
            evidence: message.evidence,
            files,
            commit,
        });
    }
    Ok(waiting)
}

fn is_taken(
    files: &BTreeMap<ProjectPath, ProposedFile>,
    store: &Store,
) -> Result<bool, IngestError> {
    for (path, file) in files {
        let bytes = read_optional(&path.under(store.layout().root()));
        if bytes.map_err(IngestError::Proposal)? != file.after {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Commits a proposal with the accepting person as author, and removes it. Fails if a file has
/// changed on the branch.
pub fn accept(
    proposal: &WaitingProposal,
    store: &Store,
    at: Timestamp,
) -> Result<PublishResult, IngestError> {
    let publisher = store.publisher()?;
    let base = publisher.begin()?;
    let message = format!(
        "Accept {} of {}\n\nktx-review: accepted {}\n",
        proposal.work, proposal.source, proposal.id
    );
    let request = PublishRequest {
        changes: &proposal.changes(),
        message: &message,
        at,
    };
    let published = publisher.publish(&base, &request)?;
    publisher.decide(&proposal.commit)?;
    Ok(published)
}

/// Rejects a proposal: ktx does not make it again in this clone.
pub fn reject(proposal: &WaitingProposal, store: &Store) -> Result<(), IngestError> {
    Ok(store.publisher()?.decide(&proposal.commit)?)
}

pub(crate) fn expired(
    source: &ConnectionId,
    store: &Store,
) -> Result<Vec<WaitingProposal>, IngestError> {
    let mut waiting = waiting_proposals(store)?;
    waiting.retain(|proposal| {
        let is_ours = proposal.source == *source && proposal.remote().is_none();
        is_ours && proposal.state == ProposalState::Expired
    });
    Ok(waiting)
}

pub(crate) fn drop_expired(
    proposal: &WaitingProposal,
    publisher: &Publisher,
) -> Result<String, IngestError> {
    publisher.drop_proposal(&proposal.commit)?;
    let WaitingProposal { id, work, .. } = proposal;
    let next = if proposal.is_of_a_unit() {
        "; ktx reads it again"
    } else {
        ""
    };
    Ok(format!(
        "the proposal {id} of {work} was dropped: its files have changed since{next}"
    ))
}
