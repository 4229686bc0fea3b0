//! Splits words into the tokens of a vocabulary.

use std::collections::HashMap;

use serde_json::Value;

/// Maximum bytes of a word; longer ones are encoded data.
const LONGEST_WORD: usize = 100;

/// Marks the beginning of a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum WordMark {
    Whole,
    /// A prefix of the first token of a word.
    Start(&'static str),
    /// A prefix of all other tokens.
    Continued(&'static str),
}

#[derive(Debug)]
pub(crate) struct Vocabulary {
    numbers: HashMap<String, usize>,
    mark: WordMark,
    longest: usize,
    case: LetterCase,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LetterCase {
    Lower,
    Mixed,
}

impl Vocabulary {
    pub(crate) fn from_words(numbers: HashMap<String, usize>) -> Self {
        Self::new(numbers, WordMark::Whole, LetterCase::Lower)
    }

    fn new(numbers: HashMap<String, usize>, mark: WordMark, case: LetterCase) -> Self {
        let longest = numbers.keys().map(String::len).max().unwrap_or_default();
        Self {
            numbers,
            mark,
            longest,
            case,
        }
    }

    /// Returns `None` if `tokenizer.json` has no vocabulary.
    pub(crate) fn from_tokenizer(bytes: &[u8]) -> Option<Self> {
        let file: Value = serde_json::from_slice(bytes).ok()?;
        let model = file.get("model")?;
        let numbers: HashMap<String, usize> = match model.get("vocab")? {
            Value::Object(entries) => entries
                .iter()
                .filter_map(|(token, number)| Some((token.clone(), number_of(number)?)))
                .collect(),
            Value::Array(entries) => entries
                .iter()
                .enumerate()
                .filter_map(|(number, entry)| Some((entry.get(0)?.as_str()?.to_owned(), number)))
                .collect(),
            _ => return None,
        };
        let starts = |mark: &str| {
            numbers
                .keys()
                .filter(|token| token.starts_with(mark))
                .count()
        };
        let is_word_piece = model.get("type").and_then(Value::as_str) == Some("WordPiece");
        let mark = if is_word_piece || starts("##") > starts("\u{2581}") + starts("\u{120}") {
            WordMark::Continued("##")
        } else if starts("\u{120}") > starts("\u{2581}") {
            WordMark::Start("\u{120}")
        } else {
            WordMark::Start("\u{2581}")
        };
        let lowers = |part: &Value| part.get("lowercase").and_then(Value::as_bool) == Some(true);
        let case = if file.get("normalizer").is_some_and(lowers) {
            LetterCase::Lower
        } else {
            LetterCase::Mixed
        };
        Some(Self::new(numbers, mark, case))
    }

    /// Splits each word greedily into the longest tokens, and returns their vector numbers. Skips
    /// letters without a token.
    pub(crate) fn numbers(&self, text: &str) -> Vec<usize> {
        let mut found = Vec::new();
        let words = text.split(|letter: char| !letter.is_alphanumeric());
        for word in words.filter(|word| !word.is_empty() && word.len() <= LONGEST_WORD) {
            if self.case == LetterCase::Lower {
                self.add(&word.to_lowercase(), &mut found);
            } else {
                self.add(word, &mut found);
            }
        }
        found
    }

    fn add(&self, word: &str, found: &mut Vec<usize>) {
        let (mut rest, prefix) = match self.mark {
            WordMark::Whole => {
                found.extend(self.numbers.get(word));
                return;
            }
            WordMark::Start(mark) => (format!("{mark}{word}"), ""),
            WordMark::Continued(mark) => (word.to_owned(), mark),
        };
        let mut is_first = true;
        while !rest.is_empty() {
            let before = if is_first { "" } else { prefix };
            let (length, number) = self.longest(&rest, before);
            found.extend(number);
            rest = rest.get(length..).unwrap_or_default().to_owned();
            is_first = false;
        }
    }

    fn longest(&self, rest: &str, prefix: &str) -> (usize, Option<usize>) {
        let mut end = rest.len().min(self.longest);
        while end > 0 {
            let token = rest.get(..end).map(|part| format!("{prefix}{part}"));
            if let Some(number) = token.and_then(|token| self.numbers.get(&token)) {
                return (end, Some(*number));
            }
            end -= 1;
        }
        (rest.chars().next().map_or(1, char::len_utf8), None)
    }
}

fn number_of(value: &Value) -> Option<usize> {
    usize::try_from(value.as_u64()?).ok()
}
