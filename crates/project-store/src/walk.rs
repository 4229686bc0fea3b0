//! Which files of a project's folder count: one rule for everything that reads such a folder.
//!
//! Hidden entries do not count. A link to a file counts as long as the file lies in the project;
//! whoever sends a project must not choose what else of the machine is read and served. Links to
//! folders below the walked folder are never followed, so that a walk ends.

use std::fs::{self, DirEntry, Metadata};
use std::io;
use std::path::{Path, PathBuf};

use crate::FileError;
use crate::files::is_absent;

/// Deeper folders than this are not looked into.
const DEPTH: usize = 16;

/// One file below a walked folder.
#[derive(Debug, Clone)]
pub struct WalkedFile {
    /// The path below the folder, with `/`.
    pub path: String,
    /// Where it is.
    pub place: PathBuf,
    /// What the file system says of it; of a link, of the file that it leads to.
    pub metadata: Metadata,
}

/// Why an entry does not count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WhyLeftOut {
    /// It is, or lies behind, a link that leads out of the project.
    LeavesProject,
    /// It is a link to a folder.
    LinkedFolder,
    /// It is a link that leads nowhere.
    LeadsNowhere,
    /// It is a folder too deep below the walked one.
    TooDeep,
}

impl WhyLeftOut {
    /// The reason in words that follow the path.
    pub const fn text(self) -> &'static str {
        match self {
            Self::LeavesProject => "is a link that leads out of the project and is not read",
            Self::LinkedFolder => "is a link to a folder and is not read",
            Self::LeadsNowhere => "is a link that leads nowhere",
            Self::TooDeep => "is too deep a folder and is not read",
        }
    }
}

/// An entry that does not count although somebody may think so.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftOut {
    /// The entry; the walked folder itself where that lies outside of the project.
    pub place: PathBuf,
    /// Why it does not count.
    pub why: WhyLeftOut,
}

/// What a walk found.
#[derive(Debug, Clone, Default)]
pub struct Walked {
    /// The files, ordered by path.
    pub files: Vec<WalkedFile>,
    /// What was left out, hidden entries aside.
    pub left_out: Vec<LeftOut>,
}

/// The folders in a folder.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Folders {
    /// Their names, ordered.
    pub names: Vec<String>,
    /// Links to folders and, where it lies outside of the project, the folder itself.
    pub left_out: Vec<LeftOut>,
}

/// All files below `folder`, which belongs to the project in `root`. A folder that is not there has
/// none, and neither has one that lies outside.
pub fn walk(root: &Path, folder: &Path) -> Result<Walked, FileError> {
    let mut walked = Walked::default();
    if let Some(home) = home(root, folder, &mut walked.left_out)? {
        collect(&home, folder, "", DEPTH, &mut walked)?;
        walked
            .files
            .sort_by(|left, right| left.path.cmp(&right.path));
    }
    Ok(walked)
}

/// The folders in `folder`, which belongs to the project in `root`.
pub fn folders(root: &Path, folder: &Path) -> Result<Folders, FileError> {
    let mut found = Folders::default();
    let Some(home) = home(root, folder, &mut found.left_out)? else {
        return Ok(found);
    };
    for (name, entry) in entries(folder)? {
        let place = entry.path();
        let kind = entry.file_type().map_err(|source| failed(&place, source))?;
        if kind.is_dir() {
            found.names.push(name);
        } else if kind.is_symlink() && place.is_dir() {
            let why = match target(&home, &place) {
                Ok(_) => WhyLeftOut::LinkedFolder,
                Err(why) => why,
            };
            found.left_out.push(LeftOut { place, why });
        }
    }
    Ok(found)
}

fn failed(path: &Path, source: io::Error) -> FileError {
    FileError::Read {
        path: path.to_owned(),
        source,
    }
}

/// The real place of the project, when the folder is there and lies in it.
fn home(
    root: &Path,
    folder: &Path,
    left_out: &mut Vec<LeftOut>,
) -> Result<Option<PathBuf>, FileError> {
    let real = |path: &Path| match fs::canonicalize(path) {
        Ok(real) => Ok(Some(real)),
        Err(error) if is_absent(&error) => Ok(None),
        Err(source) => Err(failed(path, source)),
    };
    let (Some(home), Some(place)) = (real(root)?, real(folder)?) else {
        return Ok(None);
    };
    if place.starts_with(&home) {
        return Ok(Some(home));
    }
    left_out.push(LeftOut {
        place: folder.to_owned(),
        why: WhyLeftOut::LeavesProject,
    });
    Ok(None)
}

/// Where a link leads, when that lies in the project.
fn target(home: &Path, link: &Path) -> Result<PathBuf, WhyLeftOut> {
    match fs::canonicalize(link) {
        Ok(target) if target.starts_with(home) => Ok(target),
        Ok(_) => Err(WhyLeftOut::LeavesProject),
        Err(_) => Err(WhyLeftOut::LeadsNowhere),
    }
}

fn collect(
    home: &Path,
    folder: &Path,
    prefix: &str,
    depth: usize,
    walked: &mut Walked,
) -> Result<(), FileError> {
    for (name, entry) in entries(folder)? {
        let place = entry.path();
        let kind = entry.file_type().map_err(|source| failed(&place, source))?;
        let path = format!("{prefix}{name}");
        if kind.is_dir() {
            if depth > 0 {
                collect(home, &place, &format!("{path}/"), depth - 1, walked)?;
            } else {
                let why = WhyLeftOut::TooDeep;
                walked.left_out.push(LeftOut { place, why });
            }
            continue;
        }
        let metadata = if kind.is_symlink() {
            match target(home, &place) {
                Ok(target) => fs::metadata(target),
                Err(why) => {
                    walked.left_out.push(LeftOut { place, why });
                    continue;
                }
            }
        } else {
            entry.metadata()
        };
        match metadata {
            Ok(metadata) if metadata.is_file() => walked.files.push(WalkedFile {
                path,
                place,
                metadata,
            }),
            Ok(metadata) if metadata.is_dir() => {
                let why = WhyLeftOut::LinkedFolder;
                walked.left_out.push(LeftOut { place, why });
            }
            // A socket, or a file that has just been removed.
            Ok(_) => {}
            Err(error) if is_absent(&error) => {}
            Err(source) => return Err(failed(&place, source)),
        }
    }
    Ok(())
}

/// What lies in a folder, ordered by name, without hidden entries.
fn entries(folder: &Path) -> Result<Vec<(String, DirEntry)>, FileError> {
    let listing = match fs::read_dir(folder) {
        Ok(listing) => listing,
        Err(error) if is_absent(&error) => return Ok(Vec::new()),
        Err(source) => return Err(failed(folder, source)),
    };
    let mut found = Vec::new();
    for entry in listing {
        let entry = entry.map_err(|source| failed(folder, source))?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if !name.starts_with('.') {
            found.push((name, entry));
        }
    }
    found.sort_by(|(left, _), (right, _)| left.cmp(right));
    Ok(found)
}

#[cfg(test)]
mod tests;
