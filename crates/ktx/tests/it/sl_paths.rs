//! Refusals of `ktx sl query` offer working queries.

use serde_json::{Value, json};

use crate::support::{run, unscanned};

/// Two addresses per order, two languages per film.
pub(crate) const TWO_ROLES: &str = "
CREATE TABLE city (city_id INTEGER PRIMARY KEY, name TEXT NOT NULL);
CREATE TABLE address (address_id INTEGER PRIMARY KEY, city_id INTEGER NOT NULL REFERENCES city);
CREATE TABLE orders (order_id INTEGER PRIMARY KEY, billing_address_id INTEGER NOT NULL REFERENCES address,
  shipping_address_id INTEGER NOT NULL REFERENCES address, total NUMERIC NOT NULL);
INSERT INTO city VALUES (1, 'Bern'), (2, 'Thun');
INSERT INTO address VALUES (1, 1), (2, 2), (3, 2);
INSERT INTO orders VALUES (1, 1, 2, 10), (2, 1, 1, 20), (3, 2, 3, 40);
";

#[test]
fn a_refused_query_prints_commands_that_answer() {
    let sandbox = unscanned(TWO_ROLES);
    assert_eq!(run(&sandbox, "scan").code, Some(0));
    let line = "sl query --measure sum(orders.total) --dimension city.name --order-by sum(orders.total):desc --execute";
    let refused = run(&sandbox, line);
    compare!(line, &refused, @r"
    exit 6
    --- stderr
    Project: [SANDBOX]/work
    error: two equally short joins lead from `orders` to `city`: orders -[billing_address_id]-> address -[city_id]-> city and orders -[shipping_address_id]-> address -[city_id]-> city; name the one that is meant

    hint: run `ktx sl query --measure 'sum(orders.total)' --dimension orders.billing_address.city.name --order-by 'sum(orders.total):desc' --execute`
    hint: run `ktx sl query --measure 'sum(orders.total)' --dimension orders.shipping_address.city.name --order-by 'sum(orders.total):desc' --execute`
    ");
    let commands: Vec<&str> = refused
        .stderr
        .lines()
        .filter_map(|line| line.strip_prefix("hint: run `ktx ")?.strip_suffix('`'))
        .collect();
    let rows = |command: &str| run(&sandbox, &format!("{command} --format csv")).stdout;
    let answers: Vec<String> = commands.into_iter().map(rows).collect();
    assert_eq!(
        answers,
        [
            "name,sum_orders_total\nThun,40\nBern,30\n",
            "name,sum_orders_total\nThun,50\nBern,20\n",
        ]
    );
}

#[test]
fn a_refused_query_has_queries_as_json() {
    let sandbox = unscanned(TWO_ROLES);
    assert_eq!(run(&sandbox, "scan").code, Some(0));
    let line = "sl query --measure sum(orders.total) --dimension city.name --limit 5 --json";
    let refused = run(&sandbox, line);
    let error: Value = serde_json::from_str(&refused.stdout).expect("JSON");
    assert_eq!(
        error["error"]["suggestions"],
        json!([
            { "measures": ["sum(orders.total)"], "dimensions": ["orders.billing_address.city.name"], "limit": 5 },
            { "measures": ["sum(orders.total)"], "dimensions": ["orders.shipping_address.city.name"], "limit": 5 },
        ]),
        "{refused}"
    );
}

#[test]
fn a_source_lists_the_names_of_its_joins() {
    let sandbox = unscanned(TWO_ROLES);
    assert_eq!(run(&sandbox, "scan").code, Some(0));
    let read = run(&sandbox, "sl read orders").stdout;
    let joins = read.split_once("joins:\n").expect("joins").1;
    insta::assert_snapshot!(joins, @r"
    - to: address  # in queries: orders.billing_address
      on: orders.billing_address_id = address.address_id
      relationship: many_to_one
    - to: address  # in queries: orders.shipping_address
      on: orders.shipping_address_id = address.address_id
      relationship: many_to_one
    measures: []
    ");
}

#[test]
fn the_guide_has_every_refusal() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let guide =
        std::fs::read_to_string(root.join("docs-site/src/guides/refused.md")).expect("a page");
    let last = ktx_semantic_layer::ErrorKind::UnknownOrderField;
    let missing: Vec<&str> = ktx_semantic_layer::ErrorKind::ALL
        .iter()
        .filter(|kind| **kind <= last)
        .map(|kind| kind.as_str())
        .filter(|code| !guide.contains(&format!("`{code}`")))
        .collect();
    assert_eq!(missing, [""; 0]);
}

/// Four numbers with gaps do not identify a queue.
const TICKETS: &str = "
CREATE TABLE teams (id INTEGER PRIMARY KEY, title TEXT NOT NULL);
CREATE TABLE tickets (id INTEGER PRIMARY KEY, queueid INTEGER NOT NULL);
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 40)
INSERT INTO teams SELECT i * 3 + 100, 'Team ' || i FROM n;
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 120)
INSERT INTO tickets SELECT i, (i % 4 + 1) * 3 + 100 FROM n;
";

