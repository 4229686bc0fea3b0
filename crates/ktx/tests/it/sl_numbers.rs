//! Regressions: joins, choice of paths, times.

use ktx_test_support::sandbox::Sandbox;

use crate::support::{check, database, run, unscanned, write};

/// Salaries have two links to people. `MISSING` selects salaries without an appearance.
const LEAGUE: &str = "
CREATE TABLE people (id INTEGER PRIMARY KEY, country TEXT NOT NULL);
CREATE TABLE appearances (
  year INTEGER NOT NULL, person_id INTEGER NOT NULL, games INTEGER NOT NULL, PRIMARY KEY (year, person_id));
CREATE TABLE salaries (
  id INTEGER PRIMARY KEY, year INTEGER NOT NULL, person_id INTEGER NOT NULL, amount INTEGER NOT NULL);
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 60)
INSERT INTO people SELECT i, CASE i % 3 WHEN 0 THEN 'Chile' WHEN 1 THEN 'Cuba' ELSE 'Peru' END FROM n;
WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 179)
INSERT INTO salaries SELECT i + 1, 2001 + (i * 7 / 60 * 3 + i % 5) % 12, 1 + i % 60, 10 FROM n;
INSERT INTO appearances SELECT year, person_id, id % 7 FROM salaries WHERE NOT (MISSING);
";

fn league(missing: &str) -> Sandbox {
    let sandbox = unscanned(&LEAGUE.replace("MISSING", missing));
    let scanned = run(&sandbox, "scan");
    assert_eq!(scanned.code, Some(0), "{scanned}");
    sandbox
}

fn joins_of_salaries(sandbox: &Sandbox) -> String {
    let shard = sandbox
        .read("semantic-layer/warehouse/_schema/public.yaml")
        .expect("a shard");
    let (_, entry) = shard.split_once("\n  salaries:\n").expect("an entry");
    let (_, joins) = entry.split_once("    joins:\n").expect("joins");
    joins.to_owned()
}

const SALARIES_BY_COUNTRY: &str =
    "sl query --measure sum(salaries.amount) --dimension people.country --format csv --execute";

