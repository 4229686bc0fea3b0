//! The prompts of a capture.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use ktx_secrets::Redactor;

pub(crate) const SYSTEM: &str = include_str!("prompts/capture.system.md");

/// The model finds the others with tools.
pub(crate) const LISTED: usize = 300;

pub(crate) type Sources = [(String, Vec<String>)];

pub(crate) struct KnownNames<'a> {
    pub(crate) pages: &'a [(String, String)],
    pub(crate) sources: Option<(&'a str, &'a Sources)>,
    pub(crate) most: usize,
}

pub(crate) const NEAREST: usize = 30;

const SHORTEST_WORD: usize = 3;

/// Returns the names that share the most words with a text, nearest first. Few names keep their
/// order.
pub(crate) fn nearest<T>(names: Vec<T>, text: &str, words: impl Fn(&T) -> String) -> Vec<T> {
    if names.len() <= NEAREST {
        return names;
    }
    let own = words_of(text);
    let mut ranked: Vec<(usize, T)> = names
        .into_iter()
        .map(|name| (words_of(&words(&name)).intersection(&own).count(), name))
        .collect();
    ranked.sort_by_key(|(shared, _)| std::cmp::Reverse(*shared));
    ranked.into_iter().map(|(_, name)| name).collect()
}

fn words_of(text: &str) -> BTreeSet<String> {
    let words = text.split(|letter: char| !letter.is_alphanumeric());
    let words = words.filter(|word| word.chars().count() >= SHORTEST_WORD);
    words.map(str::to_lowercase).collect()
}

pub(crate) fn list_names(known: &KnownNames<'_>) -> String {
    let mut text = String::from("Wiki pages that are there:\n");
    let pages = known
        .pages
        .iter()
        .map(|(key, summary)| format!("{key}: {summary}"));
    list(
        &mut text,
        pages,
        Listing {
            count: known.pages.len(),
            most: known.most,
            finder: "`wiki_search`",
        },
    );
    if let Some((connection, sources)) = known.sources {
        let _ = write!(
            text,
            "\nSemantic sources of the connection `{connection}`:\n"
        );
        let lines = sources.iter().map(|(name, measures)| {
            let measures = measures.join(", ");
            if measures.is_empty() {
                name.clone()
            } else {
                format!("{name} (measures: {measures})")
            }
        });
        list(
            &mut text,
            lines,
            Listing {
                count: sources.len(),
                most: known.most,
                finder: "`discover_data`",
            },
        );
    } else {
        text.push_str("\nThere is no connection to write sources for: write wiki pages only.\n");
    }
    text
}

pub(crate) fn task(label: &str, note: &str, known: &str) -> String {
    format!(
        "{known}\n{}",
        fenced(&format!("The note, called {}", one_line(label)), note)
    )
}

/// Puts foreign text between two fence lines that do not occur in it, introduced by `what`. Redacts
/// secrets.
pub fn fenced(what: &str, text: &str) -> String {
    let text = Redactor::new().redact(text);
    let text = text.as_str();
    let fence = fence(text);
    format!("{what}, stands between the two lines {fence}\n{fence}\n{text}\n{fence}\n")
}

/// How much of a list is shown, and the tool that finds the rest.
struct Listing {
    count: usize,
    most: usize,
    finder: &'static str,
}

fn list(
    text: &mut String,
    lines: impl Iterator<Item = String>,
    Listing {
        count,
        most,
        finder,
    }: Listing,
) {
    if count == 0 {
        text.push_str("- none\n");
    }
    for line in lines.take(most) {
        let _ = writeln!(text, "- {}", one_line(&line));
    }
    if count > most {
        let _ = writeln!(text, "- and {} more: find them with {finder}", count - most);
    }
}

/// At most 300 characters.
pub fn one_line(text: &str) -> String {
    let plain = text
        .chars()
        .map(|letter| if letter.is_control() { ' ' } else { letter });
    plain.take(300).collect()
}

fn fence(note: &str) -> String {
    let longest = note
        .lines()
        .filter(|line| line.chars().all(|letter| letter == '='))
        .map(str::len)
        .max()
        .unwrap_or_default();
    "=".repeat(longest.max(7) + 1)
}
