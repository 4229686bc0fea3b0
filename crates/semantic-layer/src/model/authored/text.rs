//! Parses bytes as source files: encoding, size, YAML errors with positions.

use ktx_diagnostics::{LineIndex, Position};
use ktx_vocabulary::SourceName;

use super::{Authored, Manifest, Overlay, Standalone, StrictMap};
use crate::model::error::ErrorKind;
use crate::model::source_file::SourceFile;

/// Maximum bytes of a file.
const LARGEST: usize = 10 * 1024 * 1024;

#[derive(Debug, Clone)]
pub struct Problem {
    pub kind: ErrorKind,
    pub message: String,
    pub position: Option<Position>,
    pub name: Option<String>,
}

pub fn read(file: &SourceFile) -> Result<Authored, Problem> {
    let text = text(file)?;
    read_text(file, text).map_err(|problem| documents(file, text).unwrap_or(problem))
}

fn read_text(file: &SourceFile, text: &str) -> Result<Authored, Problem> {
    let problem = |error: serde_yaml::Error, kind| from_yaml(&error, kind, text);
    if file.is_manifest() {
        let manifest = serde_yaml::from_str::<Option<Manifest>>(text)
            .map_err(|error| shard_problem(&error, text))?;
        return Ok(Authored::Manifest(manifest.unwrap_or(Manifest {
            tables: <_>::default(),
        })));
    }
    if file.is_import() {
        let import: Overlay = serde_yaml::from_str(text)
            .map_err(|error| problem(error, ErrorKind::InvalidOverlay))?;
        return Ok(Authored::Import(Box::new(import)));
    }
    if let Some(source) = at_first_sight(text) {
        return Ok(source);
    }
    let keys: StrictMap<serde::de::IgnoredAny> =
        serde_yaml::from_str(text).map_err(|error| problem(error, ErrorKind::ParseError))?;
    if keys.0.contains_key("table") || keys.0.contains_key("sql") {
        let source: Standalone =
            serde_yaml::from_str(text).map_err(|error| problem(error, ErrorKind::InvalidSource))?;
        Ok(Authored::Standalone(Box::new(source)))
    } else {
        let overlay: Overlay = serde_yaml::from_str(text)
            .map_err(|error| problem(error, ErrorKind::InvalidOverlay))?;
        Ok(Authored::Overlay(Box::new(overlay)))
    }
}

/// The YAML reader has no usable message here.
fn documents(file: &SourceFile, text: &str) -> Option<Problem> {
    let lines = LineIndex::new(text);
    let problem = |kind, message: &str, offset| Problem {
        kind,
        message: message.to_owned(),
        position: Some(lines.position(offset)),
        name: recovered_name(text).filter(|_| !file.is_manifest()),
    };
    match documents_in(text) {
        Documents::None => {
            let message = "the file is empty; a source file says at least `name`";
            Some(problem(ErrorKind::InvalidSource, message, 0))
        }
        Documents::One => None,
        Documents::More(offset) => {
            let message = if file.is_manifest() {
                "a second document begins here; put all tables under one `tables`"
            } else {
                "a second document begins here; put each source into a file of its own"
            };
            Some(problem(ErrorKind::ParseError, message, offset))
        }
    }
}

enum Documents {
    None,
    One,
    More(usize),
}

/// Content lines never start with a document marker.
fn documents_in(text: &str) -> Documents {
    let is_mark = |line: &str, mark: &str| {
        let rest = line.strip_prefix(mark);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(char::is_whitespace))
    };
    let says_something = |line: &str| {
        let line = line.trim();
        !line.is_empty() && !line.starts_with('#')
    };
    let (mut has_begun, mut has_content, mut has_ended) = (false, false, false);
    let mut offset = 0;
    for line in text.split_inclusive('\n') {
        let begins = is_mark(line, "---");
        if is_mark(line, "...") {
            has_ended = has_begun || has_content;
        } else if begins && (has_begun || has_content) {
            return Documents::More(offset);
        } else if begins {
            has_begun = true;
            has_content = says_something(line.trim_start_matches('-'));
        } else if says_something(line) && (has_content || has_begun || !line.starts_with('%')) {
            if has_ended {
                return Documents::More(offset);
            }
            has_content = true;
        }
        offset += line.len();
    }
    let is_nothing = matches!(text.trim(), "~" | "null");
    if has_content && !is_nothing {
        Documents::One
    } else {
        Documents::None
    }
}

