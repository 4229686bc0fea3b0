//! Tested versions of Claude Code.

use ktx_llm_runtime::{LlmError, LlmErrorKind};

/// The oldest version that passed all tests. Some older ones, such as 2.0.76, send model requests
/// before any check.
pub(crate) const OLDEST_TESTED: &str = "2.1.76";

/// The newest version with recordings.
pub(crate) const NEWEST_TESTED: &str = "2.1.330";

/// Not for newer patch releases: the probe has just seen them work.
pub(crate) fn version_warning(version: &str) -> Option<String> {
    let found = numbers(version)?;
    let newest = numbers(NEWEST_TESTED)?;
    let is_tested = (numbers(OLDEST_TESTED)?..=newest).contains(&found);
    (!is_tested && !is_newer_patch(found, newest)).then(|| {
        format!(
            "Claude Code {version} is outside the tested range {OLDEST_TESTED} to {NEWEST_TESTED}"
        )
    })
}

pub(crate) fn version_fact(version: &str) -> String {
    let newer = numbers(version)
        .zip(numbers(NEWEST_TESTED))
        .is_some_and(|(found, newest)| is_newer_patch(found, newest));
    if newer {
        format!("{version} (newer than tested: {NEWEST_TESTED})")
    } else {
        version.to_owned()
    }
}

fn is_newer_patch(found: VersionNumbers, newest: VersionNumbers) -> bool {
    found > newest && (found.0, found.1) == (newest.0, newest.1)
}

pub(crate) fn is_version(text: &str) -> bool {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || ".-+".contains(letter);
    (1..=40).contains(&text.len())
        && text.starts_with(|first: char| first.is_ascii_digit())
        && text.chars().all(plain)
}

pub(crate) fn is_older(version: &str) -> bool {
    let both = numbers(version).zip(numbers(OLDEST_TESTED));
    both.is_some_and(|(found, oldest)| found < oldest)
}

type VersionNumbers = (u32, u32, u32);

fn numbers(version: &str) -> Option<VersionNumbers> {
    let mut parts = version.split('.').map(|part| part.parse().ok());
    Some((parts.next()??, parts.next()??, parts.next()??))
}

pub(crate) fn too_old(version: Option<&str>) -> LlmError {
    if let Some(version) = version.filter(|version| !is_older(version)) {
        return LlmError::new(
            LlmErrorKind::Process,
            format!("Claude Code {version} does not know an option that ktx needs"),
        )
        .hint(format!(
            "use a version from {OLDEST_TESTED} to {NEWEST_TESTED}, or a newer ktx"
        ));
    }
    let found = version.map(|version| format!(" {version}"));
    LlmError::new(
        LlmErrorKind::Process,
        format!(
            "Claude Code{} is too old: ktx needs {OLDEST_TESTED} or newer",
            found.unwrap_or_default()
        ),
    )
    .hint("update it (run `claude update`), then run the command again")
}

pub(crate) fn use_a_tested_version() -> String {
    format!(
        "run the command again; if the error stays, use Claude Code {OLDEST_TESTED} to {NEWEST_TESTED}, or a newer ktx"
    )
}

#[cfg(test)]
mod tests;
