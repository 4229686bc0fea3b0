//! Forbidden text: machine-specific paths, registry hosts.

use std::sync::LazyLock;

use regex::Regex;

use super::finding::Finding;
use crate::repository::TextFile;

/// The rules contain what they forbid.
const RULES: &str = "xtask/src/audit/";

const EXAMPLE_HOMES: [&str; 6] = ["you", "user", "me", "ada", "dev", "runner"];

static MACHINE_PATH: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r#"(?:^|[\s"'`(=:<\[,])(/work/|/root/|/home/([a-z][\w-]*)|/Users/([a-z][\w-]*))"#)
        .ok()
});

const REGISTRY_HOSTS: [&str; 9] = [
    "static.crates.io",
    "index.crates.io",
    "registry.npmjs.org",
    "registry.yarnpkg.com",
    "pypi.org",
    "files.pythonhosted.org",
    "proxy.golang.org",
    "deb.debian.org",
    "archive.ubuntu.com",
];

pub(crate) fn check(file: &TextFile) -> Vec<Finding> {
    if file.path.starts_with(RULES) {
        return Vec::new();
    }
    let mut findings = Vec::new();
    for (index, line) in file.text.lines().enumerate() {
        if let Some(path) = machine_path(line) {
            let what = format!("`{path}` is a place on one machine");
            let cure = "use a relative path, or `/srv/project` in an example";
            findings.push(Finding::file(&file.path, "machine path", what, cure).at(index + 1));
        }
        if let Some(host) = registry_host(line) {
            let what = format!("`{host}` is a registry's host");
            let cure = "name the package, not where it is fetched";
            findings.push(Finding::file(&file.path, "registry host", what, cure).at(index + 1));
        }
    }
    findings
}

pub(crate) fn registry_host(line: &str) -> Option<&'static str> {
    REGISTRY_HOSTS.into_iter().find(|host| line.contains(host))
}

fn machine_path(line: &str) -> Option<String> {
    let pattern = MACHINE_PATH.as_ref()?;
    pattern.captures_iter(line).find_map(|captures| {
        let user = captures
            .get(2)
            .or_else(|| captures.get(3))
            .map(|user| user.as_str());
        let example = user.is_some_and(|user| EXAMPLE_HOMES.contains(&user));
        captures
            .get(1)
            .filter(|_| !example)
            .map(|found| found.as_str().to_owned())
    })
}
