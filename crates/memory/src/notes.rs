//! Prepares notes: splits conversations, and detects texts that teach nothing.

use serde_json::Value;

/// Maximum characters of a piece of a conversation.
const LONGEST_PIECE: usize = 40_000;

const COURTESIES: &[&str] = &[
    "a", "again", "all", "alright", "and", "are", "bitte", "bonjour", "bye", "cheers", "ciao",
    "cool", "danke", "dank", "dir", "done", "evening", "everyone", "fine", "for", "good",
    "goodbye", "gracias", "great", "guten", "gut", "ha", "hallo", "hello", "help", "hey", "hi",
    "hola", "how", "ihnen", "ja", "lot", "lots", "many", "merci", "moin", "morgen", "morning",
    "much", "nein", "nice", "no", "of", "ok", "okay", "perfect", "please", "schön", "so", "sounds",
    "sure", "tag", "test", "testing", "thank", "thanks", "that", "the", "there", "thx", "today",
    "very", "vielen", "welcome", "well", "works", "yep", "yes", "you", "your",
];

const ANSWERS: &[&str] = &["ja", "nein", "no", "ok", "okay", "sure", "yep", "yes"];

const MOST_COURTEOUS: usize = 12;

const WORDS_OF_PROSE: usize = 3;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Worthless {
    NoWords,
    Courtesy,
    /// Program code without a comment. SQL and YAML are about tables and measures.
    Code,
}

impl Worthless {
    pub const fn reason(self) -> &'static str {
        match self {
            Self::NoWords => "it has no words",
            Self::Courtesy => "it is a greeting or thanks",
            Self::Code => "it is code without a word of prose; say in a sentence what it means",
        }
    }
}

pub fn worthless(text: &str) -> Option<Worthless> {
    if !text.chars().any(char::is_alphabetic) {
        return Some(Worthless::NoWords);
    }
    let words = words(text);
    let is_courteous = |word: &String| COURTESIES.contains(&word.as_str());
    if words.len() <= MOST_COURTEOUS && words.iter().all(is_courteous) {
        return Some(Worthless::Courtesy);
    }
    is_code(text, &words).then_some(Worthless::Code)
}

fn words(text: &str) -> Vec<String> {
    let words = text.split(|letter: char| !letter.is_alphanumeric() && letter != '_');
    let words = words.filter(|word| !word.is_empty());
    words.map(str::to_lowercase).collect()
}

fn is_code(text: &str, words: &[String]) -> bool {
    let has = |word: &str| words.iter().any(|known| known == word);
    let is_sql = has("select") || has("create") || has("with") && has("from");
    let is_yaml = has("measures") || has("expr") || has("joins") || has("name");
    if is_sql || is_yaml {
        return false;
    }
    let mut lines = text
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty() && !line.starts_with("```"))
        .peekable();
    lines.peek().is_some() && lines.all(is_line_of_code)
}

