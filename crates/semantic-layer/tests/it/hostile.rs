//! Long, deep and repetitive texts: each yields an answer or one refusal.

use ktx_semantic_layer::{Catalog, Compiled, Query, QueryError, compile, validate};
use ktx_sql::Dialect;
use serde_json::{Value, json};

use crate::fixtures::folder;

const STACK: usize = 512 * 1024;

fn asked(catalog: &Catalog, query: &Value) -> Result<Compiled, QueryError> {
    let query = Query::from_value(query)?;
    compile(catalog, &query, Dialect::Sqlite)
}

fn outcome(catalog: &Catalog, query: &Value) -> String {
    match asked(catalog, query) {
        Ok(compiled) => format!("{} lines", compiled.sql.lines().count()),
        Err(error) => format!("{}: {error}", error.kind.as_str()),
    }
}

fn measure(name: &str, expr: &str) -> String {
    format!("  - {{name: {name}, expr: \"{expr}\"}}\n")
}

fn measures(list: &[(String, String)]) -> Catalog {
    let list = list
        .iter()
        .map(|(name, expr)| measure(name, expr))
        .collect::<Vec<_>>()
        .concat();
    let text = format!(
        "name: t\ntable: t\ngrain: [id]\ncolumns:\n  - {{name: id, type: number}}\n  - {{name: v, type: number}}\nmeasures:\n{list}"
    );
    folder(&[("t.yaml", &text)])
}

/// Worker threads of servers have small stacks.
fn on_small_stack(test: impl FnOnce() + Send) {
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new()
            .stack_size(STACK)
            .spawn_scoped(scope, test)
            .expect("a thread");
        thread.join().expect("the test holds");
    });
}

#[test]
fn deep_expressions_fit_the_stack_of_any_caller() {
    on_small_stack(|| {
        let catalog = measures(&[("total".to_owned(), "sum(v)".to_owned())]);
        let filters = [
            vec!["t.id = 0"; 190].join(" or "),
            vec!["t.id = 0"; 190].join(" and "),
            format!("{}t.id = 0", "not ".repeat(20)),
            format!("{}t.id{} = 0", "abs(".repeat(48), ")".repeat(48)),
            format!("t.id > {}1", "- ".repeat(40)),
            format!("t.id = {}", vec!["1"; 390].join(" + ")),
        ];
        for filter in filters {
            let query = json!({"measures": ["t.total"], "filters": [filter]});
            let outcome = outcome(&catalog, &query);
            assert!(outcome.ends_with(" lines"), "{filter}: {outcome}");
        }
        let long = vec!["v = 0"; 190].join(" or ");
        let catalog = measures(&[("some".to_owned(), format!("sum(v) filter (where {long})"))]);
        assert_eq!(validate(&catalog, &[]).errors, []);
    });
}

#[test]
fn chains_of_measures_end_in_an_answer_or_say_what_is_too_much() {
    on_small_stack(|| {
        let chain = |count: usize, next: &dyn Fn(usize) -> String| {
            let first = ("m0".to_owned(), "sum(v)".to_owned());
            let rest = (1..=count).map(|at| (format!("m{at}"), next(at - 1)));
            measures(&std::iter::once(first).chain(rest).collect::<Vec<_>>())
        };
        let plus_one = chain(260, &|before| format!("m{before} + 1"));
        let doubled = chain(30, &|before| format!("m{before} + m{before}"));
        let circle = measures(&[
            ("a".to_owned(), "b + 1".to_owned()),
            ("b".to_owned(), "a + 1".to_owned()),
        ]);
        let found = [
            outcome(&plus_one, &json!({"measures": ["t.m150"]})),
            outcome(&plus_one, &json!({"measures": ["t.m260"]})),
            outcome(&doubled, &json!({"measures": ["t.m8"]})),
            outcome(&doubled, &json!({"measures": ["t.m30"]})),
            outcome(&circle, &json!({"measures": ["t.a"]})),
        ];
        assert_eq!(
            found,
            [
                "7 lines",
                "invalid_query: `t.m260` is built from measures in more than 200 steps; write some of them as one expression",
                "7 lines",
                "invalid_query: `t.m30` is built from more than 5000 measures; write some of them as one expression",
                "circular_measure: measure `t.a` depends on itself",
            ]
        );
    });
}

