//! Listings of sources, kept so that a folder that has not changed is not read again.
//!
//! A kept listing is valid as long as the path, size, time of modification and number of every file
//! are the same. A file that was modified shortly before the listing was written may have been
//! modified again within one tick of the clock: such a listing is not used. Both times are those of
//! the file system, so no other clock counts.

use std::fs;
use std::path::{Path, PathBuf};

use ktx_diagnostics::{Diagnostic, Hint, Location, Position, Severity};
use ktx_semantic_layer::ErrorKind;
use ktx_vocabulary::ConnectionId;
use serde::{Deserialize, Serialize};

use super::stamp::modified;
use super::{IndexPlace, Inner};
use crate::documents::source_list;
use crate::failure::Failure;
use crate::wire::{SourceItem, SourceList};

/// Changes when the form of kept listings, or what they are made of, changes.
const FORMAT: u32 = 1;

/// A file that is not older than this when a listing is written makes the listing unfit, in
/// nanoseconds.
const YOUNG: u128 = 2_000_000_000;

impl Inner {
    /// The listing of a connection's sources.
    pub(super) fn listing(&self, id: &ConnectionId) -> Result<SourceList, Failure> {
        let entries = self.source_files(id)?;
        let stamp = self.stamp_of(id, &entries)?;
        let newest = entries.iter().map(|entry| entry.modified).max();
        let place = self.listing_file(id);
        if let Some(place) = &place
            && let Some(kept) = read(place, &stamp, newest.unwrap_or(0))
        {
            return Ok(kept);
        }
        let catalog = self.catalog(id)?;
        let list = source_list(id, &catalog);
        if let Some(place) = &place
            && let Err(reason) = write(place, &stamp, &list)
        {
            tracing::debug!(%reason, "the listing is not kept");
        }
        Ok(list)
    }

    /// Where the listing is kept: beside the search index, when that is a file.
    fn listing_file(&self, id: &ConnectionId) -> Option<PathBuf> {
        match &self.parts.index {
            IndexPlace::File(index) => {
                Some(index.parent()?.join("listings").join(format!("{id}.json")))
            }
            IndexPlace::Memory => None,
        }
    }
}

/// What stands before the listing.
fn head(stamp: &str) -> String {
    let version = env!("CARGO_PKG_VERSION");
    format!("ktx listing {FORMAT} {version} {}\n{stamp}\n", stamp.len())
}

/// A listing that is valid; anything else is as good as none.
fn read(place: &Path, stamp: &str, newest: u128) -> Option<SourceList> {
    let written = modified(&fs::metadata(place).ok()?);
    if newest + YOUNG > written {
        return None;
    }
    let bytes = fs::read(place).ok()?;
    let list = bytes.strip_prefix(head(stamp).as_bytes())?;
    serde_json::from_slice::<Kept>(list).ok()?.into_list()
}

fn write(place: &Path, stamp: &str, list: &SourceList) -> Result<(), String> {
    let kept = Kept {
        items: list.items.clone(),
        diagnostics: list.diagnostics.iter().map(KeptDiagnostic::of).collect(),
    };
    let mut bytes = head(stamp).into_bytes();
    serde_json::to_writer(&mut bytes, &kept).map_err(|error| error.to_string())?;
    // Its time of modification has to move, and the same bytes would not be written.
    let written = ktx_project_store::remove(place)
        .and_then(|_| ktx_project_store::write_atomically(place, &bytes));
    written.map(|_| ()).map_err(|error| error.to_string())
}

#[derive(Serialize, Deserialize)]
struct Kept {
    items: Vec<SourceItem>,
    diagnostics: Vec<KeptDiagnostic>,
}

#[derive(Serialize, Deserialize)]
struct KeptDiagnostic {
    is_error: bool,
    code: String,
    message: String,
    file: Option<String>,
    position: Option<(u32, u32)>,
    hints: Vec<String>,
}

impl KeptDiagnostic {
    fn of(found: &Diagnostic) -> Self {
        let location = found.location.as_ref();
        let position = location.and_then(|location| location.position);
        Self {
            is_error: found.severity == Severity::Error,
            code: found.code.to_owned(),
            message: found.message.clone(),
            file: location.map(|location| location.file.clone()),
            position: position.map(|position| (position.line, position.column)),
            hints: found.hints.iter().map(ToString::to_string).collect(),
        }
    }

    fn into_diagnostic(self) -> Option<Diagnostic> {
        let code = ErrorKind::ALL
            .iter()
            .map(|kind| kind.as_str())
            .find(|code| *code == self.code)?;
        let mut found = if self.is_error {
            Diagnostic::error(code, self.message)
        } else {
            Diagnostic::warning(code, self.message)
        };
        found.location = self.file.map(|file| Location {
            file,
            position: self
                .position
                .map(|(line, column)| Position { line, column }),
        });
        found.hints = self.hints.into_iter().map(Hint::new).collect();
        Some(found)
    }
}

impl Kept {
    fn into_list(self) -> Option<SourceList> {
        let diagnostics = self
            .diagnostics
            .into_iter()
            .map(KeptDiagnostic::into_diagnostic);
        Some(SourceList {
            items: self.items,
            diagnostics: diagnostics.collect::<Option<_>>()?,
        })
    }
}
