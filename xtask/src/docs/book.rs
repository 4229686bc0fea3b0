//! Checks the summary and link targets.

use std::collections::BTreeSet;

use super::markdown::{Outline, outline};
use crate::audit::registry_host;

#[derive(Clone, Debug)]
pub(crate) struct Page {
    pub(crate) path: String,
    text: String,
    outline: Outline,
}

impl Page {
    pub(crate) fn new(path: &str, text: &str) -> Self {
        Self {
            path: path.to_owned(),
            text: text.to_owned(),
            outline: outline(text),
        }
    }
}

/// Every page must be listed once.
pub(crate) fn check_summary(pages: &[Page], book: &str) -> Vec<String> {
    let path = format!("{book}SUMMARY.md");
    let Some(summary) = pages.iter().find(|page| page.path == path) else {
        return vec![format!(
            "{path}: missing page: the book has no summary; write it"
        )];
    };
    let mut listed = BTreeSet::new();
    let mut problems = Vec::new();
    for (line, target) in &summary.outline.links {
        if let Some(Target { path: page, .. }) = resolve(&path, target)
            && !listed.insert(page)
        {
            problems.push(format!(
                "{path}:{line}: summary: `{target}` is listed twice; keep one"
            ));
        }
    }
    for page in pages
        .iter()
        .filter(|page| page.path.starts_with(book) && page.path != path)
    {
        if !listed.contains(&page.path) {
            let name = page.path.trim_start_matches(book);
            problems.push(format!(
                "{}: summary: no reader finds this page; add `{name}` to `{path}`",
                page.path
            ));
        }
    }
    problems
}

pub(crate) fn check_page(
    page: &Page,
    pages: &[Page],
    exists: &dyn Fn(&str) -> bool,
) -> Vec<String> {
    let path = &page.path;
    let mut problems = Vec::new();
    for line in &page.outline.bare_fences {
        problems.push(format!(
            "{path}:{line}: code fence: it has no language; name it, `text` at least"
        ));
    }
    if let Some(line) = page.outline.open_fence {
        problems.push(format!(
            "{path}:{line}: code fence: it is never closed; close it"
        ));
    }
    for (line, target) in &page.outline.links {
        if let Some(problem) = check_link(page, target, pages, exists) {
            problems.push(format!("{path}:{line}: link: {problem}"));
        }
    }
    for (index, line) in page.text.lines().enumerate() {
        if let Some(host) = registry_host(line) {
            problems.push(format!(
                "{path}:{}: registry host: the page names `{host}`; name the package instead",
                index + 1
            ));
        }
    }
    problems
}

fn check_link(
    page: &Page,
    link: &str,
    pages: &[Page],
    exists: &dyn Fn(&str) -> bool,
) -> Option<String> {
    if link.is_empty() {
        return Some("it leads nowhere; give it a target".to_owned());
    }
    if link.starts_with('/') {
        return Some(format!(
            "`{link}` is absolute; make it relative to the page"
        ));
    }
    let Some(target) = resolve(&page.path, link) else {
        return (!has_scheme(link))
            .then(|| format!("`{link}` leaves the repository; link to its address on the web"));
    };
    let in_book = |path: &str| path.starts_with(super::BOOK);
    if in_book(&page.path) && !in_book(&target.path) {
        return Some(format!(
            "`{link}` leaves the book; link to its address on the web"
        ));
    }
    let linked = pages.iter().find(|other| other.path == target.path);
    if linked.is_none() && !exists(&target.path) {
        return Some(format!("`{link}` does not exist; correct the path"));
    }
    let (linked, fragment) = (linked?, target.fragment?);
    (!linked.outline.anchors.contains(&fragment))
        .then(|| format!("`{link}`: no heading has that fragment; correct it"))
}

#[derive(Debug)]
struct Target {
    path: String,
    fragment: Option<String>,
}

/// Returns `None` for URLs and paths outside the repository.
fn resolve(page: &str, link: &str) -> Option<Target> {
    if has_scheme(link) {
        return None;
    }
    let (path, fragment) = match link.split_once('#') {
        Some((path, fragment)) => (path, Some(fragment.to_owned())),
        None => (link, None),
    };
    if path.is_empty() {
        return Some(Target {
            path: page.to_owned(),
            fragment,
        });
    }
    let mut parts: Vec<&str> = page.split('/').collect();
    parts.pop();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop()?;
            }
            name => parts.push(name),
        }
    }
    Some(Target {
        path: parts.join("/"),
        fragment,
    })
}

fn has_scheme(link: &str) -> bool {
    ["http://", "https://", "mailto:"]
        .iter()
        .any(|scheme| link.starts_with(scheme))
}