#[test]
fn long_expressions_are_refused_at_once() {
    let catalog = measures(&[("total".to_owned(), "sum(v)".to_owned())]);
    let sum = |count: usize| format!("sum({})", vec!["t.v"; count].join("+"));
    let found = [4_000, 100_000].map(|count| {
        let outcome = outcome(&catalog, &json!({"measures": [sum(count)]}));
        assert!(outcome.len() < 1_000, "{outcome}");
        outcome
            .rsplit_once(" bytes)`: ")
            .map_or(outcome.clone(), |(_, reason)| reason.to_owned())
    });
    assert_eq!(
        found,
        [
            "too many operators in one expression",
            "parse_error: the expression has 400004 bytes; the limit is 32768 bytes",
        ]
    );
}

#[test]
fn two_signs_are_no_comment() {
    let catalog = measures(&[("total".to_owned(), "sum(- -v)".to_owned())]);
    let query = json!({"measures": ["t.total"], "filters": ["t.id > - - -1"]});
    let sql = asked(&catalog, &query).expect("an answer").sql;
    assert_eq!(
        sql,
        "WITH t_part AS (
SELECT sum(-(-t.v)) AS a1_total
FROM t AS t
WHERE (t.id > -(-(-1)))
)
SELECT a1_total AS total
FROM t_part
LIMIT 1000"
    );
}

#[test]
fn items_of_a_query_are_texts_or_objects() {
    let catalog = measures(&[("total".to_owned(), "sum(v)".to_owned())]);
    let found = [
        json!({"measures": [["sum(t.v)", "x"]]}),
        json!({"measures": ["t.total"], "dimensions": [["t.id", "week"]]}),
        json!({"measures": ["t.total"], "order_by": [7]}),
    ]
    .map(|query| outcome(&catalog, &query));
    assert_eq!(
        found,
        [
            "invalid_query: an item of `measures` must be a text or an object with `expr`, `name`",
            "invalid_query: an item of `dimensions` must be a text or an object with `field`, `granularity`",
            "invalid_query: an item of `order_by` must be a text or an object with `field`, `direction`",
        ]
    );
}

fn source(name: &str, joins: &str) -> String {
    format!(
        "name: {name}\ntable: {name}\ngrain: [id]\ncolumns:\n  - {{name: id, type: number}}\n  - {{name: d_id, type: number}}\n  - {{name: label, type: string}}\njoins:\n{joins}measures:\n  - {{name: n, expr: count(*)}}\n"
    )
}

fn to(target: &str) -> String {
    format!("  - {{to: {target}, on: d_id = {target}.id, relationship: many_to_one}}\n")
}

/// Without `b`, the long path from `f` to `d` looks like the shortest, and one of two paths like
/// the only one.
#[test]
fn an_unreadable_source_does_not_turn_a_path_into_another() {
    let f = source("f", &(to("b") + &to("x")));
    let (x, y, d) = (
        source("x", &to("y")),
        source("y", &to("d")),
        source("d", ""),
    );
    let near = source("x", &to("d"));
    let good = source("b", &to("d"));
    let unknown_key = format!("{good}mood: good\n");
    let no_yaml = format!("{good}segments: [\n");
    let by_label = |files: &[(&str, &str)], dimension: &str| {
        outcome(
            &folder(files),
            &json!({"measures": ["f.n"], "dimensions": [dimension]}),
        )
    };
    let long = |b: &str, dimension: &str| {
        let files = [
            ("f.yaml", f.as_str()),
            ("b.yaml", b),
            ("x.yaml", &x),
            ("y.yaml", &y),
            ("d.yaml", &d),
        ];
        by_label(&files, dimension)
    };
    let files = [
        ("f.yaml", f.as_str()),
        ("b.yaml", &unknown_key),
        ("x.yaml", &near),
        ("d.yaml", &d),
    ];
    let found = [
        long(&good, "d.label"),
        long(&unknown_key, "d.label"),
        long(&no_yaml, "d.label"),
        long(&unknown_key, "x.label"),
        long(&unknown_key, "y.label"),
        by_label(&files, "d.label"),
    ];
    let refused = |kind: &str, file: &str| {
        format!(
            "{kind}: source `b` cannot be used: b.yaml:{file}; the join from `f` to `d` may lead through it"
        )
    };
    let unknown = "12:1: unknown field `mood`, expected one of `name`, `descriptions`, `description`, `source_type`, `table`, `sql`, `inherits_columns_from`, `grain`, `columns`, `joins`, `measures`, `segments`, `default_time_dimension`, `tags`, `owners`, `freshness`, `exposures`, `usage`";
    let expected = [
        "27 lines".to_owned(),
        refused("invalid_source", unknown),
        refused("parse_error", "13:1: did not find expected node content"),
        "26 lines".to_owned(),
        "27 lines".to_owned(),
        refused("invalid_source", unknown),
    ];
    assert_eq!(found, expected);
}

