//! Reads the files of a folder.

use std::path::Path;

use ktx_project_store::{FileError, walk};

use crate::snapshot::{FolderKind, LeftOut, ReadError, Snapshot};

/// Maximum file size in bytes; longer files are skipped.
const LONGEST_FILE: u64 = 1_000_000;

/// Maximum total bytes of a source; further files are skipped.
const MOST_BYTES: u64 = 100_000_000;

pub(crate) fn look_at(root: &Path, kind: FolderKind) -> Result<(), ReadError> {
    let root = root.to_owned();
    match std::fs::metadata(&root) {
        Ok(found) if found.is_dir() => Ok(()),
        Ok(_) => Err(ReadError::NotAFolder { root, kind }),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            Err(ReadError::Missing { root, kind })
        }
        Err(source) => Err(FileError::Read { path: root, source }.into()),
    }
}

pub(crate) fn read(
    root: &Path,
    kind: FolderKind,
    is_wanted: impl Fn(&str) -> bool,
) -> Result<Snapshot, ReadError> {
    look_at(root, kind)?;
    let mut snapshot = Snapshot::default();
    let walked = walk(root, root)?;
    for file in walked.files {
        if is_wanted(&file.path) {
            add(&mut snapshot, &file.place, file.path);
        }
    }
    for left in walked.left_out {
        let path = left.place.strip_prefix(root).unwrap_or(&left.place);
        snapshot.left_out.push(LeftOut {
            path: path.display().to_string(),
            reason: left.why.text().to_owned(),
        });
    }
    snapshot
        .left_out
        .sort_by(|left, right| left.path.cmp(&right.path));
    Ok(snapshot)
}

pub(crate) fn is_yaml(path: &str) -> bool {
    has_ending(path, &["yml", "yaml"])
}

pub(crate) fn has_ending(path: &str, endings: &[&str]) -> bool {
    let ending = Path::new(path)
        .extension()
        .and_then(|ending| ending.to_str());
    ending.is_some_and(|ending| {
        endings
            .iter()
            .any(|known| known.eq_ignore_ascii_case(ending))
    })
}

pub(crate) fn add(snapshot: &mut Snapshot, place: &Path, path: String) {
    let reason = match std::fs::metadata(place) {
        Ok(found) if found.len() > LONGEST_FILE => {
            format!(
                "it has {} bytes, at most {LONGEST_FILE} are read",
                found.len()
            )
        }
        Ok(found) if snapshot.bytes + found.len() > MOST_BYTES => format!(
            "the files before it have {} bytes together, at most {MOST_BYTES} of a source are read",
            snapshot.bytes
        ),
        Ok(_) => match std::fs::read(place).map(String::from_utf8) {
            Ok(Ok(text)) => {
                let text = text
                    .strip_prefix('\u{feff}')
                    .map(str::to_owned)
                    .unwrap_or(text);
                snapshot.bytes += text.len() as u64;
                snapshot.files.insert(path, text);
                return;
            }
            Ok(Err(error)) => format!("byte {} is not UTF-8", error.utf8_error().valid_up_to()),
            Err(error) => error.to_string(),
        },
        Err(error) => error.to_string(),
    };
    snapshot.left_out.push(LeftOut { path, reason });
}
