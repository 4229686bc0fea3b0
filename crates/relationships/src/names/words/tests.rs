//! Tests words and their likeness.

use crate::names::words::{Words, fold, word_likeness};

#[test]
fn splits_names_at_marks_case_and_digits() {
    let check = |name: &str, expected: &[&str]| assert_eq!(Words::of(name).0, expected, "{name}");
    check("customer_id", &["customer", "id"]);
    check("customerID", &["customer", "id"]);
    check("CustomerIDs", &["customer", "ids"]);
    check("HTTPServerId", &["http", "server", "id"]);
    check("CUST_NO", &["cust", "no"]);
    check("address1", &["address", "1"]);
    check("Größe der Straße", &["grosse", "der", "strasse"]);
    check("__", &[]);
    assert_eq!(fold("Čeština ÆØ ñ"), "cestina aeo n");
}

#[test]
fn forms_and_abbreviations_of_a_word_are_alike() {
    for (left, right) in [
        ("category", "categories"),
        ("customer", "customers"),
        ("kunde", "kunden"),
        ("pais", "paises"),
        ("person", "people"),
        ("funcao", "funcoes"),
        ("journal", "journaux"),
        ("raum", "raeume"),
        ("buch", "buecher"),
        ("address", "addresses"),
    ] {
        assert!(word_likeness(left, right) > 0.9, "{left} {right}");
        assert!(word_likeness(right, left) > 0.9, "{right} {left}");
    }
    for (short, long) in [
        ("cust", "customer"),
        ("prd", "product"),
        ("dept", "department"),
        ("acct", "account"),
        ("emp", "employees"),
    ] {
        let likeness = word_likeness(short, long);
        assert!((0.7..0.9).contains(&likeness), "{short} {long} {likeness}");
    }
    for (left, right) in [
        ("order", "customer"),
        ("city", "country"),
        ("id", "grid"),
        ("c1", "c12"),
        ("", "a"),
    ] {
        assert!(word_likeness(left, right) < 0.6, "{left} {right}");
    }
}
