//! Value tests of positions, spellings and chains.

use crate::{Diagnostic, LineIndex, Location, Position, nearest};

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
    let diagnostic = Diagnostic::error("unknown_backend", "unknown backend `codex9`").at(location);
    assert_eq!(
        diagnostic.to_string(),
        "ktx.yaml:3:14: unknown backend `codex9`"
    );
}
