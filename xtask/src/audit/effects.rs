//! Who may touch the world: children, environment, files, the network; and nobody may panic.

use std::sync::LazyLock;

use regex::Regex;

use super::finding::Finding;
use super::source::{Purpose, Source};

/// One way to the outside and the packages and files that own it.
struct Effect {
    rule: &'static str,
    pattern: &'static str,
    owners: &'static [&'static str],
    chores: Chores,
    cure: &'static str,
}

/// Whether xtask is held to the rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Chores {
    Free,
    Bound,
}

const EFFECTS: [Effect; 6] = [
    Effect {
        rule: "spawns",
        pattern: r"(?:^|[^:\w]|std::process::|tokio::process::|process::)Command::new\b",
        owners: &["claude-code-adapter", "project-store", "mcp-server"],
        chores: Chores::Free,
        cure: "children belong to `claude-code-adapter`, `project-store` and `mcp-server`",
    },
    Effect {
        rule: "reads the environment",
        pattern: r"\benv::(?:vars?(?:_os)?|set_var|remove_var|temp_dir|home_dir)\b",
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
        pattern: r"\bfs::(?:write|rename|copy|hard_link|remove_\w+|create_dir(?:_all)?)\b|\bFile::create(?:_new)?\b",
        owners: &["project-store"],
        chores: Chores::Free,
        cure: "write through `project-store`",
    },
    Effect {
        rule: "speaks HTTP",
        pattern: r"\breqwest\b",
        owners: &[
            "provider-adapters",
            "embeddings",
            "connectors",
            "context-sources",
        ],
        chores: Chores::Bound,
        cure: "HTTP belongs to adapters, connectors, context sources and embeddings",
    },
    Effect {
        rule: "may panic",
        pattern: r#"\.unwrap\(\)|\.unwrap_err\(\)|\.expect\(\s*(?:&?format!|")|\b(?:panic|todo|unimplemented|unreachable)!"#,
        owners: &[],
        chores: Chores::Bound,
        cure: "return an error that names the object",
    },
    Effect {
        rule: "prints",
        pattern: r"\be?print(?:ln)?!",
        owners: &["crates/ktx/src/", "xtask/src/terminal.rs"],
        chores: Chores::Bound,
        cure: "return the text; streams belong to `ktx`",
    },
];

// A pattern that is no regular expression would drop out here; a test counts them.
static PATTERNS: LazyLock<Vec<(&'static Effect, Regex)>> = LazyLock::new(|| {
    EFFECTS
        .iter()
        .filter_map(|entry| Some((entry, Regex::new(entry.pattern).ok()?)))
        .collect()
});

/// How many patterns are in force.
#[cfg(test)]
pub(crate) fn patterns() -> usize {
    PATTERNS.len()
}

/// Checks the product code of one file.
pub(crate) fn check(source: &Source) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (effect, pattern) in PATTERNS.iter() {
        let free = source.purpose() == Purpose::Chore && effect.chores == Chores::Free;
        if free || source.is_in(effect.owners) {
            continue;
        }
        for line in source.product_code() {
            if let Some(found) = pattern.find(line.text) {
                let what = format!("`{}`", found.as_str().trim());
                findings.push(
                    Finding::file(&source.path, effect.rule, what, effect.cure).at(line.number),
                );
            }
        }
    }
    findings
}
