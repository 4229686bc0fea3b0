//! Normalizes words for comparison: removes case, accents, width and endings.

use std::ops::Range;
use std::sync::LazyLock;

use rust_stemmers::{Algorithm, Stemmer};
use unicode_normalization::UnicodeNormalization as _;

use crate::postings::RowMap;

/// Longer tokens are keys or encoded data; only their beginning counts.
const MAX_LETTERS: usize = 64;

const TELLING_WORDS: usize = 200;

const LONGEST_TELLING: usize = 8;

static TELLING: LazyLock<RowMap<u64, Language>> = LazyLock::new(|| {
    let german = GERMAN.iter().map(|word| (word, Language::German));
    let english = ENGLISH.iter().map(|word| (word, Language::English));
    let all = german.chain(english);
    all.filter_map(|(word, language)| Some((packed(word)?, language)))
        .collect()
});

const GERMAN: &[&str] = &[
    "aber", "auf", "auch", "aus", "bei", "das", "dem", "den", "der", "des", "die", "ein", "eine",
    "einer", "für", "im", "ist", "mit", "nach", "nicht", "oder", "sind", "und", "vom", "von",
    "werden", "wie", "wird", "zu", "zum", "zur", "über",
];
const ENGLISH: &[&str] = &[
    "a", "and", "are", "as", "at", "be", "by", "for", "from", "how", "is", "it", "not", "of", "on",
    "or", "that", "the", "to", "with",
];

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Language {
    English,
    German,
}

impl Language {
    pub(crate) const fn number(self) -> i64 {
        match self {
            Self::English => 0,
            Self::German => 1,
        }
    }

    pub(crate) const fn numbered(number: i64) -> Self {
        if number == Self::German.number() {
            Self::German
        } else {
            Self::English
        }
    }

    pub(crate) fn of<'t>(texts: impl Iterator<Item = &'t str>) -> Self {
        let words = texts.flat_map(|text| text.split(|letter: char| !letter.is_alphabetic()));
        let (mut german, mut english) = (0_usize, 0_usize);
        for word in words.take(TELLING_WORDS) {
            if !word.is_ascii() && word.contains(['ä', 'ö', 'ü', 'ß']) {
                german += 1;
                continue;
            }
            match told_by(word) {
                Some(Self::German) => german += 1,
                Some(Self::English) => english += 1,
                None => {}
            }
        }
        if german > english {
            Self::German
        } else {
            Self::English
        }
    }
}

fn told_by(word: &str) -> Option<Language> {
    TELLING.get(&packed(word)?).copied()
}

