//! Parses `scheme://user:password@host:port/database?parameter=value`.

use std::collections::BTreeMap;

use ktx_secrets::Secret;

/// Percent-decoded; absent and empty parts are `None`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct DatabaseUrl {
    pub(crate) scheme: String,
    pub(crate) user: Option<String>,
    pub(crate) password: Option<Secret>,
    pub(crate) host: Option<String>,
    pub(crate) port: Option<String>,
    pub(crate) database: Option<String>,
    pub(crate) parameters: BTreeMap<String, String>,
}

/// Returns `None` without `://`. The login ends at the last `@` before the path, so passwords can
/// contain `@`.
pub(crate) fn parse(text: &str) -> Option<DatabaseUrl> {
    let (scheme, rest) = text.trim().split_once("://")?;
    let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
    let query = query.split('#').next().unwrap_or_default();
    let (login, place) = match rest.rsplit_once('@') {
        Some((login, place)) => (Some(login), place),
        None => (None, rest),
    };
    let (address, path) = place.split_once('/').unwrap_or((place, ""));
    let (host, port) = split_address(address);
    let (user, password) = match login {
        Some(login) => login
            .split_once(':')
            .map_or((login, None), |(user, password)| (user, Some(password))),
        None => ("", None),
    };
    Some(DatabaseUrl {
        scheme: scheme.to_ascii_lowercase(),
        user: present(&decode(user)),
        password: password
            .map(decode)
            .filter(|text| !text.is_empty())
            .map(Secret::new),
        host: present(&decode(host)),
        port: present(port),
        database: present(&decode(path.trim_end_matches('/'))),
        parameters: query
            .split('&')
            .filter(|pair| !pair.is_empty())
            .map(|pair| pair.split_once('=').unwrap_or((pair, "")))
            .map(|(name, value)| (decode(name).to_ascii_lowercase(), decode(value)))
            .collect(),
    })
}

fn split_address(address: &str) -> (&str, &str) {
    if let Some((host, rest)) = address
        .strip_prefix('[')
        .and_then(|text| text.split_once(']'))
    {
        return (host, rest.strip_prefix(':').unwrap_or_default());
    }
    address.rsplit_once(':').unwrap_or((address, ""))
}

fn present(text: &str) -> Option<String> {
    (!text.is_empty()).then(|| text.to_owned())
}

/// Keeps invalid escapes, because passwords are often pasted unencoded.
pub(crate) fn decode(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&first, tail)) = rest.split_first() {
        let (byte, after) = match escape(tail) {
            Some(escaped) if first == b'%' => escaped,
            _ => (first, tail),
        };
        bytes.push(byte);
        rest = after;
    }
    String::from_utf8(bytes).unwrap_or_else(|_| text.to_owned())
}

fn escape(after_percent: &[u8]) -> Option<(u8, &[u8])> {
    let (digits, rest) = after_percent.split_at_checked(2)?;
    let text = std::str::from_utf8(digits)
        .ok()
        .filter(|text| !text.starts_with('+'))?;
    u8::from_str_radix(text, 16).ok().map(|byte| (byte, rest))
}

#[cfg(test)]
mod tests;
