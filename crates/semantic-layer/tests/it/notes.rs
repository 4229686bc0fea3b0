//! Notes and findings: shared role names, unreadable times, strings that are columns elsewhere.

use ktx_semantic_layer::{Catalog, Query, QueryError, SourceFile, compile, conformance, validate};
use ktx_sql::Dialect;
use serde_json::{Value, json};

fn catalog(files: &[(&str, &str)], dialect: Dialect) -> Catalog {
    let files = files
        .iter()
        .map(|(path, text)| SourceFile::new(*path, *text));
    Catalog::load(files.collect(), dialect)
}

fn notes(catalog: &Catalog, query: &Value) -> Vec<String> {
    let query = Query::from_value(query).expect("a query");
    compile(catalog, &query, catalog.dialect())
        .expect("an answer")
        .notes
}

fn refusal(catalog: &Catalog, query: &Value) -> QueryError {
    let query = Query::from_value(query).expect("a query");
    compile(catalog, &query, catalog.dialect()).expect_err("a refusal")
}

const PEOPLE: &str = "name: people\ntable: people\ngrain: [id]\ncolumns:\n- {name: id, type: number}\n- {name: town, type: string}\n";

fn deed(name: &str) -> String {
    format!(
        "name: {name}\ntable: {name}\ngrain: [id]\ncolumns:\n- {{name: id, type: number}}\n- {{name: buyer_id, type: number}}\n- {{name: amount, type: number}}\njoins:\n- {{to: people, on: buyer_id = people.id, relationship: many_to_one, alias: buyer}}\nmeasures:\n- {{name: {name}_total, expr: sum(amount)}}\n"
    )
}

/// Number 7 of the contract.
#[test]
fn a_role_that_two_sources_declare_is_told() {
    let catalog = catalog(
        &[
            ("people.yaml", PEOPLE),
            ("sales.yaml", &deed("sales")),
            ("returns.yaml", &deed("returns")),
        ],
        Dialect::Sqlite,
    );
    let report = validate(&catalog, &[]);
    let told: Vec<String> = report
        .warnings
        .iter()
        .map(|one| {
            format!(
                "{} {}: {}",
                one.path.as_deref().unwrap_or_default(),
                one.kind,
                one.message
            )
        })
        .collect();
    assert_eq!(report.errors, Vec::new());
    assert_eq!(
        told,
        [
            "sales.yaml:9:69 duplicate_alias: alias `buyer` is declared in `returns` as well: the two are one role, \
          and measures of both sources meet there; give them two names where that is not meant"
        ]
    );
    let both = json!({"measures": ["sales.sales_total", "returns.returns_total"], "dimensions": ["buyer.town"]});
    assert_eq!(notes(&catalog, &both).len(), 2);
}

#[test]
fn a_key_without_a_match_is_told_of_what_it_looks_up() {
    let catalog = catalog(
        &[("people.yaml", PEOPLE), ("sales.yaml", &deed("sales"))],
        Dialect::Sqlite,
    );
    let query = |dimensions: Value| json!({"measures": ["sales.sales_total"], "dimensions": dimensions, "include_empty": false});
    assert_eq!(
        notes(&catalog, &query(json!(["sales.buyer_id"]))),
        Vec::<String>::new()
    );
    assert_eq!(
        notes(&catalog, &query(json!(["buyer.town"]))),
        ["rows of `sales` whose `buyer_id` has no match in `buyer` count under NULL"]
    );
    assert_eq!(
        notes(&catalog, &query(json!(["sales.buyer_id", "buyer.town"]))),
        ["rows of `sales` whose `buyer_id` has no match in `buyer` have no `town`"]
    );
}

#[test]
fn times_that_a_scan_has_found_to_be_texts_are_told() {
    let shard = |kind: &str| {
        format!(
            "tables:\n  raw_events:\n    table: events\n    columns:\n    - {{name: id, type: number, pk: true}}\n    - {{name: at, type: {kind}}}\n"
        )
    };
    let source = "name: events\ntable: events\ngrain: [id]\ncolumns:\n- {name: id, type: number}\n- {name: at, type: time}\nmeasures:\n- {name: n, expr: count(*)}\n";
    let by_day = json!({"measures": ["events.n"], "dimensions": ["events.at:day"]});
    let told = |kind: &str, dialect| {
        let shard = shard(kind);
        notes(
            &catalog(
                &[("_schema/main.yaml", &shard), ("events.yaml", source)],
                dialect,
            ),
            &by_day,
        )
    };
    let note = |held: &str| {
        vec![format!(
            "`events.at` holds {held} in the warehouse: those that SQLite does not read as a time, such as \
             seconds since 1970, count under NULL; a computed column can turn them into times"
        )]
    };
    assert_eq!(told("string", Dialect::Sqlite), note("texts"));
    assert_eq!(told("INTEGER", Dialect::Sqlite), note("numbers"));
    assert_eq!(told("time", Dialect::Sqlite), Vec::<String>::new());
    assert_eq!(told("string", Dialect::Postgres), Vec::<String>::new());
}

