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

    /// The user's name as the environment or git's settings say; none when neither does.
    pub fn user_name(&self) -> Result<Option<String>, PublishError> {
        Ok(self.git.identity("GIT_AUTHOR_NAME", "user.name")?)
    }
}
