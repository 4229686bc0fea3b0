//! Numbers.

use insta::assert_snapshot;

use super::line;
use crate::{
    DecimalSign, EvaluationError, Grade, LimitMeasure, NumberPick, NumericOptions, grade_measure,
    numeric,
};

fn read(text: &str, options: &NumericOptions) -> String {
    // Matches nothing, so that the number is in the details.
    match numeric(text, 1e300, options) {
        Ok(Grade { details, .. }) => details
            .get("number")
            .map_or_else(|| "none".to_owned(), ToString::to_string),
        Err(EvaluationError::AmbiguousNumber(all)) => format!("{all:?}"),
        Err(error) => error.to_string(),
    }
}

fn table(texts: &[&str], options: &NumericOptions) -> String {
    let lines: Vec<String> = texts
        .iter()
        .map(|text| {
            format!("{:<12} {text}", read(text, options))
                .escape_debug()
                .to_string()
        })
        .collect();
    lines.join("\n")
}

const INFERRED: NumericOptions = NumericOptions::INFERRED;

/// HOLO-53.
#[expect(clippy::too_many_lines, reason = "a table")]
#[test]
fn reads_numbers_as_people_write_them() {
    let signs = [
        "5",
        "-5",
        "+5",
        "\u{2212}5",
        "(5)",
        "(-5)",
        "($5)",
        "-$5",
        "$-5",
        "- 5 apples",
        ".5",
        "-.5",
        "...5",
        "5.",
        "1,234.50",
        "1 234 567.8",
        "1\u{a0}234",
        "1\u{202f}234\u{202f}567",
        "12,345,678",
        "1,23",
    ];
    let digits = [
        "1,2345",
        "1.234,5",
        "1.2.3",
        "1e3",
        "1.5E-3",
        "2e\u{2212}2",
        "1e999",
        "5k",
        "5 K",
        "4.21 M",
        "€ 4.21 M.",
        "3bn",
        "5m",
        "5 Mbit",
        "5kg",
        "100USD",
    ];
    let others = [
        "3rd",
        "Q3",
        "sha 3fa9",
        "v1.5",
        "2025-09-30",
        "50%",
        "50 %",
        "(12.5 %)",
        "f(5)",
        "10-20",
        "2025 100",
        "7 and 7.0",
        "none",
        "",
        "٣",
        "99999999999999999999",
        "0x1F",
    ];
    let texts = [signs.as_slice(), &digits, &others].concat();
    assert_snapshot!(table(&texts, &INFERRED), @r"
    5.0          5
    -5.0         -5
    5.0          +5
    -5.0         −5
    -5.0         (5)
    -5.0         (-5)
    -5.0         ($5)
    -5.0         -$5
    -5.0         $-5
    5.0          - 5 apples
    0.5          .5
    -0.5         -.5
    5.0          ...5
    5.0          5.
    1234.5       1,234.50
    1234567.8    1 234 567.8
    1234.0       1\u{a0}234
    1234567.0    1\u{202f}234\u{202f}567
    12345678.0   12,345,678
    none         1,23
    none         1,2345
    none         1.234,5
    none         1.2.3
    1000.0       1e3
    0.0015       1.5E-3
    0.02         2e−2
    none         1e999
    5000.0       5k
    5000.0       5 K
    4210000.0    4.21 M
    4210000.0    € 4.21 M.
    3000000000.0 3bn
    5.0          5m
    5.0          5 Mbit
    5.0          5kg
    100.0        100USD
    none         3rd
    none         Q3
    none         sha 3fa9
    none         v1.5
    none         2025-09-30
    50.0         50%
    50.0         50 %
    -12.5        (12.5 %)
    5.0          f(5)
    [10.0, 20.0] 10-20
    [2025.0, 100.0] 2025 100
    7.0          7 and 7.0
    none         none
    none         
    none         ٣
    1e+20        99999999999999999999
    none         0x1F
    ");
}

#[test]
fn styles_of_numbers_are_options() {
    let plain = NumericOptions::WRITTEN;
    assert_snapshot!(table(&["1,234", "1 234", "1234.5", "5 %"], &plain), @r"
    none         1,234
    [1.0, 234.0] 1 234
    1234.5       1234.5
    5.0          5 %
    ");
    let comma = NumericOptions {
        decimal: DecimalSign::Comma,
        ..INFERRED
    };
    let texts = ["1.234,5", "1 234,5", "0,5", ",5", "1.234", "1.5", "1,234.5"];
    assert_snapshot!(table(&texts, &comma), @r"
    1234.5       1.234,5
    1234.5       1 234,5
    0.5          0,5
    0.5          ,5
    1234.0       1.234
    none         1.5
    none         1,234.5
    ");
    let percent = NumericOptions {
        accept_percent: true,
        ..INFERRED
    };
    assert_snapshot!(table(&["12.5%", "12.5 %", "-3 %", "(3%)", "0.125"], &percent), @r"
    0.125        12.5%
    0.125        12.5 %
    -0.03        -3 %
    -0.03        (3%)
    0.125        0.125
    ");
}

#[test]
fn one_number_of_the_answer_is_meant() {
    let pick = |pick| NumericOptions { pick, ..INFERRED };
    let answer = "Of 40 orders 38 were paid.\nAnswer: 38";
    let several = "Of 40 orders 38 were paid.";
    let grades = [
        numeric(answer, 38.0, &pick(NumberPick::AnswerLine)),
        numeric(answer, 40.0, &pick(NumberPick::AnswerLine)),
        numeric(several, 38.0, &pick(NumberPick::AnswerLine)),
        numeric("38 orders, 38 in all", 38.0, &pick(NumberPick::AnswerLine)),
        numeric(
            "There are 38.\nAnswer: unknown",
            38.0,
            &pick(NumberPick::AnswerLine),
        ),
        numeric(several, 40.0, &pick(NumberPick::First)),
        numeric(several, 40.0, &pick(NumberPick::Last)),
        numeric(several, 38.0, &pick(NumberPick::Any)),
        numeric(several, 39.5, &pick(NumberPick::Any)),
        numeric("no idea", 1.0, &pick(NumberPick::Any)),
        numeric("1", f64::NAN, &pick(NumberPick::Any)),
    ];
    let lines: Vec<String> = grades.iter().map(line).collect();
    assert_snapshot!(lines.join("\n"), @r#"
    1.0000 · {"number":38.0}
    0.0000 · wrong_value · 38 is not 40 · {"number":38.0}
    error ambiguous: the answer names different numbers: 40, 38
    1.0000 · {"number":38.0}
    0.0000 · refused · the answer has no number
    1.0000 · {"number":40.0}
    0.0000 · wrong_value · 38 is not 40 · {"number":38.0}
    1.0000 · {"number":38.0}
    0.0000 · wrong_value · 40 is not 39.5 · {"number":40.0}
    0.0000 · refused · the answer has no number
    error reference_not_finite: the reference is not a finite number
    "#);
}

/// HOLO-53.
#[test]
fn tolerances_include_their_bounds() {
    let passes = |answer: &str, truth: f64, absolute: f64, relative: f64| {
        let options = NumericOptions {
            absolute_tolerance: absolute,
            relative_tolerance: relative,
            ..INFERRED
        };
        numeric(answer, truth, &options).unwrap().failure.is_none()
    };
    assert!(passes("1.1", 1.0, 0.1, 0.0));
    assert!(!passes("1.1001", 1.0, 0.1, 0.0));
    assert!(passes("0.3", 0.1 + 0.2, 0.0, 0.0));
    assert!(passes("-101", -100.0, 0.0, 0.01));
    assert!(!passes("-101.1", -100.0, 0.0, 0.01));
    assert!(passes("-101.1", -100.0, 1.1, 0.01));
    assert!(passes("1.000001", 1.0, 1e-6, 0.0));
    assert!(!passes("1.000002", 1.0, 1e-6, 0.0));
}

#[test]
fn limits_need_a_measurement() {
    let grades = [
        grade_measure(LimitMeasure::Cost, Some(0.02), 0.02),
        grade_measure(LimitMeasure::Tokens, Some(1_001.0), 1_000.0),
        grade_measure(LimitMeasure::Seconds, Some(f64::NAN), 1.0),
        grade_measure(LimitMeasure::Steps, None, 5.0),
    ];
    let lines: Vec<String> = grades.iter().map(line).collect();
    assert_snapshot!(lines.join("\n"), @r"
    1.0000
    0.0000 · over_limit · 1001 tokens, at most 1000
    error not_measured: seconds were not measured
    error not_measured: steps were not measured
    ");
}
