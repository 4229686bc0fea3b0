//! The choice among several paths, its notes, and disabled scanned joins.

use ktx_semantic_layer::{Catalog, Query, SourceFile, compile, validate};
use ktx_sql::Dialect;
use serde_json::{Value, json};

use crate::sqlite;

/// A number and look-ups.
fn source(name: &str, joins: &[(&str, &str)], more: &str) -> SourceFile {
    let column = |(column, _): &(&str, &str)| format!("- {{name: {column}, type: number}}\n");
    let columns: String = joins.iter().map(column).collect();
    let join = |(column, to): &(&str, &str)| {
        format!("- {{to: {to}, on: {column} = {to}.id, relationship: many_to_one}}\n")
    };
    let joined: String = joins.iter().map(join).collect();
    let joined = if joined.is_empty() {
        String::new()
    } else {
        format!("joins:\n{joined}")
    };
    let text = format!(
        "name: {name}\ntable: {name}\ngrain: [id]\ncolumns:\n- {{name: id, type: number}}\n- {{name: name, type: string}}\n- {{name: amount, type: number}}\n{columns}{joined}{more}"
    );
    SourceFile::new(format!("{name}.yaml"), text)
}

/// Orders find a country by their region and by the billing address.
fn shop(more: &str) -> Catalog {
    let files = vec![
        source(
            "orders",
            &[("region_id", "regions"), ("bill_address_id", "addresses")],
            more,
        ),
        source("regions", &[("country_id", "countries")], ""),
        source("addresses", &[("city_id", "cities")], ""),
        source("cities", &[("country_id", "countries")], ""),
        source("countries", &[("continent_id", "continents")], ""),
        source("continents", &[], ""),
    ];
    Catalog::load(files, Dialect::Sqlite)
}

/// Omits notes on rows without a match.
fn answer(catalog: &Catalog, data: &Value, query: &Value) -> (Vec<Vec<Value>>, Vec<String>) {
    let query = Query::from_value(query).expect("a query");
    let compiled = compile(catalog, &query, Dialect::Sqlite).expect("an answer");
    let (_, rows) = sqlite::run(&sqlite::database(data), &compiled.sql);
    let is_usual = |note: &String| !note.contains("has no match in");
    (rows, compiled.notes.into_iter().filter(is_usual).collect())
}

fn shop_data() -> Value {
    json!({"tables": {
        "orders": {"columns": [["id", "int"], ["amount", "int"], ["region_id", "int"], ["bill_address_id", "int"]],
                   "rows": [[1, 10, 1, 1], [2, 20, 1, 2], [3, 5, 2, 2]]},
        "regions": {"columns": [["id", "int"], ["country_id", "int"]], "rows": [[1, 1], [2, 2]]},
        "addresses": {"columns": [["id", "int"], ["city_id", "int"]], "rows": [[1, 1], [2, 2]]},
        "cities": {"columns": [["id", "int"], ["name", "text"], ["country_id", "int"]],
                   "rows": [[1, "Arica", 1], [2, "Lima", 2]]},
        "countries": {"columns": [["id", "int"], ["name", "text"], ["continent_id", "int"]],
                      "rows": [[1, "Chile", 1], [2, "Peru", 1]]},
        "continents": {"columns": [["id", "int"], ["name", "text"]], "rows": [[1, "America"]]},
    }})
}

