//! Which crate can depend on which foreign package.

use std::collections::BTreeMap;

use toml::Table;

use super::finding::Finding;
use super::manifests::shipped_dependencies;
use crate::repository::TextFile;

/// Lines of a package, a colon, and its crates or `*`.
const LIST: &str = "fixtures/audit/dependencies.txt";
const RULE: &str = "dependency list";

/// Compares manifests and list in both directions.
pub(crate) fn check(files: &[TextFile]) -> Vec<Finding> {
    let Some(list) = files.iter().find(|file| file.path == LIST) else {
        return Vec::new();
    };
    let manifests: Vec<(&TextFile, &str, Table)> = files
        .iter()
        .filter_map(|file| Some((file, member(&file.path)?, file.text.parse().ok()?)))
        .collect();
    let mut allowed: BTreeMap<&str, Permission<'_>> = list.text.lines().filter_map(entry).collect();
    let mut findings = Vec::new();
    for (file, name, manifest) in &manifests {
        let foreign = shipped_dependencies(manifest).filter(|name| !name.starts_with("ktx-"));
        for dependency in foreign {
            let entry = allowed.entry(dependency).or_insert(Permission::Unlisted);
            findings.extend(entry.check(name, dependency, &file.path));
        }
    }
    findings.extend(
        allowed
            .iter()
            .flat_map(|(name, allowed)| allowed.unused(name)),
    );
    findings
}

enum Permission<'list> {
    Everyone {
        is_used: bool,
    },
    /// True for crates that use it.
    Crates(BTreeMap<&'list str, bool>),
    Unlisted,
}

impl Permission<'_> {
    fn check(&mut self, member: &str, dependency: &str, path: &str) -> Option<Finding> {
        let (what, cure) = match self {
            Self::Everyone { is_used } => {
                *is_used = true;
                return None;
            }
            Self::Crates(crates) => {
                if let Some(is_used) = crates.get_mut(member) {
                    *is_used = true;
                    return None;
                }
                let owners: Vec<String> = crates.keys().map(|owner| format!("`{owner}`")).collect();
                let what = format!("`{member}` may not ship with `{dependency}`");
                (what, format!("leave it to {}", owners.join(", ")))
            }
            Self::Unlisted => {
                let what = format!("`{dependency}` is not listed");
                (
                    what,
                    format!("add it to `{LIST}`, with the crates that need it or `*`"),
                )
            }
        };
        Some(Finding::file(path, RULE, what, &cure))
    }

    fn unused(&self, name: &str) -> Vec<Finding> {
        let finding = |what: String| Finding::file(LIST, RULE, what, "take it off the list");
        match self {
            Self::Everyone { is_used: false } => {
                vec![finding(format!("no crate ships with `{name}`"))]
            }
            Self::Crates(crates) => crates
                .iter()
                .filter(|(_, is_used)| !**is_used)
                .map(|(member, _)| finding(format!("`{member}` does not ship with `{name}`")))
                .collect(),
            Self::Everyone { is_used: true } | Self::Unlisted => Vec::new(),
        }
    }
}

fn entry(line: &str) -> Option<(&str, Permission<'_>)> {
    let line = line.split('#').next()?;
    let (name, crates) = line.split_once(':')?;
    let allowed = if crates.trim() == "*" {
        Permission::Everyone { is_used: false }
    } else {
        Permission::Crates(
            crates
                .split_whitespace()
                .map(|name| (name, false))
                .collect(),
        )
    };
    Some((name.trim(), allowed))
}

fn member(path: &str) -> Option<&str> {
    let folder = path.strip_prefix("crates/")?.strip_suffix("/Cargo.toml")?;
    (folder != "test-support").then_some(folder)
}
