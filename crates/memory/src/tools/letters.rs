//! Rejects invisible characters in text, and file names that some systems cannot store.

use ktx_tool_descriptors::ToolError;

/// Device names on Windows, reserved in any case and with any extension.
const DEVICES: [&str; 4] = ["con", "prn", "aux", "nul"];

/// Rejects control characters and characters that make a text look like a different one.
pub(super) fn check_letters(what: &str, text: &str) -> Result<(), ToolError> {
    for (index, line) in text.lines().enumerate() {
        if let Some(letter) = line.chars().find(|letter| is_hidden(*letter)) {
            return Err(ToolError::new(format!(
                "line {} of {what} has the character U+{:04X}, which is invisible: leave it out",
                index + 1,
                u32::from(letter)
            )));
        }
    }
    Ok(())
}

fn is_hidden(letter: char) -> bool {
    let is_bidirectional = matches!(
        letter,
        '\u{061C}' | '\u{200E}' | '\u{200F}' | '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}'
    );
    is_bidirectional || (letter.is_control() && !matches!(letter, '\t' | '\r' | '\n'))
}

pub(super) fn check_file_name(name: &str) -> Result<(), ToolError> {
    let stem = name.split('.').next().unwrap_or_default();
    let stem = stem.trim_end().to_ascii_lowercase();
    let numbered = ["com", "lpt"].iter().any(|port| {
        let number = stem.strip_prefix(port);
        number.is_some_and(|number| matches!(number.as_bytes(), [b'1'..=b'9']))
    });
    if numbered || DEVICES.contains(&stem.as_str()) {
        return Err(ToolError::new(format!(
            "no file can be called `{name}` on Windows: use another name"
        )));
    }
    Ok(())
}
