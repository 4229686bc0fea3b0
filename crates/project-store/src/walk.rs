//! Which files of a project's folder count: not hidden ones, and no links out of the project. Its
//! author must not choose what else of the machine is served.

use std::fs::{self, DirEntry, Metadata};
use std::io;
use std::path::{Path, PathBuf};

use crate::FileError;
use crate::files::is_absent;

/// Deeper folders do not count.
const DEPTH: usize = 16;

#[derive(Debug, Clone)]
pub struct WalkedFile {
    pub path: String,
    pub place: PathBuf,
    /// For a link, that of its target.
    pub metadata: Metadata,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OmissionReason {
    /// It is, or is below, a link out of the project.
    LeavesProject,
    LinkedFolder,
    LeadsNowhere,
    TooDeep,
    /// No permission.
    Closed,
}

impl OmissionReason {
    pub const fn text(self) -> &'static str {
        match self {
            Self::LeavesProject => "is a link that leads out of the project and is not read",
            Self::LinkedFolder => "is a link to a folder and is not read",
            Self::LeadsNowhere => "is a broken link",
            Self::TooDeep => "is nested too deeply and is not read",
            Self::Closed => "cannot be read",
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OmittedFile {
    /// The walked folder, if outside of the project.
    pub place: PathBuf,
    pub why: OmissionReason,
}

#[derive(Debug, Clone, Default)]
pub struct WalkResult {
    pub files: Vec<WalkedFile>,
    pub left_out: Vec<OmittedFile>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FolderList {
    pub names: Vec<String>,
    /// Links to folders, and a folder outside of the project.
    pub left_out: Vec<OmittedFile>,
}

/// Lists nothing if `folder` is missing or outside of the project. Follows no links to folders, so
/// that it ends.
pub fn walk(root: &Path, folder: &Path) -> Result<WalkResult, FileError> {
    FolderWalk::of(root, folder, &|_| false, ClosedEntries::Fails)
}

/// Like [`walk`], without the paths that `skips` names and without closed entries, except for
/// `folder` itself.
pub fn walk_readable(
    root: &Path,
    folder: &Path,
    skips: &dyn Fn(&str) -> bool,
) -> Result<WalkResult, FileError> {
    FolderWalk::of(root, folder, skips, ClosedEntries::IsLeftOut)
}

pub fn folders(root: &Path, folder: &Path) -> Result<FolderList, FileError> {
    let mut found = FolderList::default();
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
                Ok(_) => OmissionReason::LinkedFolder,
                Err(why) => why,
            };
            found.left_out.push(OmittedFile { place, why });
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

fn home(
    root: &Path,
    folder: &Path,
    left_out: &mut Vec<OmittedFile>,
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
    left_out.push(OmittedFile {
        place: folder.to_owned(),
        why: OmissionReason::LeavesProject,
    });
    Ok(None)
}

fn target(home: &Path, link: &Path) -> Result<PathBuf, OmissionReason> {
    match fs::canonicalize(link) {
        Ok(target) if target.starts_with(home) => Ok(target),
        Ok(_) => Err(OmissionReason::LeavesProject),
        Err(_) => Err(OmissionReason::LeadsNowhere),
    }
}

/// What to do about an entry without permission.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ClosedEntries {
    Fails,
    IsLeftOut,
}

struct FolderWalk<'a> {
    home: PathBuf,
    skips: &'a dyn Fn(&str) -> bool,
    closed: ClosedEntries,
    walked: WalkResult,
}

impl<'a> FolderWalk<'a> {
    fn of(
        root: &Path,
        folder: &Path,
        skips: &'a dyn Fn(&str) -> bool,
        closed: ClosedEntries,
    ) -> Result<WalkResult, FileError> {
        let mut walked = WalkResult::default();
        let Some(home) = home(root, folder, &mut walked.left_out)? else {
            return Ok(walked);
        };
        let mut walk = Self {
            home,
            skips,
            closed,
            walked,
        };
        walk.collect(entries(folder)?, "", DEPTH)?;
        let mut walked = walk.walked;
        walked
            .files
            .sort_by(|left, right| left.path.cmp(&right.path));
        Ok(walked)
    }

    fn collect(
        &mut self,
        entries: Vec<(String, DirEntry)>,
        prefix: &str,
        depth: usize,
    ) -> Result<(), FileError> {
        for (name, entry) in entries {
            let path = format!("{prefix}{name}");
            if (self.skips)(&path) {
                continue;
            }
            match self.entry(&entry, path, depth) {
                Err(_) if self.closed == ClosedEntries::IsLeftOut => {
                    self.leave_out(entry.path(), OmissionReason::Closed);
                }
                result => result?,
            }
        }
        Ok(())
    }

    fn leave_out(&mut self, place: PathBuf, why: OmissionReason) {
        self.walked.left_out.push(OmittedFile { place, why });
    }

    fn entry(&mut self, entry: &DirEntry, path: String, depth: usize) -> Result<(), FileError> {
        let place = entry.path();
        let kind = entry.file_type().map_err(|source| failed(&place, source))?;
        if kind.is_dir() {
            if depth > 0 {
                let below = entries(&place)?;
                self.collect(below, &format!("{path}/"), depth - 1)?;
            } else {
                self.leave_out(place, OmissionReason::TooDeep);
            }
            return Ok(());
        }
        let metadata = if kind.is_symlink() {
            match target(&self.home, &place) {
                Ok(target) => fs::metadata(target),
                Err(why) => {
                    self.leave_out(place, why);
                    return Ok(());
                }
            }
        } else {
            entry.metadata()
        };
        match metadata {
            Ok(metadata) if metadata.is_file() => self.walked.files.push(WalkedFile {
                path,
                place,
                metadata,
            }),
            Ok(metadata) if metadata.is_dir() => {
                self.leave_out(place, OmissionReason::LinkedFolder);
            }
            // A socket, or a file that was just removed.
            Ok(_) => {}
            Err(error) if is_absent(&error) => {}
            Err(source) => return Err(failed(&place, source)),
        }
        Ok(())
    }
}

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
