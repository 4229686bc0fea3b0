//! Module order and independence inside a crate, from its manifest.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use regex::Regex;
use toml::Table;

use super::finding::Finding;
use super::imports;
use super::source::{Purpose, Source};
use crate::repository::TextFile;

const RULE: &str = "module order";
const INDEPENDENT: &str = "independent modules";

/// Checks `[package.metadata.ktx]`: modules in `order` can use only earlier ones; modules in
/// `independent` folders cannot use each other.
pub(crate) fn check(files: &[TextFile], sources: &[Source]) -> Vec<Finding> {
    let ordered = files
        .iter()
        .filter_map(|file| Some((file, names(file, "order")?)))
        .flat_map(|(manifest, order)| check_crate(&manifest.path, &order, sources));
    let independent = files
        .iter()
        .flat_map(|file| {
            names(file, "independent")
                .into_iter()
                .flatten()
                .map(move |folder| (file, folder))
        })
        .flat_map(|(manifest, folder)| check_independent(&manifest.path, &folder, sources));
    ordered.chain(independent).collect()
}

fn names(file: &TextFile, key: &str) -> Option<Vec<String>> {
    if !file.path.ends_with("/Cargo.toml") {
        return None;
    }
    let manifest: Table = file.text.parse().ok()?;
    let ours = manifest.get("package")?.get("metadata")?.get("ktx")?;
    let names = ours.get(key)?.as_array()?.iter();
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
        let mut above: Vec<(usize, String)> = Vec::new();
        for used in used(source, inside) {
            let entry = (used.line, used.top);
            if place(&entry.1).is_some_and(|other| other > own) && !above.contains(&entry) {
                above.push(entry);
            }
        }
        findings.extend(above.into_iter().map(|(line, used)| {
            let what = format!("`{module}` uses `{used}`, which is above it");
            Finding::file(&source.path, RULE, what, "move the shared part down").at(line)
        }));
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

/// Returns a file's root module; `None` for crate roots, which can use everything.
fn module(inside: &str) -> Option<&str> {
    let first = inside.split('/').next()?;
    let name = first.strip_suffix(".rs").unwrap_or(first);
    (!["lib", "main", "bin", "tests"].contains(&name)).then_some(name)
}

/// A used module by its first two names, such as `commands::sl`.
#[derive(Debug, PartialEq, Eq)]
struct UsedModule {
    line: usize,
    top: String,
    below: Option<String>,
}

fn used(source: &Source, inside: &str) -> Vec<UsedModule> {
    static PATH: LazyLock<Option<Regex>> =
        LazyLock::new(|| Regex::new(r"\b(crate::|(?:super::)+)(\w+)(?:::(\w+))?").ok());
    let Some(pattern) = PATH.as_ref() else {
        return Vec::new();
    };
    let own: Vec<&str> = inside.trim_end_matches(".rs").split('/').collect();
    let resolve = |line: usize, path: &str| -> Option<UsedModule> {
        let captures = pattern.captures(path)?;
        let prefix = captures.get(1)?.as_str();
        let kept = match prefix {
            "crate::" => 0,
            _ => own.len().checked_sub(prefix.matches("super::").count())?,
        };
        let named = (2..=3).filter_map(|group| Some(captures.get(group)?.as_str()));
        let mut names = own.iter().take(kept).copied().chain(named);
        Some(UsedModule {
            line,
            top: names.next()?.to_owned(),
            below: names.next().map(str::to_owned),
        })
    };
    let mut found: Vec<UsedModule> = imports::of(source)
        .iter()
        .filter_map(|import| resolve(import.line, &import.path))
        .collect();
    for line in source.product_code() {
        for path in pattern.find_iter(line.text) {
            let used = resolve(line.number, path.as_str());
            found.extend(used.filter(|used| !found.contains(used)));
        }
    }
    found
}

fn check_independent(manifest: &str, folder: &str, sources: &[Source]) -> Vec<Finding> {
    let root = format!(
        "{}src/",
        manifest.strip_suffix("Cargo.toml").unwrap_or_default()
    );
    let mut members = BTreeSet::new();
    let mut uses = Vec::new();
    for source in sources {
        let inside = source.path.strip_prefix(&root);
        let Some(inside) = inside.filter(|_| source.purpose() == Purpose::Product) else {
            continue;
        };
        let below = inside
            .strip_prefix(folder)
            .and_then(|rest| rest.strip_prefix('/'));
        if let Some(member) = below.and_then(module) {
            members.insert(member);
            uses.extend(
                used(source, inside)
                    .into_iter()
                    .map(|used| (source, member, used)),
            );
        }
    }
    if members.is_empty() {
        let what = format!("there is no module `{folder}` with modules of its own");
        return vec![Finding::file(
            manifest,
            INDEPENDENT,
            what,
            "take it out of `independent`",
        )];
    }
    let mut findings: Vec<Finding> = Vec::new();
    for (source, member, used) in uses {
        let other = used
            .below
            .filter(|other| used.top == folder && other != member);
        if let Some(other) = other.filter(|other| members.contains(other.as_str())) {
            let what = format!("`{folder}::{member}` uses `{folder}::{other}`");
            let cure = format!("move the shared part out of `{folder}`");
            let finding = Finding::file(&source.path, INDEPENDENT, what, &cure).at(used.line);
            if !findings.contains(&finding) {
                findings.push(finding);
            }
        }
    }
    findings
}
