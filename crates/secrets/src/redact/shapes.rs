//! What looks like a secret: by the name that it is given, or by its own shape.

/// How the names of secrets end, in small letters and without `_` and `-`.
const NAMES: &[&str] = &[
    "token",
    "secret",
    "password",
    "passwd",
    "passphrase",
    "apikey",
    "accesskey",
    "accesskeyid",
    "secretkey",
    "privatekey",
    "credential",
    "credentials",
    "cookie",
];

/// How well-known keys begin.
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

/// The shortest text that is taken for a secret.
const SHORTEST: usize = 8;

/// Replaces the values of `SOME_TOKEN=value` and `"someToken": "value"`. Numbers are none: tokens are
/// also counted.
pub(super) fn values(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(['=', ':']) {
        let (before, after) = rest.split_at(at);
        let sign = after.get(..1).unwrap_or_default();
        let after = after.get(1..).unwrap_or_default();
        out.push_str(before);
        out.push_str(sign);
        rest = after;
        let Some(quoted) = secret_name(before) else {
            continue;
        };
        // `token: word` is a sentence as often as a secret.
        if sign == ":" && !quoted {
            continue;
        }
        let lead = after.len() - after.trim_start_matches([' ', '"', '\'', '\\']).len();
        let (lead, value) = after.split_at(lead);
        let end = value
            .find(|letter: char| letter.is_whitespace() || "\"'\\,;&)}]<>".contains(letter))
            .unwrap_or(value.len());
        let (value, tail) = value.split_at(end);
        let counts = value.bytes().all(|byte| byte.is_ascii_digit());
        out.push_str(lead);
        out.push_str(if value.len() < SHORTEST || counts {
            value
        } else {
            "***"
        });
        rest = tail;
    }
    out.push_str(rest);
    out
}

/// Whether a text ends with the name of a secret, and then whether the name is quoted.
fn secret_name(before: &str) -> Option<bool> {
    let open = before.trim_end();
    let name = open.trim_end_matches(['"', '\'', '\\']);
    let quoted = name.len() < open.len();
    let is_name = |letter: char| letter.is_ascii_alphanumeric() || letter == '_' || letter == '-';
    let start = name.rfind(|letter: char| !is_name(letter)).map_or(0, |at| {
        at + name
            .get(at..)
            .and_then(|rest| rest.chars().next())
            .map_or(1, char::len_utf8)
    });
    let name: String = name
        .get(start..)
        .unwrap_or_default()
        .chars()
        .filter(char::is_ascii_alphanumeric)
        .map(|letter| letter.to_ascii_lowercase())
        .collect();
    NAMES
        .iter()
        .any(|end| name.ends_with(end))
        .then_some(quoted)
}

/// Replaces the token after `Bearer ` and tokens with the well-known prefixes of keys.
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

/// Where a key begins in a word: behind no letter, but for the one prefix that is no part of a word.
fn key_in(word: &str) -> Option<usize> {
    let glued = word
        .find("sk-ant-")
        .filter(|at| word.len() - at >= "sk-ant-".len() + SHORTEST);
    let apart = PREFIXES.iter().filter_map(|prefix| {
        word.match_indices(prefix).map(|(at, _)| at).find(|at| {
            let before = word.get(..*at).and_then(|text| text.chars().next_back());
            let is_long = word.len() - at >= prefix.len() + SHORTEST;
            is_long && !before.is_some_and(|letter| letter.is_ascii_alphanumeric())
        })
    });
    apart.chain(glued).min()
}

fn is_token_letter(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || "-_.+/=".contains(letter)
}
