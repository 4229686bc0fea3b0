//! Checks licenses of linked packages against `deny.toml`.

use std::collections::BTreeSet;

use anyhow::{Context as _, Result};
use serde_json::Value;

use super::finding::Finding;

pub(crate) fn allowed(policy: &str) -> Result<BTreeSet<String>> {
    let policy: toml::Table = policy.parse().context("`deny.toml` is not TOML")?;
    let list = policy
        .get("licenses")
        .and_then(|licences| licences.get("allow"))
        .and_then(toml::Value::as_array)
        .context("`deny.toml` has no list `licenses.allow`")?;
    Ok(list
        .iter()
        .filter_map(toml::Value::as_str)
        .map(str::to_owned)
        .collect())
}

pub(crate) fn check(metadata: &Value, allowed: &BTreeSet<String>) -> Vec<Finding> {
    let packages = metadata.get("packages").and_then(Value::as_array);
    packages
        .into_iter()
        .flatten()
        .filter_map(|package| {
            let text = |key| package.get(key).and_then(Value::as_str);
            let licence = text("license").unwrap_or("none");
            let name = format!("{} {}", text("name")?, text("version")?);
            let cure = "replace the package, or allow the licence in `deny.toml` with a reason";
            let what = format!("{name} is under `{licence}`");
            (!permits(licence, allowed)).then(|| Finding::file("Cargo.lock", "licence", what, cure))
        })
        .collect()
}

/// Evaluates an SPDX expression; a slash is an old `OR`.
pub(crate) fn permits(expression: &str, allowed: &BTreeSet<String>) -> bool {
    let spaced = expression
        .replace('(', " ( ")
        .replace(')', " ) ")
        .replace('/', " OR ");
    let mut words = spaced.split_whitespace().peekable();
    let verdict = either(&mut words, allowed);
    verdict && words.next().is_none()
}

type LicenceWords<'text> = std::iter::Peekable<std::str::SplitWhitespace<'text>>;

fn either(words: &mut LicenceWords<'_>, allowed: &BTreeSet<String>) -> bool {
    let mut verdict = both(words, allowed);
    while words.next_if_eq(&"OR").is_some() {
        let right = both(words, allowed);
        verdict = verdict || right;
    }
    verdict
}

fn both(words: &mut LicenceWords<'_>, allowed: &BTreeSet<String>) -> bool {
    let mut verdict = single(words, allowed);
    while words.next_if_eq(&"AND").is_some() {
        let right = single(words, allowed);
        verdict = verdict && right;
    }
    verdict
}

fn single(words: &mut LicenceWords<'_>, allowed: &BTreeSet<String>) -> bool {
    match words.next() {
        Some("(") => {
            let verdict = either(words, allowed);
            words.next_if_eq(&")").is_some() && verdict
        }
        Some(name) if words.next_if_eq(&"WITH").is_some() => {
            let exception = words.next().unwrap_or_default();
            allowed.contains(&format!("{name} WITH {exception}"))
        }
        Some(name) => allowed.contains(name),
        None => false,
    }
}