#[test]
fn a_refused_query_names_the_join_that_waits_for_a_decision() {
    let sandbox = unscanned(TICKETS);
    assert_eq!(run(&sandbox, "scan").code, Some(0));
    let line = "sl query --measure count(tickets.*) --dimension tickets.queue.title --limit 1 --execute --format csv";
    let refused = run(&sandbox, line);
    compare!(line, &refused, @"
    exit 6
    --- stderr
    Project: [SANDBOX]/work
    error: `tickets` has no column `queue` and no join to look it up along

    hint: take a column that `ktx sl read SOURCE` lists
    hint: `tickets.queueid` may refer to `teams.id`: accept the join with `ktx scan review accept 2b73306f`, then run `ktx scan`
    ");
    assert_eq!(run(&sandbox, "scan review accept 2b73306f").code, Some(0));
    assert_eq!(run(&sandbox, "scan").code, Some(0));
    let answered = run(&sandbox, line);
    assert_eq!(answered.code, Some(0), "{answered}");
    assert_eq!(answered.stdout, "title,count_tickets\nTeam 1,30\n");
}

/// Books on loan and on the wish list.
const TWO_WAYS: &str = "
CREATE TABLE members (member_id INTEGER PRIMARY KEY);
CREATE TABLE books (book_id INTEGER PRIMARY KEY, genre TEXT NOT NULL);
CREATE TABLE loans (member_id INTEGER NOT NULL REFERENCES members, book_id INTEGER NOT NULL REFERENCES books,
  PRIMARY KEY (member_id, book_id));
CREATE TABLE wishes (member_id INTEGER NOT NULL REFERENCES members, book_id INTEGER NOT NULL REFERENCES books,
  PRIMARY KEY (member_id, book_id));
INSERT INTO members VALUES (1), (2);
INSERT INTO books VALUES (1, 'crime'), (2, 'crime'), (3, 'travel');
INSERT INTO loans VALUES (1, 1), (1, 2), (2, 1);
INSERT INTO wishes VALUES (1, 3);
";

/// No role distinguishes the ways.
#[test]
fn a_query_names_a_table_on_the_way() {
    let sandbox = unscanned(TWO_WAYS);
    assert_eq!(run(&sandbox, "scan").code, Some(0));
    let line =
        "sl query --measure count(members.*) --dimension books.genre --across count_each --execute";
    let refused = run(&sandbox, line);
    compare!(line, &refused, @r"
    exit 6
    --- stderr
    Project: [SANDBOX]/work
    error: two equally short joins lead from `members` to `books`: members -[member_id]-> loans -[book_id]-> books and members -[member_id]-> wishes -[book_id]-> books; say which one with `via loans` or `via wishes`

    hint: run `ktx sl query --measure 'count(members.*)' --dimension 'books.genre via loans' --across count_each --execute`
    hint: run `ktx sl query --measure 'count(members.*)' --dimension 'books.genre via wishes' --across count_each --execute`
    ");
    let ask = |way: &str| {
        let dimension = json!({"field": "books.genre", "via": [way]});
        let query = json!({"measures": ["count(members.*)"], "dimensions": [dimension]});
        crate::support::write(&sandbox, "query.json", &query.to_string());
        run(
            &sandbox,
            "sl query --query-file query.json --execute --format csv",
        )
        .stdout
    };
    insta::assert_snapshot!(ask("loans"), @r"
    genre,count_members
    crime,2
    travel,0
    ");
    insta::assert_snapshot!(ask("wishes"), @r"
    genre,count_members
    ,1
    crime,0
    travel,1
    ");
}
