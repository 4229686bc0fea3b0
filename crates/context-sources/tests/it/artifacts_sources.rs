//! Tests facts about sources in a manifest.

use std::collections::BTreeMap;

use ktx_context_sources::dbt::{ArtifactFiles, facts, read};
use ktx_context_sources::{Facts, Pruning, SchemaOrigin, apply};
use ktx_project_store::ProjectPath;

use crate::folder;

const METADATA: &str = r#""metadata": {"dbt_schema_version": "https://schemas.getdbt.com/dbt/manifest/v12.json", "project_name": "shop"}"#;

fn read_with(files: &[(&str, &str)], nodes: &[(&str, &str)]) -> Facts {
    let of = |kind: &str| {
        let nodes = nodes.iter().filter(|(id, _)| id.starts_with(kind));
        let nodes = nodes.map(|(id, body)| format!("\"{id}\": {{{body}, \"config\": {{}}}}"));
        nodes.collect::<Vec<_>>().join(",")
    };
    let manifest = format!(
        "{{{METADATA}, \"nodes\": {{{}}}, \"sources\": {{{}}}}}",
        of("model."),
        of("source.")
    );
    let mut all = vec![
        ("dbt_project.yml", "name: shop"),
        ("target/manifest.json", manifest.as_str()),
    ];
    all.extend(files);
    let folder = folder(&all);
    facts(&read(folder.path(), &ArtifactFiles::default()).expect("a project"))
}

/// Returns `schema.table [origin] description` of each table.
fn tables(facts: &Facts) -> Vec<String> {
    let tables = facts.tables.iter().map(|table| {
        format!(
            "{}.{} [{:?}] {}",
            table.schema.as_deref().unwrap_or("-"),
            table.name,
            table.origin,
            table.description.as_deref().unwrap_or("-")
        )
    });
    tables.collect()
}

#[test]
fn a_source_of_a_package_keeps_its_schema() {
    let source = r#""resource_type": "source", "package_name": "stripe", "source_name": "stripe", "name": "customer", "schema": "stripe", "description": "Who pays at Stripe.", "original_file_path": "models/src.yml""#;
    let facts = read_with(&[], &[("source.stripe.stripe.customer", source)]);
    assert_eq!(
        tables(&facts),
        ["stripe.customer [Named] Who pays at Stripe."]
    );
    let path = ProjectPath::parse("semantic-layer/shop/_schema/public.yaml").expect("a path");
    let shard = "tables: {customer: {table: public.customer, columns: []}}";
    let shards = BTreeMap::from([(path, shard.as_bytes().to_vec())]);
    let applied = apply(&facts, &shards, Pruning::Remove).expect("shards");
    assert_eq!(
        (applied.changes.len(), applied.unknown),
        (0, vec!["stripe.customer".to_owned()])
    );
}

#[test]
fn a_table_that_the_manifest_lacks_hides_no_other() {
    let yaml = "sources:
  - name: raw
    schema: \"{{ target.schema }}_raw\"
    tables:
      - {name: fresh, description: Not in the manifest.}
      - {name: newer, description: Not in it either.}
      - {name: orders, description: One row per order.}
";
    let source = r#""resource_type": "source", "package_name": "shop", "source_name": "raw", "name": "orders", "identifier": "orders", "schema": "ci_raw", "original_file_path": "models/src.yml""#;
    let found = read_with(
        &[("models/src.yml", yaml)],
        &[("source.shop.raw.orders", source)],
    );
    assert_eq!(
        tables(&found),
        ["ci_raw.orders [Target] One row per order."]
    );
    assert_eq!(
        found.warnings,
        ["models/src.yml:3:14: `schema` was left out: undefined value"]
    );
    assert!(!found.is_complete);
    let named = yaml.replace("\"{{ target.schema }}_raw\"", "raw");
    let named = read_with(
        &[("models/src.yml", &named)],
        &[("source.shop.raw.orders", source)],
    );
    let origins = named.tables.iter().map(|table| table.origin);
    assert_eq!(origins.collect::<Vec<_>>(), [SchemaOrigin::Named; 3]);
}

/// `defined_in` names the file of a version; the manifest knows it by its path.
#[test]
fn a_version_in_a_file_of_another_name_is_no_model_that_the_manifest_lacks() {
    let node = r#""resource_type": "model", "package_name": "shop", "name": "orders", "version": 2, "latest_version": 2, "alias": "orders_v2", "schema": "prod", "original_file_path": "models/orders_new.sql""#;
    let yaml =
        "models: [{name: orders, latest_version: 2, versions: [{v: 2, defined_in: orders_new}]}]";
    let files = [
        ("models/orders.yml", yaml),
        ("models/orders_new.sql", "select 1"),
    ];
    let nodes = [("model.shop.orders.v2", node)];
    let known = read_with(&files, &nodes);
    assert_eq!((known.warnings.len(), known.is_complete), (0, true));
    let more = [files.as_slice(), &[("models/later.sql", "select 1")]].concat();
    assert_eq!(
        read_with(&more, &nodes).warnings,
        [
            "target/manifest.json: it is older than the project: it does not have 1 model (`models/later.sql`); run `dbt parse`"
        ]
    );
}

/// As in dbt: `meta` key by key, each limit of `freshness` separately, the table before its source.
#[test]
fn a_table_has_what_its_source_says_unless_it_says_otherwise() {
    let yaml = "sources:
  - name: raw
    loaded_at_field: loaded_at
    meta: {owner: Data, team: Core}
    config: {enabled: true, tags: [nightly], meta: {owners: [Ada]}, freshness: {warn_after: {count: 12, period: hour}, error_after: {count: 2, period: day}}}
    tables:
      - {name: as_it_is}
      - {name: with_meta, meta: {pii: 'yes'}}
      - {name: with_owner, config: {meta: {owner: Sales}}}
      - {name: with_limit, freshness: {warn_after: {count: 6}}}
      - {name: without_error, config: {freshness: {error_after: null}}}
      - {name: without_any, config: {freshness: null}}
      - {name: by_config, config: {loaded_at_field: seen_at, tags: [vendor]}}
";
    let found = read_with(&[("models/src.yml", yaml)], &[]);
    let shown = found.tables.iter().map(|table| {
        let fresh = table.freshness.as_ref().map(|fresh| {
            let ages = [&fresh.warn_after, &fresh.error_after].map(|age| {
                let shown = age
                    .as_ref()
                    .map(|age| format!("{} {}", age.count, age.period));
                shown.unwrap_or_else(|| "-".to_owned())
            });
            let by = fresh.loaded_at.as_deref().unwrap_or("-");
            format!("{} by {by}", ages.join(" / "))
        });
        format!(
            "{}: {} {} {}",
            table.name,
            table.owners.join("+"),
            table.tags.join("+"),
            fresh.as_deref().unwrap_or("-")
        )
    });
    insta::assert_snapshot!(shown.collect::<Vec<_>>().join("\n"), @r"
    as_it_is: Ada+Data nightly 12 hour / 2 day by loaded_at
    by_config: Ada+Data nightly+vendor 12 hour / 2 day by seen_at
    with_limit: Ada+Data nightly 6 hour / 2 day by loaded_at
    with_meta: Ada+Data nightly 12 hour / 2 day by loaded_at
    with_owner: Ada+Sales nightly 12 hour / 2 day by loaded_at
    without_any: Ada+Data nightly -
    without_error: Ada+Data nightly 12 hour / - by loaded_at
    ");
}
