//! Collects pages, completions and man pages.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};

use super::{Release, copy_file, create_folder, write_file};
use crate::process;
use crate::repository::read_folder;

pub(super) const PAGES: [&str; 3] = ["README.md", "CHANGELOG.md", "LICENSE"];

/// A shell and its Debian path below `/usr/share`.
pub(super) struct Shell {
    pub(super) name: &'static str,
    pub(super) system_path: &'static str,
    file: &'static str,
}

pub(super) const SHELLS: [Shell; 3] = [
    Shell {
        name: "bash",
        system_path: "bash-completion/completions/ktx",
        file: "ktx.bash",
    },
    Shell {
        name: "zsh",
        system_path: "zsh/vendor-completions/_ktx",
        file: "_ktx",
    },
    Shell {
        name: "fish",
        system_path: "fish/vendor_completions.d/ktx.fish",
        file: "ktx.fish",
    },
];

pub(super) fn fill(release: &Release<'_>, folder: &Path) -> Result<()> {
    copy_file(&release.binary, &folder.join("ktx"))?;
    for page in PAGES {
        copy_file(&release.repository.root().join(page), &folder.join(page))?;
    }
    for shell in &SHELLS {
        let script = completion(release, shell)?;
        write_file(
            &folder.join("completions").join(shell.file),
            script.as_bytes(),
        )?;
    }
    man_pages(release, &folder.join("man"))?;
    Ok(())
}

pub(super) fn completion(release: &Release<'_>, shell: &Shell) -> Result<String> {
    let mut command = process::command(release.repository, &release.binary);
    process::output(command.args(["completion", shell.name]))
        .with_context(|| format!("the completion script of {}", shell.name))
}

pub(super) fn man_pages(release: &Release<'_>, folder: &Path) -> Result<Vec<PathBuf>> {
    create_folder(folder)?;
    let mut command = process::command(release.repository, &release.binary);
    process::output(command.arg("__man").arg(folder)).context("the man pages")?;
    read_folder(folder)
}