const ORDERS: &str = "name: orders\ntable: orders\ngrain: [id]\ncolumns:\n- {name: id, type: number}\n- {name: order, type: string}\n- {name: status, type: string}\nmeasures:\n";

/// A constant instead of a column yields a wrong number.
#[test]
fn a_column_in_double_quotes_is_no_constant() {
    for dialect in [
        Dialect::MySql,
        Dialect::MariaDb,
        Dialect::BigQuery,
        Dialect::Databricks,
    ] {
        let written = format!(
            "{ORDERS}- {{name: kinds, expr: 'count(distinct \"order\")'}}\n- {{name: paid, expr: count(*), filter: 'status = \"paid\"'}}\n"
        );
        let loaded = catalog(&[("orders.yaml", &written)], dialect);
        let error = refusal(&loaded, &json!({"measures": ["orders.kinds"]}));
        let said = format!(
            "`\"order\"` is a text in {}, and a column has that name; write `order` for the column or 'order' for the text",
            dialect.name()
        );
        assert_eq!(
            (error.kind.as_str(), error.message.as_str()),
            ("parse_error", said.as_str())
        );
        assert_eq!(error.suggestions, ["`order`", "'order'"]);
        let report = validate(&loaded, &[]);
        let kinds: Vec<&str> = report.errors.iter().map(|one| one.kind.as_str()).collect();
        assert_eq!(kinds, ["parse_error"]);
        let paid = Query::from_value(&json!({"measures": ["orders.paid"]})).expect("a query");
        let sql = compile(&loaded, &paid, dialect).expect("an answer").sql;
        assert!(sql.contains("= 'paid'"), "{sql}");
        let filtered = refusal(
            &loaded,
            &json!({"measures": ["count(orders.id)"], "filters": ["\"status\" = 'paid'"]}),
        );
        assert_eq!(filtered.kind.as_str(), "parse_error");
    }
    let written = format!("{ORDERS}- {{name: kinds, expr: 'count(distinct \"order\")'}}\n");
    for dialect in [
        Dialect::Postgres,
        Dialect::DuckDb,
        Dialect::Sqlite,
        Dialect::SqlServer,
        Dialect::ClickHouse,
    ] {
        let loaded = catalog(&[("orders.yaml", &written)], dialect);
        let kinds = Query::from_value(&json!({"measures": ["orders.kinds"]})).expect("a query");
        let compiled = compile(&loaded, &kinds, dialect);
        let sql = compiled
            .unwrap_or_else(|error| panic!("{dialect}: {error}"))
            .sql;
        assert!(
            sql.contains(&format!("orders.{}", dialect.quote("order"))),
            "{dialect}: {sql}"
        );
    }
}

#[test]
fn a_computed_column_may_be_named_like_its_input() {
    let source = |name: &str, expr: &str| {
        format!(
            "name: t\ntable: t\ngrain: [id]\ncolumns:\n- {{name: id, type: number}}\n- {{name: {name}, type: string, expr: {expr}}}\n"
        )
    };
    for (name, expr, expected) in [
        ("status", "upper(status)", "upper(t.status)"),
        ("status", "upper(STATUS)", "upper(t.status)"),
        ("Status", "upper(status)", "upper(t.status)"),
        ("Status", "upper(\"Status\")", "upper(t.\"Status\")"),
    ] {
        let text = source(name, &format!("'{expr}'"));
        let catalog = catalog(&[("t.yaml", &text)], Dialect::Postgres);
        let query = Query::from_value(
            &json!({"measures": ["count(t.id)"], "dimensions": [format!("t.{name}")]}),
        );
        let sql = compile(&catalog, &query.expect("a query"), Dialect::Postgres)
            .expect("an answer")
            .sql;
        assert!(sql.contains(expected), "{name}: {sql}");
    }
}

