//! Tests dbt settings that change which table a description is about, or whether a test is a fact.

use ktx_context_sources::dbt::facts;
use ktx_context_sources::{Facts, TableFacts};

use crate::snapshot;

/// Renders each table as `schema.name: description [column!unique ...]`.
fn shown(facts: &Facts) -> Vec<String> {
    facts.tables.iter().map(table).collect()
}

fn table(table: &TableFacts) -> String {
    let columns = table.columns.iter().map(|column| {
        let mut shown = format!(" {}", column.name);
        shown.push_str(if column.is_unique { "!u" } else { "" });
        shown.push_str(if column.is_not_null { "!n" } else { "" });
        if let Some(values) = &column.accepted {
            shown.push('=');
            shown.push_str(&values.join("|"));
        }
        shown
    });
    let schema = table.schema.iter().map(|schema| format!("{schema}."));
    format!(
        "{}{}: {}{}",
        schema.collect::<String>(),
        table.name,
        table.description.as_deref().unwrap_or("-"),
        columns.collect::<String>()
    )
}

fn said(files: &[(&str, &str)]) -> Facts {
    let mut all = vec![("dbt_project.yml", "name: shop\n")];
    all.extend(files.iter().filter(|(path, _)| *path != "dbt_project.yml"));
    for file in files.iter().filter(|(path, _)| *path == "dbt_project.yml") {
        all[0] = *file;
    }
    facts(&snapshot(&all))
}

