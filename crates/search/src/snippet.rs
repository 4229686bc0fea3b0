//! Snippets for matches that the full-text table cannot mark.

const AROUND: usize = 60;

/// Returns the text around the first of `needles` in `text`, with marks.
pub(crate) fn around(text: &str, needles: &[String]) -> Option<String> {
    let letters: Vec<char> = text.chars().collect();
    let folded: Vec<char> = letters
        .iter()
        .map(|letter| letter.to_lowercase().next().unwrap_or(*letter))
        .collect();
    let (start, length) = needles
        .iter()
        .filter_map(|needle| {
            let needle: Vec<char> = needle.chars().collect();
            if needle.is_empty() {
                return None;
            }
            let at = folded
                .windows(needle.len())
                .position(|window| window == needle.as_slice())?;
            Some((at, needle.len()))
        })
        .min()?;
    let end = start + length;
    let from = start.saturating_sub(AROUND);
    let to = (end + AROUND).min(letters.len());
    let part = |range: std::ops::Range<usize>| -> String {
        letters
            .get(range)
            .map(|part| part.iter().collect())
            .unwrap_or_default()
    };
    let head = if from > 0 { "…" } else { "" };
    let tail = if to < letters.len() { "…" } else { "" };
    let shown = format!(
        "{head}{}<mark>{}</mark>{}{tail}",
        part(from..start),
        part(start..end),
        part(end..to)
    );
    Some(one_line(&shown))
}

pub(crate) fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
