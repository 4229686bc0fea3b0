//! Listings of sources, cached on disk while all stamps are the same.

use std::fs;
use std::path::{Path, PathBuf};

use ktx_diagnostics::{Code, Diagnostic, Failure, Hint, Location, Position, Severity};
use ktx_vocabulary::ConnectionId;
use serde::{Deserialize, Serialize};

use super::sources::SourceFiles;
use super::{IndexPlace, Inner};
use crate::documents::source_list;
use crate::wire::{SourceItem, SourceList};

/// Changes with the form or content of listings.
const FORMAT: u32 = 2;

impl Inner {
    pub(super) fn listing(&self, id: &ConnectionId) -> Result<SourceList, Failure> {
        let files = match self.source_files(id) {
            Ok(files) => files,
            Err(failure) if failure.code == Code::OutsideProject => {
                return Ok(SourceList {
                    items: Vec::new(),
                    diagnostics: vec![told(failure, Severity::Error)],
                });
            }
            Err(failure) => return Err(failure),
        };
        if let Some(limited) = self.limited(id)? {
            return Ok(source_list(id, &limited.catalog));
        }
        let mut list = self.listed(id, &files)?;
        let left_out = files.left_out.iter().map(|one| self.left_out(one));
        list.diagnostics
            .extend(left_out.map(|failure| told(failure, Severity::Warning)));
        Ok(list)
    }

    fn listed(&self, id: &ConnectionId, files: &SourceFiles) -> Result<SourceList, Failure> {
        let stamp = self.stamp_of(id, files)?;
        let place = self.listing_file(id);
        if let Some(place) = &place
            && let Some(kept) = read(place, &stamp)
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

    fn listing_file(&self, id: &ConnectionId) -> Option<PathBuf> {
        match &self.parts.index {
            IndexPlace::File(index) => {
                Some(index.parent()?.join("listings").join(format!("{id}.json")))
            }
            IndexPlace::Memory => None,
        }
    }
}

fn told(failure: Failure, severity: Severity) -> Diagnostic {
    let mut found = Diagnostic::error(failure.code, failure.message);
    found.severity = severity;
    found.hints = failure.hints;
    found
}

fn head(stamp: &str) -> String {
    let version = env!("CARGO_PKG_VERSION");
    format!("ktx listing {FORMAT} {version} {}\n{stamp}\n", stamp.len())
}

fn read(place: &Path, stamp: &str) -> Option<SourceList> {
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
    ktx_project_store::write_atomically(place, &bytes)
        .map(|_| ())
        .map_err(|error| error.to_string())
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
            code: found.code.to_string(),
            message: found.message.clone(),
            file: location.map(|location| location.file.clone()),
            position: position.map(|position| (position.line, position.column)),
            hints: found.hints.iter().map(ToString::to_string).collect(),
        }
    }

    fn into_diagnostic(self) -> Option<Diagnostic> {
        let code = Code::parse(&self.code)?;
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
