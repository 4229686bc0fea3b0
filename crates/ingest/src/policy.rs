//! Decides which changes of a model wait for a person: to files of others, of numbers, and texts
//! that are not about data.

mod basis;

use ktx_project_store::{Change, Content};
use ktx_semantic_layer::SourceFile;
use ktx_semantic_layer::authored::{self as written, Authored, Measure};

pub use basis::changes_basis;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum WhyHeld {
    /// A person or another source wrote the file, or a person has changed it since.
    Foreign,
    Removal,
    Number,
    /// The rows, a computed column, a join or a segment of a source changes.
    Basis,
    /// An image on another server tells that server who reads the text.
    Image,
    Instruction,
    /// It is only valid together with another withheld change.
    NeedsOthers,
}

impl WhyHeld {
    pub const fn text(self) -> &'static str {
        match self {
            Self::Foreign => "a person or another source wrote it",
            Self::Removal => "it would be removed",
            Self::Number => "a measure that exists would compute another number",
            Self::Basis => "what measures are computed from would change",
            Self::Image => "it would show an image of another server",
            Self::Instruction => "it would tell its readers what to do",
            Self::NeedsOthers => "it needs one of the other changes",
        }
    }
}

/// Phrases that address a model, in lower case.
const COMMANDS: [&str; 14] = [
    "ignore previous",
    "ignore all previous",
    "ignore the above",
    "ignore your instructions",
    "disregard previous",
    "disregard all",
    "disregard the above",
    "system prompt",
    "<system>",
    "</system>",
    "you are now",
    "do not tell the user",
    "never tell the user",
    "new instructions:",
];

/// Returns why a change to an own or new file waits; `None` if it may be committed.
pub(crate) fn why_held(change: &Change, before: Option<&[u8]>) -> Option<WhyHeld> {
    let Content::Write(after) = &change.content else {
        return Some(WhyHeld::Removal);
    };
    let path = change.path.as_str();
    if path.starts_with("semantic-layer/") {
        let before = before?;
        return if changes_number(path, before, after) {
            Some(WhyHeld::Number)
        } else {
            changes_basis(path, before, after).then_some(WhyHeld::Basis)
        };
    }
    let after = String::from_utf8_lossy(after);
    let before = before.map(String::from_utf8_lossy).unwrap_or_default();
    if images(&after).any(|address| !before.contains(address)) {
        return Some(WhyHeld::Image);
    }
    let (after, before) = (plain(&after), plain(&before));
    let mut commands = COMMANDS.iter();
    let is_new = |words: &&&str| after.contains(**words) && !before.contains(**words);
    commands
        .any(|words| is_new(&words))
        .then_some(WhyHeld::Instruction)
}

fn changes_number(path: &str, before: &[u8], after: &[u8]) -> bool {
    let (before, after) = (measures(path, before).1, measures(path, after).1);
    let formula = |measure: &Measure| {
        let bare = Measure {
            description: None,
            ..measure.clone()
        };
        serde_yaml::to_string(&bare).unwrap_or_default()
    };
    before.iter().any(|measure| {
        let mut others = after.iter();
        let same = others.find(|other| other.name.eq_ignore_ascii_case(&measure.name));
        same.is_none_or(|same| formula(same) != formula(measure))
    })
}

pub fn measures(path: &str, bytes: &[u8]) -> (String, Vec<Measure>) {
    match authored(path, bytes) {
        Some(Authored::Standalone(source)) => (source.name, source.measures),
        Some(Authored::Overlay(overlay) | Authored::Import(overlay)) => {
            (overlay.name, overlay.measures)
        }
        _ => (String::new(), Vec::new()),
    }
}

pub(crate) fn authored(path: &str, bytes: &[u8]) -> Option<Authored> {
    let inner = path.strip_prefix("semantic-layer/").unwrap_or(path);
    let inner = inner.split_once('/').map_or(inner, |(_, file)| file);
    written::read(&SourceFile::new(inner, bytes.to_vec())).ok()
}

fn images(text: &str) -> impl Iterator<Item = &str> {
    let in_markdown = text.split("![").skip(1).filter_map(|rest| {
        let (_, address) = rest.split_once("](")?;
        Some(address.split([')', ' ', '\n']).next().unwrap_or_default())
    });
    let in_html = text.split("<img").skip(1).filter_map(|rest| {
        let (_, address) = rest.split('>').next()?.split_once("src=")?;
        let address = address.trim_start_matches(['"', '\'']);
        Some(address.split(['"', '\'', ' ']).next().unwrap_or_default())
    });
    let is_foreign = |address: &&str| address.contains("//");
    in_markdown.chain(in_html).filter(is_foreign)
}

fn plain(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    words.join(" ").to_lowercase()
}

#[cfg(test)]
mod tests;
