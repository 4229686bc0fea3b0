//! Accounts for database servers, which refuse to run as root.

use std::ffi::OsStr;
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result};

use super::is_root;
use crate::repository::Repository;
use crate::{environment, process};

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Account {
    /// User and group; `None`: xtask's account.
    other: Option<(u32, u32)>,
    /// Sent when xtask dies; `setpriv`'s spelling.
    farewell: &'static str,
}

impl Account {
    /// Falls back to the current account unless xtask runs as root.
    pub(crate) fn named(
        repository: &Repository,
        name: &str,
        farewell: &'static str,
    ) -> Result<Self> {
        if !is_root(repository) {
            return Ok(Self::present(farewell));
        }
        let number = |switch: &str| -> Result<u32> {
            let text = process::output(process::command(repository, "id").args([switch, name]))?;
            text.trim()
                .parse()
                .with_context(|| format!("`id {switch} {name}` gave no number"))
        };
        Ok(Self {
            other: Some((number("-u")?, number("-g")?)),
            farewell,
        })
    }

    pub(crate) fn present(farewell: &'static str) -> Self {
        Self {
            other: None,
            farewell,
        }
    }

    /// Runs as this account; gets its signal when xtask dies.
    pub(crate) fn command(&self, repository: &Repository, program: impl AsRef<OsStr>) -> Command {
        let mut words: Vec<String> = Vec::new();
        if let Some((user, group)) = self.other {
            words.extend([format!("--reuid={user}"), format!("--regid={group}")]);
            words.push("--clear-groups".to_owned());
        }
        if environment::find_program("setpriv", &[]).is_none() {
            return process::command(repository, program);
        }
        let mut command = process::command(repository, "setpriv");
        command
            .args(words)
            .args(["--pdeathsig", self.farewell, "--"])
            .arg(program);
        command
    }

    pub(crate) fn folder(&self, path: &Path) -> Result<()> {
        let place = || format!("`{}` cannot be made", path.display());
        std::fs::create_dir_all(path).with_context(place)?;
        if let Some((user, group)) = self.other {
            std::os::unix::fs::chown(path, Some(user), Some(group)).with_context(place)?;
        }
        Ok(())
    }
}
