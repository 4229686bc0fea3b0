//! Converts a typed query to full-text expressions.

use std::collections::BTreeSet;

/// Words that are ignored if the query has others.
const STOP_WORDS: &[&str] = &[
    "a", "an", "and", "are", "as", "at", "by", "can", "did", "do", "does", "for", "from", "get",
    "had", "has", "have", "how", "i", "in", "is", "it", "many", "me", "much", "my", "of", "on",
    "or", "our", "per", "show", "that", "the", "their", "this", "to", "was", "we", "were", "what",
    "when", "where", "which", "who", "with", "you", "your",
];

const MAX_TERMS: usize = 32;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Terms {
    /// Lower-case words in query order, without duplicates.
    pub(crate) words: Vec<String>,
    pub(crate) phrases: Vec<Vec<String>>,
    /// Pairs of adjacent ideographs (or a single one).
    pub(crate) ideographs: Vec<String>,
}

impl Terms {
    /// Splits a query. The only syntax is a pair of double quotes.
    pub(crate) fn of(query: &str) -> Self {
        let mut terms = Self::default();
        let parts: Vec<&str> = query.split('"').collect();
        let closed = parts.len() % 2 == 1;
        for (index, part) in parts.iter().enumerate() {
            let quoted = index % 2 == 1 && (closed || index + 1 < parts.len());
            let words = words(part);
            if quoted && words.len() > 1 {
                terms.phrases.push(words.clone());
            }
            terms.words.extend(words);
            terms.ideographs.extend(pairs(part));
        }
        dedup(&mut terms.words);
        dedup(&mut terms.ideographs);
        let telling = |word: &String| !STOP_WORDS.contains(&word.as_str());
        if terms.words.iter().any(telling) {
            terms.words.retain(telling);
        }
        terms.words.truncate(MAX_TERMS);
        terms.ideographs.truncate(MAX_TERMS);
        terms
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.words.is_empty() && self.ideographs.is_empty()
    }

    /// Builds the expression for the `words` table, restricted to the given columns.
    pub(crate) fn words_expression(&self, columns: &str) -> Option<String> {
        let mut parts: Vec<String> = self
            .words
            .iter()
            .map(|word| format!("\"{word}\""))
            .collect();
        parts.extend(
            self.phrases
                .iter()
                .map(|phrase| format!("\"{}\"", phrase.join(" "))),
        );
        parts.extend(self.ideographs.iter().map(|pair| {
            let letters: Vec<String> = pair.chars().map(String::from).collect();
            format!("\"{}\"", letters.join(" "))
        }));
        (!parts.is_empty()).then(|| format!("{{{columns}}} : ({})", parts.join(" OR ")))
    }

    /// Builds the expression for the trigram table: whole terms as substrings.
    pub(crate) fn pieces_expression(&self) -> Option<String> {
        let parts: Vec<String> = self
            .words
            .iter()
            .map(|word| singular(word))
            .filter(|word| word.chars().count() >= 3)
            .map(|word| format!("\"{word}\""))
            .collect();
        (!parts.is_empty()).then(|| parts.join(" OR "))
    }

    /// Builds the expression for the trigram table: any trigram of any term, for misspellings.
    pub(crate) fn triples_expression(&self) -> Option<String> {
        let triples: BTreeSet<String> = self.words.iter().flat_map(|word| triples(word)).collect();
        let parts: Vec<String> = triples
            .iter()
            .map(|triple| format!("\"{triple}\""))
            .collect();
        (!parts.is_empty()).then(|| parts.join(" OR "))
    }
}

pub(crate) fn words(text: &str) -> Vec<String> {
    text.split(|letter: char| !is_of_word(letter))
        .filter(|word| word.chars().any(char::is_alphanumeric))
        .map(str::to_lowercase)
        .collect()
}

/// Strips a plural ending so that the word is a substring of its singular, too.
pub(crate) fn singular(word: &str) -> String {
    let long = word.chars().count() > 4;
    match word.strip_suffix('s') {
        Some(stem) if long && !stem.ends_with('s') => stem.to_owned(),
        _ => word.to_owned(),
    }
}

pub(crate) fn triples(word: &str) -> Vec<String> {
    let letters: Vec<char> = word.chars().collect();
    letters
        .windows(3)
        .map(|window| window.iter().collect())
        .collect()
}

/// Returns extra index terms that make scripts without spaces and compound names searchable: single
/// ideographs, and the words of `camelCase` names.
pub(crate) fn extra(names: &[&str], text: &str) -> String {
    let mut parts: Vec<String> = Vec::new();
    for name in names {
        let split = camel_words(name);
        if split.len() > 1 {
            parts.extend(split);
        }
    }
    let mut before = false;
    for letter in text.chars() {
        let ideograph = is_ideograph(letter);
        if ideograph {
            parts.push(letter.to_string());
        } else if before {
            // Keeps characters of different runs from appearing adjacent.
            parts.push("0".to_owned());
        }
        before = ideograph;
    }
    parts.join(" ")
}

/// Splits a name by case: `customerId` and `HTTPServer`.
fn camel_words(name: &str) -> Vec<String> {
    let letters: Vec<char> = name.chars().collect();
    let mut words = vec![String::new()];
    for (index, letter) in letters.iter().enumerate() {
        let before = index.checked_sub(1).and_then(|at| letters.get(at));
        let after = letters.get(index + 1);
        let starts = letter.is_uppercase()
            && (before.is_some_and(|before| before.is_lowercase() || before.is_numeric())
                || (before.is_some_and(|before| before.is_uppercase())
                    && after.is_some_and(|after| after.is_lowercase())));
        if starts || !letter.is_alphanumeric() {
            words.push(String::new());
        }
        if letter.is_alphanumeric()
            && let Some(word) = words.last_mut()
        {
            word.extend(letter.to_lowercase());
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

fn pairs(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for run in text
        .split(|letter: char| !is_ideograph(letter))
        .filter(|run| !run.is_empty())
    {
        let letters: Vec<char> = run.chars().collect();
        if letters.len() == 1 {
            found.push(run.to_owned());
        }
        found.extend(
            letters
                .windows(2)
                .map(|window| window.iter().collect::<String>()),
        );
    }
    found
}

/// Accepts letters, digits, and marks inside words. The full-text table splits both query words and
/// indexed text further, in the same way.
fn is_of_word(letter: char) -> bool {
    letter.is_alphanumeric()
        || matches!(u32::from(letter),
            0x0300..=0x036F | 0x0483..=0x0489             // Latin, Greek, Cyrillic
            | 0x0591..=0x05BD | 0x0610..=0x061A | 0x064B..=0x065F | 0x06D6..=0x06DC // Hebrew, Arabic
            | 0x0900..=0x0963 | 0x0966..=0x0DFF           // the scripts of India, without their full stops
            | 0x200C | 0x200D) // joiners
}

/// Accepts letters of scripts that are written without spaces.
fn is_ideograph(letter: char) -> bool {
    matches!(u32::from(letter),
        0x0E00..=0x0EFF          // Thai, Lao
        | 0x1000..=0x109F        // Myanmar
        | 0x1780..=0x17FF        // Khmer
        | 0x3040..=0x30FF        // kana
        | 0x3400..=0x4DBF | 0x4E00..=0x9FFF | 0xF900..=0xFAFF | 0x2_0000..=0x3_FFFF)
}

fn dedup(words: &mut Vec<String>) {
    let mut seen = BTreeSet::new();
    words.retain(|word| seen.insert(word.clone()));
}

#[cfg(test)]
mod tests;