#[test]
fn names_of_other_sources_are_proposed() {
    let files = [
        ("people.yaml", PEOPLE.to_owned()),
        ("sales.yaml", deed("sales")),
    ];
    let load = |_: &str| {
        let files = files
            .iter()
            .map(|(path, text)| SourceFile::new(*path, text.clone()));
        Ok(files.collect())
    };
    let ask = |query: Value| {
        let request =
            json!({"op": "compile", "sources_dir": "x", "dialect": "sqlite", "query": query});
        let answer: Value =
            serde_json::from_str(&conformance::answer(&request.to_string(), &load)).expect("JSON");
        answer["error"]["message"]
            .as_str()
            .unwrap_or_default()
            .to_owned()
    };
    for (query, expected) in [
        (
            json!({"measures": ["people.sales_total"]}),
            "unknown measure `people.sales_total`; did you mean `sales.sales_total`",
        ),
        (
            json!({"measures": ["sales.sale_total"]}),
            "unknown measure `sales.sale_total`; did you mean `sales.sales_total`",
        ),
        (
            json!({"measures": ["sale.sales_total"]}),
            "unknown source `sale`; did you mean `sales`",
        ),
        (
            json!({"measures": ["sales.sales_total"], "dimensions": ["sales.town"]}),
            "unknown column `sales.town`: `sales` has the columns `id`, `buyer_id`, `amount`; did you mean `people.town`",
        ),
        (
            json!({"measures": ["sales.profit"]}),
            "unknown measure `sales.profit`: `sales` has the measures `sales_total`",
        ),
        (
            json!({"measures": ["people.profit"]}),
            "unknown measure `people.profit`: `people` has no measures; did you mean `count(people.*)`",
        ),
        (
            json!({"measures": ["sales.sales_total"], "dimensions": ["people.shoe_size"]}),
            "unknown column `people.shoe_size`: `people` has the columns `id`, `town`",
        ),
    ] {
        assert_eq!(ask(query), expected);
    }
}

const TOWNS: &str = "name: towns\ntable: towns\ngrain: [country, code]\ncolumns:\n- {name: country, type: string}\n- {name: code, type: number}\n- {name: area, type: string}\n- {name: mayor, type: string}\n";
const LIVING: &str = "name: people\ntable: people\ngrain: [id]\ncolumns:\n- {name: id, type: number}\n- {name: land, type: string}\n- {name: town_code, type: number}\njoins:\n- {to: towns, on: town_code = towns.code and towns.country = land, relationship: many_to_one}\n";

#[test]
fn keys_on_the_way_are_told_with_their_own_source() {
    let plain = deed("sales").replace(", alias: buyer", "");
    let by_role = deed("sales");
    let asked = |sales: &str, dimension: &str| {
        let catalog = catalog(
            &[
                ("towns.yaml", TOWNS),
                ("people.yaml", LIVING),
                ("sales.yaml", sales),
            ],
            Dialect::Sqlite,
        );
        notes(
            &catalog,
            &json!({"measures": ["sales.sales_total"], "dimensions": [dimension], "include_empty": false}),
        )
    };
    assert_eq!(
        asked(&plain, "towns.area"),
        [
            "rows of `sales` whose `buyer_id`, then `people.town_code`, `people.land` has no match in `towns` \
             count under NULL"
        ]
    );
    assert_eq!(
        asked(&by_role, "buyer.towns.area"),
        [
            "rows of `sales` whose `buyer_id`, then `buyer.town_code`, `buyer.land` has no match in \
             `buyer.towns` count under NULL"
        ]
    );
}

#[test]
fn a_doubtful_key_two_joins_away_is_told_with_its_own_source() {
    let living = LIVING.replace(
        "town_code = towns.code and towns.country = land",
        "town_code = towns.code",
    );
    let catalog = catalog(
        &[
            ("towns.yaml", TOWNS),
            ("people.yaml", &living),
            ("sales.yaml", &deed("sales")),
        ],
        Dialect::Sqlite,
    );
    let query =
        json!({"measures": ["sales.sales_total"], "filters": ["buyer.towns.area = 'north'"]});
    assert_eq!(
        notes(&catalog, &query),
        [
            "the join from `buyer` to `buyer.towns` is not verified: `code` of `towns` does not hold its \
             grain `country`, `code`; if several rows match, numbers come out too high; check it with `ktx sl validate --live`"
        ]
    );
}

