//! The plan as data and in words.

use ktx_semantic_layer::{Catalog, Compiled, Query, SourceFile, compile, explain};
use ktx_sql::Dialect;
use serde_json::{Value, json};

use crate::fixtures;

fn compiled() -> Compiled {
    let query = json!({
        "measures": ["visits.avg_cost", {"expr": "labs.lab_total / visits.cost_total", "name": "share"}],
        "dimensions": ["doctors.specialty"],
        "filters": ["patients.vip = true and visits.visit_count > 1"],
    });
    let query = Query::from_value(&query).expect("a query");
    compile(
        &fixtures::model("clinic", Dialect::DuckDb),
        &query,
        Dialect::DuckDb,
    )
    .expect("compiles")
}

fn join(from: &str, to: &str, key: &str) -> Value {
    json!({"from_source": from, "to_source": to, "from_column": key, "to_column": "id", "relationship": "many_to_one"})
}

fn column(name: &str, provenance: &str, expr: &str) -> Value {
    json!({"name": name, "provenance": provenance, "expr": expr, "description": null, "granularity": null})
}

#[test]
fn the_plan_tells_homes_joins_and_filters() {
    let mut plan = serde_json::to_value(&compiled().plan).expect("JSON");
    let object = plan.as_object_mut().expect("an object");
    let parts = object.remove("parts").expect("parts");
    assert_eq!(parts.as_array().map(Vec::len), Some(2));
    let measures = object.remove("measures").expect("measures");
    assert_eq!(
        measures[0]["depends_on"],
        json!(["sum(visits.cost)", "count(visits.id)"])
    );
    assert_eq!(measures[1]["is_derived"], json!(true));
    let expected = json!({
        "sources_used": ["doctors", "labs", "patients", "visits"],
        "join_paths": [
            "visits -> doctors",
            "visits -> patients",
            "labs -> visits",
            "labs -> visits -> doctors",
            "labs -> visits -> patients",
        ],
        "joins": [
            join("visits", "doctors", "doctor_id"),
            join("visits", "patients", "patient_id"),
            join("labs", "visits", "visit_id"),
        ],
        "anchor_source": "visits",
        "anchor_grain": ["id"],
        "fan_out_description": "`visits`, `labs` are aggregated apart and meet on the dimensions",
        "has_fan_out": true,
        "measure_groups": [
            {"source": "visits", "measures": ["avg_cost", "share"]},
            {"source": "labs", "measures": ["share"]},
        ],
        "aggregate_locality": [
            "each row of `visits` is counted once",
            "each row of `labs` is counted once",
        ],
        "where_filters": ["patients.vip = true"],
        "having_filters": ["visits.visit_count > 1"],
        "columns": [
            column("specialty", "dimension", "doctors.specialty"),
            column("avg_cost", "predefined", "visits.avg_cost"),
            column("share", "runtime", "labs.lab_total / visits.cost_total"),
        ],
    });
    assert_eq!(plan, expected);
}

#[test]
fn the_plan_is_explained_in_words() {
    let expected = "measure avg_cost: sum(visits.cost), count(visits.id) (rows of visits)
measure share: sum(labs.price), sum(visits.cost) (rows of several sources)
dimension specialty: doctors.specialty
filter patients.vip = true: on rows, in every part, before aggregation
filter visits.visit_count > 1: on groups, it names measures

part visits_part (groups)
  visits
  ├─ doctors (doctor_id = doctors.id, many_to_one)
  └─ patients (patient_id = patients.id, many_to_one)

part labs_part (groups)
  labs
  └─ visits (visit_id = visits.id, many_to_one)
     ├─ doctors (doctor_id = doctors.id, many_to_one)
     └─ patients (patient_id = patients.id, many_to_one)

`visits`, `labs` are aggregated apart and meet on the dimensions
note: members of `doctors` without facts are left out: filter `patients.vip = true` names `patients`, which has many rows per row of `doctors`
note: rows of `visits` whose `doctor_id` has no match in `doctors` count under NULL
note: rows of `labs` whose `visit_id`, then `visits.doctor_id` has no match in `doctors` count under NULL
";
    assert_eq!(explain(&compiled()), expected);
}

#[test]
fn each_part_is_drawn_with_its_own_joins() {
    let source = |name: &str, joined: &[&str]| {
        let columns = joined
            .iter()
            .map(|to| format!("- {{name: {to}_id, type: number}}\n"));
        let joins = joined.iter().map(|to| {
            format!("- {{to: {to}, on: {to}_id = {to}.id, relationship: many_to_one}}\n")
        });
        let joins: String = joins.collect();
        let joins = if joins.is_empty() {
            joins
        } else {
            format!("joins:\n{joins}")
        };
        format!(
            "name: {name}\ntable: {name}\ngrain: [id]\ncolumns:\n- {{name: id, type: number}}\n- {{name: area, type: string}}\n{}{joins}measures:\n- {{name: {name}_count, expr: count(*)}}\n",
            columns.collect::<String>()
        )
    };
    let files = [
        ("lands.yaml", source("lands", &[])),
        ("towns.yaml", source("towns", &["lands"])),
        ("ports.yaml", source("ports", &["lands"])),
        ("ships.yaml", source("ships", &["ports"])),
        ("trips.yaml", source("trips", &["towns", "ships"])),
        ("tolls.yaml", source("tolls", &["ports"])),
    ];
    let files = files.map(|(path, text)| SourceFile::new(path, text));
    let catalog = Catalog::load(files.to_vec(), Dialect::Sqlite);
    let query = json!({
        "measures": ["trips.trips_count", "tolls.tolls_count"], "dimensions": ["lands.area", "ports.area"],
    });
    let query = Query::from_value(&query).expect("a query");
    let explained = explain(&compile(&catalog, &query, Dialect::Sqlite).expect("an answer"));
    let pictures: Vec<&str> = explained
        .lines()
        .skip_while(|line| !line.starts_with("part "))
        .take_while(|line| !line.starts_with('`'))
        .collect();
    assert_eq!(
        pictures.join("\n"),
        "part trips_part (groups)
  trips
  ├─ towns (towns_id = towns.id, many_to_one)
  │  └─ lands (lands_id = lands.id, many_to_one)
  └─ ships (ships_id = ships.id, many_to_one)
     └─ ports (ports_id = ports.id, many_to_one)

part tolls_part (groups)
  tolls
  └─ ports (ports_id = ports.id, many_to_one)
     └─ lands (lands_id = lands.id, many_to_one)
"
    );
}
