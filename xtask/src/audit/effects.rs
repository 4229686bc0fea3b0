//! Which crate can use processes, environment, files, sockets, HTTP and the clock. Product code
//! must not panic.
//!
//! Code can use a name by path, import or renamed import. The rules find the first two and forbid
//! renaming watched names.

use std::sync::LazyLock;

use regex::Regex;

use super::finding::Finding;
use super::imports::{self, Import};
use super::source::{Purpose, Source};

struct Effect {
    rule: &'static str,
    pattern: &'static str,
    /// Imports that count as uses; a trailing `*` matches any rest.
    imports: &'static [&'static str],
    owners: &'static [&'static str],
    chores: Chores,
    cure: &'static str,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Chores {
    Free,
    Bound,
}

const EFFECTS: [Effect; 8] = [
    Effect {
        rule: "spawns",
        pattern: r"(?:^|[^:\w]|std::process::|tokio::process::|process::)Command::new\b",
        imports: &[
            "std::process::Command",
            "tokio::process::Command",
            "std::process::*",
            "tokio::process::*",
        ],
        owners: &[
            "claude-code-adapter",
            "project-store",
            "mcp-client",
            "mcp-server",
        ],
        chores: Chores::Free,
        cure: "children belong to `claude-code-adapter`, `project-store`, `mcp-client` and `mcp-server`",
    },
    Effect {
        rule: "reads the environment",
        pattern: r"\benv::(?:vars?(?:_os)?|set_var|remove_var|temp_dir|home_dir)\b",
        imports: &[
            "std::env::var*",
            "std::env::set_var",
            "std::env::remove_var",
            "std::env::temp_dir",
            "std::env::home_dir",
            "std::env::*",
        ],
        owners: &[
            "crates/config/src/env.rs",
            "crates/config/src/env/",
            "crates/ktx/src/bin/",
        ],
        chores: Chores::Free,
        cure: "take the value from `config::env`",
    },
    Effect {
        rule: "writes files",
        pattern: r"\bfs::(?:write|rename|copy|hard_link|remove_\w+|create_dir(?:_all)?)\b|\bFile::(?:create(?:_new)?|options)\b|\bOpenOptions\b",
        imports: &[
            "std::fs::write",
            "std::fs::rename",
            "std::fs::copy",
            "std::fs::hard_link",
            "std::fs::remove_*",
            "std::fs::create_dir*",
            "std::fs::*",
            "tokio::fs::write",
            "tokio::fs::rename",
            "tokio::fs::copy",
            "tokio::fs::hard_link",
            "tokio::fs::remove_*",
            "tokio::fs::create_dir*",
            "tokio::fs::*",
        ],
        owners: &["project-store", "session-log"],
        chores: Chores::Free,
        cure: "write through `project-store`",
    },
    Effect {
        rule: "opens sockets",
        pattern: r"\b(?:Tcp(?:Stream|Listener|Socket)|UdpSocket|Unix(?:Stream|Listener|Datagram)|ToSocketAddrs|lookup_host)\b",
        imports: &["std::net::*", "tokio::net::*", "std::os::unix::net::*"],
        owners: &[
            "connectors",
            "mcp-server",
            "crates/ktx/src/commands/mcp/",
            "crates/ktx/src/local_server/",
        ],
        chores: Chores::Free,
        cure: "sockets belong to `connectors`, `mcp-server` and the local server of the binary",
    },
    Effect {
        rule: "reads the clock",
        pattern: r"\b(?:SystemTime|Timestamp|Zoned|Utc|Local)::now\b|\bUNIX_EPOCH\s*\.\s*elapsed\b",
        imports: &[],
        owners: &["ktx"],
        chores: Chores::Free,
        cure: "take the time as a value; `ktx` reads the clock",
    },
    Effect {
        rule: "speaks HTTP",
        pattern: r"\breqwest\b",
        imports: &[],
        owners: &[
            "provider-adapters",
            "embeddings",
            "connectors",
            "context-sources",
            "http",
            "mcp-client",
        ],
        chores: Chores::Bound,
        cure: "HTTP belongs to adapters, connectors, context sources, embeddings and the MCP client",
    },
    Effect {
        rule: "may panic",
        pattern: r#"\.unwrap\(\)|\.unwrap_err\(\)|\.expect\(\s*(?:&?format!|")|\b(?:panic|todo|unimplemented|unreachable)!"#,
        imports: &[],
        owners: &[],
        chores: Chores::Bound,
        cure: "return an error that names the object",
    },
    Effect {
        rule: "prints",
        pattern: r"\be?print(?:ln)?!",
        imports: &[],
        owners: &["crates/ktx/src/", "xtask/src/terminal.rs"],
        chores: Chores::Bound,
        cure: "return the text; streams belong to `ktx`",
    },
];

