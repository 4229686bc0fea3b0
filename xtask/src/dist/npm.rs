//! The npm packages: this machine's program, and `@ktx-dev/ktx`, which starts it.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use serde_json::{Map, Value, json};

use super::{Release, copy_file, write_file};
use crate::process;

/// Depends on all machines' packages; npm installs the matching one.
const NAME: &str = "@ktx-dev/ktx";

const MACHINES: [[&str; 2]; 4] = [
    ["linux", "x64"],
    ["linux", "arm64"],
    ["darwin", "x64"],
    ["darwin", "arm64"],
];

const LAUNCHER: &str = include_str!("npm/launcher.js");

pub(super) fn build(release: &Release<'_>) -> Result<Vec<PathBuf>> {
    let scratch = tempfile::tempdir().context("no temporary folder")?;
    let program = scratch.path().join("program");
    copy_file(&release.binary, &program.join("bin/ktx"))?;
    let launcher = scratch.path().join("launcher");
    write_file(&launcher.join("bin/ktx.js"), LAUNCHER.as_bytes())?;
    let manifests = [
        (&program, program_manifest(release)),
        (&launcher, launcher_manifest(release)),
    ];
    let mut files = Vec::new();
    for (folder, manifest) in manifests {
        let text = serde_json::to_string_pretty(&manifest)?;
        write_file(&folder.join("package.json"), text.as_bytes())?;
        for page in ["README.md", "LICENSE"] {
            copy_file(&release.repository.root().join(page), &folder.join(page))?;
        }
        files.push(pack(release, folder, scratch.path())?);
    }
    Ok(files)
}

fn program_name([system, processor]: [&str; 2]) -> String {
    format!("{NAME}-{system}-{processor}")
}

fn program_manifest(release: &Release<'_>) -> Value {
    let machine = release.platform.npm();
    let [system, processor] = machine;
    let mut manifest = json!({
        "name": program_name(machine),
        "version": release.version,
        "description": "The ktx program for one kind of machine",
        "repository": "github:ktx-dev/ktx",
        "license": "Apache-2.0",
        "os": [system],
        "cpu": [processor],
        "files": ["bin"],
    });
    if release.platform.is_linux() {
        manifest["libc"] = json!(["glibc"]);
    }
    manifest
}

fn launcher_manifest(release: &Release<'_>) -> Value {
    let programs: Map<String, Value> = MACHINES
        .iter()
        .map(|machine| (program_name(*machine), json!(release.version)))
        .collect();
    json!({
        "name": NAME,
        "version": release.version,
        "description": "The context layer for data agents",
        "repository": "github:ktx-dev/ktx",
        "license": "Apache-2.0",
        "bin": { "ktx": "bin/ktx.js" },
        "files": ["bin"],
        "optionalDependencies": programs,
    })
}

fn pack(release: &Release<'_>, folder: &Path, scratch: &Path) -> Result<PathBuf> {
    let mut pack = process::command(release.repository, "npm");
    pack.args([
        "pack",
        "--json",
        "--ignore-scripts",
        "--loglevel=error",
        "--cache",
    ])
    .arg(scratch.join("cache"))
    .arg("--pack-destination")
    .arg(&release.folder)
    .arg(folder);
    let printed = process::output(&mut pack)?;
    let packed: Value = serde_json::from_str(&printed).context("`npm pack` printed no JSON")?;
    let name = packed
        .pointer("/0/filename")
        .or_else(|| packed.as_object()?.values().next()?.get("filename"))
        .and_then(Value::as_str)
        .context("`npm pack` names no file")?;
    Ok(release.folder.join(name))
}

/// Uses no registry.
pub(super) fn install(release: &Release<'_>, files: &[PathBuf], folder: &Path) -> Result<PathBuf> {
    let mut install = process::command(release.repository, "npm");
    install
        .args([
            "install",
            "--offline",
            "--no-audit",
            "--no-fund",
            "--omit=optional",
            "--cache",
        ])
        .arg(folder.join("cache"))
        .arg("--prefix")
        .arg(folder)
        .args(files);
    process::output(&mut install)?;
    Ok(folder.join("node_modules/.bin/ktx"))
}
