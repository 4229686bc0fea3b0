//! Long results in parts: what is cut off is kept and read on with a cursor, the same on every backend
//! (KTX-54).

use std::collections::BTreeMap;

use serde_json::Value;

use crate::{ToolError, ToolOutput};

/// The longest result that every backend hands to a model whole, in UTF-16 units, as the one that
/// counts them does.
pub const LONGEST_RESULT: usize = 500_000;

/// Room for the note about a cut result.
const NOTE_ROOM: usize = 500;

/// The argument that asks for the next part of a cut result.
pub const CURSOR: &str = "_cursor";

/// The unread rest of results that were cut, over one conversation.
#[derive(Debug, Default)]
pub struct ResultParts {
    rest: BTreeMap<String, String>,
    cuts: u32,
}

impl ResultParts {
    /// The next part, when the arguments ask for one instead of for a call.
    pub fn asked_for(&mut self, arguments: &Value) -> Option<Result<String, String>> {
        let part = arguments.get(CURSOR).and_then(Value::as_str)?;
        Some(match self.rest.remove(part) {
            Some(rest) => Ok(self.cut(rest)),
            None => Err("this part does not exist or was read already".to_owned()),
        })
    }

    /// What a model sees of the outcome of a call; an error is on the right.
    pub fn shown(&mut self, outcome: &Result<ToolOutput, ToolError>) -> Result<String, String> {
        match outcome {
            Ok(output) => Ok(self.cut(output.markdown.clone())),
            Err(error) => Err(self.cut(error.message.clone())),
        }
    }

    /// Cuts a text that would not be handed over whole, and keeps the rest under a cursor.
    fn cut(&mut self, text: String) -> String {
        if utf16_length(&text) <= LONGEST_RESULT {
            return text;
        }
        let at = utf16_boundary(&text, LONGEST_RESULT - NOTE_ROOM);
        let (head, tail) = text.split_at(at);
        self.cuts += 1;
        let cursor = format!("part-{}", self.cuts);
        let note = format!(
            "\n\n[cut: {} characters are left. Call the same tool with only {{\"{CURSOR}\": \"{cursor}\"}} to read on.]",
            utf16_length(tail)
        );
        let shown = format!("{head}{note}");
        self.rest.insert(cursor, tail.to_owned());
        shown
    }
}

fn utf16_length(text: &str) -> usize {
    text.chars().map(char::len_utf16).sum()
}

/// The byte index behind the last whole character of the first `units` UTF-16 units.
fn utf16_boundary(text: &str, units: usize) -> usize {
    let mut seen = 0;
    for (index, letter) in text.char_indices() {
        seen += letter.len_utf16();
        if seen > units {
            return index;
        }
    }
    text.len()
}
