//! Text scores, with expected values computed by hand.

use insta::assert_snapshot;
use regex::Regex;

use super::line;
use crate::{
    EqualityOptions, LetterCase, RougeVariant, answer_line, bleu, contains_any, contains_none,
    equals, f1_score, matches, meteor, rouge, stem, tokens,
};

const CAT: &str = "the cat sat on the mat";

#[track_caller]
fn is_near(score: f64, expected: f64) {
    assert!(
        (score - expected).abs() <= 0.0005,
        "{score} is not {expected}"
    );
}

#[test]
fn tokens_are_words_and_numbers_in_lower_case() {
    let listed = |text: &str| tokens(text).join("|");
    assert_eq!(
        listed("Net revenue: $1,234.50 (Q3)."),
        "net|revenue|1,234.50|q3"
    );
    assert_eq!(listed("a.b,c 1. 2,"), "a|b|c|1|2");
    assert_eq!(listed("ＡＢＣ ﬁn ² Straße"), "abc|fin|2|straße");
    assert_eq!(listed("  —  "), "");
}

/// HOLO-53: five of six tokens are shared; 2·5/(6+6).
#[test]
fn f1_counts_shared_tokens() {
    is_near(f1_score("The cat is on the mat.", CAT), 0.8333);
    // A token counts as often as the truth has it: 2·1/(3+1).
    is_near(f1_score("no no no", "no"), 0.5);
}

/// HOLO-53: p = 5/6, (3+1)/(5+1), (1+1)/(4+1), (0+1)/(3+1); the fourth root of 0.05556.
#[test]
fn bleu_smooths_from_pairs_on_and_punishes_short_answers() {
    is_near(bleu("the cat is on the mat", CAT), 0.4855);
    // Two tokens: p = 1, 1; e^(1−3/2).
    is_near(bleu("the cat", "the cat sat"), 0.6065);
    // p = 1, (0+1)/(1+1).
    is_near(bleu("net revenue", "revenue net"), 0.5_f64.sqrt());
    // Longer than the truth: p = 2/3, (1+1)/(2+1), (0+1)/(1+1); the third root of 0.2222.
    is_near(bleu("the cat purrs", "the cat"), 0.6057);
    is_near(bleu("dog", "cat"), 0.0);
}

/// HOLO-53.
#[test]
fn rouge_counts_words_pairs_or_the_longest_sequence() {
    let turned = "on the mat the cat sat";
    is_near(rouge(turned, CAT, RougeVariant::Words), 1.0);
    // the cat, cat sat, on the, the mat: 2·4/(5+5).
    is_near(rouge(turned, CAT, RougeVariant::Pairs), 0.8);
    // the cat sat: 2·3/(6+6).
    is_near(rouge(turned, CAT, RougeVariant::LongestSequence), 0.5);
    is_near(rouge("cat", "the cat", RougeVariant::Pairs), 0.0);
}

/// HOLO-53.
#[test]
fn meteor_aligns_words_and_stems_and_counts_breaks() {
    // P = 6/7, R = 1, F = 0.98361; two chunks of six matches: 1 − 0.5·(2/6)³.
    is_near(meteor("the cat was sat on the mat", CAT), 0.9654);
    // F = 1; `on the mat`, `sat`, `the cat`: 1 − 0.5·(3/6)³.
    is_near(meteor("on the mat sat the cat", CAT), 0.9375);
    // `the` and, by its stem, `cats`: P = 2/3, R = 1/2, F = 0.51282; one chunk of two.
    is_near(meteor("the cats sat", "the cat was sitting"), 0.4808);
    // One match: P = R = F = 1/2, halved by its break.
    is_near(meteor("revenue grew", "growing revenue"), 0.25);
    is_near(meteor("dog", "cat"), 0.0);
}

