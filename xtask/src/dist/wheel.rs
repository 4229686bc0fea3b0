//! The Python wheel: only the program, as a script.

use std::fs::{File, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use anyhow::{Context as _, Result};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest as _, Sha256};

use super::{Release, write_file};
use crate::process;
use crate::repository::read_folder;

/// `ktx` is another project on the index.
const NAME: &str = "ktx_context";

pub(super) struct WheelMember {
    pub(super) path: String,
    pub(super) bytes: Vec<u8>,
    pub(super) mode: u32,
}

pub(super) fn build(release: &Release<'_>) -> Result<Vec<PathBuf>> {
    let version = &release.version;
    let tag = format!("py3-none-{}", release.platform.wheel_tag());
    let path = release.folder.join(format!("{NAME}-{version}-{tag}.whl"));
    pack(release, &path, &members(release, &tag)?)?;
    Ok(vec![path])
}

/// Checksums come last, as the format requires.
fn members(release: &Release<'_>, tag: &str) -> Result<Vec<WheelMember>> {
    let version = &release.version;
    let info = format!("{NAME}-{version}.dist-info");
    let read = |path: &Path| {
        std::fs::read(path).with_context(|| format!("`{}` cannot be read", path.display()))
    };
    let readme = read(&release.repository.root().join("README.md"))?;
    let mut metadata = format!(
        "Metadata-Version: 2.4\nName: ktx-context\nVersion: {version}\nSummary: The context layer for \
         data agents\nLicense-Expression: Apache-2.0\nProject-URL: Source, \
         https://github.com/ktx-dev/ktx\nDescription-Content-Type: text/markdown\n\n"
    )
    .into_bytes();
    metadata.extend(readme);
    let wheel =
        format!("Wheel-Version: 1.0\nGenerator: xtask\nRoot-Is-Purelib: false\nTag: {tag}\n");
    let mut members = vec![
        WheelMember {
            path: format!("{NAME}-{version}.data/scripts/ktx"),
            bytes: read(&release.binary)?,
            mode: 0o755,
        },
        WheelMember {
            path: format!("{info}/METADATA"),
            bytes: metadata,
            mode: 0o644,
        },
        WheelMember {
            path: format!("{info}/WHEEL"),
            bytes: wheel.into_bytes(),
            mode: 0o644,
        },
        WheelMember {
            path: format!("{info}/licenses/LICENSE"),
            bytes: read(&release.repository.root().join("LICENSE"))?,
            mode: 0o644,
        },
    ];
    let record = format!("{info}/RECORD");
    let lines = members
        .iter()
        .map(record_line)
        .chain([format!("{record},,\n")])
        .collect::<String>();
    members.push(WheelMember {
        path: record,
        bytes: lines.into_bytes(),
        mode: 0o644,
    });
    Ok(members)
}

/// `path,sha256=<digest>,<length>`
fn record_line(member: &WheelMember) -> String {
    let digest = URL_SAFE_NO_PAD.encode(Sha256::digest(&member.bytes));
    format!("{},sha256={digest},{}\n", member.path, member.bytes.len())
}

/// 1980-01-01, the earliest zip time; constant for reproducibility.
const FIRST_MOMENT: u64 = 315_532_800;

/// Python's archiver keeps permissions.
pub(super) fn pack(release: &Release<'_>, path: &Path, members: &[WheelMember]) -> Result<()> {
    let scratch = tempfile::tempdir().context("no temporary folder")?;
    let time = SystemTime::UNIX_EPOCH + Duration::from_secs(FIRST_MOMENT);
    for member in members {
        let file = scratch.path().join(&member.path);
        write_file(&file, &member.bytes)?;
        std::fs::set_permissions(&file, Permissions::from_mode(member.mode))?;
        File::options()
            .write(true)
            .open(&file)?
            .set_modified(time)?;
    }
    let mut pack = process::command(release.repository, "python3");
    pack.args(["-m", "zipfile", "--create"])
        .arg(path)
        .args(read_folder(scratch.path())?);
    process::output(&mut pack)?;
    Ok(())
}

/// Uses a virtual environment without an index.
pub(super) fn install(release: &Release<'_>, files: &[PathBuf], folder: &Path) -> Result<PathBuf> {
    let mut make = process::command(release.repository, "python3");
    process::output(make.args(["-m", "venv"]).arg(folder))?;
    let mut install = process::command(release.repository, folder.join("bin/pip"));
    install
        .args([
            "install",
            "--no-index",
            "--no-deps",
            "--no-cache-dir",
            "--disable-pip-version-check",
        ])
        .args(files);
    process::output(&mut install)?;
    Ok(folder.join("bin/ktx"))
}