#[test]
fn a_doubtful_key_behind_a_role_is_told_in_both_directions() {
    let papers = "name: papers\ntable: papers\ngrain: [number]\ncolumns:\n- {name: number, type: string}\n- {name: weight, type: number}\nmeasures:\n- {name: weighed, expr: sum(weight)}\n";
    let living = LIVING.replace(
        "joins:",
        "- {name: paper, type: string}\njoins:\n- {to: papers, on: paper = papers.number, relationship: one_to_one}",
    );
    let catalog = catalog(
        &[
            ("papers.yaml", papers),
            ("towns.yaml", TOWNS),
            ("people.yaml", &living),
            ("sales.yaml", &deed("sales")),
        ],
        Dialect::Sqlite,
    );
    let doubt = |paper: &str, person: &str| {
        format!(
            "the join from `{paper}` to `{person}` is not verified: `paper` of `people` does not hold its \
             grain `id`; if several rows match, numbers come out too high; check it with `ktx sl validate --live`"
        )
    };
    for (paper, person) in [("papers", "people"), ("buyer.papers", "buyer")] {
        let query = json!({"measures": [format!("sum({paper}.weight)")], "filters": [format!("{person}.land = 'x'")]});
        assert_eq!(notes(&catalog, &query), [doubt(paper, person)]);
    }
}

