//! Lists the files that a search reads.

use std::collections::BTreeSet;
use std::fmt;
use std::fs;
use std::fs::Metadata;
use std::path::Path;
use std::time::UNIX_EPOCH;

use ktx_diagnostics::counted;
use ktx_project_store::{OmissionReason, WalkedFile, walk_readable};
use ktx_search::UnitState;
use ktx_tool_descriptors::ToolError;

const MOST_BYTES: u64 = 4 << 20;

const MOST_FILES: usize = 5_000;

/// For all files together.
const MOST_OF_ALL: u64 = 64 << 20;

const NAMED: usize = 3;

#[derive(Debug, Default)]
pub(super) struct NotSearched {
    pub(super) without_text: usize,
    pub(super) beyond: usize,
    pub(super) links: usize,
    pub(super) closed: Vec<String>,
}

impl NotSearched {
    pub(super) fn lines(&self) -> Vec<String> {
        let mut lines = Vec::new();
        let counts = [
            (self.without_text, "without text"),
            (self.beyond, "beyond 4 MiB, 5,000 files or 64 MiB in all"),
            (self.links, "reached by links only"),
        ];
        for (count, what) in counts {
            if count > 0 {
                lines.push(format!("[not searched: {} {what}]", counted(count, "file")));
            }
        }
        if !self.closed.is_empty() {
            lines.push(format!("[could not be read: {}]", Names(&self.closed)));
        }
        lines
    }
}

struct Names<'a>(&'a [String]);

impl fmt::Display for Names<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let named: Vec<String> = self
            .0
            .iter()
            .take(NAMED)
            .map(|name| format!("`{name}`"))
            .collect();
        f.write_str(&named.join(", "))?;
        match self.0.len() - named.len() {
            0 => Ok(()),
            more => write!(f, " and {more} more"),
        }
    }
}

pub(super) struct Place<'a> {
    pub(super) project: &'a Path,
    /// Relative to the project.
    pub(super) source: &'a Path,
    pub(super) ignored: &'a BTreeSet<String>,
}

/// Adds omitted files to the report.
pub(super) fn listed(
    place: &Place<'_>,
    not_searched: &mut NotSearched,
) -> Result<Vec<UnitState>, ToolError> {
    let shown = slashed(place.source);
    let failed =
        |reason: &dyn fmt::Display| ToolError::new(format!("`{shown}` cannot be read: {reason}"));
    let project = fs::canonicalize(place.project).map_err(|error| failed(&error))?;
    let real = fs::canonicalize(project.join(place.source)).map_err(|error| failed(&error))?;
    let Ok(inside) = real.strip_prefix(&project) else {
        return Err(failed(&"it is outside of the project"));
    };
    if is_ignored(place.ignored, &slashed(inside)) {
        return Err(ToolError::new(format!(
            "`{shown}` is not searched, because git ignores it"
        )));
    }
    let metadata = fs::metadata(&real).map_err(|error| failed(&error))?;
    let mut selection = Selection {
        bytes: 0,
        units: Vec::new(),
        not_searched,
    };
    if metadata.is_file() {
        selection.add(&WalkedFile {
            path: shown,
            place: real,
            metadata,
        });
        return Ok(selection.units);
    }
    let below = |path: &str, folder: &str| match folder {
        "" => path.to_owned(),
        folder => format!("{folder}/{path}"),
    };
    let in_git = slashed(inside);
    let skips = |path: &str| place.ignored.contains(&below(path, &in_git));
    let walked = walk_readable(&project, &real, &skips).map_err(|error| failed(&error))?;
    for left_out in walked.left_out {
        match left_out.why {
            OmissionReason::Closed | OmissionReason::TooDeep => {
                let path = left_out.place.strip_prefix(&real).map(slashed);
                let path = path.map_or_else(|_| shown.clone(), |path| below(&path, &shown));
                selection.not_searched.closed.push(path);
            }
            OmissionReason::LeavesProject
            | OmissionReason::LinkedFolder
            | OmissionReason::LeadsNowhere => {
                selection.not_searched.links += 1;
            }
        }
    }
    for file in walked.files {
        let path = below(&file.path, &shown);
        selection.add(&WalkedFile { path, ..file });
    }
    Ok(selection.units)
}

/// Also if git ignores a folder above the path.
fn is_ignored(ignored: &BTreeSet<String>, path: &str) -> bool {
    let above = path
        .match_indices('/')
        .filter_map(|(end, _)| path.get(..end));
    above.chain([path]).any(|path| ignored.contains(path))
}

struct Selection<'a> {
    bytes: u64,
    units: Vec<UnitState>,
    not_searched: &'a mut NotSearched,
}

impl Selection<'_> {
    fn add(&mut self, file: &WalkedFile) {
        let size = file.metadata.len();
        if is_link(&file.place) {
            // Git may ignore the link's target.
            self.not_searched.links += 1;
        } else if size > MOST_BYTES
            || self.units.len() >= MOST_FILES
            || self.bytes + size > MOST_OF_ALL
        {
            self.not_searched.beyond += 1;
        } else {
            self.bytes += size;
            self.units.push(UnitState {
                unit: file.path.clone(),
                stamp: stamp(&file.metadata),
            });
        }
    }
}

fn stamp(metadata: &Metadata) -> String {
    let modified = metadata.modified().unwrap_or(UNIX_EPOCH);
    let since = modified.duration_since(UNIX_EPOCH).unwrap_or_default();
    format!("{} {}", metadata.len(), since.as_nanos())
}

fn is_link(place: &Path) -> bool {
    fs::symlink_metadata(place).is_ok_and(|metadata| metadata.is_symlink())
}

pub(super) fn slashed(path: &Path) -> String {
    let parts = path.iter().filter(|part| *part != ".");
    let parts = parts.map(|part| part.to_string_lossy());
    parts.collect::<Vec<_>>().join("/")
}
