//! Tests of links and references in page bodies.

use super::{ReferenceTarget, SlReference, code_references, links};

fn check_links(text: &str, expected: &[(&str, Option<&str>, &str)]) {
    let found = links(text);
    let shown: Vec<(&str, Option<&str>, &str)> = found
        .iter()
        .map(|link| {
            (
                link.target.as_str(),
                link.label.as_deref(),
                &text[link.span.clone()],
            )
        })
        .collect();
    assert_eq!(shown, expected);
}

fn check_references(text: &str, expected: &[&str]) {
    let shown: Vec<String> = code_references(text)
        .into_iter()
        .map(|reference| {
            let connection = reference.connection.unwrap_or_else(|| "-".to_owned());
            match reference.target {
                ReferenceTarget::Source(name) => format!("{connection} source {name}"),
                ReferenceTarget::Table(name) => format!("{connection} table {name}"),
                ReferenceTarget::Dotted { source, entity } => {
                    format!("{connection} dotted {source} {entity}")
                }
            }
        })
        .collect();
    assert_eq!(shown, expected);
}

#[test]
fn finds_links_with_and_without_labels() {
    check_links(
        "See [[revenue]] and [[net-revenue| Net ]], not [[ ]] or [single].",
        &[
            ("revenue", None, "[[revenue]]"),
            ("net-revenue", Some("Net"), "[[net-revenue| Net ]]"),
        ],
    );
    check_links("[[a [[b]] c", &[("b", None, "[[b]]")]);
    check_links("ünï [[x]]", &[("x", None, "[[x]]")]);
}

#[test]
fn leaves_code_alone() {
    check_links(
        "`[[no]]` ``a ` [[no]]`` [[yes]]",
        &[("yes", None, "[[yes]]")],
    );
    check_links(
        "a\n```sql\nselect '[[no]]'\n``\n[[no]]\n```\n[[yes]]\n~~~\n[[open]]",
        &[("yes", None, "[[yes]]")],
    );
    // A fence can be indented by three blanks; four make it text.
    check_links(
        "   ~~~\n[[no]]\n   ~~~\n[[yes]]",
        &[("yes", None, "[[yes]]")],
    );
    check_links("    ~~~\n[[yes]]\n    ~~~", &[("yes", None, "[[yes]]")]);
    check_links("a ` lonely\n\n[[yes]] `", &[("yes", None, "[[yes]]")]);
}

#[test]
fn finds_references_in_inline_code() {
    check_references(
        "`warehouse/source:orders`, `table:public.orders`, `orders.revenue`, `dw/orders.revenue`,\
         `select 1`, `a.b.c`, `1.5`, `x/y/z`, `source:`",
        &[
            "warehouse source orders",
            "- table public.orders",
            "- dotted orders revenue",
            "dw dotted orders revenue",
        ],
    );
}

#[test]
fn splits_semantic_references() {
    let check = |text: &str, connection: Option<&str>, source: &str, entity: Option<&str>| {
        let expected = SlReference {
            connection: connection.map(str::to_owned),
            source: source.to_owned(),
            entity: entity.map(str::to_owned),
        };
        assert_eq!(SlReference::parse(text), expected);
    };
    check("orders", None, "orders", None);
    check("orders.revenue", None, "orders", Some("revenue"));
    check("dw/orders", Some("dw"), "orders", None);
    check("dw/orders.revenue", Some("dw"), "orders", Some("revenue"));
}
