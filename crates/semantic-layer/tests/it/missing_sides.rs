//! Values of several sources in one expression: a missing side counts as 0.

use std::collections::BTreeMap;

use ktx_semantic_layer::{Catalog, Query, SourceFile, compile};
use ktx_sql::Dialect;
use rusqlite::Connection;
use serde_json::{Value, json};

use crate::sqlite;
use ktx_test_support::random::Random;

const MEASURES: &str = "\
measures:
  - {name: n, expr: count(*)}
  - {name: total, expr: sum(v)}
  - {name: units, expr: sum(u)}
  - {name: most, expr: max(v)}
  - {name: rate, expr: total / units}
  - {name: each, expr: total / n}
  - {name: plus_one, expr: sum(v) + 1}
  - {name: rounded, expr: \"round(sum(v) + 1, 0)\"}
  - {name: paid, expr: count_if(v > 10)}
  - {name: score, expr: (paid - 4) / 2}
  - {name: left_of_ten, expr: 10 - paid}
  - {name: at_least, expr: \"coalesce(sum(v), 5)\"}
  - {name: size, expr: \"case when total > 10 then 'big' when total <= 10 then 'small' end\"}
";

fn catalog(dialect: Dialect) -> Catalog {
    let fact = |name: &str| {
        let text = format!(
            "name: {name}\ntable: {name}\ngrain: [id]\ncolumns:\n  - {{name: id, type: number}}\n  - {{name: c, type: number}}\n  - {{name: v, type: number}}\n  - {{name: u, type: number}}\njoins:\n  - {{to: customers, on: c = customers.id, relationship: many_to_one}}\n{MEASURES}"
        );
        SourceFile::new(format!("{name}.yaml"), text)
    };
    let customers =
        "name: customers\ntable: customers\ngrain: [id]\ncolumns:\n  - {name: id, type: number}\n";
    let customers = SourceFile::new("customers.yaml", customers);
    Catalog::load(vec![fact("orders"), fact("refunds"), customers], dialect)
}

/// Customer, value, units.
type Facts = [Vec<(i64, Option<i64>, Option<i64>)>; 2];

fn database(facts: &Facts, customers: i64) -> Connection {
    let columns = json!([["id", "int"], ["c", "int"], ["v", "int"], ["u", "int"]]);
    let rows = |fact: &[(i64, Option<i64>, Option<i64>)]| -> Value {
        let rows = fact.iter().enumerate();
        rows.map(|(id, (customer, value, units))| json!([id, customer, value, units]))
            .collect()
    };
    let members: Vec<Value> = (1..=customers).map(|id| json!([id])).collect();
    sqlite::database(&json!({"tables": {
        "orders": {"columns": columns, "rows": rows(&facts[0])},
        "refunds": {"columns": columns, "rows": rows(&facts[1])},
        "customers": {"columns": [["id", "int"]], "rows": members},
    }}))
}

/// Customers with orders, with both, with refunds only, with orders of no units, with neither.
fn some() -> Connection {
    let orders = vec![
        (1, Some(20), Some(4)),
        (2, Some(30), Some(5)),
        (4, Some(8), Some(0)),
    ];
    let refunds = vec![(2, Some(3), Some(1)), (3, Some(7), Some(2))];
    database(&[orders, refunds], 5)
}

fn written(catalog: &Catalog, query: &Value) -> String {
    let query = Query::from_value(query).expect("a query");
    compile(catalog, &query, catalog.dialect())
        .unwrap_or_else(|error| panic!("{error}"))
        .sql
}

/// Integers are equal in every type.
fn number(cell: &Value) -> Option<f64> {
    cell.as_f64().map(|value| (value * 1e6).round() / 1e6)
}

fn values(connection: &Connection, catalog: &Catalog, expr: &str) -> BTreeMap<i64, Option<f64>> {
    let query = json!({"measures": [{"expr": expr, "name": "x"}], "dimensions": ["customers.id"]});
    let (_, rows) = sqlite::run(connection, &written(catalog, &query));
    let value = |row: &Vec<Value>| (row[0].as_i64().unwrap_or_default(), number(&row[1]));
    rows.iter().map(value).collect()
}

fn five(expr: &str) -> [Option<f64>; 5] {
    let found = values(&some(), &catalog(Dialect::Sqlite), expr);
    [1, 2, 3, 4, 5].map(|id| found.get(&id).copied().flatten())
}

fn kept(connection: &Connection, filters: &[&str]) -> Vec<i64> {
    let query = json!({"measures": ["orders.n", "refunds.n"], "dimensions": ["customers.id"], "filters": filters});
    let (_, rows) = sqlite::run(connection, &written(&catalog(Dialect::Sqlite), &query));
    rows.iter().filter_map(|row| row[0].as_i64()).collect()
}

const NO: Option<f64> = None;

fn are(values: [i32; 5]) -> [Option<f64>; 5] {
    values.map(|value| Some(f64::from(value)))
}

#[test]
fn constants_beside_a_missing_side_stay() {
    for (expr, expected) in [
        (
            "orders.total - orders.total * refunds.total",
            are([20, -60, 0, 8, 0]),
        ),
        (
            "orders.total * (1 - refunds.total)",
            are([20, -60, 0, 8, 0]),
        ),
        ("orders.total / (1 + refunds.n)", are([20, 15, 0, 8, 0])),
        (
            "(orders.total + 1) * (refunds.total + 2)",
            are([42, 155, 9, 18, 2]),
        ),
        (
            "(1 + refunds.total) % (1 + orders.total)",
            are([1, 4, 0, 1, 0]),
        ),
        ("-orders.total - refunds.total", are([-20, -33, -7, -8, 0])),
        (
            "abs(refunds.total - 1) + abs(orders.total)",
            are([21, 32, 6, 9, 1]),
        ),
        (
            "round(orders.total * 0.1 + refunds.total, 0)",
            are([2, 6, 7, 1, 0]),
        ),
        ("orders.most - refunds.most", are([20, 27, -7, 8, 0])),
    ] {
        assert_eq!(five(expr), expected, "{expr}");
    }
}

#[test]
fn a_division_by_zero_stays_null() {
    for (expr, expected) in [
        (
            "orders.total / refunds.total",
            [NO, Some(10.0), Some(0.0), NO, NO],
        ),
        (
            "refunds.total - orders.total / refunds.n",
            [NO, Some(-27.0), Some(7.0), NO, NO],
        ),
        (
            "orders.total % refunds.total",
            [NO, Some(0.0), Some(0.0), NO, NO],
        ),
        // A named measure is one side: 0 if missing, NULL if divided by 0.
        (
            "orders.rate - refunds.total",
            [Some(5.0), Some(3.0), Some(-7.0), NO, Some(0.0)],
        ),
        (
            "orders.each + refunds.each",
            [Some(20.0), Some(33.0), Some(7.0), Some(8.0), Some(0.0)],
        ),
        ("orders.total / (refunds.total - refunds.total)", [NO; 5]),
    ] {
        assert_eq!(five(expr), expected, "{expr}");
    }
}

#[test]
fn a_measure_by_its_name_is_one_side() {
    for (expr, expected) in [
        ("orders.plus_one + refunds.total", are([21, 34, 7, 9, 0])),
        ("orders.rounded + refunds.total", are([21, 34, 7, 9, 0])),
        (
            "orders.plus_one * (1 + refunds.total)",
            are([21, 124, 0, 9, 0]),
        ),
    ] {
        assert_eq!(five(expr), expected, "{expr}");
    }
}

/// A count of 0 is not a missing side.
#[test]
fn rows_say_what_is_missing_and_values_do_not() {
    for (expr, expected) in [
        (
            "orders.score + refunds.n",
            [Some(-1.5), Some(-0.5), Some(1.0), Some(-2.0), Some(0.0)],
        ),
        ("orders.left_of_ten + refunds.n", are([9, 10, 1, 10, 0])),
        ("orders.at_least + refunds.n", are([20, 31, 1, 8, 0])),
        ("refunds.n - orders.left_of_ten", are([-9, -8, 1, -10, 0])),
        // The constants of an inlined expression belong to the whole.
        ("10 - orders.paid + refunds.n", are([9, 10, 11, 10, 10])),
    ] {
        assert_eq!(five(expr), expected, "{expr}");
    }
    assert_eq!(
        kept(&some(), &["orders.score + refunds.n > 0"]),
        vec![3],
        "of filters as well"
    );
    let total = |facts: &Facts| {
        let query = json!({"measures": [{"expr": "orders.score + refunds.n", "name": "x"}]});
        let sql = written(&catalog(Dialect::Sqlite), &query);
        let (_, rows) = sqlite::run(&database(facts, 5), &sql);
        number(&rows[0][0])
    };
    let refunds = vec![(2, Some(3), Some(1))];
    assert_eq!(total(&[Vec::new(), refunds.clone()]), Some(1.0));
    assert_eq!(
        total(&[vec![(1, Some(8), None)], refunds]),
        Some(-1.0),
        "a count of 0"
    );
}

#[test]
fn nulls_stay_where_nothing_is_missing_from_a_sum() {
    for (expr, expected) in [
        (
            "orders.total + 1",
            [Some(21.0), Some(31.0), NO, Some(9.0), NO],
        ),
        (
            "orders.total * orders.units",
            [Some(80.0), Some(150.0), NO, Some(0.0), NO],
        ),
        (
            "coalesce(refunds.total, orders.total)",
            [Some(20.0), Some(3.0), Some(7.0), Some(8.0), NO],
        ),
        (
            "-coalesce(refunds.total, orders.total)",
            [Some(-20.0), Some(-3.0), Some(-7.0), Some(-8.0), NO],
        ),
        (
            "orders.total * coalesce(refunds.total, 1)",
            [Some(20.0), Some(90.0), Some(0.0), Some(8.0), Some(0.0)],
        ),
        (
            "coalesce(refunds.total, refunds.units) + orders.total",
            [Some(20.0), Some(33.0), Some(7.0), Some(8.0), Some(0.0)],
        ),
        (
            "coalesce(orders.total / refunds.total, 0 - 1)",
            [Some(-1.0), Some(10.0), Some(0.0), Some(-1.0), Some(-1.0)],
        ),
        (
            "case when refunds.total is null then 0 - 1 else orders.total + refunds.total end",
            [Some(-1.0), Some(33.0), Some(7.0), Some(-1.0), Some(-1.0)],
        ),
        (
            "case when orders.size = refunds.size then 1 else 0 end",
            [Some(0.0), Some(0.0), Some(0.0), Some(0.0), Some(0.0)],
        ),
    ] {
        assert_eq!(five(expr), expected, "{expr}");
    }
}

#[test]
fn comparisons_of_two_facts_count_a_missing_side_as_0() {
    let connection = some();
    for (filter, expected) in [
        ("orders.total > refunds.total", vec![1, 2, 4]),
        ("orders.total - refunds.total > 0", vec![1, 2, 4]),
        ("refunds.total < 1 + orders.total", vec![1, 2, 4, 5]),
        ("not (orders.total > refunds.total)", vec![3, 5]),
        ("orders.total between refunds.total and 20", vec![1, 4, 5]),
        ("refunds.total in (orders.total, 3)", vec![2, 5]),
        ("orders.total <> refunds.total", vec![1, 2, 3, 4]),
        (
            "case when orders.total > refunds.total then 1 else 0 end = 1",
            vec![1, 2, 4],
        ),
        ("orders.total < 10 or refunds.total > 5", vec![3, 4]),
        ("orders.total < 10 and refunds.total < 5", vec![]),
        ("refunds.total is null", vec![1, 4, 5]),
        ("coalesce(refunds.total, orders.total) = 20", vec![1]),
    ] {
        assert_eq!(kept(&connection, &[filter]), expected, "{filter}");
    }
    assert_eq!(
        five("case when orders.total > refunds.total then 1 else 0 end"),
        are([1, 1, 0, 1, 0])
    );
    assert_eq!(
        five("case when refunds.total < 5 then orders.total else 0 - 1 end"),
        are([20, 30, -1, 8, 0])
    );
}

/// Operator precedence must not change the printed SQL.
#[test]
fn powers_of_two_facts_have_both_sides() {
    let last = |dialect: Dialect, expr: &str| {
        let query =
            json!({"measures": [{"expr": expr, "name": "x"}], "dimensions": ["customers.id"]});
        let sql = written(&catalog(dialect), &query);
        let line = sql.lines().rfind(|line| line.ends_with(" AS x"));
        line.map(str::to_owned)
    };
    let found = [
        last(Dialect::DuckDb, "orders.total ^ 2 + refunds.total"),
        last(Dialect::Postgres, "orders.total ^ 2 + refunds.total"),
    ];
    let expected = "SELECT d1_id AS id, COALESCE(v1_sum, 0) ^ 2 + COALESCE(v2_sum, 0) AS x";
    assert_eq!(
        found,
        [Some(expected.to_owned()), Some(expected.to_owned())]
    );
}

fn leaf(random: &mut Random) -> String {
    let leaves = [
        "orders.total",
        "refunds.total",
        "orders.units",
        "refunds.units",
        "orders.n",
        "refunds.n",
        "orders.most",
        "1",
        "2",
        "3",
    ];
    (*random.pick(&leaves)).to_owned()
}

fn formula(random: &mut Random, depth: usize) -> String {
    if depth == 0 || random.chance(20) {
        return leaf(random);
    }
    let operator = *random.pick(&["+", "-", "*"]);
    format!(
        "({} {operator} {})",
        formula(random, depth - 1),
        formula(random, depth - 1)
    )
}

fn facts(random: &mut Random) -> Facts {
    let mut fact = || {
        let some = |random: &mut Random| {
            let value = i64::try_from(random.below(7)).expect("a small number") - 2;
            (!random.chance(15)).then_some(value)
        };
        let customer =
            |random: &mut Random| i64::try_from(1 + random.below(4)).expect("a small number");
        let count = random.below(6);
        (0..count)
            .map(|_| (customer(random), some(random), some(random)))
            .collect()
    };
    [fact(), fact()]
}

/// Returns pairs of equal formulas.
fn equal(one: &str, other: &str, constant: usize) -> Vec<(String, String)> {
    [
        ("A * (K - B)", "A * K - A * B"),
        ("(K + A) * B", "K * B + A * B"),
        ("A - B", "0 - (B - A)"),
        ("(A + K) * (B + K)", "A * B + K * A + K * B + K * K"),
        ("(A - B) * (A + B)", "A * A - B * B"),
        ("K * (A + B) / K", "A + B"),
        ("A / (K + B * B)", "(A * K) / (K * K + K * B * B)"),
        ("A * abs(B)", "A * case when B < 0 then 0 - B else B end"),
        (
            "case when A > B then 1 else 0 end",
            "case when A - B > 0 then 1 else 0 end",
        ),
        (
            "case when A between B and B + K then 1 else 0 end",
            "case when A - B >= 0 and A - B <= K then 1 else 0 end",
        ),
        (
            "case when A in (B, B + K) then 1 else 0 end",
            "case when (A - B) * (A - B - K) = 0 then 1 else 0 end",
        ),
        (
            "case when A < B then A else B end",
            "0 - case when 0 - A > 0 - B then 0 - A else 0 - B end",
        ),
    ]
    .map(|(left, right)| {
        let constant = constant.to_string();
        let filled = |text: &str| {
            text.replace('A', one)
                .replace('B', other)
                .replace('K', &constant)
        };
        (filled(left), filled(right))
    })
    .to_vec()
}

/// On random facts and formulas, whatever is missing.
#[test]
fn equal_formulas_answer_the_same() {
    let catalog = catalog(Dialect::Sqlite);
    for seed in 0..20 {
        let mut random = Random::new(seed);
        let facts = facts(&mut random);
        let connection = database(&facts, 5);
        // Both facts, because one can be missing in the other.
        let one = format!("(orders.total + 0 * {})", formula(&mut random, 2));
        let other = format!("(refunds.total + {})", formula(&mut random, 2));
        for (left, right) in equal(&one, &other, 1 + random.below(3)) {
            let found = values(&connection, &catalog, &left);
            let expected = values(&connection, &catalog, &right);
            assert_eq!(
                found, expected,
                "seed {seed}: {left} and {right} over {facts:?}"
            );
        }
        let filters = [
            (format!("{one} > {other}"), format!("{one} - {other} > 0")),
            (
                format!("{one} <= {other} * 2"),
                format!("not ({one} - {other} * 2 > 0)"),
            ),
        ];
        for (left, right) in filters {
            assert_eq!(
                kept(&connection, &[&left]),
                kept(&connection, &[&right]),
                "seed {seed}: {left} and {right} over {facts:?}"
            );
        }
    }
}

/// 0 if a customer has none.
fn counted(facts: &Facts, customer: i64) -> BTreeMap<String, f64> {
    let mut numbers = BTreeMap::new();
    for (fact, name) in facts.iter().zip(["orders", "refunds"]) {
        let own: Vec<_> = fact.iter().filter(|row| row.0 == customer).collect();
        let real = |value: i64| f64::from(i32::try_from(value).expect("a small number"));
        let total: i64 = own.iter().filter_map(|row| row.1).sum();
        let units: i64 = own.iter().filter_map(|row| row.2).sum();
        let most = own.iter().filter_map(|row| row.1).max().unwrap_or_default();
        let n = i64::try_from(own.len()).expect("a small number");
        for (measure, value) in [("total", total), ("units", units), ("most", most), ("n", n)] {
            numbers.insert(format!("{name}.{measure}"), real(value));
        }
    }
    numbers
}

/// Independent of the compiler.
fn by_hand(text: &str, numbers: &BTreeMap<String, f64>) -> f64 {
    let Some(inner) = text
        .strip_prefix('(')
        .and_then(|text| text.strip_suffix(')'))
    else {
        let constant = || text.parse().expect("a constant");
        return numbers.get(text).copied().unwrap_or_else(constant);
    };
    let mut depth = 0_i32;
    let operator = inner.char_indices().find(|(_, letter)| {
        depth += match letter {
            '(' => 1,
            ')' => -1,
            _ => 0,
        };
        depth == 0 && matches!(letter, '+' | '-' | '*')
    });
    let (at, operator) = operator.expect("an operator");
    let left = by_hand(inner[..at].trim(), numbers);
    let right = by_hand(inner[at + 1..].trim(), numbers);
    match operator {
        '+' => left + right,
        '-' => left - right,
        _ => left * right,
    }
}

#[test]
fn formulas_of_two_facts_are_what_they_say() {
    let catalog = catalog(Dialect::Sqlite);
    let mut asked = 0;
    for seed in 100..200 {
        let mut random = Random::new(seed);
        let facts = facts(&mut random);
        let connection = database(&facts, 5);
        let text = formula(&mut random, 3);
        if !text.contains("orders.") || !text.contains("refunds.") {
            continue;
        }
        // Operators within one fact keep their NULLs; the outermost one combines both.
        let text = format!("({text} + (orders.n * refunds.n))");
        asked += 1;
        for (customer, value) in values(&connection, &catalog, &text) {
            let expected = by_hand(&text, &counted(&facts, customer));
            assert_eq!(value, Some(expected), "seed {seed}: {text} over {facts:?}");
        }
    }
    assert!(asked > 30, "{asked} formulas name both facts");
}
