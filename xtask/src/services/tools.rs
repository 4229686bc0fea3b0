//! Programs from package registries, each in its own folder of the cache, fetched once.
#![expect(
    clippy::disallowed_methods,
    reason = "the cache of test tools is xtask's own"
)]

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};

use super::Service;
use crate::repository::{Repository, file_name, read_folder};
use crate::{process, terminal};

/// The MCP client that the servers are tried with.
const MCP_SDK: &str = "@modelcontextprotocol/sdk@1.32.2";
/// The release of DuckDB whose answers count.
const DUCKDB: &str = "1.5.5";
/// The release of the agent SDK that carries `claude` 2.1.142.
const CLAUDE_142: &str = "0.3.142";

/// Fetches everything and says where it is.
pub(crate) fn all(repository: &Repository, cache: &Path) -> [(Service, Result<String>); 4] {
    [
        (Service::McpSdk, mcp_sdk(repository, cache)),
        (Service::Python, python(repository, cache)),
        (Service::Claude142, claude(repository, cache, CLAUDE_142)),
        (Service::ClaudeLatest, claude_latest(repository, cache)),
    ]
}

fn mcp_sdk(repository: &Repository, cache: &Path) -> Result<String> {
    let folder = cache.join("mcp-sdk");
    let marker = Path::new("node_modules/@modelcontextprotocol/sdk/package.json");
    npm_install(repository, MCP_SDK, &folder, marker)?;
    text(&folder)
}

fn python(repository: &Repository, cache: &Path) -> Result<String> {
    let folder = cache.join(format!("python-duckdb-{DUCKDB}"));
    let python = folder.join("bin/python");
    let imports = || {
        let mut command = process::command(repository, &python);
        process::output(command.args(["-c", "import duckdb; print(duckdb.__version__)"]))
            .is_ok_and(|version| version.trim() == DUCKDB)
    };
    if !imports() {
        terminal::problem(&format!("fetching Python with DuckDB {DUCKDB}"));
        let log = cache.join("python.log");
        let mut venv = process::command(repository, "python3");
        process::logged(venv.args(["-m", "venv", "--clear"]).arg(&folder), &log)?;
        let mut pip = process::command(repository, &python);
        pip.args([
            "-m",
            "pip",
            "install",
            "--quiet",
            &format!("duckdb=={DUCKDB}"),
        ]);
        process::logged(&mut pip, &log)?;
        if !imports() {
            bail!(
                "`duckdb` {DUCKDB} cannot be imported; the log is `{}`",
                log.display()
            );
        }
    }
    text(&python)
}

/// The newest release that the registry knows; without a network the newest in the cache.
fn claude_latest(repository: &Repository, cache: &Path) -> Result<String> {
    let mut view = process::command(repository, "npm");
    view.args(["view", &claude_package()?, "version"]);
    let release = match process::output(&mut view) {
        Ok(release) => release.trim().to_owned(),
        Err(error) => newest_cached(cache).ok_or(error)?,
    };
    claude(repository, cache, &release)
}

fn newest_cached(cache: &Path) -> Option<String> {
    let folders = read_folder(cache).unwrap_or_default();
    let releases = folders
        .iter()
        .filter(|folder| folder.join(CLAUDE_MARKER).exists())
        .filter_map(|folder| file_name(folder).strip_prefix("claude-").map(str::to_owned));
    releases.max_by_key(|release| release_order(release))
}

/// Releases compare by their numbers, not by their letters.
pub(crate) fn release_order(release: &str) -> Vec<u64> {
    release
        .split('.')
        .map(|part| part.parse().unwrap_or_default())
        .collect()
}

const CLAUDE_MARKER: &str = "claude";

/// The program lies in a package of its own for each platform; a link beside it has a fixed name.
fn claude(repository: &Repository, cache: &Path, release: &str) -> Result<String> {
    let folder = cache.join(format!("claude-{release}"));
    let package = claude_package()?;
    let program = Path::new("node_modules").join(&package).join("claude");
    npm_install(
        repository,
        &format!("{package}@{release}"),
        &folder,
        &program,
    )?;
    let link = folder.join(CLAUDE_MARKER);
    if !link.exists() {
        std::os::unix::fs::symlink(&program, &link)
            .with_context(|| format!("`{}` cannot be made", link.display()))?;
    }
    text(&link)
}

fn claude_package() -> Result<String> {
    let system = match std::env::consts::OS {
        "linux" => "linux",
        "macos" => "darwin",
        other => bail!("there is no `claude` package for `{other}`"),
    };
    let machine = match std::env::consts::ARCH {
        "x86_64" => "x64",
        "aarch64" => "arm64",
        other => bail!("there is no `claude` package for `{other}`"),
    };
    Ok(format!("@anthropic-ai/claude-agent-sdk-{system}-{machine}"))
}

/// Installs a package into `folder`, whole or not at all; `marker` inside tells that it is there.
fn npm_install(repository: &Repository, package: &str, folder: &Path, marker: &Path) -> Result<()> {
    if folder.join(marker).exists() {
        return Ok(());
    }
    terminal::problem(&format!("fetching {package}"));
    let partial = sibling(folder, "partial");
    for stale in [folder, &partial] {
        if stale.exists() {
            std::fs::remove_dir_all(stale)
                .with_context(|| format!("`{}` cannot be removed", stale.display()))?;
        }
    }
    std::fs::create_dir_all(&partial)
        .with_context(|| format!("`{}` cannot be made", partial.display()))?;
    let mut install = process::command(repository, "npm");
    install.arg("install").arg("--prefix").arg(&partial);
    install.args([
        "--no-audit",
        "--no-fund",
        "--no-save",
        "--ignore-scripts",
        package,
    ]);
    process::logged(&mut install, &sibling(folder, "log"))?;
    if !partial.join(marker).exists() {
        bail!("`{package}` has no `{}`", marker.display());
    }
    std::fs::rename(&partial, folder)
        .with_context(|| format!("`{}` cannot be made", folder.display()))
}

/// A path beside `folder`; a release number has dots, so no extension may be replaced.
fn sibling(folder: &Path, ending: &str) -> PathBuf {
    folder.with_file_name(format!("{}.{ending}", file_name(folder)))
}

fn text(path: &Path) -> Result<String> {
    let text = path
        .to_str()
        .with_context(|| format!("`{}` is not UTF-8", path.display()))?;
    Ok(text.to_owned())
}
