//! Protects SQL arguments that look like options.

use std::ffi::OsString;

/// Prefixes an empty line to each statement after `sql` that begins with a `--` comment, so that
/// the parser reads it as a value. Words in the form of an option stay options.
pub(crate) fn as_values(mut arguments: Vec<OsString>) -> Vec<OsString> {
    let sql_index = arguments
        .iter()
        .position(|word| word == "sql")
        .unwrap_or(arguments.len());
    for argument in arguments.iter_mut().skip(sql_index + 1) {
        if let Some(text) = argument.to_str().filter(|text| begins_with_comment(text)) {
            *argument = format!("\n{text}").into();
        }
    }
    arguments
}

/// A comment has white space after `--`, or further lines below.
fn begins_with_comment(text: &str) -> bool {
    let Some(rest) = text.strip_prefix("--") else {
        return false;
    };
    let name = rest.trim_start_matches(|letter: char| letter.is_alphanumeric() || letter == '-');
    let option_with_value = name.len() < rest.len() && name.starts_with('=');
    rest.starts_with(char::is_whitespace) || rest.contains('\n') && !option_with_value
}

#[cfg(test)]
mod tests {
    use super::begins_with_comment;

    #[test]
    fn comments_are_told_from_options() {
        for comment in [
            "-- note\nSELECT 1",
            "--note\nSELECT 1",
            "--\nSELECT 1",
            "-- = \nSELECT 1",
            "--=====\nSELECT 1",
            "-- all",
        ] {
            assert!(begins_with_comment(comment), "{comment:?}");
        }
        for option in [
            "--json",
            "--unknown",
            "--max-rows 5",
            "--output=a\nb",
            "-x\n",
            "select\n--",
        ] {
            assert!(!begins_with_comment(option), "{option:?}");
        }
    }
}
