//! Where files are and how they begin.

use std::collections::BTreeSet;

use super::finding::Finding;
use super::source::Source;

pub(crate) fn check(source: &Source) -> Vec<Finding> {
    let mut findings = Vec::new();
    let path = &source.path;
    let first = source
        .text
        .lines()
        .find(|line| !line.trim().is_empty())
        .unwrap_or_default();
    if !first.starts_with("//!") {
        let what = "does not open with a `//!` line".to_owned();
        let cure = "say in one sentence what the file is for";
        findings.push(Finding::file(path, "module doc", what, cure).at(1));
    }
    if path.ends_with("/mod.rs") {
        let what = "is a `mod.rs`".to_owned();
        findings.push(Finding::file(
            path,
            "file layout",
            what,
            "name it after its folder",
        ));
    }
    if let Some((_, file)) = path.split_once("/tests/")
        && path.starts_with("crates/")
        && !path.contains("/src/")
        && !file.starts_with("it/")
    {
        let what = "is a test binary of its own".to_owned();
        let cure = "make it a module of `tests/it/main.rs`";
        findings.push(Finding::file(path, "test layout", what, cure));
    }
    if path.contains("/src/bin/")
        && let Some(line) = source.all_code().find(|line| line.text.contains("#[test]"))
    {
        let what = "a program holds a test, and programs have no test build".to_owned();
        let cure = "move what it tests to the library";
        findings.push(Finding::file(path, "test layout", what, cure).at(line.number));
    }
    for line in source.all_code() {
        if line.text.contains("#[ignore") {
            let what = "a test is ignored".to_owned();
            let cure = "make it pass, or delete it";
            findings.push(Finding::file(path, "ignored test", what, cure).at(line.number));
        }
    }
    findings
}

/// An undeclared file is never compiled.
pub(crate) fn check_modules(sources: &[Source]) -> Vec<Finding> {
    let paths: BTreeSet<&str> = sources.iter().map(|source| source.path.as_str()).collect();
    let mut findings = Vec::new();
    for source in sources {
        let Some((parents, module)) = parents(&source.path) else {
            continue;
        };
        let declared = parents
            .iter()
            .filter_map(|parent| sources.iter().find(|other| other.path == *parent))
            .any(|parent| declares(parent, &module));
        if !declared {
            let known: Vec<&String> = parents
                .iter()
                .filter(|parent| paths.contains(parent.as_str()))
                .collect();
            let parent = known
                .first()
                .or(parents.first().as_ref())
                .map_or("", |path| path);
            findings.push(Finding::file(
                &source.path,
                "orphan module",
                "no file declares it, so it is never compiled".to_owned(),
                &format!("add `mod {module};` to `{parent}`"),
            ));
        }
    }
    findings
}

/// Files that can declare `path`, and its name; `None` for a crate root.
fn parents(path: &str) -> Option<(Vec<String>, String)> {
    let (folder, file) = path.rsplit_once('/')?;
    let module = file.strip_suffix(".rs")?.to_owned();
    let package_root = folder.ends_with("/src") || folder.ends_with("/tests/it");
    if package_root {
        if module == "lib" || module == "main" {
            return None;
        }
        let roots = ["lib.rs", "main.rs"].map(|root| format!("{folder}/{root}"));
        return Some((roots.to_vec(), module));
    }
    let inside_package = path.contains("/src/") || path.contains("/tests/it/");
    if !inside_package || folder.ends_with("/src/bin") {
        return None;
    }
    Some((
        vec![format!("{folder}.rs"), format!("{folder}/main.rs")],
        module,
    ))
}

fn declares(parent: &Source, module: &str) -> bool {
    parent.all_code().any(|line| {
        line.text
            .trim()
            .strip_suffix(';')
            .and_then(|declaration| declaration.rsplit_once("mod "))
            .is_some_and(|(_, name)| name.trim() == module)
    })
}
