//! Missing names give one exit code for all commands.

use serde_json::{Value, json};

use crate::support::{run, shop};

/// A semantic query with a missing name is refused with 6.
#[test]
fn a_name_that_is_not_there_ends_with_three() {
    let sandbox = shop();
    let table = [
        ("connection show nope", 3, "unknown_connection"),
        ("connection test nope", 3, "unknown_connection"),
        ("connection remove nope --yes", 3, "unknown_connection"),
        ("connection rename nope other", 3, "unknown_connection"),
        ("scan nope", 3, "unknown_connection"),
        ("ingest nope", 3, "unknown_connection"),
        ("sql -c nope 'select 1'", 3, "unknown_connection"),
        ("sl --connection-id nope", 3, "unknown_connection"),
        (
            "sl read regions --connection-id nope",
            3,
            "unknown_connection",
        ),
        (
            "sl query --connection-id nope --measure orders.revenue",
            3,
            "unknown_connection",
        ),
        ("scan relationships nope", 3, "unknown_connection"),
        ("sl read nope", 3, "unknown_source"),
        ("sl validate nope", 3, "unknown_source"),
        ("sl test nope", 3, "unknown_source"),
        ("sl diff nope", 3, "unknown_source"),
        ("sl diff --from nope", 3, "unknown_revision"),
        ("wiki read nope", 3, "page_not_found"),
        ("scan review accept nope", 3, "unknown_relationship"),
        ("sl query --measure orders.nope", 6, "unknown_measure"),
        ("sl query --measure nope.revenue", 6, "unknown_source"),
        (
            "sl query --measure orders.revenue --dimension orders.nope",
            6,
            "unknown_column",
        ),
        ("wiki read a/b", 2, "invalid_wiki_key"),
        ("connection show a/b", 2, "invalid_name"),
        ("scan nope --driver x", 2, "usage"),
    ];
    let mut found = Vec::new();
    for (line, exit, _) in table {
        let printed = run(&sandbox, &format!("{line} --json"));
        let answer: Value = serde_json::from_str(&printed.stdout).unwrap_or_default();
        if exit == 3 {
            assert!(answer["error"]["hint"].is_string(), "`{line}`: {printed}");
        }
        found.push((line, printed.code, answer["error"]["code"].clone()));
    }
    let expected = table.map(|(line, exit, code)| (line, Some(exit), json!(code)));
    assert_eq!(found, expected);
}
