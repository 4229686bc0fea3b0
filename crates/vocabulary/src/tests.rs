//! Value tests of the names.

use crate::{ConnectionId, ModelRole, SourceName, TableRef, WikiKey};

#[test]
fn connection_ids_keep_to_the_rule() {
    for good in ["a", "9", "warehouse", "my-db_2"] {
        assert_eq!(
            ConnectionId::parse(good).map(String::from),
            Ok(good.to_owned())
        );
    }
    for bad in ["", "-a", "_a", "a/b", "..", "a b", "ä", "a\n"] {
        let message = ConnectionId::parse(bad).map_err(|error| error.to_string());
        assert_eq!(
            message,
            Err(format!(
                "unsafe connection id `{bad}`: use letters, digits, `_` and `-`, beginning with a letter or digit"
            ))
        );
    }
}

#[test]
fn wiki_keys_are_flat_and_source_names_are_free() {
    assert!(WikiKey::parse("finance/revenue").is_err());
    assert!(SourceName::parse("Finance / Revenue").is_ok());
    assert!(SourceName::parse(" ").is_err());
}

/// KTX-04: the six roles and their spellings.
#[test]
fn roles_round_trip_through_their_spelling() {
    for role in ModelRole::ALL {
        assert_eq!(ModelRole::parse(role.as_str()), Some(role));
    }
    assert_eq!(ModelRole::parse("Default"), None);
}

#[test]
fn table_keys_tell_apart_what_dots_do_not() {
    let one = TableRef::new(None, Some("a.b"), "c");
    let two = TableRef::new(Some("a"), Some("b"), "c");
    assert_eq!(one.to_string(), two.to_string());
    assert_ne!(one.key(), two.key());
}
