//! Other queries to the project's git.

use std::collections::BTreeSet;

use crate::{ProjectPath, PublishBase, PublishError, Publisher};

impl Publisher {
    pub fn committed(
        &self,
        base: &PublishBase,
        path: &ProjectPath,
    ) -> Result<Option<Vec<u8>>, PublishError> {
        let tree = self.tree(base.commit.as_deref())?;
        let Some(entry) = tree.get(path) else {
            return Ok(None);
        };
        let mut blobs = self.blobs(&BTreeSet::from([entry.id.as_str()]))?;
        Ok(blobs.remove(&entry.id))
    }

    /// Newest first, as of `base`. Merges count if they differ from all parents.
    pub fn commit_messages_of(
        &self,
        base: &PublishBase,
        path: &ProjectPath,
    ) -> Result<Vec<String>, PublishError> {
        let Some(commit) = &base.commit else {
            return Ok(Vec::new());
        };
        let place = format!(":(top,literal){}{path}", self.prefix);
        let arguments = ["log", "--format=%B%x00", commit, "--", &place];
        let output = self.git.text(&arguments)?;
        let messages = output.split('\0').map(str::trim);
        Ok(messages
            .filter(|message| !message.is_empty())
            .map(str::to_owned)
            .collect())
    }

    /// Changed on disk or in the index, or never committed.
    pub fn uncommitted_paths(
        &self,
        paths: &[&ProjectPath],
    ) -> Result<BTreeSet<ProjectPath>, PublishError> {
        if paths.is_empty() {
            return Ok(BTreeSet::new());
        }
        let places: Vec<String> = paths
            .iter()
            .map(|path| format!(":(top,literal){}{path}", self.prefix))
            .collect();
        let mut arguments = vec![
            "status",
            "--porcelain=v1",
            "-z",
            "--no-renames",
            "--untracked-files=all",
            "--",
        ];
        arguments.extend(places.iter().map(String::as_str));
        let output = self.git.text(&arguments)?;
        let found: BTreeSet<&str> = output
            .split('\0')
            .filter_map(|line| line.get(3..))
            .collect();
        let is_found =
            |path: &&&ProjectPath| found.contains(format!("{}{path}", self.prefix).as_str());
        Ok(paths
            .iter()
            .filter(is_found)
            .map(|path| (*path).clone())
            .collect())
    }

    pub fn prefix(&self) -> &str {
        &self.prefix
    }

    pub fn user_name(&self) -> Result<Option<String>, PublishError> {
        Ok(self.git.identity("GIT_AUTHOR_NAME", "user.name")?)
    }
}
