//! Reads YAML 1.2 core with places.

mod places;
mod value;

use ktx_diagnostics::{Code, Diagnostic, Diagnostics, Location, Position};
use serde_json::Value;

pub use places::YamlPositions;

pub const MAX_BYTES: usize = 10 * 1024 * 1024;

const MAX_NESTING: usize = 1000;

#[derive(Debug, Clone)]
pub struct LoadedYaml {
    /// Keys are converted to text; tags are ignored.
    pub value: Value,
    pub places: YamlPositions,
}

/// Reads the single document of a file; `file` is its name in messages.
///
/// Refuses text that is not UTF-8 or exceeds [`MAX_BYTES`], bad syntax, a second document,
/// duplicate keys and aliases that expand without bounds.
pub fn load(bytes: &[u8], file: &str) -> Result<LoadedYaml, Diagnostics> {
    let text = decode(bytes, file)?;
    load_text(text, file)
}

pub fn load_text(text: &str, file: &str) -> Result<LoadedYaml, Diagnostics> {
    let text = without_mark(text);
    if text.len() > MAX_BYTES {
        return Err(too_large(text.len(), file));
    }
    if nesting(text) > MAX_NESTING {
        let message = format!("cannot be read as YAML: nested more than {MAX_NESTING} levels deep");
        return Err(refuse(
            Diagnostic::error(Code::YamlSyntax, message).at(at(file, 1, 1)),
        ));
    }
    let read = value::read(text).map_err(|error| refuse(syntax(&error, text, file)))?;
    let places = YamlPositions::of(text, file);
    if let Some(path) = read.duplicate {
        let mut duplicates = places.duplicates();
        if duplicates.is_empty() {
            let path: Vec<&str> = path.iter().map(String::as_str).collect();
            duplicates.push((path.join("."), places.key(&path)));
        }
        let found = duplicates.into_iter().map(|(path, location)| {
            Diagnostic::error(Code::DuplicateKey, format!("`{path}` is there twice"))
                .at(location)
                .hint("remove one of the two entries")
        });
        return Err(Diagnostics(found.collect()));
    }
    Ok(LoadedYaml {
        value: read.value,
        places,
    })
}

pub fn without_mark(text: &str) -> &str {
    text.strip_prefix('\u{feff}').unwrap_or(text)
}

/// Returns an upper bound of bracket nesting: the parser's time grows with its square.
fn nesting(text: &str) -> usize {
    let mut depth: usize = 0;
    let mut deepest = 0;
    for byte in text.bytes() {
        match byte {
            b'[' | b'{' => depth += 1,
            b']' | b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        deepest = deepest.max(depth);
    }
    deepest
}

fn decode<'a>(bytes: &'a [u8], file: &str) -> Result<&'a str, Diagnostics> {
    if bytes.len() > MAX_BYTES {
        return Err(too_large(bytes.len(), file));
    }
    std::str::from_utf8(bytes).map_err(|error| {
        let good = bytes.get(..error.valid_up_to()).unwrap_or_default();
        let line = good.split(|byte| *byte == b'\n').count();
        let last = good
            .rsplit(|byte| *byte == b'\n')
            .next()
            .unwrap_or_default();
        let column = String::from_utf8_lossy(last).chars().count() + 1;
        refuse(
            Diagnostic::error(Code::NotUtf8, format!("`{file}` is not UTF-8 text"))
                .at(at(file, line, column))
                .hint("save the file as UTF-8"),
        )
    })
}

fn too_large(bytes: usize, file: &str) -> Diagnostics {
    let message = format!("`{file}` is too large: {bytes} bytes, at most {MAX_BYTES} are read");
    refuse(Diagnostic::error(Code::FileTooLarge, message).at(Location {
        file: file.to_owned(),
        position: None,
    }))
}

fn syntax(error: &serde_yaml::Error, text: &str, file: &str) -> Diagnostic {
    let message = error.to_string();
    let what = message.split(" at line ").next().unwrap_or(&message);
    let location = match error.location() {
        Some(place) => at(file, place.line(), place.column()),
        None => YamlPositions::of(text, file).second_document(),
    };
    Diagnostic::error(Code::YamlSyntax, format!("cannot be read as YAML: {what}")).at(location)
}

fn at(file: &str, line: usize, column: usize) -> Location {
    let position = Position {
        line: u32::try_from(line).unwrap_or(u32::MAX),
        column: u32::try_from(column).unwrap_or(u32::MAX),
    };
    Location {
        file: file.to_owned(),
        position: Some(position),
    }
}

fn refuse(diagnostic: Diagnostic) -> Diagnostics {
    Diagnostics(vec![diagnostic])
}

#[cfg(test)]
mod tests;
