//! Roles: an alias is a separate source with the columns and look-ups of its source.

use ktx_semantic_layer::{Query, compile};
use ktx_sql::Dialect;
use serde_json::{Value, json};

use crate::{fixtures, sqlite};

const DEPOTS: &str = "name: depots
table: depots
grain: [id]
columns:
- {name: id, type: number}
- {name: city, type: string}
- {name: district_id, type: number}
- {name: is_big, type: boolean, expr: depots.id > 2}
joins:
- {to: districts, on: district_id = districts.id, relationship: many_to_one}
measures:
- {name: western, expr: count(*), filter: districts.name = 'West'}
- {name: depots, expr: count(*)}
";

fn check(measures: &Value, dimensions: &Value, expected: &Value) {
    let mut files = fixtures::model_files("fleet");
    files.retain(|file| file.path != "depots.yaml");
    files.push(ktx_semantic_layer::SourceFile::new("depots.yaml", DEPOTS));
    let catalog = ktx_semantic_layer::Catalog::load(files, Dialect::Sqlite);
    let query = json!({"measures": measures, "dimensions": dimensions, "include_empty": false});
    let query = Query::from_value(&query).expect("a query");
    let compiled = compile(&catalog, &query, Dialect::Sqlite).expect("compiles");
    let connection = sqlite::database(&fixtures::model_data("fleet"));
    let (_, rows) = sqlite::run(&connection, &compiled.sql);
    assert_eq!(json!(rows), *expected, "{}", compiled.sql);
}

#[test]
fn measures_of_a_role_look_up_from_the_role() {
    check(
        &json!(["from_depot.western", "from_depot.depots"]),
        &json!([]),
        &json!([[2, 4]]),
    );
}

#[test]
fn a_role_can_be_followed_by_what_it_looks_up() {
    check(
        &json!(["trips.trip_count"]),
        &json!(["from_depot.districts.name"]),
        &json!([["East", 16], ["West", 16]]),
    );
}

#[test]
fn computed_columns_of_a_role_are_the_roles_own() {
    check(
        &json!(["trips.trip_count"]),
        &json!(["to_depot.is_big"]),
        &json!([[0, 16], [1, 16]]),
    );
}

/// The same measure of a role uses the inherited role.
#[test]
fn measures_of_a_role_are_filtered_by_a_role_of_its_source() {
    let depots = DEPOTS
        .replace("many_to_one}", "many_to_one, alias: area}")
        .replace("districts.name = 'West'", "area.name = 'West'");
    let mut files = fixtures::model_files("fleet");
    files.retain(|file| file.path != "depots.yaml");
    files.push(ktx_semantic_layer::SourceFile::new("depots.yaml", depots));
    let catalog = ktx_semantic_layer::Catalog::load(files, Dialect::Sqlite);
    let connection = sqlite::database(&fixtures::model_data("fleet"));
    for (measures, dimensions, expected) in [
        (json!(["depots.western"]), json!([]), json!([[2]])),
        (json!(["from_depot.western"]), json!([]), json!([[2]])),
        (
            json!(["from_depot.western"]),
            json!(["from_depot.area.name"]),
            json!([["East", 0], ["West", 2]]),
        ),
        (
            json!(["trips.trip_count"]),
            json!(["from_depot.area.name"]),
            json!([["East", 16], ["West", 16]]),
        ),
    ] {
        let query = json!({"measures": measures, "dimensions": dimensions, "include_empty": false});
        let query = Query::from_value(&query).expect("a query");
        let compiled = compile(&catalog, &query, Dialect::Sqlite).expect("compiles");
        let (_, rows) = sqlite::run(&connection, &compiled.sql);
        assert_eq!(json!(rows), expected, "{}", compiled.sql);
    }
}
