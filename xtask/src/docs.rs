//! Checks manual and root pages: summary, links, fence languages.

mod book;
mod markdown;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;

use anyhow::Result;

use crate::repository::{Repository, TextFile};
use crate::{Mode, Verdict, environment, process, terminal};

const ROOT_PAGES: [&str; 6] = [
    "README.md",
    "ARCHITECTURE.md",
    "CONTRIBUTING.md",
    "STYLE.md",
    "SECURITY.md",
    "CHANGELOG.md",
];

const BOOK: &str = "docs-site/src/";

/// In write mode, builds the book if mdBook is installed.
pub(crate) fn run(repository: &Repository, mode: Mode) -> Result<Verdict> {
    let files = repository.text_files()?;
    let paths: BTreeSet<&str> = files.iter().map(|file| file.path.as_str()).collect();
    let problems = check(&files, &|path| {
        paths.contains(path) || repository.root().join(path).exists()
    });
    for problem in &problems {
        terminal::line(problem);
    }
    let pages = files.iter().filter(|file| is_page(file)).count();
    terminal::line(&format!("docs: {pages} pages, {} problems", problems.len()));
    if !problems.is_empty() {
        return Ok(Verdict::Fail);
    }
    if mode == Mode::Check {
        return Ok(Verdict::Pass);
    }
    if environment::find_program("mdbook", &[]).is_none() {
        terminal::line("docs: mdbook is not installed; the book was checked, not built");
        return Ok(Verdict::Pass);
    }
    let built =
        process::succeeds(process::command(repository, "mdbook").args(["build", "docs-site"]))?;
    Ok(if built { Verdict::Pass } else { Verdict::Fail })
}

fn is_page(file: &TextFile) -> bool {
    ROOT_PAGES.contains(&file.path.as_str())
        || (file.path.starts_with(BOOK) && file.has_extension("md"))
}

/// `exists` covers paths outside the pages.
fn check(files: &[TextFile], exists: &dyn Fn(&str) -> bool) -> Vec<String> {
    let pages: Vec<book::Page> = files
        .iter()
        .filter(|file| is_page(file))
        .map(|file| book::Page::new(&file.path, &file.text))
        .collect();
    let mut problems: Vec<String> = ROOT_PAGES
        .iter()
        .filter(|path| !pages.iter().any(|page| page.path == **path))
        .map(|path| format!("{path}: missing page: every clone has it; write it"))
        .collect();
    problems.extend(book::check_summary(&pages, BOOK));
    for page in &pages {
        problems.extend(book::check_page(page, &pages, exists));
    }
    problems
}
