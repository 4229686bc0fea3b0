//! Tests of diagnostics.

use crate::{
    Code, Diagnostic, LONGEST_EXCERPT, LineIndex, Location, Position, excerpt, nearest, shortened,
};

#[test]
fn positions_count_characters_from_one() {
    let index = LineIndex::new("añb\r\nc\n");
    let at = |offset| index.position(offset).to_string();
    assert_eq!(
        [at(0), at(3), at(6), at(7), at(99)],
        ["1:1", "1:3", "2:1", "2:2", "3:1"]
    );
}

#[test]
fn near_names_are_found_and_far_ones_are_not() {
    let names = ["customer_id", "customers", "orders", "amount"];
    assert_eq!(nearest("custmer_id", names), ["customer_id"]);
    assert_eq!(nearest("Orders", names), ["orders"]);
    assert_eq!(nearest("aomunt", names), ["amount"]);
    assert!(nearest("zzz", names).is_empty());
    assert!(nearest(&"z".repeat(5_000), names).is_empty());
}

#[test]
fn diagnostics_show_their_place() {
    let location = Location {
        file: "ktx.yaml".to_owned(),
        position: Some(Position {
            line: 3,
            column: 14,
        }),
    };
    let diagnostic =
        Diagnostic::error(Code::UnknownBackend, "unknown backend `codex9`").at(location);
    assert_eq!(
        diagnostic.to_string(),
        "ktx.yaml:3:14: unknown backend `codex9`"
    );
}

#[test]
fn an_excerpt_names_the_length_of_the_text() {
    let fitting = "ä".repeat(LONGEST_EXCERPT);
    assert_eq!(excerpt(&fitting), fitting);
    let long = "ä".repeat(LONGEST_EXCERPT + 1);
    let short = format!("{}… (402 bytes)", "ä".repeat(160));
    assert_eq!(excerpt(&long), short);
    assert_eq!(excerpt(&short), short);
}

#[test]
fn a_message_of_others_is_shortened_where_it_repeats() {
    let name = "n".repeat(1_000);
    let message = format!("unknown column `{name}` of `orders`, near {name} and more");
    let short = format!("{}… (1000 bytes)", "n".repeat(160));
    assert_eq!(
        shortened(&message),
        format!("unknown column `{short}` of `orders`, near {short} and more")
    );
    let many = "word ".repeat(1_000);
    assert_eq!(
        shortened(&many),
        format!("{}… (5000 bytes)", "word ".repeat(400))
    );
}

/// Scripts match the texts.
#[test]
fn every_code_has_a_unique_text() {
    for (index, code) in Code::ALL.iter().enumerate() {
        let text = code.as_str();
        assert_eq!(Code::parse(text), Some(*code));
        assert!(
            text.bytes()
                .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_'),
            "{text}"
        );
        let later = &Code::ALL[index + 1..];
        assert!(later.iter().all(|other| other.as_str() != text), "{text}");
        assert!(!code.meaning().is_empty(), "{text}");
    }
    assert_eq!(Code::parse("no_such_code"), None);
}
