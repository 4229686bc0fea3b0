//! Phrases that read like a translation.

use anyhow::{Context as _, Result};
use regex::Regex;

use crate::repository::TextFile;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PhraseHit {
    phrase: String,
    instead: String,
    pub(crate) places: Vec<String>,
}

impl PhraseHit {
    pub(crate) fn line(&self, examples: usize) -> String {
        let Self {
            phrase,
            instead,
            places,
        } = self;
        let shown: Vec<&str> = places.iter().take(examples).map(String::as_str).collect();
        format!(
            "\n{} × `{phrase}`: {instead}\n  {}",
            places.len(),
            shown.join("\n  ")
        )
    }
}

/// Searches Rust and Markdown except the list and the changelog; returns occurring phrases, most
/// frequent first.
pub(crate) fn hits(files: &[TextFile], list: &str) -> Result<Vec<PhraseHit>> {
    let phrases = files.iter().find(|file| file.path == list);
    let phrases = phrases.with_context(|| format!("`{list}` is missing"))?;
    let mut found = Vec::new();
    for (index, line) in phrases.text.lines().enumerate() {
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let at = || format!("{list}:{}", index + 1);
        let (phrase, instead) = line
            .split_once('\t')
            .with_context(|| format!("{}: a tab and what to write instead are missing", at()))?;
        let pattern =
            Regex::new(phrase).with_context(|| format!("{}: not a regular expression", at()))?;
        let places = places(files, &pattern);
        if !places.is_empty() {
            found.push(PhraseHit {
                phrase: phrase.to_owned(),
                instead: instead.to_owned(),
                places,
            });
        }
    }
    found.sort_by_key(|hit| std::cmp::Reverse(hit.places.len()));
    Ok(found)
}

fn places(files: &[TextFile], pattern: &Regex) -> Vec<String> {
    let mut places = Vec::new();
    for file in files {
        if file.path == "CHANGELOG.md" || !(file.has_extension("rs") || file.has_extension("md")) {
            continue;
        }
        for (index, line) in file.text.lines().enumerate() {
            let is_text = file.has_extension("md") || line.contains("//") || line.contains('"');
            if is_text && pattern.is_match(line) {
                places.push(format!("{}:{}", file.path, index + 1));
            }
        }
    }
    places
}
