//! Reads doc blocks: texts in Markdown files that YAML refers to by name.

pub(super) fn blocks(body: &str) -> Vec<(String, String)> {
    let mut blocks = Vec::new();
    let mut rest = body;
    while let Some((tag, behind)) = next_tag(rest) {
        rest = behind;
        let Some(name) = tag
            .strip_prefix("docs")
            .filter(|name| name.starts_with(char::is_whitespace))
        else {
            continue;
        };
        let mut inner = behind;
        let end = loop {
            match next_tag(inner) {
                Some(("enddocs", behind)) => break Some(behind),
                Some((_, behind)) => inner = behind,
                None => break None,
            }
        };
        let Some(end) = end else { break };
        let whole = &behind[..behind.len() - end.len()];
        let text = whole.rfind("{%").map_or(whole, |at| &whole[..at]);
        blocks.push((name.trim().to_owned(), text.trim().to_owned()));
        rest = end;
    }
    blocks
}

fn next_tag(text: &str) -> Option<(&str, &str)> {
    let (_, begun) = text.split_once("{%")?;
    let (tag, behind) = begun.split_once("%}")?;
    let signs = |letter: char| letter == '-' || letter == '+' || letter.is_whitespace();
    Some((tag.trim_matches(signs), behind))
}
