//! The order of the modules inside a crate, where its manifest declares one: no module reaches up.

use std::sync::LazyLock;

use regex::Regex;
use toml::Table;

use super::finding::Finding;
use super::imports;
use super::source::{Purpose, Source};
use crate::repository::TextFile;

const RULE: &str = "module order";

/// Holds the crates to the `order` of their `[package.metadata.ktx]`: its modules from the lowest to the
/// highest, each of which may use those before it.
pub(crate) fn check(files: &[TextFile], sources: &[Source]) -> Vec<Finding> {
    files
        .iter()
        .filter_map(|file| Some((file, order(file)?)))
        .flat_map(|(manifest, order)| check_crate(&manifest.path, &order, sources))
        .collect()
}

fn order(file: &TextFile) -> Option<Vec<String>> {
    if !file.path.ends_with("/Cargo.toml") {
        return None;
    }
    let manifest: Table = file.text.parse().ok()?;
    let ours = manifest.get("package")?.get("metadata")?.get("ktx")?;
    let names = ours.get("order")?.as_array()?.iter();
    Some(
        names
            .filter_map(|name| Some(name.as_str()?.to_owned()))
            .collect(),
    )
}

fn check_crate(manifest: &str, order: &[String], sources: &[Source]) -> Vec<Finding> {
    let folder = manifest.strip_suffix("Cargo.toml").unwrap_or_default();
    let root = format!("{folder}src/");
    let place = |name: &str| order.iter().position(|known| known == name);
    let mut seen = vec![false; order.len()];
    let mut findings = Vec::new();
    for source in sources {
        let Some(inside) = source.path.strip_prefix(&root) else {
            continue;
        };
        let Some(module) = module(inside).filter(|_| source.purpose() == Purpose::Product) else {
            continue;
        };
        let Some(own) = place(module) else {
            let what = format!("`{module}` has no place in the order of its crate");
            let cure = format!("add it to `order` in `{manifest}`");
            findings.push(Finding::file(&source.path, RULE, what, &cure));
            continue;
        };
        if let Some(seen) = seen.get_mut(own) {
            *seen = true;
        }
        for (line, used) in used(source, inside) {
            if place(&used).is_some_and(|other| other > own) {
                let what = format!("`{module}` uses `{used}`, which is above it");
                let cure = "move the shared part down";
                findings.push(Finding::file(&source.path, RULE, what, cure).at(line));
            }
        }
    }
    findings.extend(
        order
            .iter()
            .zip(seen)
            .filter(|(_, seen)| !seen)
            .map(|(name, _)| {
                let what = format!("there is no module `{name}`");
                Finding::file(manifest, RULE, what, "take it out of `order`")
            }),
    );
    findings
}

/// The module of the crate's root that a file belongs to; the roots themselves may use everything.
fn module(inside: &str) -> Option<&str> {
    let first = inside.split('/').next()?;
    let name = first.strip_suffix(".rs").unwrap_or(first);
    (!["lib", "main", "bin", "tests"].contains(&name)).then_some(name)
}

/// The modules of the root that a file uses, with the lines: by import and by path.
fn used(source: &Source, inside: &str) -> Vec<(usize, String)> {
    static PATH: LazyLock<Option<Regex>> =
        LazyLock::new(|| Regex::new(r"\b(crate::|(?:super::)+)(\w+)").ok());
    let Some(pattern) = PATH.as_ref() else {
        return Vec::new();
    };
    let depth = inside.matches('/').count() + 1;
    let top = |path: &str| -> Option<String> {
        let captures = pattern.captures(path)?;
        let prefix = captures.get(1)?.as_str();
        let at_root = prefix == "crate::" || prefix.matches("super::").count() == depth;
        at_root.then(|| captures.get(2).map(|name| name.as_str().to_owned()))?
    };
    let mut found: Vec<(usize, String)> = imports::of(source)
        .iter()
        .filter_map(|import| Some((import.line, top(&import.path)?)))
        .collect();
    for line in source.product_code() {
        for path in pattern.find_iter(line.text) {
            let entry = top(path.as_str()).map(|name| (line.number, name));
            found.extend(entry.filter(|entry| !found.contains(entry)));
        }
    }
    found
}