/// Two paths to one table are two questions.
#[test]
fn an_answer_names_the_path_that_it_took_and_the_other_one() {
    let by = |dimension: &str| json!({"measures": ["sum(orders.amount)"], "dimensions": [dimension], "include_empty": false});
    let paths = "`countries` is looked up along orders -[region_id]-> regions -[country_id]-> countries; \
                 another path, orders -[bill_address_id]-> addresses -[city_id]-> cities -[country_id]-> \
                 countries, may give other numbers";
    let plain = shop("");
    let (rows, notes) = answer(&plain, &shop_data(), &by("countries.name"));
    assert_eq!(json!(rows), json!([["Chile", 30], ["Peru", 5]]));
    assert_eq!(
        notes,
        [format!(
            "{paths}; to take that one, ask for `cities.countries`"
        )]
    );
    let (rows, notes) = answer(&plain, &shop_data(), &by("cities.countries.name"));
    assert_eq!(json!(rows), json!([["Chile", 10], ["Peru", 25]]));
    assert_eq!(notes, Vec::<String>::new());
    // Later sources depend on the path, too.
    let (_, notes) = answer(&plain, &shop_data(), &by("continents.name"));
    assert_eq!(notes.len(), 1);
    let (_, notes) = answer(&plain, &shop_data(), &by("cities.name"));
    assert_eq!(notes, Vec::<String>::new());

    let named = shop(
        "- {to: addresses, on: bill_address_id = addresses.id, relationship: many_to_one, alias: billed}\n",
    );
    let (rows, notes) = answer(&named, &shop_data(), &by("billed.countries.name"));
    assert_eq!(json!(rows), json!([["Chile", 10], ["Peru", 25]]));
    assert_eq!(notes, Vec::<String>::new());
    let (_, notes) = answer(&named, &shop_data(), &by("countries.name"));
    assert_eq!(
        notes,
        [format!(
            "{paths}; to take that one, ask for `billed.countries`"
        )]
    );
}

/// A detour is another question.
#[test]
fn a_join_of_the_source_itself_needs_no_word() {
    let files = vec![
        source(
            "orders",
            &[("country_id", "countries"), ("region_id", "regions")],
            "",
        ),
        source("regions", &[("country_id", "countries")], ""),
        source("countries", &[], ""),
    ];
    let catalog = Catalog::load(files, Dialect::Sqlite);
    let query = json!({"measures": ["count(orders.*)"], "dimensions": ["countries.name"], "include_empty": false});
    let data = json!({"tables": {
        "orders": {"columns": [["id", "int"], ["country_id", "int"], ["region_id", "int"]], "rows": [[1, 1, 1]]},
        "regions": {"columns": [["id", "int"], ["country_id", "int"]], "rows": [[1, 2]]},
        "countries": {"columns": [["id", "int"], ["name", "text"]], "rows": [[1, "Chile"], [2, "Peru"]]},
    }});
    let (rows, notes) = answer(&catalog, &data, &query);
    assert_eq!(json!(rows), json!([["Chile", 1]]));
    assert_eq!(notes, Vec::<String>::new());
}

/// Salaries find their player by a key, and over appearances that some of them lack.
fn league(joins: &str) -> Catalog {
    let shard = format!(
        "tables:
  salaries:
    table: salaries
    columns:
    - {{name: year, type: number}}
    - {{name: player, type: number}}
    - {{name: amount, type: number}}
    joins:
{joins}
  appearances:
    table: appearances
    columns:
    - {{name: year, type: number, pk: true}}
    - {{name: player, type: number, pk: true}}
    joins:
    - {{to: people, on: appearances.player = people.id, relationship: many_to_one, source: inferred}}
  people:
    table: people
    columns:
    - {{name: id, type: number, pk: true}}
    - {{name: country, type: string}}
"
    );
    Catalog::load(
        vec![SourceFile::new("_schema/main.yaml", shard)],
        Dialect::Sqlite,
    )
}

const OVER_APPEARANCES: &str = "    - {to: appearances, on: salaries.year = appearances.year AND salaries.player = appearances.player, \
     relationship: many_to_one, source: inferred, coverage: COVERAGE}";
const DIRECT: &str = "    - {to: people, on: salaries.player = people.id, relationship: many_to_one, source: inferred, \
     coverage: COVERAGE}";

