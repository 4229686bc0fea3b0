//! Tests of query terms.

use super::{Terms, extra};

fn check(query: &str, words: &str, expression: Option<&str>) {
    let terms = Terms::of(query);
    assert_eq!(terms.words.join(" "), words);
    assert_eq!(terms.words_expression("name").as_deref(), expression);
}

#[test]
fn nothing_in_a_query_is_syntax() {
    check(
        "order_items.net-amount",
        "order items net amount",
        Some(r#"{name} : ("order" OR "items" OR "net" OR "amount")"#),
    );
    check(
        "a AND b* NOT (c:d)",
        "b not c d",
        Some(r#"{name} : ("b" OR "not" OR "c" OR "d")"#),
    );
    check("x' -- \"", "x", Some(r#"{name} : ("x")"#));
    check("!?", "", None);
}

#[test]
fn drops_stop_words_unless_alone() {
    check(
        "how many orders by country",
        "orders country",
        Some(r#"{name} : ("orders" OR "country")"#),
    );
    check("who", "who", Some(r#"{name} : ("who")"#));
}

#[test]
fn keeps_quoted_phrases() {
    check(
        "\"net revenue\" 2024",
        "net revenue 2024",
        Some(r#"{name} : ("net" OR "revenue" OR "2024" OR "net revenue")"#),
    );
}

#[test]
fn understands_scripts_without_blanks() {
    let terms = Terms::of("выручка 订单收入");
    assert_eq!(terms.words, ["выручка", "订单收入"]);
    assert_eq!(terms.ideographs, ["订单", "单收", "收入"]);
    assert_eq!(
        extra(&["customerId", "HTTPServer2"], "订单 a 收"),
        "customer id http server2 订 单 0 收"
    );
    assert_eq!(extra(&["plain_name"], "text"), "plain name");
}
