//! Queries to the repository around a folder.

use std::path::Path;

use ktx_config::Environment;

use super::obstacles::is_in_repository;
use crate::GitError;
use crate::git::Git;

/// `dir` can be missing. Creates nothing.
pub fn is_committed_around(dir: &Path, environment: &Environment) -> Result<bool, GitError> {
    let Some(above) = dir.ancestors().find(|above| above.is_dir()) else {
        return Ok(false);
    };
    let git = Git::find(above, environment)?;
    if dir.join(".git").exists() || !is_in_repository(&git)? {
        return Ok(false);
    }
    let head = git.query(&["rev-parse", "--quiet", "--verify", "HEAD"], 1)?;
    let Some(head) = head else { return Ok(false) };
    let rest = dir.strip_prefix(above).unwrap_or(Path::new(""));
    let place = format!("./{}", rest.to_string_lossy());
    let files = git.text(&["ls-tree", "--name-only", &head, "--", &place])?;
    Ok(!files.trim().is_empty())
}
