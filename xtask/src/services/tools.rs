//! Programs from package registries, each in its own cache folder.
#![expect(
    clippy::disallowed_methods,
    reason = "the cache of test tools is xtask's own"
)]

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};

use super::{Service, packages};
use crate::repository::{Repository, file_name};
use crate::{environment, process, terminal};

pub(super) const MCP_SDK: &str = "@modelcontextprotocol/sdk@1.32.2";
/// Earlier releases do not know the newest protocol.
pub(super) const MCP_CONFORMANCE: &str = "@modelcontextprotocol/conformance@0.2.0-alpha.12";
/// Newer than in some distributions.
pub(super) const NODE: &str = "24.21.0";
const DUCKDB: &str = "1.5.5";
/// Raise in its own commit.
const DUCKDB_NEWEST_TESTED: &str = "2.0.1";
/// The npm release with that library.
const DUCKDB_LIBRARY: &str = "1.5.5-r.5";
const CLICKHOUSE: &str = "26.5.0";
/// With the DuckDB version that its extension needs.
pub(super) const BIGQUERY: [&str; 4] = [
    "bqemulator==1.4.0",
    "duckdb==1.5.5",
    "duckdb-extension-spatial==1.5.5",
    "numpy==2.4.6",
];
/// Supports only older connectors.
pub(super) const SNOWFLAKE: [&str; 2] = ["fakesnow==0.12.1", "snowflake-connector-python==4.8.1"];
/// Oldest supported; sends requests at startup; lacks a required option. All Node programs.
const CLAUDE_OLDEST: &str = "2.1.76";
const CLAUDE_2_0_76: &str = "2.0.76";
const CLAUDE_TOO_OLD: &str = "2.0.0";
/// Agent SDK release with `claude` 2.1.142.
const CLAUDE_142: &str = "0.3.142";
/// Agent SDK release with `claude` 2.1.330. Raise in its own commit, together with the adapter's
/// `NEWEST_TESTED` and new recordings.
pub(super) const CLAUDE_NEWEST_TESTED: &str = "0.3.330";

/// Exact versions; returns paths.
pub(crate) fn all(repository: &Repository, cache: &Path) -> [(Service, Result<String>); 11] {
    [
        (Service::DuckDb, duckdb(repository, cache)),
        (Service::McpSdk, mcp_sdk(repository, cache)),
        (Service::McpConformance, mcp_conformance(repository, cache)),
        (Service::Python, python(repository, cache, DUCKDB)),
        (
            Service::PythonNewest,
            python(repository, cache, DUCKDB_NEWEST_TESTED),
        ),
        (Service::Strace, strace()),
        (
            Service::ClaudeTooOld,
            claude_for_node(repository, cache, CLAUDE_TOO_OLD),
        ),
        (
            Service::Claude2076,
            claude_for_node(repository, cache, CLAUDE_2_0_76),
        ),
        (
            Service::ClaudeOldest,
            claude_for_node(repository, cache, CLAUDE_OLDEST),
        ),
        (Service::Claude142, claude(repository, cache, CLAUDE_142)),
        (
            Service::ClaudeNewestTested,
            claude(repository, cache, CLAUDE_NEWEST_TESTED),
        ),
    ]
}

fn strace() -> Result<String> {
    let program = environment::find_program("strace", &[]).context("`strace` is not installed")?;
    text(&program)
}

fn mcp_sdk(repository: &Repository, cache: &Path) -> Result<String> {
    let folder = cache.join("mcp-sdk");
    let marker = Path::new("node_modules/@modelcontextprotocol/sdk/package.json");
    npm_install(repository, MCP_SDK, &folder, marker)?;
    text(&folder)
}

fn mcp_conformance(repository: &Repository, cache: &Path) -> Result<String> {
    let (_, release) = MCP_CONFORMANCE.rsplit_once('@').unwrap_or_default();
    let folder = cache.join(format!("mcp-conformance-{release}"));
    let node = format!("node-{}", platform("Node")?);
    let marker = Path::new("node_modules").join(&node).join("bin/node");
    let node = format!("{node}@{NODE}");
    npm_install_all(repository, &[MCP_CONFORMANCE, &node], &folder, &marker)?;
    text(&folder)
}

