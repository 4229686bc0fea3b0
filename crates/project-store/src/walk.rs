//! Decides which files of a project's folder count, for everything that reads such a folder.
//!
//! Hidden entries do not count. A link to a file counts if the file is in the project: the author
//! of a project must not choose what else of the machine is read and served. Links to folders below
//! the walked folder are never followed, so that a walk terminates.

use std::fs::{self, DirEntry, Metadata};
use std::io;
use std::path::{Path, PathBuf};

use crate::FileError;
use crate::files::is_absent;

/// Maximum depth of a walk; deeper folders are ignored.
const DEPTH: usize = 16;

/// One file below a walked folder.
#[derive(Debug, Clone)]
pub struct WalkedFile {
    /// The path below the folder, with `/`.
    pub path: String,
    /// Its path in the file system.
    pub place: PathBuf,
    /// The metadata of the file; for a link, those of its target.
    pub metadata: Metadata,
}

/// Why an entry does not count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WhyLeftOut {
    /// It is, or is below, a link that leads out of the project.
    LeavesProject,
    /// It is a link to a folder.
    LinkedFolder,
    /// It is a broken link.
    LeadsNowhere,
    /// It is a folder too deep below the walked one.
    TooDeep,
}

impl WhyLeftOut {
    /// Returns the reason in words that follow the path.
    pub const fn text(self) -> &'static str {
        match self {
            Self::LeavesProject => "is a link that leads out of the project and is not read",
            Self::LinkedFolder => "is a link to a folder and is not read",
            Self::LeadsNowhere => "is a link that leads nowhere",
            Self::TooDeep => "is too deep a folder and is not read",
        }
    }
}

/// An entry that does not count although users may expect it to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftOut {
    /// The entry; the walked folder itself if that is outside of the project.
    pub place: PathBuf,
    pub why: WhyLeftOut,
}

/// The result of a walk.
#[derive(Debug, Clone, Default)]
pub struct Walked {
    /// The files, sorted by path.
    pub files: Vec<WalkedFile>,
    /// The entries that do not count, except hidden ones.
    pub left_out: Vec<LeftOut>,
}

/// The folders in a folder.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Folders {
    /// Their names, sorted.
    pub names: Vec<String>,
    /// Links to folders, and the folder itself if it is outside of the project.
    pub left_out: Vec<LeftOut>,
}

/// Returns all files below `folder`, which belongs to the project in `root`; empty if the folder is
/// missing or outside of the project.
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

/// Returns the folders in `folder`, which belongs to the project in `root`.
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

/// Returns the real path of the project if the folder exists and is in it.
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

/// Returns the target of a link if it is in the project.
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

/// Returns the entries of a folder, sorted by name, without hidden ones.
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