const SALES: &str = "name: orders
table: orders
grain: [id]
columns:
- {name: id, type: number}
- {name: buyer_id, type: number}
- {name: status, type: string}
- {name: amount, type: number}
joins:
- {to: people, on: buyer_id = people.id, relationship: many_to_one}
measures:
- {name: order_count, expr: count(*), filter: status = 'completed'}
- {name: open_total, expr: sum(amount), filter: \"status in ('open', 'new') and amount is not null\"}
- {name: total, expr: sum(amount)}
- {name: all_count, expr: count(*)}
- {name: average, expr: open_total / all_count}
- {name: open_share, expr: open_total / total}
- {name: mean, expr: total / all_count}
";

fn sales() -> Catalog {
    let people = format!("{PEOPLE}measures:\n- {{name: people_count, expr: count(*)}}\n");
    catalog(
        &[("people.yaml", &people), ("orders.yaml", SALES)],
        Dialect::Sqlite,
    )
}

#[test]
fn a_filter_that_contradicts_that_of_a_measure_is_told() {
    let catalog = sales();
    let told = |measure: &str, filter: &str| {
        notes(
            &catalog,
            &json!({"measures": [measure], "filters": [filter]}),
        )
    };
    assert_eq!(
        told("orders.order_count", "orders.status = 'cancelled'"),
        [
            "no row counts for `order_count`: its own filter `orders.status = 'completed'` contradicts filter \
             `orders.status = 'cancelled'`"
        ]
    );
    for filter in [
        "orders.status is null",
        "orders.status not in ('completed', 'x')",
        "'new' = orders.status and orders.amount > 1",
        "orders.status in ('open', 'new')",
    ] {
        assert_eq!(told("orders.order_count", filter).len(), 1, "{filter}");
    }
    for filter in [
        "orders.amount is null",
        "orders.status = 'completed'",
        "not (orders.status <> 'open')",
        "orders.status in ('new', 'completed') or orders.amount > 1",
    ] {
        let found = told("orders.open_total", filter);
        let contradicts = filter.contains("null") || filter.contains("= 'completed'");
        assert_eq!(found.len(), usize::from(contradicts), "{filter}: {found:?}");
    }
    // Some warehouses consider these values equal.
    for filter in ["orders.status = 'COMPLETED'", "orders.status = 1"] {
        assert_eq!(
            told("orders.order_count", filter),
            Vec::<String>::new(),
            "{filter}"
        );
    }
}

#[test]
fn a_ratio_over_different_rows_is_told() {
    let catalog = sales();
    let told = |measure: &str| notes(&catalog, &json!({"measures": [measure]}));
    assert_eq!(
        told("orders.average"),
        [
            "the two sides of `average` are over different rows: `sum(orders.amount) where orders.status IN ('open', \
             'new') AND orders.amount IS NOT NULL` is divided by `count(orders.*)`"
        ]
    );
    assert_eq!(told("orders.open_total / orders.order_count").len(), 1);
    // A share filters only the numerator.
    for measure in [
        "orders.open_share",
        "orders.mean",
        "orders.order_count / orders.all_count",
    ] {
        assert_eq!(told(measure), Vec::<String>::new(), "{measure}");
    }
}

#[test]
fn a_filter_that_keeps_whole_groups_is_told() {
    let catalog = sales();
    let told = |dimension: &str| {
        let filter = "orders.all_count > 2";
        let query = json!({"measures": ["people.people_count"], "dimensions": [dimension], "filters": [filter]});
        notes(&catalog, &query)
            .into_iter()
            .filter(|note| note.starts_with("filter "))
            .collect::<Vec<_>>()
    };
    assert_eq!(
        told("people.town"),
        [
            "filter `orders.all_count > 2` keeps or drops whole groups of the answer: it does not choose among the \
             rows of `people` by their `orders`, and `people_count` is over all of them"
        ]
    );
    assert_eq!(told("people.id"), Vec::<String>::new());
}

#[test]
fn rows_without_a_match_are_told_only_where_there_may_be_some() {
    let shard = |nullable: bool, source: &str, coverage: &str| {
        format!(
            "tables:\n  orders:\n    table: orders\n    columns:\n    - {{name: id, type: number, pk: true}}\n    \
             - {{name: shop_id, type: number, nullable: {nullable}}}\n    joins:\n    - {{to: shops, 'on': orders.shop_id = \
             shops.id, relationship: many_to_one, source: {source}{coverage}}}\n  shops:\n    table: shops\n    columns:\n    \
             - {{name: id, type: number, pk: true}}\n    - {{name: city, type: string}}\n"
        )
    };
    let query = json!({"measures": ["count(orders.*)"], "dimensions": ["shops.city"]});
    let told =
        |shard: &str, dialect| notes(&catalog(&[("_schema/public.yaml", shard)], dialect), &query);
    let may_lack = "rows of `orders` whose `shop_id` has no match in `shops` count under NULL";
    let none: Vec<String> = Vec::new();
    assert_eq!(told(&shard(false, "formal", ""), Dialect::Postgres), none);
    assert_eq!(told(&shard(false, "inferred", ""), Dialect::Sqlite), none);
    // The key can be missing, is not enforced, or does not always match.
    assert_eq!(
        told(&shard(true, "formal", ""), Dialect::Postgres),
        [may_lack]
    );
    assert_eq!(
        told(&shard(false, "formal", ""), Dialect::Snowflake),
        [may_lack]
    );
    let share = format!("{may_lack} (4 % of those with a key)");
    assert_eq!(
        told(
            &shard(false, "inferred", ", coverage: 0.96"),
            Dialect::Sqlite
        ),
        [share]
    );
}

#[test]
fn a_join_that_was_not_counted_may_lack_matches() {
    let noted = |said: &str, column: &str| {
        let shard = format!(
            "tables:
  people:
    table: people
    columns: [{{name: id, type: integer, pk: true}}, {{name: town, type: text}}]
  sales:
    table: sales
    columns: [{{name: id, type: integer, pk: true}}, {{name: buyer_id, type: integer{column}}}]
    joins:
    - {{to: people, on: sales.buyer_id = people.id, {said}}}
"
        );
        let catalog = catalog(&[("_schema/main.yaml", &shard)], Dialect::Sqlite);
        let query = json!({"measures": ["count(sales.*)"], "dimensions": ["people.town"], "include_empty": false});
        notes(&catalog, &query)
    };
    let note = ["rows of `sales` whose `buyer_id` has no match in `people` count under NULL"];
    let none: [&str; 0] = [];
    let required = ", nullable: false";
    let many = "relationship: many_to_one, source: inferred";
    for evidence in ["decision", "statement", "queries"] {
        let said = format!("{many}, evidence: {evidence}");
        assert_eq!(noted(&said, required), note, "{evidence}");
        let counted = format!("{said}, coverage: 1.0");
        assert_eq!(noted(&counted, required), none, "{evidence}");
        assert_eq!(noted(&counted, ""), note, "{evidence}");
        assert_eq!(noted(&format!("{counted}, keyed: true"), ""), none);
    }
    assert_eq!(noted(many, required), none);
    assert_eq!(noted(many, ""), note);
    assert_eq!(noted(&format!("{many}, keyed: true"), ""), none);
    assert_eq!(
        noted("relationship: many_to_one, source: formal, keyed: true", ""),
        note
    );
    // A person may have no sale.
    let one = "relationship: one_to_one, source: inferred";
    assert_eq!(noted(one, required), note);
    assert_eq!(noted(&format!("{one}, keyed: true"), ""), none);
}
