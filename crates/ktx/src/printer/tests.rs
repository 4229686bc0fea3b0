//! Tests of control characters.

use serde_json::{Value, json};

use super::{Destination, escaped, printable};

#[test]
fn json_keeps_every_character() {
    let all: String = (0..=0x2ff).filter_map(char::from_u32).collect();
    let value = json!({ "all\u{9b}": all });
    let text = serde_json::to_string_pretty(&value).unwrap();
    let printed = escaped(&text);
    assert_eq!(serde_json::from_str::<Value>(&printed).unwrap(), value);
    let steers = |letter: char| letter.is_control() && letter != '\n';
    assert!(!printed.contains(steers), "{printed}");
    assert!(printed.contains("\\u007f\\u0080"), "{printed}");
}

#[test]
fn a_terminal_is_not_steered_and_a_file_is_as_it_is() {
    let page = "a\u{1b}]0;title\u{7}\tb\r\nc\rd\u{9b}2J\n";
    assert_eq!(printable(page, Destination::File), page);
    assert_eq!(
        printable(page, Destination::Terminal),
        "a\\u{1b}]0;title\\u{7}\tb\nc\\rd\\u{9b}2J\n"
    );
}
