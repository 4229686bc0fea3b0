//! The place of a table as a shard writes it: its parts with dots between them, and quotes around the
//! parts that could be read as something else.

use ktx_vocabulary::TableRef;

/// The value of `table:`, which readers take apart at the dots outside of quotes.
pub(crate) fn written(table: &TableRef) -> String {
    let parts: Vec<String> = table.parts().map(quoted_part).collect();
    parts.join(".")
}

/// The parts of a written place with dots between them, as people are shown them.
pub(crate) fn spoken(text: &str) -> String {
    let mut spoken = String::with_capacity(text.len());
    let mut letters = text.chars().peekable();
    let mut quoted = false;
    let mut begins = true;
    while let Some(letter) = letters.next() {
        match (quoted, letter) {
            (false, '"') if begins => quoted = true,
            (true, '"') if letters.next_if_eq(&'"').is_none() => quoted = false,
            (_, letter) => spoken.push(letter),
        }
        begins = !quoted && letter == '.';
    }
    spoken
}

/// Whether a query could name a table so.
pub(crate) fn is_usable(name: &str) -> bool {
    !name.trim().is_empty() && !name.chars().any(char::is_control)
}

fn quoted_part(part: &str) -> String {
    let plain = !part.contains('.')
        && !part.starts_with(['"', '`', '['])
        && part.trim().len() == part.len();
    if plain {
        part.to_owned()
    } else {
        format!("\"{}\"", part.replace('"', "\"\""))
    }
}
