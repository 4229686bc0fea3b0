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

    /// The user's name as the environment or git's settings say; none when neither does.
    pub fn user_name(&self) -> Result<Option<String>, PublishError> {
        Ok(self.git.identity("GIT_AUTHOR_NAME", "user.name")?)
    }
}
