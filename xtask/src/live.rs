//! Tests with real providers, if a key file exists.

use std::path::Path;

use anyhow::{Context as _, Result, bail};

use crate::repository::Repository;
use crate::{Verdict, process};

pub(crate) fn run(repository: &Repository, provider: &str) -> Result<Verdict> {
    let variables = read(repository.root(), provider)?;
    let arguments = [
        "run",
        "--quiet",
        "--locked",
        "-p",
        "ktx-provider-adapters",
        "--example",
        "live",
        "--",
        provider,
    ];
    let mut command = process::cargo(repository, &arguments);
    command.envs(variables);
    Ok(if process::succeeds(&mut command)? {
        Verdict::Pass
    } else {
        Verdict::Fail
    })
}

/// Reads `.env.live.<provider>`.
fn read(root: &Path, provider: &str) -> Result<Vec<(String, String)>> {
    let plain = |letter: char| letter.is_ascii_lowercase() || letter == '-';
    if provider.is_empty() || !provider.chars().all(plain) {
        bail!("`{provider}` is not the name of a provider, such as `anthropic`");
    }
    let name = format!(".env.live.{provider}");
    match std::fs::read_to_string(root.join(&name)) {
        Ok(text) => variables(&text).with_context(|| format!("`{name}` cannot be used")),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => bail!(
            "there is no `{name}`: write the provider's key into it as a line `NAME=value`; \
             git ignores the file, and CONTRIBUTING.md says what else it may hold"
        ),
        Err(error) => Err(error).with_context(|| format!("`{name}` cannot be read")),
    }
}

/// Parses `NAME=value` lines with `#` comment lines and optional quotes.
fn variables(text: &str) -> Result<Vec<(String, String)>> {
    let mut found = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let line = line.strip_prefix("export ").unwrap_or(line);
        let (name, value) = line
            .split_once('=')
            .with_context(|| format!("line {number} is no `NAME=value`"))?;
        let value = value.trim();
        let value = ['"', '\'']
            .iter()
            .find_map(|quote| value.strip_prefix(*quote)?.strip_suffix(*quote))
            .unwrap_or(value);
        found.push((name.trim().to_owned(), value.to_owned()));
    }
    Ok(found)
}

#[cfg(test)]
mod tests;