fn is_line_of_code(line: &str) -> bool {
    let is_comment = ["//", "#", "--", "/*", "*", "\"\"\"", "'''", "<!--"]
        .iter()
        .any(|sign| line.starts_with(sign))
        || line.contains(" // ")
        || line.contains(" # ");
    if is_comment {
        // A comment is prose, unless it is only a sign.
        return words(line).len() < WORDS_OF_PROSE && !line.starts_with("# ");
    }
    let ends = line.ends_with([';', '{', '}']) || line.ends_with("):");
    let is_bracket = !line.chars().any(char::is_alphanumeric);
    let begins = [
        "import ",
        "from ",
        "def ",
        "fn ",
        "let ",
        "const ",
        "var ",
        "class ",
        "return ",
        "export ",
        "pub ",
        "use ",
        "func ",
        "function ",
        "public ",
        "private ",
        "@",
    ]
    .iter()
    .any(|word| line.starts_with(word));
    let signs = ["();", ":=", "&&", "||", "::"];
    let has_sign = signs.iter().any(|sign| line.contains(sign));
    let is_sentence = line.ends_with(['.', '!', '?']) && words(line).len() > WORDS_OF_PROSE;
    (ends || begins || has_sign || is_bracket) && !is_sentence
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Conversation {
    pub pieces: Vec<String>,
    pub messages: usize,
    pub unreadable: usize,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the transcript has no message of a user or an assistant")]
pub struct NoMessages;

/// Reads a conversation: JSON lines with messages, as Claude Code stores them, or plain text. Skips
/// tool results,
/// reasoning, side conversations and courtesies.
///
/// # Errors
///
/// If there is nothing to read.
pub fn read_conversation(text: &str) -> Result<Conversation, NoMessages> {
    let text = text.trim_start_matches('\u{feff}');
    let first = text.lines().find(|line| !line.trim().is_empty());
    let is_json = first.is_some_and(|line| {
        serde_json::from_str::<Value>(line).is_ok_and(|value| value.is_object())
    });
    let mut unreadable = 0;
    let parts: Vec<String> = if is_json {
        let mut parts = Vec::new();
        for line in text.lines().filter(|line| !line.trim().is_empty()) {
            match serde_json::from_str::<Value>(line) {
                Ok(value) => parts.extend(message(&value)),
                Err(_) => unreadable += 1,
            }
        }
        parts
    } else {
        let paragraphs = text.split("\n\n").map(str::trim);
        let paragraphs = paragraphs.filter(|part| !part.is_empty());
        paragraphs.map(str::to_owned).collect()
    };
    if parts.is_empty() {
        return Err(NoMessages);
    }
    Ok(Conversation {
        messages: parts.len(),
        pieces: pieces(parts),
        unreadable,
    })
}

fn message(line: &Value) -> Option<String> {
    let is_set = |key: &str| line.get(key) == Some(&Value::Bool(true));
    if is_set("isMeta") || is_set("isSidechain") {
        return None;
    }
    let message = line.get("message").unwrap_or(line);
    let role = message.get("role").or_else(|| line.get("type"));
    let name = match role.and_then(Value::as_str) {
        Some("user") => "User",
        Some("assistant") => "Assistant",
        _ => return None,
    };
    let content = message.get("content")?;
    let text = match content {
        Value::String(text) => text.clone(),
        Value::Array(blocks) => {
            let texts = blocks.iter().filter_map(|block| {
                let is_text = block.get("type").and_then(Value::as_str) == Some("text");
                block
                    .get("text")
                    .and_then(Value::as_str)
                    .filter(|_| is_text)
            });
            texts.collect::<Vec<_>>().join("\n")
        }
        _ => return None,
    };
    let text = text.trim();
    // Commands of the program itself, and its additions to messages.
    let is_foreign = [
        "<command-",
        "<local-command",
        "<system-reminder",
        "Caveat: ",
    ];
    let is_foreign = is_foreign.iter().any(|sign| text.starts_with(sign));
    let is_empty = match worthless(text) {
        Some(Worthless::NoWords) => true,
        Some(Worthless::Courtesy) => !words(text)
            .iter()
            .any(|word| ANSWERS.contains(&word.as_str())),
        Some(Worthless::Code) | None => false,
    };
    (!is_foreign && !is_empty).then(|| format!("{name}: {text}"))
}

fn pieces(parts: Vec<String>) -> Vec<String> {
    let mut pieces = Vec::new();
    let mut piece = String::new();
    let mut length = 0;
    for part in parts {
        for part in cut(&part) {
            let own = part.chars().count();
            if length > 0 && length + own > LONGEST_PIECE {
                pieces.push(std::mem::take(&mut piece));
                length = 0;
            }
            if length > 0 {
                piece.push_str("\n\n");
            }
            piece.push_str(&part);
            length += own;
        }
    }
    if !piece.is_empty() {
        pieces.push(piece);
    }
    pieces
}

/// Cuts at the end of a line if there is one in the second half.
fn cut(part: &str) -> Vec<String> {
    let mut rest = part;
    let mut cut = Vec::new();
    while let Some((end, _)) = rest.char_indices().nth(LONGEST_PIECE) {
        let (head, _) = rest.split_at(end);
        let at = head.rfind('\n').filter(|at| *at > end / 2).unwrap_or(end);
        let (head, tail) = rest.split_at(at);
        cut.push(head.to_owned());
        rest = tail.trim_start_matches('\n');
    }
    cut.push(rest.to_owned());
    cut
}

#[cfg(test)]
mod tests;
