//! The qualified name of a table in a shard.

use ktx_vocabulary::TableRef;

/// Returns the value of `table:`; quotes ambiguous parts.
pub fn written(table: &TableRef) -> String {
    let parts: Vec<String> = table.parts().map(quoted_part).collect();
    parts.join(".")
}

/// Removes the quotes for display.
pub fn spoken(text: &str) -> String {
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

pub fn is_usable(name: &str) -> bool {
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
