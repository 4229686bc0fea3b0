//! Formats source files: one key order, one layout, all comments preserved.
//!
//! Quotes, flow collections and scalars keep their spelling. A file whose words or YAML value would
//! change is refused.

pub(crate) mod comments;
mod print;
mod tree;

use ktx_diagnostics::{Code, Diagnostic, Location};

use ktx_semantic_layer::SourceFile;
use ktx_semantic_layer::authored;
use ktx_semantic_layer::shape::{OVERLAY, Record, STANDALONE};

/// Formats one source file, standalone or overlay. Idempotent.
///
/// `path` is relative to the connection's folder and appears in the diagnostic.
///
/// # Errors
///
/// The loader's diagnostic for an unreadable file; `not_formatted` if formatting would lose
/// something.
pub fn format_source(text: &str, path: &str) -> Result<String, Diagnostic> {
    let text = text.trim_start_matches('\u{feff}');
    let refuse = |reason: &str| {
        let location = Location {
            file: path.to_owned(),
            position: None,
        };
        Diagnostic::error(Code::NotFormatted, reason).at(location)
    };
    let file = SourceFile::new(path, text);
    if file.is_manifest() {
        return Err(refuse(
            "a manifest shard is laid out by the scan that writes it",
        ));
    }
    let before = value(&file)?;
    let once = layout(text, &before).map_err(|reason| refuse(&reason))?;
    if words(&once) != words(text) {
        return Err(refuse(
            "the layout of this file is too unusual to keep every word of it",
        ));
    }
    let after = value(&SourceFile::new(path, once.as_str()))
        .map_err(|_| refuse("the layout of this file cannot be changed without breaking it"))?;
    if after != before {
        return Err(refuse(
            "the layout of this file cannot be changed without changing its values",
        ));
    }
    match layout(&once, &after) {
        Ok(twice) if twice == once => Ok(once),
        _ => Err(refuse("this file has no stable layout")),
    }
}

fn value(file: &SourceFile) -> Result<serde_yaml::Value, Diagnostic> {
    let broken = |code: Code, message: String, position| {
        let location = Location {
            file: file.path.clone(),
            position,
        };
        Diagnostic::error(code, message).at(location)
    };
    authored::read(file)
        .map_err(|problem| broken(problem.kind.code(), problem.message, problem.position))?;
    serde_yaml::from_slice(&file.bytes)
        .map_err(|error| broken(Code::ParseError, error.to_string(), None))
}

/// Sorted, so that moved lines and changed indentation compare equal.
fn words(text: &str) -> Vec<&str> {
    let mut words: Vec<&str> = text.split_whitespace().collect();
    words.sort_unstable();
    words
}

fn layout(text: &str, value: &serde_yaml::Value) -> Result<String, String> {
    let document = tree::read(text)?;
    Ok(print::document(document, record_of(value)))
}

fn record_of(value: &serde_yaml::Value) -> &'static Record {
    let is_standalone = value.get("table").is_some() || value.get("sql").is_some();
    if is_standalone { &STANDALONE } else { &OVERLAY }
}

#[cfg(test)]
mod tests;