/// DuckDB's library, which has one package per platform.
fn duckdb(repository: &Repository, cache: &Path) -> Result<String> {
    let package = format!("@duckdb/node-bindings-{}", platform("DuckDB library")?);
    let folder = cache.join(format!("duckdb-{DUCKDB_LIBRARY}"));
    let file = format!("libduckdb{}", std::env::consts::DLL_SUFFIX);
    let library = Path::new("node_modules").join(&package).join(file);
    let wanted = format!("{package}@{DUCKDB_LIBRARY}");
    npm_install(repository, &wanted, &folder, &library)?;
    text(&folder.join(library))
}

/// Module `_chdb`, without its data frame dependencies.
pub(crate) fn clickhouse_engine(repository: &Repository, cache: &Path) -> Result<String> {
    let folder = cache.join(format!("python-clickhouse-{CLICKHOUSE}"));
    let python = folder.join("bin/python");
    let marker = folder.join("installed");
    if !marker.exists() {
        terminal::problem(&format!("fetching ClickHouse's engine {CLICKHOUSE}"));
        let log = cache.join("clickhouse.log");
        let mut venv = process::command(repository, "python3");
        process::logged(venv.args(["-m", "venv", "--clear"]).arg(&folder), &log)?;
        let mut pip = process::command(repository, &python);
        let module = format!("chdb-core-lite=={CLICKHOUSE}");
        pip.args(["-m", "pip", "install", "--quiet", "--no-deps", &module]);
        process::logged(&mut pip, &log)?;
        std::fs::write(&marker, CLICKHOUSE)
            .with_context(|| format!("`{}` cannot be written", marker.display()))?;
    }
    text(&python)
}

/// Its extension goes where DuckDB searches: below the home folder next to the program.
pub(crate) fn bigquery_emulator(repository: &Repository, cache: &Path) -> Result<String> {
    let python = packages_of(repository, cache, "bigquery", &BIGQUERY)?;
    let place = "import duckdb, duckdb_extension_spatial, pathlib, shutil, sys
packed = next(pathlib.Path(duckdb_extension_spatial.__file__).parent.rglob('*.duckdb_extension'))
platform = duckdb.sql('PRAGMA platform').fetchone()[0]
folder = pathlib.Path(sys.prefix, 'home/.duckdb/extensions', packed.parent.name, platform)
folder.mkdir(parents=True, exist_ok=True)
shutil.copy(packed, folder)";
    let log = cache.join("bigquery.log");
    process::logged(
        process::command(repository, &python).args(["-c", place]),
        &log,
    )?;
    text(&python)
}

pub(crate) fn snowflake_engine(repository: &Repository, cache: &Path) -> Result<String> {
    text(&packages_of(repository, cache, "snowflake", &SNOWFLAKE)?)
}

fn packages_of(
    repository: &Repository,
    cache: &Path,
    name: &str,
    packages: &[&str],
) -> Result<PathBuf> {
    let folder = cache.join(format!("python-{name}"));
    let python = folder.join("bin/python");
    let marker = folder.join("installed");
    let wanted = packages.join("\n");
    if std::fs::read_to_string(&marker).is_ok_and(|found| found == wanted) {
        return Ok(python);
    }
    terminal::problem(&format!("fetching {}", packages.join(", ")));
    let log = cache.join(format!("{name}.log"));
    let mut venv = process::command(repository, "python3");
    process::logged(venv.args(["-m", "venv", "--clear"]).arg(&folder), &log)?;
    let mut pip = process::command(repository, &python);
    pip.args(["-m", "pip", "install", "--quiet"]).args(packages);
    process::logged(&mut pip, &log)?;
    std::fs::write(&marker, wanted)
        .with_context(|| format!("`{}` cannot be written", marker.display()))?;
    Ok(python)
}

