//! Applies the repository's rules, which are pure functions over texts and manifests.

mod backends;
mod call_sites;
mod dependencies;
mod effects;
mod exceptions;
mod finding;
mod imports;
mod layout;
mod licences;
pub(crate) mod manifests;
mod mask;
mod modules;
mod requirements;
mod sizes;
pub(crate) mod source;
#[cfg(test)]
mod tests;
mod words;

use anyhow::{Context as _, Result};

use crate::repository::{Repository, TextFile};
use crate::{Verdict, terminal};

use finding::{Finding, FindingLevel};
use manifests::Package;
use source::Source;
pub(crate) use words::registry_host;

pub(crate) fn run(repository: &Repository) -> Result<Verdict> {
    let files = repository.text_files()?;
    let mut findings = check_texts(&files);
    findings.extend(check_packages(repository, &files)?);
    let mut findings = exceptions::apply(findings, exceptions::EXCEPTIONS);
    findings.sort();
    for finding in &findings {
        terminal::line(&finding.to_string());
    }
    let failures = findings
        .iter()
        .filter(|finding| finding.level == FindingLevel::Failure)
        .count();
    let warnings = findings.len().saturating_sub(failures);
    terminal::line(&format!(
        "audit: {} files, {failures} failures, {warnings} warnings",
        files.len()
    ));
    Ok(if failures == 0 {
        Verdict::Pass
    } else {
        Verdict::Fail
    })
}

pub(crate) fn print_call_sites(repository: &Repository) -> Result<Verdict> {
    let files = repository.text_files()?;
    let sites = call_sites::all(&files, &sources(&files));
    for site in &sites {
        terminal::line(&site.to_string());
    }
    terminal::line(&format!("call sites: {}", sites.len()));
    Ok(Verdict::Pass)
}

fn check_texts(files: &[TextFile]) -> Vec<Finding> {
    let sources = sources(files);
    let mut findings = Vec::new();
    for source in &sources {
        findings.extend(layout::check(source));
        findings.extend(sizes::check(source));
        findings.extend(effects::check(source));
    }
    findings.extend(backends::check(files, &sources));
    for file in files {
        findings.extend(words::check(file));
        if file.path.ends_with("Cargo.toml") {
            findings.extend(manifests::check_text(file));
        }
    }
    findings.extend(layout::check_modules(&sources));
    findings.extend(manifests::check_unused(files));
    findings.extend(dependencies::check(files));
    findings.extend(modules::check(files, &sources));
    findings.extend(requirements::check(files, &sources));
    findings.extend(call_sites::check(files, &sources));
    findings
}

fn check_packages(repository: &Repository, files: &[TextFile]) -> Result<Vec<Finding>> {
    let ours = Package::all(&repository.own_packages()?, repository.root())?;
    let mut findings = manifests::check_packages(&ours);
    let policy = files
        .iter()
        .find(|file| file.path == "deny.toml")
        .context("`deny.toml` is missing; it holds the list of licences")?;
    let allowed = licences::allowed(&policy.text)?;
    findings.extend(licences::check(&repository.all_packages()?, &allowed));
    Ok(findings)
}

fn sources(files: &[TextFile]) -> Vec<Source> {
    files
        .iter()
        .filter(|file| file.has_extension("rs"))
        .map(|file| Source::new(&file.path, &file.text))
        .collect()
}
