//! Arguments, variables and working folder of xtask.
#![expect(
    clippy::disallowed_methods,
    reason = "the one owner of xtask's environment"
)]

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};

pub(crate) fn arguments() -> Vec<String> {
    std::env::args().skip(1).collect()
}

/// Returns `None` if unset, empty or not UTF-8.
pub(crate) fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

pub(crate) fn working_folder() -> Result<PathBuf> {
    std::env::current_dir().context("the current folder cannot be read")
}

pub(crate) fn is_ci() -> bool {
    variable("CI").is_some_and(|value| value != "false" && value != "0")
}

/// Variables of `cargo run` to hide from nested cargo; otherwise build scripts such as `ring`'s run
/// every time.
pub(crate) fn set_by_cargo() -> Vec<OsString> {
    std::env::vars_os()
        .map(|(name, _)| name)
        .filter(|name| name.to_str().is_some_and(is_set_by_cargo))
        .collect()
}

fn is_set_by_cargo(name: &str) -> bool {
    [
        "CARGO_PKG_",
        "CARGO_MANIFEST_",
        "CARGO_BIN_",
        "CARGO_CRATE_",
    ]
    .iter()
    .any(|prefix| name.starts_with(prefix))
        || ["CARGO_PRIMARY_PACKAGE", "OUT_DIR"].contains(&name)
}

pub(crate) fn find_program(program: &str, folders: &[PathBuf]) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    folders
        .iter()
        .cloned()
        .chain(std::env::split_paths(&path))
        .map(|folder| folder.join(program))
        .find(|candidate| is_executable(candidate))
}

#[cfg(unix)]
fn is_executable(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    path.metadata()
        .is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
}

#[cfg(not(unix))]
fn is_executable(path: &Path) -> bool {
    path.is_file()
}