fn python(repository: &Repository, cache: &Path, release: &str) -> Result<String> {
    let folder = cache.join(format!("python-duckdb-{release}"));
    let python = folder.join("bin/python");
    let imports = || {
        let mut command = process::command(repository, &python);
        process::output(command.args(["-c", "import duckdb; print(duckdb.__version__)"]))
            .is_ok_and(|version| version.trim() == release)
    };
    if !imports() {
        terminal::problem(&format!("fetching Python with DuckDB {release}"));
        let log = cache.join("python.log");
        let mut venv = process::command(repository, "python3");
        process::logged(venv.args(["-m", "venv", "--clear"]).arg(&folder), &log)?;
        let mut pip = process::command(repository, &python);
        pip.args([
            "-m",
            "pip",
            "install",
            "--quiet",
            &format!("duckdb=={release}"),
        ]);
        process::logged(&mut pip, &log)?;
        if !imports() {
            bail!(
                "`duckdb` {release} cannot be imported; the log is `{}`",
                log.display()
            );
        }
    }
    text(&python)
}

/// Changes daily, so usual runs do not use it.
pub(crate) fn claude_latest(repository: &Repository, cache: &Path) -> Result<String> {
    let mut view = process::command(repository, "npm");
    view.args(["view", &claude_package()?, "version"]);
    let release = process::output(&mut view)?.trim().to_owned();
    terminal::problem(&format!("the newest `claude` comes with {release}"));
    claude(repository, cache, &release)
}

/// Falls back to Debian's package.
pub(crate) fn browser(repository: &Repository, cache: &Path) -> Result<String> {
    let find = || environment::find_program("chromium", &[]);
    if find().is_none() {
        packages::install(repository, "chromium", &cache.join("apt.log"))?;
    }
    let browser = find().context("there is no program `chromium`")?;
    Ok(browser.display().to_string())
}

const CLAUDE_MARKER: &str = "claude";

/// One package per platform; a link has a fixed name.
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

/// From when the program was a script.
fn claude_for_node(repository: &Repository, cache: &Path, release: &str) -> Result<String> {
    let package = "@anthropic-ai/claude-code";
    let folder = cache.join(format!("script-claude-{release}"));
    let script = Path::new("node_modules").join(package).join("cli.js");
    npm_install(
        repository,
        &format!("{package}@{release}"),
        &folder,
        &script,
    )?;
    text(&folder.join(script))
}

fn claude_package() -> Result<String> {
    Ok(format!(
        "@anthropic-ai/claude-agent-sdk-{}",
        platform("`claude`")?
    ))
}

fn platform(what: &str) -> Result<String> {
    let system = match std::env::consts::OS {
        "linux" => "linux",
        "macos" => "darwin",
        other => bail!("there is no {what} package for `{other}`"),
    };
    let machine = match std::env::consts::ARCH {
        "x86_64" => "x64",
        "aarch64" => "arm64",
        other => bail!("there is no {what} package for `{other}`"),
    };
    Ok(format!("{system}-{machine}"))
}

/// Atomic: `marker` proves completeness.
fn npm_install(repository: &Repository, package: &str, folder: &Path, marker: &Path) -> Result<()> {
    npm_install_all(repository, &[package], folder, marker)
}

fn npm_install_all(
    repository: &Repository,
    packages: &[&str],
    folder: &Path,
    marker: &Path,
) -> Result<()> {
    let named = packages.join(" and ");
    if folder.join(marker).exists() {
        return Ok(());
    }
    terminal::problem(&format!("fetching {named}"));
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
    install.args(["--no-audit", "--no-fund", "--no-save", "--ignore-scripts"]);
    install.args(packages);
    process::logged(&mut install, &sibling(folder, "log"))?;
    if !partial.join(marker).exists() {
        bail!("`{named}` has no `{}`", marker.display());
    }
    std::fs::rename(&partial, folder)
        .with_context(|| format!("`{}` cannot be made", folder.display()))
}

/// Appends, because release numbers have dots like an extension.
fn sibling(folder: &Path, ending: &str) -> PathBuf {
    folder.with_file_name(format!("{}.{ending}", file_name(folder)))
}

fn text(path: &Path) -> Result<String> {
    let text = path
        .to_str()
        .with_context(|| format!("`{}` is not UTF-8", path.display()))?;
    Ok(text.to_owned())
}
