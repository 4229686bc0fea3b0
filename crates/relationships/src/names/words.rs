//! Splits names into words, in any language and naming style.

use crate::weights as w;

/// Folds Latin letters to plain lower case.
pub fn fold(text: &str) -> String {
    let mut folded = String::with_capacity(text.len());
    for letter in text.chars().flat_map(char::to_lowercase) {
        match letter {
            'à'..='å' | 'ā' | 'ă' | 'ą' => folded.push('a'),
            'æ' => folded.push_str("ae"),
            'ç' | 'ć' | 'č' => folded.push('c'),
            'ď' | 'đ' => folded.push('d'),
            'è'..='ë' | 'ē' | 'ę' | 'ě' => folded.push('e'),
            'ğ' => folded.push('g'),
            'ì'..='ï' | 'ī' | 'ı' => folded.push('i'),
            'ł' => folded.push('l'),
            'ñ' | 'ń' | 'ň' => folded.push('n'),
            'ò'..='ö' | 'ø' | 'ō' | 'ő' => folded.push('o'),
            'œ' => folded.push_str("oe"),
            'ř' => folded.push('r'),
            'ś' | 'š' | 'ş' | 'ș' => folded.push('s'),
            'ß' => folded.push_str("ss"),
            'ť' | 'ț' | 'ţ' => folded.push('t'),
            'ù'..='ü' | 'ū' | 'ů' | 'ű' => folded.push('u'),
            'ý' | 'ÿ' => folded.push('y'),
            'ź' | 'ż' | 'ž' => folded.push('z'),
            // Combining marks.
            '\u{300}'..='\u{36f}' => {}
            letter => folded.push(letter),
        }
    }
    folded
}

/// Folded; split at punctuation, case changes and digits.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Words(pub Vec<String>);

impl Words {
    pub fn of(name: &str) -> Self {
        let letters: Vec<char> = name.chars().collect();
        let mut words: Vec<String> = Vec::new();
        let mut word = String::new();
        for (at, letter) in letters.iter().copied().enumerate() {
            let before = at.checked_sub(1).and_then(|at| letters.get(at)).copied();
            let after = letters.get(at + 1).copied();
            if before.is_some_and(|before| is_border(before, letter, after)) {
                push_word(&mut words, &mut word);
            }
            if letter.is_alphanumeric() || ('\u{300}'..='\u{36f}').contains(&letter) {
                word.push(letter);
            } else {
                push_word(&mut words, &mut word);
            }
        }
        push_word(&mut words, &mut word);
        Self(words)
    }

    pub fn has_any(&self, list: &[&str]) -> bool {
        self.0.iter().any(|word| list.contains(&word.as_str()))
    }
}

fn push_word(words: &mut Vec<String>, word: &mut String) {
    if !word.is_empty() {
        words.push(fold(&std::mem::take(word)));
    }
}

fn is_border(before: char, letter: char, after: Option<char>) -> bool {
    let camel = before.is_lowercase() && letter.is_uppercase();
    let acronym_ends = before.is_uppercase()
        && letter.is_uppercase()
        && after.is_some_and(char::is_lowercase)
        && after != Some('s');
    let digit = before.is_ascii_digit() != letter.is_ascii_digit()
        && before.is_alphanumeric()
        && letter.is_alphanumeric();
    camel || acronym_ends || digit
}

/// Plurals and cases.
const ENDINGS: &[&str] = &[
    "", "s", "es", "e", "n", "en", "er", "ern", "nen", "ens", "os", "as", "a", "o", "i", "is",
    "ns", "x", "m", "ren", "se", "ne", "us", "um",
];
const ENDING_PAIRS: &[(&str, &str)] = &[
    ("y", "ies"),
    ("f", "ves"),
    ("fe", "ves"),
    ("l", "ux"),
    ("l", "is"),
    ("ao", "oes"),
    ("ao", "aes"),
    ("ix", "ices"),
    ("ex", "ices"),
    ("um", "a"),
    ("a", "he"),
    ("o", "hi"),
    ("z", "ces"),
    ("s", "zen"),
    ("f", "ven"),
    ("k", "cy"),
    ("ek", "ki"),
    ("ec", "cy"),
    ("x", "ces"),
    ("on", "a"),
    ("ya", "i"),
    ("a", "y"),
    ("", "y"),
    ("t", "ci"),
    ("ta", "ci"),
];
const IRREGULAR: &[(&str, &str)] = &[
    ("person", "people"),
    ("man", "men"),
    ("woman", "women"),
    ("foot", "feet"),
    ("mouse", "mice"),
];