/// Imports must not rename these.
const WATCHED: [&str; 20] = [
    "std",
    "std::env",
    "std::fs",
    "std::fs::File",
    "std::fs::OpenOptions",
    "std::net",
    "std::process",
    "std::process::Command",
    "std::time::SystemTime",
    "tokio",
    "tokio::fs",
    "tokio::fs::File",
    "tokio::fs::OpenOptions",
    "tokio::net",
    "tokio::process",
    "tokio::process::Command",
    "jiff",
    "jiff::Timestamp",
    "jiff::Zoned",
    "reqwest",
];

// Drops invalid patterns; a test counts them.
static PATTERNS: LazyLock<Vec<(&'static Effect, Regex)>> = LazyLock::new(|| {
    EFFECTS
        .iter()
        .filter_map(|entry| Some((entry, Regex::new(entry.pattern).ok()?)))
        .collect()
});

#[cfg(test)]
pub(crate) fn patterns() -> usize {
    PATTERNS.len()
}

pub(crate) fn check(source: &Source) -> Vec<Finding> {
    let imports = imports::of(source);
    let mut findings = Vec::new();
    for (effect, pattern) in PATTERNS.iter() {
        let free = source.purpose() == Purpose::Chore && effect.chores == Chores::Free;
        if free || source.is_in(effect.owners) {
            continue;
        }
        let mut hits: Vec<(usize, String)> = source
            .product_code()
            .filter_map(|line| Some((line.number, pattern.find(line.text)?.as_str().to_owned())))
            .collect();
        for import in imports.iter().filter(|import| effect.is_imported(import)) {
            if !hits.iter().any(|(line, _)| *line == import.line) {
                hits.push((import.line, format!("use {}", import.path)));
            }
        }
        findings.extend(hits.into_iter().map(|(line, text)| {
            let what = format!("`{}`", text.trim());
            Finding::file(&source.path, effect.rule, what, effect.cure).at(line)
        }));
    }
    findings.extend(renamed(source, &imports));
    findings
}

impl Effect {
    fn is_imported(&self, import: &Import) -> bool {
        self.imports
            .iter()
            .any(|watched| match watched.strip_suffix('*') {
                // Only the glob of a module counts, because some of its items are harmless.
                Some(stem) if stem.ends_with("::") => import.path == *watched,
                Some(stem) => import.path.starts_with(stem),
                None => import.path == *watched,
            })
    }
}

fn renamed(source: &Source, imports: &[Import]) -> Vec<Finding> {
    if source.purpose() == Purpose::Chore {
        return Vec::new();
    }
    let watched = |import: &&Import| {
        let renames = import.alias.as_deref().is_some_and(|alias| alias != "_");
        renames && WATCHED.contains(&import.path.as_str())
    };
    imports
        .iter()
        .filter(watched)
        .map(|import| {
            let alias = import.alias.as_deref().unwrap_or_default();
            let what = format!("`{}` is called `{alias}` here", import.path);
            let cure = "import it under its own name, which the other rules look for";
            Finding::file(&source.path, "renamed import", what, cure).at(import.line)
        })
        .collect()
}
