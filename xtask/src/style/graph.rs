//! Figures over crates and packages.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context as _, Result};
use toml::Table;

use super::Figure;
use crate::audit::manifests::{Kind, Package};
use crate::repository::Repository;

pub(crate) struct CrateGraph {
    /// Excludes test dependencies.
    crates: BTreeMap<String, BTreeSet<String>>,
    locked: BTreeMap<String, BTreeSet<String>>,
}

impl CrateGraph {
    pub(crate) fn read(repository: &Repository) -> Result<Self> {
        let packages = Package::all(&repository.own_packages()?, repository.root())?;
        let lock = repository.root().join("Cargo.lock");
        let lock = std::fs::read_to_string(lock).context("`Cargo.lock` cannot be read")?;
        Ok(Self {
            crates: edges(&packages),
            locked: locked(&lock)?,
        })
    }

    pub(crate) fn figures(&self) -> Vec<Figure> {
        let figure = |name, anchor, target, ours: usize| Figure {
            name,
            anchor,
            target,
            ours: ours.to_string(),
        };
        let versions = || self.locked.values();
        vec![
            figure("crates", "46 (rust-analyzer)", "<= 33", self.crates.len()),
            figure(
                "longest chain of crates",
                "15 (rust-analyzer)",
                "<= 9",
                longest_chain(&self.crates),
            ),
            figure(
                "internal edges",
                "190 (rust-analyzer)",
                "<= 135",
                self.crates.values().map(BTreeSet::len).sum(),
            ),
            figure(
                "packages in the lock file",
                "377 (rust-analyzer)",
                "<= 400",
                versions().map(BTreeSet::len).sum(),
            ),
            figure(
                "packages in two versions or more",
                "-",
                "few",
                versions().filter(|versions| versions.len() > 1).count(),
            ),
        ]
    }
}

fn edges(packages: &[Package]) -> BTreeMap<String, BTreeSet<String>> {
    let names: BTreeSet<&str> = packages
        .iter()
        .map(|package| package.name.as_str())
        .collect();
    let ships = |package: &Package| {
        package
            .dependencies
            .iter()
            .filter(|edge| edge.kind == Kind::Normal && names.contains(edge.name.as_str()))
            .map(|edge| edge.name.clone())
            .collect()
    };
    packages
        .iter()
        .map(|package| (package.name.clone(), ships(package)))
        .collect()
}

/// Counts crates.
pub(super) fn longest_chain(crates: &BTreeMap<String, BTreeSet<String>>) -> usize {
    let mut depths: BTreeMap<&str, usize> = BTreeMap::new();
    // Each round settles a floor; a cycle, which cargo refuses, settles none.
    for _ in crates {
        for (name, below) in crates {
            let depth = below
                .iter()
                .filter_map(|name| depths.get(name.as_str()))
                .max();
            depths.insert(name, 1 + depth.copied().unwrap_or_default());
        }
    }
    depths.into_values().max().unwrap_or_default()
}

pub(super) fn locked(text: &str) -> Result<BTreeMap<String, BTreeSet<String>>> {
    let lock: Table = text.parse().context("`Cargo.lock` is not TOML")?;
    let mut found: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let packages = lock.get("package").and_then(toml::Value::as_array);
    for package in packages.into_iter().flatten() {
        let text = |key| package.get(key).and_then(toml::Value::as_str);
        if let (Some(name), Some(version)) = (text("name"), text("version")) {
            found
                .entry(name.to_owned())
                .or_default()
                .insert(version.to_owned());
        }
    }
    Ok(found)
}