/// The facts `a` and `b` share the dimension `d`.
fn answer_of(measures: &[(&str, &str)], asked_for: &str) -> String {
    let measures = measures
        .iter()
        .map(|(name, expr)| measure(name, expr))
        .collect::<Vec<_>>()
        .concat();
    let a = source("a", &to("d")) + &measures;
    let (b, d) = (source("b", &to("d")), source("d", ""));
    let catalog = folder(&[("a.yaml", &a), ("b.yaml", &b), ("d.yaml", &d)]);
    let query = json!({"measures": [{"expr": asked_for, "name": "x"}], "dimensions": ["d.label"]});
    let sql = asked(&catalog, &query).expect("an answer").sql;
    let last = sql.lines().rfind(|line| line.ends_with(" AS x"));
    last.unwrap_or(&sql).to_owned()
}

#[test]
fn the_order_of_addends_does_not_change_a_sum() {
    let own = [("plus_one", "sum(id) + 1")];
    let found = [
        answer_of(&own, "1 + sum(a.id) + sum(b.id)"),
        answer_of(&own, "sum(b.id) + (sum(a.id) + 1)"),
        answer_of(&own, "sum(b.id) + sum(a.id) + 1"),
        answer_of(&own, "sum(b.id) + a.plus_one"),
        answer_of(&own, "sum(b.id) * (sum(a.id) + 1)"),
    ];
    assert_eq!(
        found,
        [
            "SELECT d1_label AS label, 1 + COALESCE(v1_sum, 0) + COALESCE(v2_sum, 0) AS x",
            "SELECT d1_label AS label, COALESCE(v1_sum, 0) + (COALESCE(v2_sum, 0) + 1) AS x",
            "SELECT d1_label AS label, COALESCE(v1_sum, 0) + COALESCE(v2_sum, 0) + 1 AS x",
            "SELECT d1_label AS label, COALESCE(v1_sum, 0) + CASE WHEN has1_a IS NULL THEN 0 ELSE COALESCE((v2_sum + 1), 0) END AS x",
            "SELECT d1_label AS label, COALESCE(v1_sum, 0) * (COALESCE(v2_sum, 0) + 1) AS x",
        ]
    );
}

/// The home does not depend on the spelling.
#[test]
fn the_order_of_operands_does_not_change_the_home() {
    let one_to_one = "  - {to: b, on: id = b.id, relationship: one_to_one}\n";
    let (a, b) = (source("a", one_to_one), source("b", ""));
    let catalog = folder(&[("a.yaml", &a), ("b.yaml", &b)]);
    let home = |expr: &str| {
        let compiled = asked(&catalog, &json!({"measures": [expr]})).expect("an answer");
        let sql = compiled.sql;
        sql.lines()
            .find(|line| line.starts_with("FROM "))
            .map(str::to_owned)
    };
    let found = [home("sum(a.d_id + b.d_id)"), home("sum(b.d_id + a.d_id)")];
    assert_eq!(
        found,
        [
            Some("FROM a AS a".to_owned()),
            Some("FROM a AS a".to_owned())
        ]
    );
}

#[test]
fn an_excluded_column_that_is_not_there_is_told() {
    let shard = "tables:\n  t:\n    table: t\n    columns:\n      - {name: id, type: number, pk: true}\n      - {name: Email, type: string}\n";
    let catalog = folder(&[
        ("_schema/s.yaml", shard),
        ("t.yaml", "name: t\nexclude_columns: [Emial, id]\n"),
    ]);
    let said: Vec<String> = catalog
        .diagnostics()
        .iter()
        .map(|one| format!("{}: {}", one.code, one.message))
        .collect();
    assert_eq!(
        said,
        [
            "unmatched_overlay: `exclude_columns` names the unknown column `Emial`; did you mean `Email`"
        ]
    );
}

