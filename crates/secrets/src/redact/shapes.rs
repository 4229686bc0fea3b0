//! Redacts secrets by their shape.

const PREFIXES: &[&str] = &[
    "sk-",
    "xoxb-",
    "xoxp-",
    "ghp_",
    "gho_",
    "github_pat_",
    "glpat-",
    "AIza",
    "AKIA",
    "ASIA",
    "ya29.",
    "ntn_",
    "secret_",
];

pub(super) const SHORTEST: usize = 8;

const LONGEST_WORD: usize = 24;

/// First and last line of a private key (RFC 7468).
const PEM: [&str; 2] = ["-----BEGIN ", "-----END "];

const PEM_KIND: &str = "PRIVATE KEY-----";

/// Replaces truncated keys as far as they can extend.
pub(super) fn private_keys(text: &str) -> String {
    let [begin, end] = PEM;
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(begin) {
        let (before, block) = rest.split_at(at);
        out.push_str(before);
        let Some(body) = pem_line(block, begin) else {
            out.push_str(begin);
            rest = block.get(begin.len()..).unwrap_or_default();
            continue;
        };
        let last = body.match_indices(end).find_map(|(at, _)| {
            let line = body.get(at..)?;
            pem_line(line, end)
        });
        out.push_str("***");
        rest = last.unwrap_or_else(|| body.trim_start_matches(is_pem_letter));
    }
    out.push_str(rest);
    out
}

fn pem_line<'a>(text: &'a str, lead: &str) -> Option<&'a str> {
    let kind = text.strip_prefix(lead)?;
    let at = kind.find(PEM_KIND)?;
    let words = kind.get(..at)?;
    let is_kind = words
        .chars()
        .all(|letter| letter.is_ascii_uppercase() || letter.is_ascii_digit() || letter == ' ');
    kind.get(at + PEM_KIND.len()..).filter(|_| is_kind)
}

/// Includes escaped line breaks.
fn is_pem_letter(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || "+/=\\".contains(letter) || letter.is_whitespace()
}

pub(super) fn tokens(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut after_bearer = false;
    for piece in text.split_inclusive(|letter: char| !is_token_letter(letter)) {
        let word = piece.trim_end_matches(|letter: char| !is_token_letter(letter));
        let tail = piece.get(word.len()..).unwrap_or_default();
        let plain = match key_in(word) {
            _ if after_bearer && word.len() >= SHORTEST => "",
            Some(at) => word.get(..at).unwrap_or_default(),
            None => word,
        };
        out.push_str(plain);
        if plain.len() < word.len() {
            out.push_str("***");
        }
        out.push_str(tail);
        if !word.is_empty() {
            after_bearer = word.eq_ignore_ascii_case("bearer");
        }
    }
    out
}

/// A key does not begin after a letter, except for the prefix that no word contains.
fn key_in(word: &str) -> Option<usize> {
    let glued = word
        .find("sk-ant-")
        .filter(|at| word.len() - at >= "sk-ant-".len() + SHORTEST);
    let apart = PREFIXES.iter().filter_map(|prefix| {
        word.match_indices(prefix).map(|(at, _)| at).find(|at| {
            let before = word.get(..*at).and_then(|text| text.chars().next_back());
            let is_long = word.len() - at >= prefix.len() + SHORTEST;
            let rest = word.get(at + prefix.len()..).unwrap_or_default();
            let is_name = *prefix == "secret_" && is_name(rest);
            is_long && !is_name && !before.is_some_and(|letter| letter.is_ascii_alphanumeric())
        })
    });
    apart.chain(glued).min()
}

/// True for names of tables and columns. A key mixes letters and digits.
fn is_name(text: &str) -> bool {
    text.split(['_', '-', '.']).all(|part| {
        let is_word = part.bytes().all(|letter| letter.is_ascii_lowercase());
        let is_number = part.len() < SHORTEST && part.bytes().all(|digit| digit.is_ascii_digit());
        part.len() < LONGEST_WORD && (is_word || is_number)
    })
}

fn is_token_letter(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || "-_.+/=".contains(letter)
}
