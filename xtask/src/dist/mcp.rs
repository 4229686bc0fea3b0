//! The MCP bundle, registry entry and container.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use serde_json::{Value, json};

use super::program::Platform;
use super::wheel::{WheelMember, pack};
use super::{Release, create_folder, write_file};
use crate::process;

const DESCRIPTION: &str =
    "The context layer for data agents: metrics, tables and definitions of your warehouse";

const PROGRAM: &str = "server/ktx";

/// Serves the project at `/project`.
const CONTAINER: &str = "\
FROM debian:stable-slim
RUN apt-get update \\
 && apt-get install --yes --no-install-recommends ca-certificates git \\
 && rm -rf /var/lib/apt/lists/*
COPY ktx /usr/local/bin/ktx
WORKDIR /project
EXPOSE 7878
ENTRYPOINT [\"ktx\"]
CMD [\"mcp\", \"start\", \"--foreground\", \"--host\", \"0.0.0.0\"]
";

pub(super) fn build(release: &Release<'_>) -> Result<Vec<PathBuf>> {
    let bundle = release.folder.join(format!("{}.mcpb", release.stem()));
    let program = std::fs::read(&release.binary)
        .with_context(|| format!("`{}` cannot be read", release.binary.display()))?;
    let manifest = manifest(&release.version, &release.platform);
    let members = [
        WheelMember {
            path: "manifest.json".to_owned(),
            bytes: serde_json::to_vec_pretty(&manifest)?,
            mode: 0o644,
        },
        WheelMember {
            path: PROGRAM.to_owned(),
            bytes: program,
            mode: 0o755,
        },
    ];
    pack(release, &bundle, &members)?;
    let entry = release.folder.join("server.json");
    write_file(
        &entry,
        &serde_json::to_vec_pretty(&registry_entry(&release.version))?,
    )?;
    let container = release.folder.join("Containerfile");
    write_file(&container, CONTAINER.as_bytes())?;
    Ok(vec![bundle, entry, container])
}

pub(super) fn install(release: &Release<'_>, files: &[PathBuf], folder: &Path) -> Result<PathBuf> {
    let is_bundle = |file: &&PathBuf| file.extension().is_some_and(|ending| ending == "mcpb");
    let bundle = files.iter().find(is_bundle).context("there is no bundle")?;
    create_folder(folder)?;
    let mut unpack = process::command(release.repository, "unzip");
    unpack.arg("-q").arg(bundle).arg("-d").arg(folder);
    process::output(&mut unpack)?;
    Ok(folder.join(PROGRAM))
}

/// The bundle's manifest: asks for the project and starts the program.
pub(super) fn manifest(version: &str, platform: &Platform) -> Value {
    let [system, _] = platform.npm();
    json!({
        "manifest_version": "0.3",
        "name": "ktx",
        "display_name": "ktx",
        "version": version,
        "description": DESCRIPTION,
        "author": { "name": "ktx", "url": "https://github.com/ktx-dev/ktx" },
        "license": "Apache-2.0",
        "server": {
            "type": "binary",
            "entry_point": PROGRAM,
            "mcp_config": {
                "command": format!("${{__dirname}}/{PROGRAM}"),
                "args": ["--project-dir", "${user_config.project}", "mcp", "stdio"],
            },
        },
        "tools_generated": true,
        "user_config": {
            "project": {
                "type": "directory",
                "title": "Project",
                "description": "The folder with ktx.yaml",
                "required": true,
            },
        },
        "compatibility": { "platforms": [system] },
    })
}

/// The npm package over stdio.
pub(super) fn registry_entry(version: &str) -> Value {
    let word = |word: &str| json!({ "type": "positional", "value": word });
    json!({
        "$schema": "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json",
        "name": "io.github.ktx-dev/ktx",
        "title": "ktx",
        "description": DESCRIPTION,
        "version": version,
        "repository": { "url": "https://github.com/ktx-dev/ktx", "source": "github" },
        "packages": [{
            "registryType": "npm",
            "identifier": "@ktx-dev/ktx",
            "version": version,
            "transport": { "type": "stdio" },
            "packageArguments": [
                {
                    "type": "named",
                    "name": "--project-dir",
                    "description": "The folder with ktx.yaml",
                    "format": "filepath",
                    "isRequired": true,
                },
                word("mcp"),
                word("stdio"),
            ],
        }],
    })
}
