//! Redacts values by the name before them.

use super::shapes::SHORTEST;

/// Suffixes in lower case, without `_` and `-`.
const KEYS: &[&str] = &[
    "token",
    "secret",
    "apikey",
    "accesskey",
    "accesskeyid",
    "secretkey",
    "privatekey",
    "credential",
    "credentials",
];

/// User-chosen, so they can be short words.
const PASSWORDS: &[&str] = &["password", "passwd", "passphrase", "pwd"];

const SHORTEST_PASSWORD: usize = 4;

/// Text of this length is not a word.
const LONGEST_WORD: usize = 20;

const SCHEMES: &[&str] = &[
    "basic",
    "bearer",
    "digest",
    "token",
    "apikey",
    "negotiate",
    "ntlm",
    "aws4-hmac-sha256",
];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum NameKind {
    Key,
    Password,
    Authorization,
    Cookie,
}

#[derive(Debug, Clone, Copy)]
struct SecretName {
    kind: NameKind,
    is_field: bool,
}

/// `SOME_TOKEN=value`, `"someToken": "value"`, `x-api-key: value`, `Authorization: Basic value` and
/// the like. Keeps numbers, because tokens are also counted.
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
        let Some(named) = named(before) else {
            continue;
        };
        let (lead, value) = without_lead(after);
        let value = value_of(named.kind, lead, value);
        let Some(from) = secret_in(named, sign, value) else {
            continue;
        };
        out.push_str(lead);
        out.push_str(value.get(..from).unwrap_or_default());
        out.push_str("***");
        rest = after.get(lead.len() + value.len()..).unwrap_or_default();
    }
    out.push_str(rest);
    out
}

fn without_lead(after: &str) -> (&str, &str) {
    let value = after.trim_start_matches([' ', '\t', '"', '\'', '`', '\\']);
    after.split_at(after.len() - value.len())
}

/// Up to the closing quote, or as far as this kind extends.
fn value_of<'t>(kind: NameKind, lead: &str, text: &'t str) -> &'t str {
    let line = text.split(['\n', '\r']).next().unwrap_or_default();
    let quote = lead
        .chars()
        .next_back()
        .filter(|sign| "\"'`".contains(*sign));
    let is_escaped = lead.ends_with("\\\"") || lead.ends_with("\\'");
    let end = match (quote, kind) {
        (Some(quote), _) => {
            let mut ends = line.match_indices(quote).map(|(at, _)| at);
            let end = ends
                .find(|at| is_escaped || !line.get(..*at).is_some_and(|text| text.ends_with('\\')));
            end.map(|at| {
                let inside = line.get(..at).unwrap_or_default();
                if is_escaped {
                    inside.trim_end_matches('\\').len()
                } else {
                    at
                }
            })
        }
        (None, NameKind::Cookie) => line.find(['"', '\'', '`']),
        (None, NameKind::Authorization) if is_digest(line) => line.find(['\'', '`']),
        (None, NameKind::Authorization) => {
            let scheme = scheme_of(line).map_or(0, |(scheme, _)| scheme);
            let credential = line.get(scheme..).unwrap_or_default();
            Some(scheme + unquoted_end(credential))
        }
        (None, NameKind::Key | NameKind::Password) => Some(unquoted_end(line)),
    };
    line.get(..end.unwrap_or(line.len())).unwrap_or_default()
}

fn unquoted_end(text: &str) -> usize {
    text.find(|letter: char| letter.is_whitespace() || "\"'`\\,;&)}]<>".contains(letter))
        .unwrap_or(text.len())
}

fn secret_in(named: SecretName, sign: &str, value: &str) -> Option<usize> {
    let is_reference = value.starts_with("env:") || value.starts_with("file:");
    let counts = value.bytes().all(|byte| byte.is_ascii_digit());
    if is_reference || value.trim_matches('*').is_empty() {
        return None;
    }
    match named.kind {
        NameKind::Authorization => match scheme_of(value) {
            Some((from, _)) => (value.len() > from).then_some(from),
            None => (value.len() >= SHORTEST && !is_word(value)).then_some(0),
        },
        NameKind::Cookie => (value.len() >= SHORTEST && value.contains('=')).then_some(0),
        NameKind::Password => (value.len() >= SHORTEST_PASSWORD).then_some(0),
        NameKind::Key if counts || value.len() < SHORTEST => None,
        // `token: word` is a sentence as often as a secret.
        NameKind::Key if sign == ":" && !named.is_field => None,
        NameKind::Key if sign == ":" && is_word(value) => None,
        NameKind::Key => Some(0),
    }
}

fn scheme_of(value: &str) -> Option<(usize, &str)> {
    let (scheme, rest) = value.split_once(' ')?;
    let is_known = SCHEMES
        .iter()
        .any(|known| scheme.eq_ignore_ascii_case(known));
    let from = value.len() - rest.trim_start().len();
    is_known.then_some((from, scheme))
}

fn is_digest(value: &str) -> bool {
    scheme_of(value).is_some_and(|(_, scheme)| {
        scheme.eq_ignore_ascii_case("digest") || scheme.eq_ignore_ascii_case("aws4-hmac-sha256")
    })
}

fn is_word(value: &str) -> bool {
    let tail = value.get(1..).unwrap_or_default();
    let is_plain = value.bytes().all(|byte| byte.is_ascii_alphabetic());
    value.len() < LONGEST_WORD && is_plain && tail.bytes().all(|byte| byte.is_ascii_lowercase())
}

pub(super) fn is_secret(name: &str) -> bool {
    let found = named(name);
    found.is_some_and(|found| matches!(found.kind, NameKind::Key | NameKind::Password))
}

fn named(before: &str) -> Option<SecretName> {
    let open = before.trim_end_matches([' ', '\t']);
    let name = open.trim_end_matches(['"', '\'', '`', '\\']);
    let is_quoted = name.len() < open.len();
    let is_name = |letter: char| letter.is_ascii_alphanumeric() || letter == '_' || letter == '-';
    let start = name.rfind(|letter: char| !is_name(letter)).map_or(0, |at| {
        at + name
            .get(at..)
            .and_then(|rest| rest.chars().next())
            .map_or(1, char::len_utf8)
    });
    let name = name.get(start..).unwrap_or_default();
    let has_parts = name.contains(['-', '_']);
    let plain: String = name
        .chars()
        .filter(char::is_ascii_alphanumeric)
        .map(|letter| letter.to_ascii_lowercase())
        .collect();
    let ends = |names: &[&str]| names.iter().any(|end| plain.ends_with(end));
    let kind = if ends(PASSWORDS) {
        NameKind::Password
    } else if ends(&["authorization"]) {
        NameKind::Authorization
    } else if ends(&["cookie"]) {
        NameKind::Cookie
    } else if ends(KEYS) {
        NameKind::Key
    } else {
        return None;
    };
    Some(SecretName {
        kind,
        is_field: is_quoted || has_parts || plain == "apikey",
    })
}
