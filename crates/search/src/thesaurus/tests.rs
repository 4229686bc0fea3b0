//! Tests of synonyms.

use super::{GROUPS, Thesaurus};
use crate::terms::Terms;
use crate::text::Analyzer;

#[test]
fn knows_words_in_any_form() {
    let analyzer = Analyzer::default();
    let thesaurus = Thesaurus::new();
    let check = |word: &str, expected: &str| {
        let terms = Terms::of(&analyzer, word);
        let found = thesaurus.others(&terms.all[0].stems);
        assert_eq!(found.into_iter().collect::<Vec<_>>().join(" "), expected);
    };
    check("Accommodations", "hotel lodg lodging unterkunft");
    check("Unterkünfte", "accommod accommodation hotel lodg lodging");
    check("zebra", "");
}

#[test]
fn every_line_is_a_group() {
    for line in GROUPS.lines().filter(|line| !line.starts_with('#')) {
        assert!(line.split_whitespace().count() > 1, "{line}");
    }
}
