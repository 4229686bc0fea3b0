//! Names in a message.

pub(super) fn is_name(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(is_part)
}

const fn is_part(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-'
}

/// Returns the names after `@`. An `@` inside a word, as in an address, is not a mention.
pub(super) fn of(text: &str) -> impl Iterator<Item = &str> {
    let places = text.match_indices('@');
    places.filter_map(|(at, _)| {
        let before = text.get(..at)?.chars().next_back();
        if before.is_some_and(|letter| letter.is_alphanumeric() || letter == '`') {
            return None;
        }
        let rest = text.get(at + 1..)?;
        let end = rest.bytes().take_while(|byte| is_part(*byte)).count();
        // A sentence can end with a name.
        let name = rest.get(..end)?.trim_end_matches('-');
        (!name.is_empty()).then_some(name)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// KODE-70.
    #[test]
    fn mentions_are_found() {
        let all = |text: &'static str| of(text).collect::<Vec<&str>>();
        assert_eq!(all("@ann and @bob_2: look, @c-d."), ["ann", "bob_2", "c-d"]);
        assert_eq!(
            all("write to ann@example.com or `@decorator`"),
            Vec::<&str>::new()
        );
        assert_eq!(all("(@ann) @ @-"), ["ann"]);
        assert!(is_name("Ann_1-x"));
        assert!(!is_name("ä") && !is_name("") && !is_name("a b"));
    }
}