#[test]
fn a_table_is_not_answered_without_the_overlay_that_means_it() {
    let shard = "tables:\n  orders:\n    table: main.orders\n    columns:\n      - {name: id, type: number, pk: true}\n      - {name: email, type: string}\n  visits:\n    table: main.visits\n    columns:\n      - {name: id, type: number, pk: true}\n";
    let hides = |name: &str| format!("name: {name}\nexclude_columns: [email]\n");
    let query = |table: &str| json!({"measures": [format!("count({table}.id)")]});
    let said = |path: &str, text: &str, table: &str| {
        let catalog = folder(&[("_schema/s.yaml", shard), (path, text)]);
        match asked(&catalog, &query(table)) {
            Ok(_) => "an answer".to_owned(),
            Err(error) => error.message,
        }
    };
    let meant = |written: &str| {
        format!(
            "source `orders` cannot be used: o.yaml: the overlay is called `{written}`, the table `orders`: write its `name` so"
        )
    };
    for written in ["ORDERS", "Orders", "main.orders"] {
        assert_eq!(said("o.yaml", &hides(written), "orders"), meant(written));
        assert_eq!(said("o.yaml", &hides(written), "visits"), "an answer");
    }
    assert_eq!(said("o.yaml", &hides("orders"), "orders"), "an answer");
    assert_eq!(said("o.yaml", &hides("order"), "orders"), "an answer");
    let broken = "name: ORDERS\nexclude_columns: [email\n";
    let refused = said("o.yaml", broken, "orders");
    assert!(
        refused.starts_with("source `orders` cannot be used: o.yaml:"),
        "{refused}"
    );
    let refused = said("Orders.yaml", "exclude_columns: [email\n", "orders");
    assert!(
        refused.starts_with("source `orders` cannot be used: Orders.yaml:"),
        "{refused}"
    );
}

#[test]
fn an_overlay_that_may_mean_several_tables_stops_them_all() {
    let shard = |schema: &str| {
        format!(
            "tables:\n  orders:\n    table: {schema}.orders\n    columns:\n      - {{name: id, type: number, pk: true}}\n"
        )
    };
    let catalog = folder(&[
        ("_schema/a.yaml", &shard("a")),
        ("_schema/b.yaml", &shard("b")),
        ("orders.yaml", "name: orders\nexclude_columns: [id]\n"),
    ]);
    assert_eq!(catalog.sources(), []);
    let said: Vec<&str> = catalog
        .diagnostics()
        .iter()
        .map(|found| found.message.as_str())
        .collect();
    assert_eq!(
        said,
        [
            "the overlay is called `orders`, the table `a.orders`: write its `name` so",
            "the overlay is called `orders`, the table `b.orders`: write its `name` so",
        ]
    );
}

/// ClickHouse keeps the backslash of an unknown escape.
#[test]
fn patterns_keep_their_backslashes() {
    let catalog = measures(&[("total".to_owned(), "sum(v)".to_owned())]);
    let query = json!({"measures": ["t.total"], "filters": [r"match(toString(t.id), '^\d\n\\w') and toString(t.v) like '1\%'"]});
    let query = Query::from_value(&query).expect("a query");
    let sql = compile(&catalog, &query, Dialect::ClickHouse)
        .expect("an answer")
        .sql;
    let (_, filter) = sql.split_once("WHERE ").expect("a filter");
    let (filter, _) = filter.split_once("\n)").expect("its end");
    assert_eq!(
        filter,
        "(match(toString(t.id), '^\\\\d\n\\\\w')) AND (toString(t.v) LIKE '1\\\\%')"
    );
}

/// ClickHouse type names are case-sensitive, and a cast to a type that is not nullable fails
/// without a match.
#[test]
fn types_are_spelled_as_clickhouse_knows_them() {
    let text = "name: t\nsql: select id, cast(v as String) as v, - -id::Float64 as f from raw\ngrain: [id]\ncolumns:\n  - {name: id, type: number}\n  - {name: v, type: string}\n  - {name: f, type: number}\nmeasures:\n  - {name: n, expr: \"sum(cast(v as Int64) + f::LowCardinality(Float32))\"}\n";
    let files = vec![ktx_semantic_layer::SourceFile::new("t.yaml", text)];
    let catalog = Catalog::load(files, Dialect::ClickHouse);
    let query = Query::from_value(&json!({"measures": ["t.n"]})).expect("a query");
    let sql = compile(&catalog, &query, Dialect::ClickHouse)
        .expect("an answer")
        .sql;
    assert_eq!(
        sql,
        "WITH t_part AS (
SELECT sum(toNullable(CAST(t.v AS Nullable(Int64)) + t.f::LowCardinality(Nullable(Float32)))) AS a1_n
FROM (SELECT id, CAST(v AS String) AS v, -(-id::Float64) AS f FROM raw) AS t
)
SELECT a1_n AS n
FROM t_part
LIMIT 1000"
    );
}

/// SQLite's `max` of several values is not an aggregate.
#[test]
fn the_largest_of_several_values_is_no_aggregate() {
    let catalog = measures(&[
        ("most".to_owned(), "sum(max(v, 3))".to_owned()),
        ("none".to_owned(), "max(v, 3)".to_owned()),
    ]);
    let found =
        ["t.most", "t.none"].map(|measure| outcome(&catalog, &json!({"measures": [measure]})));
    assert_eq!(
        found,
        [
            "7 lines",
            "not_a_measure: `v` is a column, not a measure; aggregate it"
        ]
    );
}