/// Returns a short word without its case as a number, which is faster to look up than its letters.
fn packed(word: &str) -> Option<u64> {
    (word.len() <= LONGEST_TELLING).then(|| {
        let bytes = word.bytes();
        bytes.fold(0, |packed, byte| {
            packed << 8 | u64::from(byte.to_ascii_lowercase())
        })
    })
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Token {
    Word(Range<usize>),
    /// Letters of a script without spaces.
    Run(Range<usize>),
}

pub(crate) fn tokens(text: &str) -> impl Iterator<Item = Token> {
    let mut letters = text.char_indices();
    let mut open: Option<(usize, Script)> = None;
    std::iter::from_fn(move || {
        for (at, letter) in letters.by_ref() {
            let script = Script::of(letter);
            match open {
                Some((_, last)) if script == Some(last) => {}
                Some((start, last)) => {
                    open = script.map(|script| (at, script));
                    return Some(last.token(start..at));
                }
                None => open = script.map(|script| (at, script)),
            }
        }
        let (start, last) = open.take()?;
        Some(last.token(start..text.len()))
    })
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Script {
    Spaced,
    /// Without spaces between words.
    Running,
}

impl Script {
    fn of(letter: char) -> Option<Self> {
        if letter.is_ascii() {
            return letter.is_ascii_alphanumeric().then_some(Self::Spaced);
        }
        if is_ideograph(letter) {
            Some(Self::Running)
        } else {
            is_of_word(letter).then_some(Self::Spaced)
        }
    }

    const fn token(self, range: Range<usize>) -> Token {
        match self {
            Self::Spaced => Token::Word(range),
            Self::Running => Token::Run(range),
        }
    }
}

/// Splits a name by case: `customerId`, `HTTPServer`.
pub(crate) fn case_parts(word: &str) -> Vec<&str> {
    // Most words have no inner capital: do not copy their letters.
    if word.chars().skip(1).all(|letter| !letter.is_uppercase()) {
        return vec![word];
    }
    let letters: Vec<(usize, char)> = word.char_indices().collect();
    let mut cuts = vec![0];
    for (index, (at, letter)) in letters.iter().enumerate().skip(1) {
        let before = letters.get(index - 1).map(|(_, letter)| *letter);
        let after = letters.get(index + 1).map(|(_, letter)| *letter);
        let follows_small =
            before.is_some_and(|before| before.is_lowercase() || before.is_numeric());
        let ends_capitals =
            before.is_some_and(char::is_uppercase) && after.is_some_and(char::is_lowercase);
        if letter.is_uppercase() && (follows_small || ends_capitals) {
            cuts.push(*at);
        }
    }
    cuts.push(word.len());
    let pairs = cuts.iter().zip(cuts.iter().skip(1));
    pairs
        .filter_map(|(from, to)| word.get(*from..*to))
        .collect()
}

/// Folds case, width and accents; both spellings of an umlaut become the same.
pub(crate) fn folded(word: &str) -> String {
    if word.is_ascii() {
        return joined_umlauts(word.to_ascii_lowercase());
    }
    let lower: String = word.nfkc().flat_map(char::to_lowercase).collect();
    let lower = lower.replace('ß', "ss");
    let bare: String = lower
        .nfd()
        .filter(|letter| !('\u{300}'..='\u{36f}').contains(letter))
        .nfc()
        .collect();
    joined_umlauts(bare)
}

fn joined_umlauts(word: String) -> String {
    if word.len() < 5 || !word.contains("ae") && !word.contains("oe") && !word.contains("ue") {
        return word;
    }
    let mut joined = String::with_capacity(word.len());
    let mut before = ' ';
    for letter in word.chars() {
        let is_second = letter == 'e' && matches!(before, 'a' | 'o' | 'u');
        let mut kept = joined.chars().rev().skip(1);
        // `neue`, `quelle`: the `u` belongs to the vowel before it.
        let is_vowel = kept
            .next()
            .is_some_and(|letter| matches!(letter, 'a' | 'e' | 'o' | 'q'));
        if !(is_second && !(before == 'u' && is_vowel)) {
            joined.push(letter);
        }
        before = letter;
    }
    joined
}

pub(crate) struct Analyzer {
    english: Stemmer,
    german: Stemmer,
}

impl std::fmt::Debug for Analyzer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Analyzer").finish_non_exhaustive()
    }
}

impl Default for Analyzer {
    fn default() -> Self {
        Self {
            english: Stemmer::create(Algorithm::English),
            german: Stemmer::create(Algorithm::German),
        }
    }
}

impl Analyzer {
    pub(crate) fn stem(&self, language: Language, folded: &str) -> String {
        let letters = folded.chars().count();
        if letters > MAX_LETTERS {
            return folded.chars().take(MAX_LETTERS).collect();
        }
        if letters < 4 || !folded.bytes().all(|byte| byte.is_ascii_lowercase()) {
            return folded.to_owned();
        }
        let stemmer = match language {
            Language::English => &self.english,
            Language::German => &self.german,
        };
        stemmer.stem(folded).into_owned()
    }
}

/// Returns the pairs of adjacent letters of a run, and its last letter, so that every letter begins
/// one of them.
pub(crate) fn run_parts(run: &str) -> Vec<String> {
    let letters: Vec<char> = folded(run).chars().collect();
    let mut parts: Vec<String> = letters
        .windows(2)
        .map(|pair| pair.iter().collect())
        .collect();
    parts.extend(letters.last().map(char::to_string));
    parts
}

fn is_of_word(letter: char) -> bool {
    if letter.is_ascii() {
        return letter.is_ascii_alphanumeric();
    }
    letter.is_alphanumeric()
        || matches!(u32::from(letter),
            0x0300..=0x036F | 0x0483..=0x0489             // Latin, Greek, Cyrillic
            | 0x0591..=0x05BD | 0x0610..=0x061A | 0x064B..=0x065F | 0x06D6..=0x06DC // Hebrew, Arabic
            | 0x0900..=0x0963 | 0x0966..=0x0DFF           // the scripts of India, without their full stops
            | 0x200C | 0x200D) // joiners
}

pub(crate) fn is_ideograph(letter: char) -> bool {
    letter > '\u{DFF}'
        && matches!(u32::from(letter),
        0x0E00..=0x0EFF          // Thai, Lao
        | 0x1000..=0x109F        // Myanmar
        | 0x1780..=0x17FF        // Khmer
        | 0x3040..=0x30FF        // kana
        | 0xFF66..=0xFF9F        // narrow kana
        | 0x3400..=0x4DBF | 0x4E00..=0x9FFF | 0xF900..=0xFAFF | 0x2_0000..=0x3_FFFF)
}

#[cfg(test)]
mod tests;
