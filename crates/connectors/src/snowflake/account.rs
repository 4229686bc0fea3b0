//! Snowflake accounts and identifiers.

/// Strips URL parts, which are often pasted.
pub(super) fn plain(account: &str) -> &str {
    let account = account.trim().trim_end_matches('/');
    let account = account.split_once("://").map_or(account, |(_, rest)| rest);
    account
        .strip_suffix(".snowflakecomputing.com")
        .unwrap_or(account)
}

/// Host names cannot contain underscores.
pub(super) fn address(account: &str) -> String {
    let host = plain(account).to_ascii_lowercase().replace('_', "-");
    format!("https://{host}.snowflakecomputing.com")
}

/// Tokens name the account in uppercase, without region and cloud.
pub(super) fn in_tokens(account: &str) -> String {
    let account = plain(account).to_ascii_uppercase();
    let end = if account.contains(".GLOBAL") {
        account.find('-')
    } else {
        account.find('.')
    };
    match end.and_then(|end| account.get(..end)) {
        Some(front) => front.to_owned(),
        None => account,
    }
}

/// Resolves SQL quoting: verbatim in double quotes, uppercase if valid without.
pub(super) fn identifier(text: &str) -> String {
    let text = text.trim();
    if let Some(inner) = text
        .strip_prefix('"')
        .and_then(|rest| rest.strip_suffix('"'))
    {
        return inner.replace("\"\"", "\"");
    }
    let is_plain = text
        .chars()
        .all(|letter| letter.is_ascii_alphanumeric() || matches!(letter, '_' | '$'));
    let begins = text.starts_with(|letter: char| letter.is_ascii_alphabetic() || letter == '_');
    if is_plain && begins {
        text.to_ascii_uppercase()
    } else {
        text.to_owned()
    }
}

pub(super) fn dotted(text: &str) -> String {
    let parts: Vec<String> = text.split('.').map(identifier).collect();
    parts.join(".")
}
