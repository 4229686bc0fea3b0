//! Proposals: commits that wait for a decision. Branches below `ktx/review/` travel with `git push`
//! and `git clone`; decisions stay in this repository.

use std::collections::{BTreeMap, BTreeSet};

use super::tree::{self, TreeEntry};
use super::{History, HistoryError, ImportResult, PublishError, PublishRequest, Publisher};
use crate::{Content, ProjectPath, PublishBase, Store, read_optional};

const OPEN: &str = "refs/heads/ktx/review/";

const FETCHED: &str = "refs/remotes/*/ktx/review/*/*";

const DECIDED: &str = "refs/ktx/decided/";

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProposedCommit {
    /// Context source, slash, unique name.
    pub name: String,
    pub id: String,
    /// `None` without one.
    pub base: Option<String>,
    pub message: String,
    /// `None` for a branch of this repository.
    pub remote: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProposedFile {
    pub before: Option<Vec<u8>>,
    /// `None` to delete the file.
    pub after: Option<Vec<u8>>,
    pub now: Option<Vec<u8>>,
}

impl Store {
    /// Does not start git.
    pub fn may_have_proposals(&self) -> bool {
        let mut folders = self
            .layout()
            .root()
            .ancestors()
            .map(|folder| folder.join(".git"));
        let Some(git) = folders.find(|git| git.is_dir()) else {
            return false;
        };
        let packed = read_optional(&git.join("packed-refs")).ok().flatten();
        let packed = packed.unwrap_or_default();
        let is_packed = String::from_utf8_lossy(&packed).contains("/ktx/review/");
        is_packed || git.join("refs/heads/ktx/review").is_dir()
    }
}

impl Publisher {
    /// An existing proposal of this name stays.
    pub fn propose(
        &self,
        base: &PublishBase,
        name: &str,
        request: &PublishRequest<'_>,
    ) -> Result<(), PublishError> {
        let _lock = self.locked()?;
        let branch = format!("{OPEN}{name}");
        let known = self
            .git
            .query(&["rev-parse", "--quiet", "--verify", &branch], 1)?;
        if known.is_some() {
            return Ok(());
        }
        let now = self.tree(base.commit.as_deref())?;
        let changes: BTreeMap<&ProjectPath, &Content> = request
            .changes
            .iter()
            .map(|change| (&change.path, &change.content))
            .collect();
        let beside = PublishBase {
            branch,
            commit: base.commit.clone(),
        };
        match self.import(&beside, &now, &changes, request)? {
            ImportResult::Made(_) => Ok(()),
            ImportResult::Moved => Err(PublishError::TooManyRaces),
            ImportResult::Locked(lock) => Err(lock.into()),
        }
    }

    pub fn drop_proposal(&self, proposal: &ProposedCommit) -> Result<(), PublishError> {
        if proposal.remote.is_none() {
            let branch = format!("{OPEN}{}", proposal.name);
            self.git
                .text(&["update-ref", "-d", &branch, &proposal.id])?;
        }
        Ok(())
    }

    pub fn decide(&self, proposal: &ProposedCommit) -> Result<(), PublishError> {
        let decided = format!("{DECIDED}{}", proposal.name);
        self.git.text(&["update-ref", &decided, &proposal.id])?;
        self.drop_proposal(proposal)
    }
}

impl History {
    /// Undecided proposals, by name. One from several repositories counts once.
    pub fn proposals(&self) -> Result<Vec<ProposedCommit>, HistoryError> {
        let decided = self.decided_proposals()?;
        let format = "--format=%(refname)%00%(objectname)%00%(parent)%00%(contents)%00";
        let listed = self.git.text(&["for-each-ref", format, OPEN, FETCHED])?;
        let fields: Vec<&str> = listed.split('\0').collect();
        let mut found: BTreeMap<String, ProposedCommit> = BTreeMap::new();
        for entry in fields.chunks_exact(4) {
            let [reference, id, parents, message] = entry else {
                continue;
            };
            let reference = reference.trim_start();
            let own = reference.strip_prefix(OPEN);
            let fetched = reference.strip_prefix("refs/remotes/");
            let fetched = fetched.and_then(|rest| rest.split_once("/ktx/review/"));
            let remote = fetched.map(|(remote, _)| remote.to_owned());
            let Some(name) = own.or(fetched.map(|(_, name)| name)) else {
                continue;
            };
            if decided.contains(name) {
                continue;
            }
            let base = parents.split(' ').next().filter(|base| !base.is_empty());
            let proposal = ProposedCommit {
                name: name.to_owned(),
                id: (*id).to_owned(),
                base: base.map(str::to_owned),
                message: (*message).to_owned(),
                remote,
            };
            // Branches of this repository come first.
            found.entry(name.to_owned()).or_insert(proposal);
        }
        Ok(found.into_values().collect())
    }

    pub fn decided_proposals(&self) -> Result<BTreeSet<String>, HistoryError> {
        let listed = self
            .git
            .text(&["for-each-ref", "--format=%(refname)", DECIDED])?;
        let names = listed.lines().filter_map(|line| line.strip_prefix(DECIDED));
        Ok(names.map(str::to_owned).collect())
    }

    pub fn proposed_files(
        &self,
        proposal: &ProposedCommit,
    ) -> Result<BTreeMap<ProjectPath, ProposedFile>, HistoryError> {
        let mut arguments = vec!["diff-tree", "-r", "-z", "--no-renames", "--no-commit-id"];
        match &proposal.base {
            Some(base) => arguments.extend([base.as_str(), &proposal.id]),
            None => arguments.extend(["--root", &proposal.id]),
        }
        let after = tree::parse_diff(&self.git.bytes(&arguments, b"")?, &self.prefix);
        let before = match &proposal.base {
            Some(base) => self.entries(base, after.keys())?,
            None => BTreeMap::new(),
        };
        let now = match self.commit("HEAD") {
            Ok(head) => self.entries(&head, after.keys())?,
            Err(HistoryError::UnknownRevision { .. }) => BTreeMap::new(),
            Err(error) => return Err(error),
        };
        let all = after.values().flatten().chain(before.values());
        let ids: Vec<String> = all
            .chain(now.values())
            .map(|entry| entry.id.clone())
            .collect();
        let blobs = self.blobs(ids.iter())?;
        let bytes =
            |entry: Option<&TreeEntry>| entry.and_then(|entry| blobs.get(&entry.id).cloned());
        Ok(after
            .iter()
            .map(|(path, entry)| {
                let file = ProposedFile {
                    before: bytes(before.get(path)),
                    after: bytes(entry.as_ref()),
                    now: bytes(now.get(path)),
                };
                (path.clone(), file)
            })
            .collect())
    }

    fn entries<'p>(
        &self,
        commit: &str,
        paths: impl Iterator<Item = &'p ProjectPath>,
    ) -> Result<tree::Tree, HistoryError> {
        let places: Vec<String> = paths.map(|path| format!("{}{path}", self.prefix)).collect();
        let mut arguments = vec![
            "--literal-pathspecs",
            "ls-tree",
            "-r",
            "-z",
            "--full-tree",
            commit,
            "--",
        ];
        if places.is_empty() {
            return Ok(tree::Tree::default());
        }
        arguments.extend(places.iter().map(String::as_str));
        let output = self.git.bytes(&arguments, b"")?;
        Ok(tree::parse_tree(&output, &self.prefix))
    }
}
