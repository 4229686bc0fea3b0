//! Long results in parts, read with a cursor (KTX-54).

use std::collections::BTreeMap;

use serde_json::Value;

use crate::{ToolError, ToolOutput};

/// Maximum length of a result in UTF-16 units, as the strictest backend counts.
pub const LONGEST_RESULT: usize = 500_000;

const NOTE_ROOM: usize = 500;

pub const CURSOR: &str = "_cursor";

/// The unread remainders of one conversation.
#[derive(Debug, Default)]
pub struct ResultParts {
    rest: BTreeMap<String, String>,
    cuts: u32,
}

impl ResultParts {
    pub fn asked_for(&mut self, arguments: &Value) -> Option<Result<String, String>> {
        let part = arguments.get(CURSOR).and_then(Value::as_str)?;
        Some(match self.rest.remove(part) {
            Some(rest) => Ok(self.cut(rest)),
            None => Err("this part does not exist or was read already".to_owned()),
        })
    }

    /// Returns what a model sees; errors are `Err`.
    pub fn shown(&mut self, outcome: &Result<ToolOutput, ToolError>) -> Result<String, String> {
        match outcome {
            Ok(output) => Ok(self.cut(output.markdown.clone())),
            Err(error) => Err(self.cut(error.message.clone())),
        }
    }

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