fn shard_problem(error: &serde_yaml::Error, text: &str) -> Problem {
    let syntax = serde_yaml::from_str::<StrictMap<serde::de::IgnoredAny>>(text).err();
    let problem = match syntax {
        Some(error) => from_yaml(&error, ErrorKind::ParseError, text),
        None => from_yaml(error, ErrorKind::InvalidSource, text),
    };
    Problem {
        name: None,
        ..problem
    }
}

/// Parses a valid file in one pass. Returns `None` for everything unusual; the slow path can
/// explain errors.
fn at_first_sight(text: &str) -> Option<Authored> {
    let says_whence = text
        .lines()
        .any(|line| line.starts_with("table:") || line.starts_with("sql:"));
    if says_whence {
        let source: Standalone = serde_yaml::from_str(text).ok()?;
        let is_standalone = source.table.is_some() || source.sql.is_some();
        return is_standalone.then(|| Authored::Standalone(Box::new(source)));
    }
    let overlay: Overlay = serde_yaml::from_str(text).ok()?;
    Some(Authored::Overlay(Box::new(overlay)))
}

/// Other unknown keys are not overlay errors.
const NOT_IN_OVERLAYS: [&str; 4] = ["description", "type", "expr", "source_type"];

fn shape_kind(asked: ErrorKind, message: &str) -> ErrorKind {
    let shape = [
        "invalid type",
        "duplicate key",
        "duplicate field",
        "missing field",
    ];
    match asked {
        ErrorKind::ParseError if shape.iter().any(|text| message.contains(text)) => {
            ErrorKind::InvalidSource
        }
        ErrorKind::InvalidOverlay => {
            let about = |key: &&str| message.contains(&format!("unknown field `{key}`"));
            if NOT_IN_OVERLAYS.iter().any(about) {
                ErrorKind::InvalidOverlay
            } else {
                ErrorKind::InvalidSource
            }
        }
        kind => kind,
    }
}

fn text(file: &SourceFile) -> Result<&str, Problem> {
    let bytes = file
        .bytes
        .strip_prefix(b"\xef\xbb\xbf")
        .unwrap_or(&file.bytes);
    if bytes.len() > LARGEST {
        return Err(Problem {
            kind: ErrorKind::ParseError,
            message: "the file is larger than 10 MB".to_owned(),
            position: None,
            name: None,
        });
    }
    std::str::from_utf8(bytes).map_err(|error| {
        let before = bytes.get(..error.valid_up_to()).unwrap_or_default();
        let valid = std::str::from_utf8(before).unwrap_or_default();
        Problem {
            kind: ErrorKind::ParseError,
            message: "the file is not valid UTF-8".to_owned(),
            position: Some(LineIndex::new(valid).position(valid.len())),
            name: recovered_name(valid),
        }
    })
}

/// Removes the position from the message.
fn from_yaml(error: &serde_yaml::Error, kind: ErrorKind, text: &str) -> Problem {
    let number = |value: usize| u32::try_from(value).unwrap_or(u32::MAX);
    let place = error.location();
    let whole = error.to_string();
    let message = whole.split(" at line ").next().unwrap_or(&whole).to_owned();
    Problem {
        kind: shape_kind(kind, &message),
        message,
        position: place.map(|place| Position {
            line: number(place.line().max(1)),
            column: number(place.column().max(1)),
        }),
        name: recovered_name(text),
    }
}

const INDICATORS: [char; 15] = [
    '[', ']', '{', '}', '&', '*', '!', '|', '>', '%', '@', '`', '#', ',', '?',
];

/// Lists files that do not parse; ignores values that cannot be a source name.
fn recovered_name(text: &str) -> Option<String> {
    let value = text.lines().find_map(|line| line.strip_prefix("name:"))?;
    let value = value.split(" #").next().unwrap_or(value).trim();
    let value = value.trim_matches(|letter| letter == '"' || letter == '\'');
    let is_name = !value.starts_with(INDICATORS) && SourceName::parse(value).is_ok();
    is_name.then(|| value.to_owned())
}
