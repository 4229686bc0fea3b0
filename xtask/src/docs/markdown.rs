//! Parses fences, headings and links with their lines.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use regex::Regex;

/// Lines are numbered from 1.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Outline {
    pub(crate) links: Vec<(usize, String)>,
    /// Fragments that links can name.
    pub(crate) anchors: Vec<String>,
    pub(crate) bare_fences: Vec<usize>,
    pub(crate) open_fence: Option<usize>,
}

struct Fence {
    line: usize,
    mark: char,
    length: usize,
}

static INLINE: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r#"\]\(\s*<?([^)\s>]*)>?(?:\s+"[^"]*")?\s*\)"#).ok());
static REFERENCE: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"^ {0,3}\[[^\]^][^\]]*\]:\s*<?([^\s>]+)").ok());
static CODE: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"``[^`]*``|`[^`]*`").ok());
static HTML: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r#"<\w+[^>]*\s(id|name|href|src)="([^"]*)""#).ok());
static EXPLICIT: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"\s*\{\s*#([\w-]+)[^}]*\}\s*$").ok());

pub(crate) fn outline(text: &str) -> Outline {
    let mut outline = Outline::default();
    let mut fence: Option<Fence> = None;
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    for (index, line) in text.lines().enumerate() {
        let number = index + 1;
        if let Some(open) = &fence {
            if closes(line, open) {
                fence = None;
            }
            continue;
        }
        if let Some((mark, length, info)) = opens(line) {
            if info.is_empty() {
                outline.bare_fences.push(number);
            }
            fence = Some(Fence {
                line: number,
                mark,
                length,
            });
            continue;
        }
        if let Some(title) = heading(line) {
            outline.anchors.push(anchor(title, &mut seen));
        }
        read_links(line, number, &mut outline);
    }
    outline.open_fence = fence.map(|fence| fence.line);
    outline
}

/// Returns character, length and info text.
fn opens(line: &str) -> Option<(char, usize, &str)> {
    let trimmed = line.trim_start().trim_start_matches("> ");
    let mark = trimmed
        .chars()
        .next()
        .filter(|mark| matches!(mark, '`' | '~'))?;
    let length = trimmed.chars().take_while(|next| *next == mark).count();
    let info = trimmed.trim_start_matches(mark).trim();
    (length >= 3 && !info.contains('`')).then_some((mark, length, info))
}

fn closes(line: &str, fence: &Fence) -> bool {
    opens(line).is_some_and(|(mark, length, info)| {
        mark == fence.mark && length >= fence.length && info.is_empty()
    })
}

fn heading(line: &str) -> Option<&str> {
    let level = line.chars().take_while(|next| *next == '#').count();
    let title = line.trim_start_matches('#');
    ((1..=6).contains(&level) && title.starts_with(' '))
        .then(|| title.trim().trim_end_matches('#').trim_end())
}

/// mdBook's fragment of a heading; repetitions get a number.
fn anchor(title: &str, seen: &mut BTreeMap<String, usize>) -> String {
    if let Some(explicit) = EXPLICIT
        .as_ref()
        .and_then(|pattern| pattern.captures(title))
    {
        return explicit
            .get(1)
            .map(|id| id.as_str().to_owned())
            .unwrap_or_default();
    }
    let slug: String = plain(title)
        .chars()
        .filter_map(|next| match next {
            ' ' => Some('-'),
            '-' | '_' => Some(next),
            _ if next.is_alphanumeric() => next.to_lowercase().next(),
            _ => None,
        })
        .collect();
    let count = seen.entry(slug.clone()).or_default();
    *count += 1;
    if *count == 1 {
        slug
    } else {
        format!("{slug}-{}", *count - 1)
    }
}

fn plain(title: &str) -> String {
    INLINE.as_ref().map_or_else(
        || title.to_owned(),
        |pattern| pattern.replace_all(title, "]").into_owned(),
    )
}

fn read_links(line: &str, number: usize, outline: &mut Outline) {
    let (Some(inline), Some(reference), Some(code), Some(html)) = (
        INLINE.as_ref(),
        REFERENCE.as_ref(),
        CODE.as_ref(),
        HTML.as_ref(),
    ) else {
        return;
    };
    let prose = code.replace_all(line, "");
    let targets = inline
        .captures_iter(&prose)
        .chain(reference.captures(&prose));
    for captures in targets {
        if let Some(target) = captures.get(1) {
            outline.links.push((number, target.as_str().to_owned()));
        }
    }
    for captures in html.captures_iter(&prose) {
        let value = captures
            .get(2)
            .map(|value| value.as_str().to_owned())
            .unwrap_or_default();
        match captures.get(1).map(|name| name.as_str()) {
            Some("id" | "name") => outline.anchors.push(value),
            _ => outline.links.push((number, value)),
        }
    }
}

#[cfg(test)]
pub(crate) fn patterns_compile() -> bool {
    [&INLINE, &REFERENCE, &CODE, &HTML, &EXPLICIT]
        .iter()
        .all(|pattern| pattern.is_some())
}
