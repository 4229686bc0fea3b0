//! Tests which side of a join can repeat a value.

use crate::rivals::{artifact, drawn, table, told};

async fn cardinalities(script: &[String]) -> Vec<String> {
    let artifact = artifact(script).await;
    let edges = artifact["accepted"].as_array().expect("a list").iter();
    let mut found: Vec<String> = edges
        .map(|edge| {
            let cardinality = edge["relationshipType"].as_str().expect("a cardinality");
            format!("{} {cardinality}", told(edge))
        })
        .collect();
    found.sort();
    found
}

/// No order has two payments yet.
#[tokio::test]
async fn values_that_do_not_repeat_yet_are_no_key() {
    let script = [
        table(
            "orders",
            3,
            &[("order_id INTEGER", "i"), ("amount INTEGER", "i * 7")],
        ),
        table(
            "payments",
            3,
            &[
                ("payment_id INTEGER", "i + 40"),
                ("order_id INTEGER", "i"),
                ("paid INTEGER", "i * 5"),
            ],
        ),
        table(
            "teachers",
            30,
            &[("teacher_id INTEGER", "i + 700"), ("name TEXT", "'t' || i")],
        ),
        table(
            "classes",
            24,
            &[
                ("class_id INTEGER", "i + 90"),
                ("teacher_id INTEGER", "701 + (i * 7) % 30"),
            ],
        ),
    ];
    assert_eq!(
        cardinalities(&script).await,
        [
            "classes.teacher_id -> teachers.teacher_id many_to_one",
            "payments.order_id -> orders.order_id many_to_one",
        ]
    );
}

/// A few rows differ by chance.
#[tokio::test]
async fn a_table_extends_another_if_chance_is_excluded() {
    let extension = |name: &str, rows: u64, customer: &str| {
        let remark = ("remark TEXT", "'r' || (i % 5)");
        table(name, rows, &[("customer_id INTEGER", customer), remark])
    };
    let script = [
        table(
            "customers",
            300,
            &[("customer_id INTEGER", "i"), ("town INTEGER", &drawn(1, 9))],
        ),
        extension("complaints", 20, "1 + (i * 37) % 300"),
        extension("customer_details", 300, "i"),
    ];
    assert_eq!(
        cardinalities(&script).await,
        [
            "complaints.customer_id -> customers.customer_id many_to_one",
            "customer_details.customer_id -> customers.customer_id one_to_one",
        ]
    );
}

/// Forty notes do not exclude a second one; hundreds of details do.
#[tokio::test]
async fn a_few_groups_that_do_not_repeat_yet_are_no_key() {
    let lines = table(
        "order_lines",
        300,
        &[
            ("order_no INTEGER", "1000 + i / 4"),
            ("line_no INTEGER", "1 + i % 4"),
            ("amount INTEGER", &drawn(3, 900)),
        ],
    );
    let extension = |name: &str, rows: u64, step: &str| {
        let order = format!("1000 + (i{step}) / 4");
        let line = format!("1 + (i{step}) % 4");
        let columns = [
            ("order_no INTEGER", order.as_str()),
            ("line_no INTEGER", line.as_str()),
            ("remark TEXT", "'r' || (i % 5)"),
        ];
        table(name, rows, &columns)
    };
    let script = [
        lines,
        extension("line_notes", 40, " * 7"),
        extension("line_details", 290, ""),
    ];
    assert_eq!(
        cardinalities(&script).await,
        [
            "line_details.line_no+order_no -> order_lines.line_no+order_no one_to_one",
            "line_notes.line_no+order_no -> line_details.line_no+order_no many_to_one",
        ]
    );
}
