//! Reads LookML projects: models, views and dashboards. Never contacts Looker.

mod definitions;
mod explores;
mod fields;
mod filter_words;
mod inheritance;
mod project;
mod syntax;
mod units;
mod views;

use std::path::Path;

use crate::folder::{self, has_ending};
use crate::snapshot::{FolderKind, ReadError, Snapshot};

pub use definitions::definitions;
pub use units::units;
pub use views::facts;
pub(crate) use views::{chosen, is_changed, shown};

pub fn read(root: &Path) -> Result<Snapshot, ReadError> {
    let is_wanted = |path: &str| has_ending(path, &["lkml", "lookml"]);
    let snapshot = folder::read(root, FolderKind::LookMl, is_wanted)?;
    // A skipped file may be the project's LookML.
    if snapshot.files.is_empty() && !snapshot.left_out.iter().any(|left| is_wanted(&left.path)) {
        return Err(ReadError::NoProject {
            root: root.to_owned(),
            kind: FolderKind::LookMl,
        });
    }
    Ok(snapshot)
}