/// Salaries and appearances are facts of one grain, and some salaries have no appearance.
#[test]
fn an_incomplete_link_of_facts_of_one_grain_waits_for_review() {
    let sandbox = league("id % 25 = 0");
    assert_eq!(
        joins_of_salaries(&sandbox),
        "      - to: people
        'on': salaries.person_id = people.id
        relationship: many_to_one
        source: inferred
"
    );
    check!(&sandbox, SALARIES_BY_COUNTRY, @r"
    exit 0
    country,sum_salaries_amount
    Chile,600
    Cuba,600
    Peru,600
    --- stderr
    Project: [SANDBOX]/work
    ");
}

/// Later rows can have only that link.
#[test]
fn a_link_that_another_one_implies_is_written_and_counts_later_rows() {
    let sandbox = league("false");
    assert_eq!(
        joins_of_salaries(&sandbox),
        "      - to: appearances
        'on': salaries.year = appearances.year AND salaries.person_id = appearances.person_id
        relationship: one_to_one
        source: inferred
        keyed: true
      - to: people
        'on': salaries.person_id = people.id
        relationship: many_to_one
        source: inferred
"
    );
    database(
        &sandbox,
        "warehouse.db",
        "INSERT INTO salaries VALUES (900, 2050, 1, 7)",
    );
    check!(&sandbox, SALARIES_BY_COUNTRY, @r"
    exit 0
    country,sum_salaries_amount
    Chile,600
    Cuba,607
    Peru,600
    --- stderr
    Project: [SANDBOX]/work
    ");
}

/// Countries by shop and, one table farther, by customer.
const ROADS: &str = "
CREATE TABLE countries (id INTEGER PRIMARY KEY, name TEXT NOT NULL);
CREATE TABLE cities (id INTEGER PRIMARY KEY, country_id INTEGER NOT NULL REFERENCES countries (id));
CREATE TABLE customers (id INTEGER PRIMARY KEY, city_id INTEGER NOT NULL REFERENCES cities (id));
CREATE TABLE shops (id INTEGER PRIMARY KEY, country_id INTEGER NOT NULL REFERENCES countries (id));
CREATE TABLE orders (
  id INTEGER PRIMARY KEY, status TEXT NOT NULL, placed_at TIMESTAMP NOT NULL,
  customer_id INTEGER NOT NULL REFERENCES customers (id), shop_id INTEGER NOT NULL REFERENCES shops (id));
CREATE TABLE refunds (
  id INTEGER PRIMARY KEY, order_id INTEGER NOT NULL REFERENCES orders (id), refunded_at TIMESTAMP NOT NULL);
INSERT INTO countries VALUES (1, 'Chile'), (2, 'Cuba');
INSERT INTO cities VALUES (1, 1), (2, 2);
INSERT INTO customers VALUES (1, 1), (2, 2);
INSERT INTO shops VALUES (1, 1), (2, 2);
INSERT INTO orders VALUES
  (1, 'paid', '2025-01-01 00:00:00', 1, 2), (2, 'paid', '2025-02-01 12:00:00', 1, 2),
  (3, 'open', '2025-12-31 00:00:00', 2, 1);
INSERT INTO refunds VALUES (1, 1, '2026-01-01 00:00:00'), (2, 2, '2025-02-02 00:00:00');
";

fn roads() -> Sandbox {
    let sandbox = unscanned(ROADS);
    let scanned = run(&sandbox, "scan");
    assert_eq!(scanned.code, Some(0), "{scanned}");
    sandbox
}

const ORDERS_BY_COUNTRY: &str =
    "sl query --measure count(orders.id) --dimension countries.name --format csv --execute";

#[test]
fn of_two_ways_around_the_answer_names_both_and_how_to_take_the_other() {
    let sandbox = roads();
    check!(&sandbox, ORDERS_BY_COUNTRY, @"
exit 0
name,count_orders_id
Chile,1
Cuba,2
--- stderr
Project: [SANDBOX]/work
note: `countries` is looked up along orders -[shop_id]-> shops -[country_id]-> countries; another path, orders -[customer_id]-> customers -[city_id]-> cities -[country_id]-> countries, may give other numbers; to take that one, ask for `cities.countries`
");
    write(
        &sandbox,
        "semantic-layer/warehouse/orders.yaml",
        "name: orders
joins:
  - {to: customers, on: orders.customer_id = customers.id, relationship: many_to_one, alias: other}
",
    );
    check!(&sandbox, &ORDERS_BY_COUNTRY.replace("countries.name", "other.countries.name"), @"
exit 0
name,count_orders_id
Chile,2
Cuba,1
--- stderr
Project: [SANDBOX]/work
note: rows of `orders` whose `customer_id`, then `other.city_id`, then `other.cities.country_id` has no match in `other.countries` count under NULL
");
}

/// Both tables list the join; an overlay of either removes both.
#[test]
fn a_join_is_disabled_from_one_side() {
    let sandbox = roads();
    for (source, join) in [
        ("shops", "shops.country_id = countries.id"),
        ("countries", "countries.id = shops.country_id"),
    ] {
        let path = format!("semantic-layer/warehouse/{source}.yaml");
        write(
            &sandbox,
            &path,
            &format!("name: {source}\ndisable_joins: ['{join}']\n"),
        );
        check!(&sandbox, "sl validate", @"
exit 0
warehouse: 6 sources are valid
--- stderr
Project: [SANDBOX]/work
");
        check!(&sandbox, ORDERS_BY_COUNTRY, @"
exit 0
name,count_orders_id
Chile,2
Cuba,1
--- stderr
Project: [SANDBOX]/work
");
        std::fs::remove_file(sandbox.work().join(path)).expect("it is there");
    }
}

/// 365.5 days.
#[test]
fn the_difference_of_two_times_is_in_days_on_sqlite() {
    let sandbox = roads();
    check!(&sandbox, "sl query --measure 'avg(refunds.refunded_at - orders.placed_at)' --dimension orders.status --format csv --execute", @"
exit 0
status,avg_refunds_refunded_at_orders_placed_at
open,
paid,182.75
--- stderr
Project: [SANDBOX]/work
");
    check!(&sandbox, "sl query --measure 'max(orders.placed_at + 1)' --execute", @"
    exit 6
    --- stderr
    Project: [SANDBOX]/work
    error: SQLite would calculate with the text of a time here; move a time with `datetime(x, '+7 days')`, and take `julianday(x)` for its days as a number

    hint: begin with one measure, such as `sum(orders.amount)`, and add to the query part by part
    ");
}

#[test]
fn a_misspelled_dimension_is_refused_with_the_right_spelling() {
    let sandbox = roads();
    for (written, message, right) in [
        (
            "orders.placed_at.month",
            "`orders.placed_at.month` is not a column: write the unit of `orders.placed_at` after a colon, or as \
             `granularity: month`",
            "orders.placed_at:month",
        ),
        (
            "orders..status",
            "`orders..status` has a dot without a name before or after it",
            "orders.status",
        ),
        (
            ".status",
            "`.status` has a dot without a name before or after it",
            "orders.status",
        ),
    ] {
        let line = |field: &str| {
            format!(
                "sl query --measure count(orders.id) --dimension {field} --format csv --execute"
            )
        };
        check(
            &sandbox,
            &line(written),
            &format!(
                "\nexit 6\n--- stderr\nProject: [SANDBOX]/work\nerror: {message}\n\nhint: try `{right}`\n\
                 hint: run `ktx sl query --measure 'count(orders.id)' --dimension {right} --execute`\n"
            ),
        );
        let corrected = run(&sandbox, &line(right));
        assert_eq!(corrected.code, Some(0), "{corrected}");
    }
}