/// Such paths find the same row, so the one that finds more rows is correct.
#[test]
fn of_two_paths_by_one_key_the_one_that_covers_more_rows_is_taken() {
    let data = json!({"tables": {
        "salaries": {"columns": [["year", "int"], ["player", "int"], ["amount", "int"]],
                     "rows": [[1, 1, 10], [2, 1, 20], [1, 2, 5]]},
        "appearances": {"columns": [["year", "int"], ["player", "int"]], "rows": [[1, 1], [1, 2]]},
        "people": {"columns": [["id", "int"], ["country", "text"]], "rows": [[1, "Cuba"], [2, "Chile"]]},
    }});
    let query = json!({"measures": ["sum(salaries.amount)"], "dimensions": ["people.country"], "include_empty": false});
    let with = |over: &str, direct: &str| {
        let joins = [
            OVER_APPEARANCES.replace("COVERAGE", over),
            DIRECT.replace("COVERAGE", direct),
        ];
        answer(&league(&joins.join("\n")), &data, &query).0
    };
    let whole = json!([["Chile", 5], ["Cuba", 30]]);
    assert_eq!(json!(with("0.96", "1.0")), whole);
    assert_eq!(json!(with("0.96", "0.96")), whole);
    assert_eq!(
        json!(with("1.0", "0.9")),
        json!([[null, 20], ["Chile", 5], ["Cuba", 10]])
    );
}

#[test]
fn a_join_is_disabled_from_either_side() {
    let shard = "tables:
  orders:
    table: orders
    columns:
    - {name: id, type: number, pk: true}
    - {name: shop_id, type: number}
    joins:
    - {to: shops, on: orders.shop_id = shops.id, relationship: many_to_one, source: inferred}
  shops:
    table: shops
    columns:
    - {name: id, type: number, pk: true}
    - {name: name, type: string}
    joins:
    - {to: orders, on: shops.id = orders.shop_id, relationship: one_to_many, source: inferred}
";
    let load = |files: &[(&str, &str)]| {
        let mut all = vec![SourceFile::new("_schema/main.yaml", shard)];
        all.extend(
            files
                .iter()
                .map(|(path, text)| SourceFile::new(*path, *text)),
        );
        Catalog::load(all, Dialect::Sqlite)
    };
    let outcome = |catalog: &Catalog| {
        let query = json!({"measures": ["count(orders.*)"], "dimensions": ["shops.name"]});
        let query = Query::from_value(&query).expect("a query");
        compile(catalog, &query, Dialect::Sqlite)
            .map(|_| ())
            .map_err(|error| error.kind.as_str())
    };
    let told = |catalog: &Catalog| -> Vec<String> {
        let report = validate(catalog, &[]);
        let all = report.errors.into_iter().chain(report.warnings);
        let unmatched = all.filter(|one| one.kind.as_str() == "unmatched_overlay");
        unmatched
            .map(|one| format!("{}: {}", one.path.unwrap_or_default(), one.message))
            .collect()
    };
    assert_eq!(outcome(&load(&[])), Ok(()));
    for (path, text) in [
        (
            "orders.yaml",
            "name: orders\ndisable_joins: ['orders.shop_id = shops.id']\n",
        ),
        (
            "shops.yaml",
            "name: shops\ndisable_joins: ['shops.id = orders.shop_id']\n",
        ),
        (
            "shops.yaml",
            "name: shops\ndisable_joins: ['orders.shop_id  =  shops.id']\n",
        ),
    ] {
        let catalog = load(&[(path, text)]);
        assert_eq!(outcome(&catalog), Err("no_join_path"), "{text}");
        assert_eq!(told(&catalog), Vec::<String>::new(), "{text}");
    }
    let slip = "name: orders\ndisable_joins: ['orders.shop = shops.id']\n";
    let catalog = load(&[("orders.yaml", slip)]);
    assert_eq!(outcome(&catalog), Ok(()));
    assert_eq!(
        told(&catalog),
        [
            "orders.yaml:2:17: `disable_joins` names `orders.shop = shops.id`, which is not a scanned join of `orders`"
        ]
    );
    let catalog = load(&[
        (
            "orders.yaml",
            "name: orders\ndisable_joins: ['orders.shop_id = shops.id']\n",
        ),
        (
            "shops.yaml",
            "name: shops\njoins:\n- {to: orders, on: shops.id = orders.shop_id, relationship: one_to_many}\n",
        ),
    ]);
    assert_eq!(
        told(&catalog),
        [
            "orders.yaml: `disable_joins` names `orders.shop_id = shops.id`, and `shops` declares that join in \
          `shops.yaml`: it stays"
        ]
    );
    assert_eq!(outcome(&catalog), Ok(()));
}
