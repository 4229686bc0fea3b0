//! The Debian package.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};

use super::{Release, copy_file, create_folder, stage, write_file};
use crate::process;
use crate::repository::file_name;

pub(super) fn build(release: &Release<'_>) -> Result<Vec<PathBuf>> {
    let fields = release.platform.debian()?;
    let scratch = tempfile::tempdir().context("no temporary folder")?;
    let tree = scratch.path().join("ktx");
    let share = tree.join("usr/share");
    copy_file(&release.binary, &tree.join("usr/bin/ktx"))?;
    for page in stage::PAGES {
        let name = if page == "LICENSE" { "copyright" } else { page };
        copy_file(
            &release.repository.root().join(page),
            &share.join("doc/ktx").join(name),
        )?;
    }
    for shell in &stage::SHELLS {
        let script = stage::completion(release, shell)?;
        write_file(&share.join(shell.system_path), script.as_bytes())?;
    }
    let man = scratch.path().join("man");
    for page in stage::man_pages(release, &man)? {
        copy_file(&page, &share.join("man/man1").join(file_name(&page)))?;
    }
    let control = format!(
        "Package: ktx\nVersion: {}\nArchitecture: {}\nMaintainer: The ktx developers <maintainers@ktx.dev>\n\
         Depends: {}\nRecommends: ca-certificates\nSection: database\nPriority: optional\n\
         Homepage: https://github.com/ktx-dev/ktx\nDescription: Context layer for data agents\n \
         Scans a warehouse, reads dbt, BI tools and documents, and serves metrics, read-only SQL\n and \
         search to coding agents over MCP and to people at the command line.\n",
        release.version, fields.architecture, fields.depends
    );
    write_file(&tree.join("DEBIAN/control"), control.as_bytes())?;
    let name = format!("ktx_{}_{}.deb", release.version, fields.architecture);
    let path = release.folder.join(name);
    let mut pack = process::command(release.repository, "dpkg-deb");
    // Makes the package reproducible.
    pack.env("SOURCE_DATE_EPOCH", "0");
    process::output(
        pack.args(["--root-owner-group", "--build"])
            .arg(&tree)
            .arg(&path),
    )?;
    Ok(vec![path])
}

/// Uses an empty root and package database without dependencies.
pub(super) fn install(release: &Release<'_>, files: &[PathBuf], folder: &Path) -> Result<PathBuf> {
    let database = folder.join("var/lib/dpkg");
    for part in ["updates", "info"] {
        create_folder(&database.join(part))?;
    }
    for part in ["status", "available"] {
        write_file(&database.join(part), b"")?;
    }
    let mut install = process::command(release.repository, "dpkg");
    install
        .args([
            "--force-not-root",
            "--force-depends",
            "--force-bad-path",
            "--log=/dev/null",
        ])
        .arg(format!("--root={}", folder.display()))
        .arg("--install")
        .args(files);
    process::output(&mut install)?;
    Ok(folder.join("usr/bin/ktx"))
}
