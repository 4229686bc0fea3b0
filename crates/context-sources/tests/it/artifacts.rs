//! Tests what `manifest.json` and `catalog.json` add to a dbt project.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use ktx_context_sources::dbt::{ArtifactFiles, definitions, facts, read};
use ktx_context_sources::{Facts, Snapshot};

use crate::{folder, metricflow, put};

const METADATA: &str = r#""metadata": {"dbt_schema_version": "https://schemas.getdbt.com/dbt/manifest/vN.json", "project_name": "shop"}"#;

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../fixtures/imports/manifest/models")
        .join(name)
}

fn named(name: &str) -> (PathBuf, String) {
    (fixture(&format!("artifacts/{name}")), name.to_owned())
}

fn project(artifacts: &ArtifactFiles) -> Snapshot {
    read(&fixture(""), artifacts).expect("a project")
}

fn shown(facts: &Facts) -> String {
    let mut text = metricflow::shown(facts).join("\n");
    for table in &facts.tables {
        let _ = write!(
            text,
            "\n{} [{:?}] tags {:?} owners {:?}",
            table.name, table.origin, table.tags, table.owners
        );
        if let Some(freshness) = &table.freshness {
            let _ = write!(text, " {freshness:?}");
        }
        for exposure in &table.exposures {
            let _ = write!(text, " {exposure:?}");
        }
        for column in &table.columns {
            let _ = write!(
                text,
                "\n  {} not null {} unique {} {:?} {:?}",
                column.name,
                column.is_not_null,
                column.is_unique,
                column.accepted,
                column
                    .references
                    .as_ref()
                    .map(|reference| &reference.column),
            );
        }
    }
    let _ = write!(
        text,
        "\n{:?} complete {}",
        facts.warnings, facts.is_complete
    );
    text
}

