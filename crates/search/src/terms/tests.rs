//! Tests of query terms.

use super::{Bond, Phrase, Terms};
use crate::text::Analyzer;

fn shown(phrase: &Phrase) -> String {
    let phrases = phrase.stems();
    let phrases = phrases
        .iter()
        .map(|stems| format!("\"{}\"", stems.join(" ")));
    phrases.collect::<Vec<_>>().join(" OR ")
}

fn check(query: &str, words: &str, phrases: &[&str]) {
    let terms = Terms::of(&Analyzer::default(), query);
    let found: Vec<String> = terms.all.iter().map(|term| term.stems.join("/")).collect();
    assert_eq!(found.join(" "), words, "{query}");
    let found: Vec<String> = terms
        .phrases
        .iter()
        .map(|phrase| match phrase.bond {
            Bond::Quoted => shown(phrase),
            Bond::Adjacent => format!("{}?", shown(phrase)),
        })
        .collect();
    assert_eq!(found, phrases, "{query}");
}

#[test]
fn nothing_in_a_query_is_syntax() {
    check(
        "order_items.net-amount",
        "order/ord item net amount",
        &[
            r#""order item net amount" OR "ord item net amount""#,
            r#""order item" OR "ord item"?"#,
            r#""item net"?"#,
            r#""net amount"?"#,
        ],
    );
    check(
        "a AND b* NOT (c:d)",
        "b not c d",
        &[r#""c d""#, r#""b not"?"#, r#""not c"?"#],
    );
    check("x' -- \"", "x", &[]);
    check("!?", "", &[]);
}

#[test]
fn drops_words_that_ask_unless_alone() {
    check(
        "how many orders by country",
        "order/ord countri/country",
        &[],
    );
    check(
        "Wann wird die Frist verlängert?",
        "frist verlangert",
        &[r#""frist verlangert"?"#],
    );
    check("who", "who", &[]);
}

#[test]
fn keeps_quoted_phrases() {
    check(
        "\"net revenue\" 2024",
        "net revenu 2024",
        &[r#""net revenu""#],
    );
}

#[test]
fn splits_scripts_without_spaces() {
    check(
        "выручка 订单收",
        "выручка 订单 单收",
        &[r#""订单 单收""#, r#""выручка 订单"?"#],
    );
    check("收", "收", &[]);
    check(
        "売上はいつ",
        "売上 上は",
        &[r#""売上 上は はい いつ""#, r#""売上 上は"?"#],
    );
}