/// Returns 1 for forms of one word, less for an abbreviation, else 0.
pub fn word_likeness(left: &str, right: &str) -> f64 {
    if left == right {
        return 1.0;
    }
    if is_form(left, right) {
        return w::WORD_FORM.get();
    }
    if let (Some(left), Some(right)) = (without_digraphs(left), without_digraphs(right))
        && (left == right || is_form(&left, &right))
    {
        return w::WORD_DIGRAPH.get();
    }
    let (short, long) = if left.len() <= right.len() {
        (left, right)
    } else {
        (right, left)
    };
    abbreviation(short, long)
}

/// `ae`, `oe` and `ue` can spell out umlauts.
fn without_digraphs(word: &str) -> Option<String> {
    (word.len() >= w::DIGRAPH_LETTERS.size()).then(|| {
        word.replace("ae", "a")
            .replace("oe", "o")
            .replace("ue", "u")
    })
}

fn is_form(left: &str, right: &str) -> bool {
    let pair = |a: &str, b: &str| IRREGULAR.contains(&(a, b)) || IRREGULAR.contains(&(b, a));
    if pair(left, right) {
        return true;
    }
    let common: usize = left
        .chars()
        .zip(right.chars())
        .take_while(|(left, right)| left == right)
        .map(|(letter, _)| letter.len_utf8())
        .sum();
    if common < w::FORM_LETTERS.size() {
        return false;
    }
    let (Some(left), Some(right)) = (left.get(common..), right.get(common..)) else {
        return false;
    };
    let known = |ending: &str| ENDINGS.contains(&ending);
    let short = left.is_empty() || right.is_empty() || common >= w::FORM_STEM.size();
    (known(left) && known(right) && short)
        || ENDING_PAIRS.contains(&(left, right))
        || ENDING_PAIRS.contains(&(right, left))
}

/// Accepts a beginning, or letters in order.
fn abbreviation(short: &str, long: &str) -> f64 {
    if short.len() < w::SHORTHAND_LETTERS.size() || short.bytes().any(|byte| byte.is_ascii_digit())
    {
        return 0.0;
    }
    if long.starts_with(short) {
        return match short.len() {
            2 => w::BEGINNING_OF_TWO.get(),
            3 => w::BEGINNING_OF_THREE.get(),
            _ => w::BEGINNING.get(),
        };
    }
    if short.len() < w::CONSONANTS_LETTERS.size()
        || w::share(short.len(), long.len()) > w::CONSONANTS_SHARE.get()
        || short.chars().next() != long.chars().next()
    {
        return two_letters(short, long);
    }
    let mut rest = long.chars();
    let in_order = short
        .chars()
        .all(|letter| rest.any(|other| other == letter));
    let vowels = short
        .chars()
        .skip(1)
        .filter(|letter| "aeiou".contains(*letter))
        .count();
    if in_order && vowels * w::CONSONANTS_VOWELS.size() <= short.len() {
        w::CONSONANTS.get()
    } else {
        0.0
    }
}

/// Matches the first letter and a later consonant, as in `pr` or `tx`.
fn two_letters(short: &str, long: &str) -> f64 {
    let mut letters = short.chars();
    match (letters.next(), letters.next(), letters.next()) {
        (Some(first), Some(second), None)
            if long.starts_with(first) && long.contains(second) && !"aeiou".contains(second) =>
        {
            w::TWO_LETTERS.get()
        }
        _ => 0.0,
    }
}

#[cfg(test)]
mod tests;
