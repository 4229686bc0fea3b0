//! `cargo xtask dist`: builds release artifacts for this machine and rehearses their installation.
#![expect(
    clippy::disallowed_methods,
    reason = "the artifacts are in the target folder"
)]

mod archive;
mod debian;
mod mcp;
mod npm;
mod program;
mod rehearsal;
mod sbom;
mod stage;
#[cfg(test)]
mod tests;
mod wheel;

use std::fmt;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use sha2::{Digest as _, Sha256};

use self::program::Platform;
use crate::repository::{Repository, file_name};
use crate::{Verdict, process, terminal};

/// Optimizes across crates, unlike `release`.
const PROFILE: &str = "distribution";

struct Release<'a> {
    repository: &'a Repository,
    version: String,
    platform: Platform,
    binary: PathBuf,
    /// Recreated by each run.
    folder: PathBuf,
}

struct Package {
    name: &'static str,
    exists_on: fn(&Platform) -> bool,
    build: fn(&Release<'_>) -> Result<Vec<PathBuf>>,
    /// Returns the installed program.
    install: fn(&Release<'_>, &[PathBuf], &Path) -> Result<PathBuf>,
}

const PACKAGES: [Package; 5] = [
    Package {
        name: "archive",
        exists_on: |_| true,
        build: archive::build,
        install: archive::install,
    },
    Package {
        name: "Debian package",
        exists_on: Platform::is_linux,
        build: debian::build,
        install: debian::install,
    },
    Package {
        name: "npm packages",
        exists_on: |_| true,
        build: npm::build,
        install: npm::install,
    },
    Package {
        name: "Python wheel",
        exists_on: |_| true,
        build: wheel::build,
        install: wheel::install,
    },
    Package {
        name: "MCP bundle",
        exists_on: |_| true,
        build: mcp::build,
        install: mcp::install,
    },
];

/// Installs each artifact into an empty folder and runs the demo.
pub(crate) fn run(repository: &Repository) -> Result<Verdict> {
    let release = Release::build(repository)?;
    let mut artifacts = vec![release.write("sbom.cdx.json", &sbom::document(&release)?)?];
    let mut verdict = Verdict::Pass;
    for package in &PACKAGES {
        if !(package.exists_on)(&release.platform) {
            continue;
        }
        let files = (package.build)(&release).with_context(|| package.name)?;
        match rehearsal::run(&release, package, &files) {
            Ok(()) => terminal::line(&format!(
                "{}: {}; installed into an empty folder, and its demo ran",
                package.name,
                sizes(&files)?
            )),
            Err(error) => {
                verdict = Verdict::Fail;
                terminal::line(&format!("{}: FAILED: {error:#}", package.name));
            }
        }
        artifacts.extend(files);
    }
    for artifact in &artifacts {
        write_checksum(artifact)?;
    }
    terminal::line(&format!("dist: `{}`", release.folder.display()));
    Ok(verdict)
}

impl<'a> Release<'a> {
    fn build(repository: &'a Repository) -> Result<Self> {
        let build = ["build", "--profile", PROFILE, "--locked", "-p", "ktx"];
        if !process::succeeds(&mut process::cargo(repository, &build))? {
            bail!("the build of the binary failed");
        }
        let binary = repository.target().join(PROFILE).join("ktx");
        let platform = Platform::of_host(repository, &binary)?;
        let folder = repository.target().join("dist");
        if folder.exists() {
            std::fs::remove_dir_all(&folder)
                .with_context(|| format!("`{}` cannot be removed", folder.display()))?;
        }
        create_folder(&folder)?;
        Ok(Self {
            version: version(repository)?,
            repository,
            platform,
            binary,
            folder,
        })
    }

    /// Common prefix of artifacts.
    fn stem(&self) -> String {
        format!("ktx-{}-{}", self.version, self.platform.triple)
    }

    fn write(&self, ending: &str, text: &str) -> Result<PathBuf> {
        let path = self.folder.join(format!("{}.{ending}", self.stem()));
        write_file(&path, text.as_bytes())?;
        Ok(path)
    }
}

fn version(repository: &Repository) -> Result<String> {
    let packages = repository.own_packages()?;
    packages["packages"]
        .as_array()
        .into_iter()
        .flatten()
        .find(|package| package["name"] == "ktx")
        .and_then(|package| package["version"].as_str())
        .map(str::to_owned)
        .context("`cargo metadata` names no package `ktx`")
}

/// In the format of `sha256sum --check`.
fn write_checksum(artifact: &Path) -> Result<()> {
    let bytes = std::fs::read(artifact)
        .with_context(|| format!("`{}` cannot be read", artifact.display()))?;
    let name = file_name(artifact);
    let line = format!("{}  {name}\n", Hex(&Sha256::digest(bytes)));
    write_file(
        &artifact.with_file_name(format!("{name}.sha256")),
        line.as_bytes(),
    )
}

struct Hex<'a>(&'a [u8]);

impl fmt::Display for Hex<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0
            .iter()
            .try_for_each(|byte| write!(formatter, "{byte:02x}"))
    }
}

/// Megabytes of 10⁶ bytes.
fn sizes(files: &[PathBuf]) -> Result<String> {
    let mut words = Vec::new();
    for file in files {
        let bytes = file
            .metadata()
            .with_context(|| format!("`{}` cannot be read", file.display()))?
            .len();
        let tenths = bytes.div_ceil(100_000);
        words.push(format!(
            "{} {}.{} MB",
            file_name(file),
            tenths / 10,
            tenths % 10
        ));
    }
    Ok(words.join(", "))
}

fn create_folder(folder: &Path) -> Result<()> {
    std::fs::create_dir_all(folder)
        .with_context(|| format!("`{}` cannot be made", folder.display()))
}

fn write_file(path: &Path, bytes: &[u8]) -> Result<()> {
    if let Some(folder) = path.parent() {
        create_folder(folder)?;
    }
    std::fs::write(path, bytes).with_context(|| format!("`{}` cannot be written", path.display()))
}

/// Keeps permissions.
fn copy_file(from: &Path, to: &Path) -> Result<()> {
    if let Some(folder) = to.parent() {
        create_folder(folder)?;
    }
    std::fs::copy(from, to).with_context(|| {
        format!(
            "`{}` cannot be copied to `{}`",
            from.display(),
            to.display()
        )
    })?;
    Ok(())
}
