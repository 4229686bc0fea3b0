//! Tests of folding, stems and tokens.

use super::{Language, case_parts, folded};
use crate::stems::Stems;

fn check(language: Language, text: &str, expected: &str) {
    let mut stems = Stems::default();
    let mut found = Vec::new();
    stems.add(language, text, &mut found);
    let found = found
        .into_iter()
        .map(|id| id.map_or("-", |id| stems.text(id)));
    assert_eq!(found.collect::<Vec<_>>().join(" "), expected, "{text}");
}

#[test]
fn folds_case_accents_width_and_umlauts() {
    let check = |word: &str, expected: &str| assert_eq!(folded(word), expected);
    check("Café", "cafe");
    check("ÜBERSTUNDEN", "uberstunden");
    check("Ueberstunden", "uberstunden");
    check("Straße", "strasse");
    check("neue", "neue");
    check("Quelle", "quelle");
    check("ｆｕｌｌ", "full");
    check("ｺﾝﾋﾞﾆ", "コンビニ");
    check("ΈΣΟΔΑ", "εσοδα");
    check("हिन्दी", "हिन्दी");
}

#[test]
fn strips_endings_of_two_languages() {
    check(
        Language::English,
        "Refunds refunded, refunding: returned orders",
        "refund refund refund return order",
    );
    check(
        Language::German,
        "Kündigungen kündigt Fristen",
        "kundig kundigt frist",
    );
}

#[test]
fn writes_names_whole_and_in_parts() {
    check(
        Language::English,
        "customerId net_amount",
        "customerid custom id net amount",
    );
    assert_eq!(case_parts("HTTPServer2"), ["HTTP", "Server2"]);
    assert_eq!(case_parts("plain"), ["plain"]);
}

#[test]
fn writes_scripts_without_blanks_in_pairs() {
    check(Language::English, "订单收 a", "订单 单收 收 - a");
}

#[test]
fn tells_german_from_english() {
    let check =
        |text: &str, expected: Language| assert_eq!(Language::of([text].into_iter()), expected);
    check("Die Frist ist kurz", Language::German);
    check("Umsätze", Language::German);
    check("the term is short", Language::English);
    check("net_amount", Language::English);
}