#[test]
fn equal_texts_score_one_and_an_empty_side_zero() {
    let all = |answer: &str, truth: &str| {
        let scores = [
            f1_score(answer, truth),
            bleu(answer, truth),
            rouge(answer, truth, RougeVariant::Words),
            rouge(answer, truth, RougeVariant::Pairs),
            rouge(answer, truth, RougeVariant::LongestSequence),
            meteor(answer, truth),
        ];
        scores.map(|score| score.to_string())
    };
    assert_eq!(all("One", "one!"), ["1"; 6]);
    assert_eq!(all("", "…"), ["1"; 6]);
    assert_eq!(all("", "one"), ["0"; 6]);
    assert_eq!(all("one", ""), ["0"; 6]);
}

#[test]
fn stems_follow_the_published_steps() {
    let words = "caresses ponies ties cats feed agreed plastered bled motoring sing conflated troubled sized hopping \
        tanned falling hissing fizzed failing filing happy sky relational conditional rational digitizer operator \
        feudalism decisiveness hopefulness callousness triplicate formative formalize electrical hopeful goodness \
        revival allowance inference airliner adjustable irritant replacement adjustment dependent adoption communism \
        activate effective bowdlerize probate rate cease controlling roll as q3 straße";
    let stems: Vec<String> = words.split_whitespace().map(stem).collect();
    assert_eq!(
        stems.join(" "),
        "caress poni ti cat feed agre plaster bled motor sing conflat troubl size hop tan fall hiss fizz fail file \
         happi sky relat condit ration digit oper feudal decis hope callous triplic form formal electr hope good \
         reviv allow infer airlin adjust irrit replac adjust depend adopt commun activ effect bowdler probat rate \
         ceas control roll as q3 straße"
    );
}

#[test]
fn the_last_answer_line_is_the_answer() {
    assert_eq!(answer_line("Answer: 1\nAnswer: 2\nDone."), Some("2"));
    assert_eq!(answer_line("  answer:   Berlin  "), Some("Berlin"));
    assert_eq!(answer_line("**Answer:** 42"), Some("42"));
    assert_eq!(answer_line("**Answer: 42**"), Some("42"));
    assert_eq!(answer_line("Answer:"), Some(""));
    assert_eq!(answer_line("The Answer: 42"), None);
    assert_eq!(answer_line("Änswer: 42"), None);
}

/// HOLO-53.
#[test]
fn texts_are_compared_with_the_options_of_the_evaluation() {
    let values = ["Berlin".to_owned(), "Paris".to_owned()];
    let strict = EqualityOptions::WRITTEN;
    let loose = EqualityOptions {
        strip_punctuation: true,
        ..EqualityOptions::INFERRED
    };
    let long = "x".repeat(200);
    let grades = [
        equals(
            "It is Berlin.\nAnswer: berlin",
            "Berlin",
            EqualityOptions::INFERRED,
        ),
        equals("Answer: berlin", "Berlin", strict),
        equals("Berlin ", "Berlin", strict),
        equals("Cafe\u{301}", "Café", strict),
        equals("»Berlin«!", "berlin", loose),
        equals(" \n", "Berlin", EqualityOptions::INFERRED),
        equals(&long, "x", strict),
        contains_any("paris and Rome", &values, LetterCase::Counts),
        contains_any("paris and Rome", &values, LetterCase::Ignored),
        contains_none("paris and Rome", &values, LetterCase::Ignored),
        contains_none("paris and Rome", &values, LetterCase::Counts),
        matches("invoice 4711", &Regex::new(r"\b\d{4}\b").unwrap()),
        matches("invoice 47110", &Regex::new(r"\b\d{4}\b").unwrap()),
    ];
    let lines: Vec<String> = grades.into_iter().map(|grade| line(&Ok(grade))).collect();
    assert_snapshot!(lines.join("\n"), @r"
    1.0000
    0.0000 · wrong_value · `berlin` is not `Berlin`
    0.0000 · wrong_value · only spaces or the end differ
    1.0000
    1.0000
    0.0000 · refused · the answer is empty
    0.0000 · wrong_value · `xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx…` is not `x`
    0.0000 · wrong_value · the answer does not contain `Berlin` or `Paris`
    1.0000
    0.0000 · wrong_value · the answer contains `Paris`
    1.0000
    1.0000
    0.0000 · wrong_value · `\b\d{4}\b` does not match the answer
    ");
}
