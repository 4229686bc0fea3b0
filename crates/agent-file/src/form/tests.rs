//! Tables of good and bad texts.

use super::*;

#[track_caller]
fn check(form: TextForm, good: &[&str], bad: &[&str]) {
    for text in good {
        let fault = form.fault(text).map(|fault| fault.message);
        assert_eq!(fault, None, "{text}");
    }
    for text in bad {
        assert!(form.fault(text).is_some(), "{text}");
    }
}

#[test]
fn names_have_letters_digits_and_their_sign() {
    check(
        TextForm::AgentName,
        &["a", "Sales-2"],
        &["", "2a", "a_b", "a b", "é"],
    );
    check(
        TextForm::AgentName,
        &[&"a".repeat(100)],
        &[&"a".repeat(101)],
    );
    check(
        TextForm::ToolName,
        &["sl_query", "2nd"],
        &["", "a-b", &"a".repeat(49)],
    );
    check(TextForm::EntryName, &["morning-1"], &["", "Morning", "a_b"]);
}

#[test]
fn patterns_are_names_with_stars_or_groups() {
    check(
        TextForm::ToolPattern,
        &["sl_query", "mcp__jira__delete*", "*", "@read", "@mcp:jira"],
        &["", "a-b", "@reads", "@mcp:", "@mcp:a-b"],
    );
}

#[test]
fn a_reference_is_no_secret() {
    check(
        TextForm::Secret,
        &["env:KEY", "file:~/key", "${KEY}"],
        &["", "env:", "file:", "sk-1", "$KEY", "${}", "${1A}"],
    );
    assert_eq!(TextForm::Secret.complete("${KEY}"), Value::from("env:KEY"));
    check(
        TextForm::Address,
        &["https://a.example", "http://127.0.0.1:1/v1", "env:URL"],
        &["", "a.example", "https://", "https://me:pw@a.example"],
    );
    assert!(looks_like_secret("Bearer ghp_0123456789abcdef"));
    assert!(!looks_like_secret("sk-learn"));
    assert!(!looks_like_secret("Bearer ${TOKEN_OF_THE_SERVICE}"));
    assert!(is_secret_name("X-Api-Key") && is_secret_name("GITHUB_TOKEN"));
    assert!(!is_secret_name("ROWS") && !is_secret_name("KEYBOARD"));
}

#[test]
fn times_have_a_unit() {
    check(
        TextForm::Duration,
        &["1s", "15m", "8h", "2d"],
        &["", "0m", "m", "1w", "-1h", "1.5h", "1234567s"],
    );
    check(TextForm::Period, &["never", "8h"], &["ever"]);
    assert_eq!(TextForm::Period.complete("never"), Value::Null);
    assert_eq!(TextForm::Duration.complete("2d"), json!(172_800));
    check(
        TextForm::Date,
        &["2026-02-28"],
        &["2026-02-29", "2026-2-1", "20260228"],
    );
    check(
        TextForm::TimeZone,
        &["UTC", "Europe/Berlin"],
        &["Europe/Berln"],
    );
}

#[test]
fn cron_has_five_fields_or_two() {
    check(
        TextForm::Cron,
        &[
            "0 6 * * 1-5",
            "30 4",
            "*/15 0,12 1-7 jan-mar sun",
            "0 0 31 12 7",
        ],
        &[
            "",
            "0 6 * *",
            "60 6 * * *",
            "0 24 * * *",
            "0 0 0 * *",
            "0 0 * 13 *",
            "5-1 0",
            "*/0 1",
            "a b",
        ],
    );
}

#[test]
fn regular_expressions_are_compiled() {
    check(TextForm::Regex, &["reports/.*"], &["reports/("]);
    let fault = TextForm::Regex.fault("a(").map(|fault| fault.message);
    assert_eq!(
        fault.as_deref(),
        Some("is not a regular expression: unclosed group")
    );
}