#[test]
fn a_manifest_says_what_only_dbt_can() {
    let artifacts = ArtifactFiles {
        manifest: Some(named("manifest.json")),
        catalog: Some(named("catalog.json")),
    };
    insta::assert_snapshot!(shown(&facts(&project(&artifacts))), @r#"
    main.dbt_ci.dim_buyers: Who buys.
    main.dbt_ci.fct_orders: One row per order. | status = The state of an order.
    raw.nowhere: Not scanned.
    main.stripe_payments: One row per payment. | kind = Card or wire. | payment_id = - | order_id = -
    dim_buyers [Target] tags ["core"] owners ["@people"]
    fct_orders [Target] tags ["core", "money"] owners ["Finance <finance@example.com>"] Exposure { name: "The board", kind: Some("dashboard"), url: Some("https://bi.example.com/board"), owner: Some("Ada <ada@example.com>") }
      status not null false unique false Some(["paid", "open"]) None
    nowhere [Target] tags [] owners [] Freshness { warn_after: Some(Age { count: 12, period: "hour" }), error_after: None, loaded_at: Some("paid_at") } Exposure { name: "The board", kind: Some("dashboard"), url: Some("https://bi.example.com/board"), owner: Some("Ada <ada@example.com>") }
    stripe_payments [Target] tags ["vendor"] owners [] Exposure { name: "The board", kind: Some("dashboard"), url: Some("https://bi.example.com/board"), owner: Some("Ada <ada@example.com>") }
      kind not null false unique false Some(["card", "wire"]) None
      payment_id not null true unique true None None
      order_id not null false unique false None Some("order_id")
    [] complete true
    "#);
    insta::assert_snapshot!(shown(&facts(&project(&ArtifactFiles::default()))), @r#"
    buyers: -
    old_orders: Gone.
    payments: -
    buyers [Named] tags ["core"] owners ["@people"]
    old_orders [Named] tags ["core"] owners []
    payments [Named] tags [] owners [] Exposure { name: "The board", kind: Some("dashboard"), url: Some("https://bi.example.com/board"), owner: Some("Ada <ada@example.com>") }
    ["models/schema.yml:18:14: `schema` was left out: undefined value", "models/schema.yml: `orders` was left out: its SQL computes its alias", "models/schema.yml:12:19: `description` was left out: who is unknown"] complete false
    "#);
}

fn with_manifest(text: &str) -> (Facts, String) {
    let folder = folder(&[
        ("dbt_project.yml", "name: shop\ntarget-path: built\n"),
        (
            "models/schema.yml",
            "models: [{name: orders, description: Orders.}]",
        ),
        ("models/orders.sql", "select 1"),
    ]);
    put(folder.path(), "built/manifest.json", text.as_bytes());
    let snapshot = read(folder.path(), &ArtifactFiles::default()).expect("a project");
    let left: Vec<String> = snapshot
        .left_out
        .iter()
        .map(|left| format!("{}: {}", left.path, left.reason))
        .collect();
    (facts(&snapshot), left.join("\n"))
}

#[test]
fn a_manifest_that_cannot_be_read_is_reported_once() {
    let whole = |version: &str| {
        let metadata = METADATA.replace("vN", version);
        let node = r#"{"resource_type": "model", "package_name": "shop", "name": "orders", "alias": "orders", "schema": "prod", "config": {}}"#;
        format!(r#"{{{metadata}, "nodes": {{"model.shop.orders": {node}}}}}"#)
    };
    let mut told = String::new();
    for version in ["v9", "v12"] {
        let (facts, left) = with_manifest(&whole(version));
        assert_eq!((left.as_str(), facts.is_complete), ("", true));
        assert_eq!(metricflow::shown(&facts), ["prod.orders: Orders."]);
    }
    let whole = whole("v12");
    for text in [
        &whole[..whole.len() / 2],
        &whole.replace("v12", "v8"),
        &whole.replace("v12", "v13"),
        &whole.replace("manifest/v12.json", "run-results/v6.json"),
        r#"{"metadata": {}}"#,
        "[]",
    ] {
        let (facts, left) = with_manifest(text);
        assert_eq!(metricflow::shown(&facts), ["orders: Orders."]);
        assert!(!facts.is_complete, "{left}");
        let _ = writeln!(told, "{left}");
    }
    insta::assert_snapshot!(told, @"
    built/manifest.json: it is not whole or not an artifact of dbt (EOF while parsing a string at line 1 column 132)
    built/manifest.json: it is a manifest of version 8, and ktx reads versions 9 to 12
    built/manifest.json: it is a manifest of version 13, and ktx reads versions 9 to 12
    built/manifest.json: its version `https://schemas.getdbt.com/dbt/run-results/v6.json` is not known
    built/manifest.json: it does not say its version (`metadata.dbt_schema_version`)
    built/manifest.json: it is not whole or not an artifact of dbt (invalid length 0, expected struct ManifestFile with 8 elements at line 1 column 2)
    ");
    let strange = whole.replace(r#""config": {}"#, r#""config": 1"#);
    let (facts, _) = with_manifest(&strange);
    insta::assert_snapshot!(facts.warnings.join("\n"), @"
    built/manifest.json: ktx does not know the form of 1 node and left them out
    built/manifest.json: it is older than the project: it does not have 1 model (`models/orders.sql`); run `dbt parse`
    ");
}

#[test]
fn older_metrics_are_read_as_those_of_today() {
    let yaml = "metrics:
  - {name: revenue, model: ref('orders'), calculation_method: sum, expression: amount, timestamp: at, filters: [{field: status, operator: '=', value: \"'paid'\"}]}
  - {name: orders, model: ref('orders'), calculation_method: count, expression: '*', timestamp: at}
  - {name: average, calculation_method: derived, expression: \"{{metric('revenue')}} / {{metric('orders')}}\"}
  - {name: rolling, model: ref('orders'), calculation_method: sum, expression: amount, window: {count: 14, period: day}}
saved_queries: [{name: again, query_params: {metrics: [revenue]}}]
";
    let snapshot = crate::snapshot(&[
        ("dbt_project.yml", "name: shop"),
        ("models/orders.sql", "select 1"),
        ("models/metrics.yml", yaml),
    ]);
    let definitions = definitions(&snapshot);
    let measures = definitions.models.iter().flat_map(|model| {
        let table = &model.table.name;
        let own = model.measures.iter();
        own.map(move |measure| {
            format!(
                "{table}.{} at {}: {:?} where {:?}",
                measure.name, measure.spot, measure.formula, measure.filters
            )
        })
    });
    let left = definitions
        .left
        .iter()
        .map(|left| format!("{} ({:?}): {}", left.name, left.why, left.reason));
    insta::assert_snapshot!(measures.chain(left).collect::<Vec<_>>().join("\n"), @r#"
    orders.revenue at models/metrics.yml:2: Expression(Sql([Text("sum("), Column { model: None, name: "amount" }, Text(")")])) where [Sql([Text("status = 'paid'")])]
    orders.orders at models/metrics.yml:3: Expression(Sql([Text("count(*)")])) where []
    orders.average at models/metrics.yml:4: Expression(Sql([Measure { model: None, name: "revenue" }, Text(" / "), Measure { model: None, name: "orders" }])) where []
    again (NoPlace): the semantic layer has no place for questions that are asked again
    rolling (NotTranslated): the window of an older metric has no counterpart
    "#);
}
