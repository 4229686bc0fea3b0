//! What the project's git says, besides publishing.

use std::collections::BTreeSet;

use crate::{Base, ProjectPath, PublishError, Publisher};

impl Publisher {
    /// The bytes of a file in the commit of `base`; none when it has no such file.
    pub fn committed(
        &self,
        base: &Base,
        path: &ProjectPath,
    ) -> Result<Option<Vec<u8>>, PublishError> {
        let tree = self.tree(base.commit.as_deref())?;
        let Some(entry) = tree.get(path) else {
            return Ok(None);
        };
        let mut blobs = self.blobs(&BTreeSet::from([entry.id.as_str()]))?;
        Ok(blobs.remove(&entry.id))
    }

    /// Whether a commit is part of the branch. One that is not there at all is not.
    pub fn is_part(&self, commit: &str) -> Result<bool, PublishError> {
        let arguments = ["merge-base", "--is-ancestor", commit, "HEAD"];
        let output = self.git.run(&arguments, b"")?;
        Ok(output.status.success())
    }

    /// The youngest commit of the branch whose message has this text in a line: its id and its message.
    pub fn commit_that_says(&self, text: &str) -> Result<Option<(String, String)>, PublishError> {
        let wanted = format!("--grep={text}");
        let arguments = [
            "log",
            "--max-count=1",
            "--format=%H%n%B",
            "--fixed-strings",
            wanted.as_str(),
            "HEAD",
        ];
        let output = self.git.run(&arguments, b"")?;
        // Before the first commit there is no HEAD.
        if !output.status.success() {
            return Ok(None);
        }
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        Ok(said
            .split_once('\n')
            .map(|(commit, message)| (commit.to_owned(), message.to_owned())))
    }

    /// The messages of the commits that changed a file, the newest first, as `base` has them. A merge counts when
    /// its file is that of none of its parents.
    ///
    /// # Errors
    /// [`PublishError`] when git fails.
    pub fn messages_about(
        &self,
        base: &Base,
        path: &ProjectPath,
    ) -> Result<Vec<String>, PublishError> {
        let Some(commit) = &base.commit else {
            return Ok(Vec::new());
        };
        let place = format!(":(top,literal){}{path}", self.prefix);
        let arguments = ["log", "--format=%B%x00", commit, "--", &place];
        let said = self.git.text(&arguments)?;
        let messages = said.split('\0').map(str::trim);
        Ok(messages
            .filter(|message| !message.is_empty())
            .map(str::to_owned)
            .collect())
    }

    /// Those of the files that a person is changing: on the disk or in the index they are not as they are
    /// committed, or they are there and were never committed.
    ///
    /// # Errors
    /// [`PublishError`] when git fails.
    pub fn in_the_making(
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
        let said = self.git.text(&arguments)?;
        let found: BTreeSet<&str> = said.split('\0').filter_map(|line| line.get(3..)).collect();
        let is_found =
            |path: &&&ProjectPath| found.contains(format!("{}{path}", self.prefix).as_str());
        Ok(paths
            .iter()
            .filter(is_found)
            .map(|path| (*path).clone())
            .collect())
    }

    /// Where the project is in its repository: empty, or with a slash at its end.
    pub fn prefix(&self) -> &str {
        &self.prefix
    }

    /// The user's name as the environment or git's settings say; none when neither does.
    pub fn user_name(&self) -> Result<Option<String>, PublishError> {
        Ok(self.git.identity("GIT_AUTHOR_NAME", "user.name")?)
    }
}