#[test]
fn the_sql_of_a_model_names_its_table() {
    let yaml = "models:
  - {name: a, description: A., config: {alias: other}}
  - {name: b, description: B.}
  - {name: c, description: C.}
  - {name: d, description: D., config: {enabled: false}}
  - {name: e, description: E., config: {materialized: ephemeral}}
  - {name: f, description: F.}
  - {name: g, description: G., config: {alias: \"{{ target.name }}\"}}
  - {name: h, description: H., config: {alias: renamed}}
";
    let facts = said(&[
        ("models/schema.yml", yaml),
        (
            "models/a.sql",
            "{# {{ config(alias='no') }} #}\n-- {{ config(\n  materialized = 'table', alias = \"orders\"\n) }}\nselect 1",
        ),
        (
            "models/b.sql",
            "{{ config(materialized='ephemeral') }} select 1",
        ),
        ("models/c.sql", "{{- config(enabled=False) }} select 1"),
        (
            "models/f.sql",
            "{{ config(alias='f_' ~ target.name) }} select 1",
        ),
        (
            "models/h.sql",
            "{{ config(tags=['alias'], my_alias='x') }} select 1",
        ),
    ]);
    assert_eq!(shown(&facts), ["orders: A.", "renamed: H."]);
    assert_eq!(
        facts.warnings,
        [
            "models/schema.yml: `f` was left out: its SQL computes its alias",
            "models/schema.yml:8:49: `alias` was left out: undefined value",
        ]
    );
}

#[test]
fn the_project_file_sets_what_its_folders_are() {
    let project = "name: shop
models:
  shop:
    staging: {+materialized: ephemeral, kept: {+materialized: view}}
    off: {+enabled: false}
  package: {+enabled: false}
data_tests:
  +severity: warn
  shop:
    strict: {+severity: error}
";
    let yaml = |name: &str| {
        format!(
            "models: [{{name: {name}, description: X., columns: [{{name: id, tests: [unique, {{not_null: {{config: {{severity: ERROR}}}}}}]}}]}}]"
        )
    };
    let (a, b, c, d) = (yaml("a"), yaml("b"), yaml("c"), yaml("d"));
    let facts = said(&[
        ("dbt_project.yml", project),
        ("models/staging/a.yml", &a),
        ("models/staging/kept/b.yml", &b),
        ("models/off/c.yml", &c),
        ("models/strict/d.yml", &d),
    ]);
    assert_eq!(shown(&facts), ["b: X. id!n", "d: X. id!u!n"]);
}

/// A test that lets some rows pass must not become a fact, because numbers are computed from facts.
#[test]
fn a_test_that_exempts_rows_is_not_a_fact() {
    let tests = [
        "{unique: {config: {error_if: '>10'}}}",
        "{unique: {config: {fail_calc: 'sum(x)'}}}",
        "{unique: {config: {severity: \"{{ 'warn' }}\"}}}",
        "{unique: {config: {enabled: \"{{ target.name == 'prod' }}\"}}}",
        "{unique: {where: x > 1}}",
    ];
    for test in tests {
        let yaml = format!("models: [{{name: a, columns: [{{name: id, tests: [{test}]}}]}}]");
        assert_eq!(
            shown(&said(&[("models/a.yml", &yaml)])),
            Vec::<String>::new(),
            "{test}"
        );
    }
    let yaml = "models: [{name: a, columns: [{name: id, tests: [{unique: {config: {severity: error, store_failures: true, where: null}}}]}]}]";
    assert_eq!(shown(&said(&[("models/a.yml", yaml)])), ["a: - id!u"]);
}

#[test]
fn each_version_of_a_model_is_a_table() {
    let yaml = "models:
  - name: people
    description: People.
    config: {alias: never}
    columns: [{name: id, tests: [unique]}, {name: old, description: O.}, {name: mail, description: M.}]
    versions:
      - v: 1
      - v: 2
        description: New people.
        columns: [{include: all, exclude: [old]}, {name: mail, description: Address.}]
      - {v: 3, config: {alias: folks}, columns: [{include: [id]}]}
";
    let facts = said(&[("models/people.yml", yaml)]);
    assert_eq!(
        shown(&facts),
        [
            "folks: People. id!u",
            "people_v1: People. id!u old mail",
            "people_v2: New people. id!u mail",
        ]
    );
}

#[test]
fn sources_at_unknown_places_are_left_out() {
    let yaml = "sources:
  - {name: erp, schema: \"{{ target.schema }}\", tables: [{name: a, description: A.}]}
  - name: crm
    database: \"{{ target.database }}\"
    tables:
      - {name: b, identifier: \"{{ env_var('B') }}\", description: B.}
      - {name: c, description: C., config: {enabled: false}}
      - {name: d, description: D.}
      - {name: silent}
  - {name: off, config: {enabled: false}, tables: [{name: e, description: E.}]}
";
    let facts = said(&[("models/sources.yml", yaml)]);
    assert_eq!(shown(&facts), ["crm.d: D.", "crm.silent: -"]);
    assert!(!facts.is_complete);
    let places: Vec<&str> = facts
        .warnings
        .iter()
        .filter_map(|told| told.split(' ').next())
        .collect();
    assert_eq!(
        places,
        ["models/sources.yml:2:26:", "models/sources.yml:6:32:"]
    );
}

#[test]
fn words_are_those_of_the_project() {
    let project =
        "name: shop\nvars: {raw: landing, aaa: {grain: month, raw: wrong}, shop: {raw: lake}}\n";
    let yaml = "base: &base {description: \"{{ doc('long') }}\"}
models:
  - {<<: *base, name: a}
  - {name: b, description: \"{{ var('raw') }} {{ var('days', 7) }} {{ var('on', true) }}\"}
  - {name: c, description: \"{{ var('grain') }}\"}
";
    let docs = "{%- docs long -%}\nOne {% raw %}{{ x }}{% endraw %} two.\n{%- enddocs -%}\n{% docs next %}N.{% enddocs %}";
    let facts = said(&[
        ("dbt_project.yml", project),
        ("models/a.yml", yaml),
        ("models/docs.md", docs),
    ]);
    assert_eq!(
        shown(&facts),
        ["a: One {% raw %}{{ x }}{% endraw %} two.", "b: lake 7 True"]
    );
    assert_eq!(
        facts.warnings,
        ["models/a.yml:5:29: `description` was left out: there is no variable `grain`"]
    );
}

#[test]
fn endless_jinja_is_stopped() {
    let yaml = "models:
  - {name: a, description: \"{% for i in range(99999) %}{% for j in range(99999) %}x{% endfor %}{% endfor %}\"}
  - {name: b, description: \"{{ 'x' * 99999999999 }}\"}
  - {name: c, description: C.}
";
    let facts = said(&[("models/a.yml", yaml)]);
    assert_eq!(shown(&facts), ["c: C."]);
    assert_eq!(facts.warnings.len(), 2, "{:?}", facts.warnings);
}

#[test]
fn long_sql_leaves_the_metadata_complete() {
    let long = "x".repeat(1_000_001);
    let yaml = "models: [{name: a, description: A.}]";
    let facts = said(&[("models/a.yml", yaml), ("models/a.sql", &long)]);
    assert!(facts.is_complete);
    let facts = said(&[("models/a.yml", yaml), ("models/b.yml", &long)]);
    assert!(!facts.is_complete);
}

/// As in dbt.
#[test]
fn a_key_that_is_written_twice_has_its_last_value() {
    let yaml = "models:
  - name: orders
    description: First.
    columns:
      - {name: id, description: The key., tests: [unique]}
    description: Last.
    meta: !tag {a: 1}
  - name: customers
    description: Who buys.
";
    let facts = said(&[("models/schema.yml", yaml)]);
    assert_eq!(
        shown(&facts),
        ["customers: Who buys.", "orders: Last. id!u"]
    );
    assert!(facts.is_complete);
    let [told] = facts.warnings.as_slice() else {
        panic!("{:?}", facts.warnings);
    };
    let what = ": `description` is written more than once in one mapping: the last one counts";
    assert!(
        told.starts_with("models/schema.yml:") && told.ends_with(what),
        "{told}"
    );
}

#[test]
fn a_broken_file_with_a_key_that_is_written_twice_is_left_out() {
    let facts = said(&[("models/schema.yml", "models: []\nmodels: []\nx: [\n")]);
    assert!(!facts.is_complete);
    assert_eq!(facts.warnings.len(), 1, "{:?}", facts.warnings);
}

#[test]
fn names_are_not_secrets_and_null_is_not_a_value() {
    let yaml = "models:
  - name: secret_santa_events
    description: Who gives to whom.
    columns:
      - name: secret_key_id
        description: See secret_santa_events.
        tests: [{accepted_values: {values: [paid, null, refunded]}}]
";
    let facts = said(&[("models/schema.yml", yaml)]);
    assert_eq!(
        shown(&facts),
        ["secret_santa_events: Who gives to whom. secret_key_id=paid|refunded"]
    );
    assert!(facts.warnings.is_empty(), "{:?}", facts.warnings);
}
