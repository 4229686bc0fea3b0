//! Tool calls.

use insta::assert_snapshot;
use ktx_tool_descriptors::ArgumentMatcher;
use serde_json::{Value, json};

use super::line;
use crate::{ExpectedCall, ToolCall, ToolsMode, grade_tools};

fn call(name: &str, arguments: Value) -> ToolCall {
    ToolCall {
        name: name.to_owned(),
        arguments,
    }
}

fn expected(name: &str, count: usize) -> ExpectedCall {
    ExpectedCall {
        name: name.to_owned(),
        arguments: Vec::new(),
        count,
    }
}

fn with(name: &str, argument: &str, matcher: ArgumentMatcher) -> ExpectedCall {
    ExpectedCall {
        arguments: vec![(argument.to_owned(), matcher)],
        ..expected(name, 1)
    }
}

/// HOLO-51.
#[test]
fn calls_are_compared_as_a_subset_exactly_or_in_order() {
    let calls = [
        call("wiki_search", json!({ "query": "churn" })),
        call("sl_query", json!({ "measures": ["orders.revenue"] })),
        call("sl_query", json!({ "measures": ["orders.count"] })),
    ];
    let none: [String; 0] = [];
    let grade =
        |expected: &[ExpectedCall], mode| line(&Ok(grade_tools(&calls, expected, mode, &none)));
    let revenue = || {
        let measures = json!(["orders.revenue"]);
        with("sl_query", "measures", ArgumentMatcher::Literal(measures))
    };
    let lines = [
        grade(&[expected("sl_query", 2)], ToolsMode::Subset),
        grade(&[expected("sl_query", 3)], ToolsMode::Subset),
        grade(
            &[expected("sl_*", 1), expected("*_search", 1)],
            ToolsMode::Subset,
        ),
        grade(&[expected("sql_execution", 1)], ToolsMode::Subset),
        grade(&[expected("sl_query", 1), revenue()], ToolsMode::Subset),
        grade(&[revenue(), revenue()], ToolsMode::Subset),
        grade(
            &[with(
                "sl_query",
                "limit",
                ArgumentMatcher::Fuzzy("5".to_owned()),
            )],
            ToolsMode::Subset,
        ),
        grade(&[expected("sl_query", 1)], ToolsMode::Exact),
        grade(
            &[expected("sl_query", 1), expected("wiki_search", 1)],
            ToolsMode::Exact,
        ),
        grade(
            &[expected("wiki_search", 1), expected("sl_query", 2)],
            ToolsMode::Ordered,
        ),
        grade(
            &[expected("sl_query", 1), expected("wiki_search", 1)],
            ToolsMode::Ordered,
        ),
        grade(&[], ToolsMode::Subset),
        grade(&[], ToolsMode::Exact),
    ];
    assert_snapshot!(lines.join("\n"), @r#"
    0.8000 · {"matched":2,"called":3,"expected":2}
    0.6667 · wrong_tool · `sl_query` was called 2 of 3 times · {"matched":2,"called":3,"expected":3}
    0.8000 · {"matched":2,"called":3,"expected":2}
    0.0000 · wrong_tool · `sql_execution` was not called · {"matched":0,"called":3,"expected":1}
    0.8000 · {"matched":2,"called":3,"expected":2}
    0.4000 · wrong_tool · `sl_query` was called less often than expected · {"matched":1,"called":3,"expected":2}
    0.0000 · wrong_tool · `sl_query` was called with other arguments · {"matched":0,"called":3,"expected":1}
    0.5000 · wrong_tool · the call of `wiki_search` was not expected · {"matched":1,"called":3,"expected":1}
    0.8000 · {"matched":2,"called":3,"expected":2}
    1.0000 · {"matched":3,"called":3,"expected":3}
    0.4000 · wrong_tool · the expected calls were made in another order · {"matched":1,"called":3,"expected":2}
    0.0000 · {"matched":0,"called":3,"expected":0}
    0.0000 · wrong_tool · the call of `wiki_search` was not expected · {"matched":0,"called":3,"expected":0}
    "#);
    let silent = grade_tools(&[], &[], ToolsMode::Exact, &none);
    assert_eq!(
        line(&Ok(silent)),
        r#"1.0000 · {"matched":0,"called":0,"expected":0}"#
    );
    let endless = grade_tools(
        &calls,
        &[expected("sl_query", usize::MAX)],
        ToolsMode::Ordered,
        &none,
    );
    assert_eq!(endless.details["matched"], 2);
}

#[test]
fn a_forbidden_call_fails_whatever_else_was_called() {
    let calls = [
        call("sl_query", json!({})),
        call("sql_execution", json!({})),
    ];
    let forbidden = ["sql_*".to_owned()];
    let grade = grade_tools(
        &calls,
        &[expected("sl_query", 1)],
        ToolsMode::Subset,
        &forbidden,
    );
    assert_eq!(
        line(&Ok(grade)),
        "0.0000 · forbidden_tool · `sql_execution` was called, which the case forbids"
    );
}

#[test]
fn names_are_looked_for_among_the_found_ones() {
    let found = ["main.orders", "orders.revenue", "Net-Revenue"].map(str::to_owned);
    let graded = |wanted: &[&str]| {
        let wanted: Vec<String> = wanted.iter().map(|name| (*name).to_owned()).collect();
        let grade = crate::grade_sources(&found, &wanted);
        (grade.score, grade.reason)
    };
    assert_eq!(graded(&["orders", "net-revenue"]), (1.0, None));
    assert_eq!(graded(&[]), (1.0, None));
    let (score, reason) = graded(&["rders", "orders.revenue"]);
    assert!((score - 0.5).abs() < f64::EPSILON);
    assert_eq!(reason.as_deref(), Some("`rders` is not among the first 3"));
}
