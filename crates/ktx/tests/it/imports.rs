//! Definitions of context sources answer like handwritten SQL, without a model.

use std::path::{Path, PathBuf};

use ktx_test_support::sandbox::Sandbox;
use rusqlite::Connection;
use rusqlite::types::Value as Cell;
use serde_json::Value;

use crate::support::{commit, json, run, transcript, unscanned, write};

/// A connection reads the fixture's copy from `models`.
pub(crate) fn project(fixture: &str, connection: &str) -> Sandbox {
    let folder = fixture_folder(fixture);
    let text = |path: &Path| std::fs::read_to_string(path).expect("a fixture");
    let sandbox = unscanned(&text(&folder.join("warehouse.sql")));
    for path in files(&folder.join("models")) {
        let name = path.strip_prefix(&folder).expect("a file of the fixture");
        write(&sandbox, &name.display().to_string(), &text(&path));
    }
    let config = format!(
        "connections:\n  warehouse: {{driver: sqlite, path: warehouse.db}}\n  shop: {{driver: {connection}}}\n"
    );
    write(&sandbox, "ktx.yaml", &config);
    let scanned = run(&sandbox, "scan");
    assert_eq!(scanned.code, Some(0), "{scanned}");
    sandbox
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).expect("a folder");
    let paths = entries.map(|entry| entry.expect("an entry").path());
    let found = paths.flat_map(|path| {
        if path.is_dir() {
            files(&path)
        } else {
            vec![path]
        }
    });
    found.collect()
}

fn fixture_folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../fixtures/imports")
        .join(name)
}

pub(crate) fn wrong(sandbox: &Sandbox, fixture: &str) -> String {
    let text =
        std::fs::read_to_string(fixture_folder(fixture).join("questions.yaml")).expect("questions");
    wrong_answers(sandbox, &text)
}

pub(crate) fn wrong_answers(sandbox: &Sandbox, text: &str) -> String {
    let questions = ktx_config::yaml::load_text(text, "questions").expect("YAML");
    let database = Connection::open(sandbox.work().join("warehouse.db")).expect("a database");
    let mut wrong = Vec::new();
    for question in questions.value.as_array().expect("a list") {
        let ask = question["ask"].to_string();
        write(sandbox, "query.json", &ask);
        let printed = run(
            sandbox,
            "sl query --query-file query.json --execute --format json",
        );
        let expected = rows(&database, question["sql"].as_str().expect("SQL"));
        assert!(!expected.is_empty(), "{ask}");
        let found = match serde_json::from_str::<Value>(&printed.stdout) {
            Ok(answer) => answered(&answer),
            Err(_) => vec![printed.to_string()],
        };
        if found != expected {
            wrong.push(format!(
                "{ask}\n  found    {found:?}\n  expected {expected:?}\n"
            ));
        }
    }
    wrong.concat()
}

/// Rows with a number, sorted.
fn rows(database: &Connection, sql: &str) -> Vec<String> {
    let mut statement = database.prepare(sql).expect("SQL");
    let count = statement.column_count();
    let rows = statement.query_map((), |row| (0..count).map(|at| row.get(at)).collect());
    let rows = rows.expect("rows").map(|row| row.expect("a row"));
    sorted(rows.map(|row: Vec<Cell>| {
        let cells = row.iter().map(|cell| match cell {
            Cell::Null => Value::Null,
            Cell::Integer(number) => Value::from(*number),
            Cell::Real(number) => Value::from(*number),
            Cell::Text(text) => Value::from(text.as_str()),
            Cell::Blob(_) => unreachable!("no question asks for bytes"),
        });
        cells.collect()
    }))
}

fn answered(answer: &Value) -> Vec<String> {
    let rows = answer["rows"].as_array().expect("rows");
    sorted(
        rows.iter()
            .map(|row| row.as_array().expect("a row").clone()),
    )
}

fn sorted(rows: impl Iterator<Item = Vec<Value>>) -> Vec<String> {
    let is_empty = |cell: &Value| cell.is_null() || cell.as_f64() == Some(0.0);
    let shown = |cell: &Value| match cell.as_f64() {
        Some(number) => format!("{number:.4}"),
        None => cell
            .as_str()
            .map_or_else(|| cell.to_string(), str::to_owned),
    };
    let mut rows: Vec<String> = rows
        .filter(|row| !row.last().is_some_and(is_empty))
        .map(|row| row.iter().map(shown).collect::<Vec<_>>().join(" | "))
        .collect();
    rows.sort();
    rows
}

#[test]
fn metrics_answer_by_name_without_a_model() {
    let sandbox = project("metricflow", "metricflow, metricflow: {source_dir: models}");
    let printed = run(&sandbox, "ingest --facts");
    insta::assert_snapshot!(transcript(&printed), @r"
    exit 0
    Source	Unit	Status	Pages	Sources	Commit
    shop	facts of 2 tables	done	-	-	[COMMIT]
    shop	36 definitions	34 imported	-	-	-
    --- stderr
    Project: [SANDBOX]/work
    shop: orders.yml:78: measure `total_14_days` was imported in part: a coarser period shows its last value
    shop: orders.yml:89: measure `visit_to_order` was not imported: a conversion metric has no counterpart
    shop: others.yml:65: measure `visits` was not imported: no scan has found the table `web_visits`
    ");
    assert_eq!(wrong(&sandbox, "metricflow"), "");
    insta::assert_snapshot!(transcript(&run(&sandbox, "sl validate")), @r"
    exit 0
    warehouse: 5 sources are valid
    --- stderr
    Project: [SANDBOX]/work
    ");
    insta::assert_snapshot!(transcript(&run(&sandbox, "ingest --facts")), @r"
    exit 0
    Source	Unit	Status	Pages	Sources	Commit
    shop	facts of 2 tables	done	-	-	nothing changed
    shop	36 definitions	34 imported	-	-	-
    --- stderr
    Project: [SANDBOX]/work
    shop: orders.yml:78: measure `total_14_days` was imported in part: a coarser period shows its last value
    shop: orders.yml:89: measure `visit_to_order` was not imported: a conversion metric has no counterpart
    shop: others.yml:65: measure `visits` was not imported: no scan has found the table `web_visits`
    ");
}

#[test]
fn explores_and_views_answer_by_name_without_a_model() {
    let sandbox = project("lookml", "lookml, source_dir: models");
    let printed = run(&sandbox, "ingest --facts");
    insta::assert_snapshot!(transcript(&printed), @r"
    exit 0
    Source	Unit	Status	Pages	Sources	Commit
    shop	facts of 0 tables	done	-	-	[COMMIT]
    shop	34 definitions	27 imported	-	-	-
    --- stderr
    Project: [SANDBOX]/work
    shop: bakery.model.lkml:4: segment `orders_always` was imported in part: the explore applies it to every query
    shop: others.view.lkml:27: measure `daily.busiest` was not imported: its view is a query of its own
    shop: orders.view.lkml:35: measure `orders.chosen` was not imported: only Looker can write its SQL out
    shop: orders.view.lkml:33: measure `orders.recent_revenue` was not imported: its filter on `orders.ordered_date` has no counterpart
    shop: orders.view.lkml:34: measure `orders.revenue_so_far` was not imported: a measure of type `running_total` has no counterpart
    shop: orders.view.lkml:17: column `orders.spread` was not imported: only Looker computes `orders.spread`
    shop: bakery.model.lkml:20: join `orders → stock` was not imported: a cross join has no counterpart
    shop: bakery.model.lkml:23: join `orders → weather` was not imported: no table of a view `weather` is known
    ");
    assert_eq!(wrong(&sandbox, "lookml"), "");
    insta::assert_snapshot!(transcript(&run(&sandbox, "sl validate")), @r"
    exit 0
    warehouse: 5 sources are valid
    --- stderr
    Project: [SANDBOX]/work
    ");
}

/// Names from macros, disabled models, packages and their metrics.
#[test]
fn a_manifest_answers_by_name_without_a_model() {
    let connection = "dbt, source_dir: models, manifest: models/artifacts/manifest.json, catalog: models/artifacts/catalog.json";
    let sandbox = project("manifest", connection);
    let printed = run(&sandbox, "ingest --facts");
    insta::assert_snapshot!(transcript(&printed), @"
    exit 0
    Source	Unit	Status	Pages	Sources	Commit
    shop	facts of 3 tables	done	-	-	[COMMIT]
    shop	9 definitions	8 imported	-	-	-
    --- stderr
    Project: [SANDBOX]/work
    warning: shop: no scan has found raw.nowhere; if they exist, run `ktx scan`
    shop: models/schema.yml:43: saved query `monthly_revenue` was not imported: the semantic layer has no place for questions that are asked again
    ");
    assert_eq!(wrong(&sandbox, "manifest"), "");
    let shard = sandbox
        .read("semantic-layer/warehouse/_schema/public.yaml")
        .expect("a shard");
    insta::assert_snapshot!("a_manifest_on_tables", shard);
    insta::assert_snapshot!(transcript(&run(&sandbox, "sl validate")), @"
    exit 0
    warehouse: 4 sources are valid
    --- stderr
    Project: [SANDBOX]/work
    ");
}

const ORDERS: &str = "CREATE TABLE fct_orders (order_id INTEGER PRIMARY KEY, buyer INTEGER, amount NUMERIC, ordered_at DATE);
CREATE TABLE dim_buyers (buyer_id INTEGER PRIMARY KEY, country TEXT);
INSERT INTO fct_orders VALUES (1, 1, 10, '2025-01-01'), (2, 1, 20, '2025-01-03'), (3, 2, 5, '2025-02-01');
INSERT INTO dim_buyers VALUES (1, 'DE'), (2, 'JP');";

/// `orders` is the table `fct_orders`.
fn dbt_project(schema: &str) -> Sandbox {
    let sandbox = unscanned(ORDERS);
    let config = "connections:\n  warehouse: {driver: sqlite, path: warehouse.db}\n  shop: {driver: dbt, source_dir: dbt}\n";
    write(&sandbox, "ktx.yaml", config);
    write(&sandbox, "dbt/dbt_project.yml", "name: shop\n");
    let sql = "{{ config(alias='fct_orders') }} select * from raw.orders";
    write(&sandbox, "dbt/models/orders.sql", sql);
    write(
        &sandbox,
        "dbt/models/dim_buyers.sql",
        "select * from raw.buyers",
    );
    write(&sandbox, "dbt/models/schema.yml", schema);
    let scanned = run(&sandbox, "scan");
    assert_eq!(scanned.code, Some(0), "{scanned}");
    sandbox
}

fn imported(sandbox: &Sandbox, table: &str) -> String {
    let path = format!("semantic-layer/warehouse/_imports/shop/{table}.yaml");
    std::fs::read_to_string(sandbox.work().join(path)).unwrap_or_else(|error| error.to_string())
}

const BESIDE_COLUMNS: &str = "models:
  - name: orders
    semantic_model: true
    agg_time_dimension: ordered_at
    columns:
      - {name: order_id, entity: {type: primary, name: order}}
      - {name: buyer, entity: {type: foreign, name: buyer}}
      - {name: ordered_at, granularity: day, dimension: {type: time}}
    derived_semantics:
      dimensions:
        - {name: size, type: categorical, expr: \"case when amount > 9 then 'big' else 'small' end\"}
    metrics:
      - {name: revenue, type: simple, agg: sum, expr: amount}
      - {name: big_revenue, type: simple, agg: sum, expr: amount, filter: \"{{ Dimension('order__size') }} = 'big'\"}
      - {name: big_share, type: ratio, numerator: big_revenue, denominator: revenue}
      - {name: german_revenue, type: simple, agg: sum, expr: amount, filter: \"{{ Dimension('buyer__country') }} = 'DE'\"}
      - {name: week, type: cumulative, input_metric: revenue, window: 7 days, period_agg: last}
      - name: grown
        type: derived
        expr: revenue - before
        input_metrics: [{name: revenue}, {name: revenue, alias: before, offset_window: 1 month}]
  - name: dim_buyers
    semantic_model: true
    columns:
      - {name: buyer_id, entity: {type: primary, name: buyer}}
      - {name: country, dimension: {type: categorical}}
";

#[test]
fn metrics_beside_the_columns_of_a_dbt_model_are_imported() {
    let sandbox = dbt_project(BESIDE_COLUMNS);
    let printed = run(&sandbox, "ingest shop --facts");
    insta::assert_snapshot!(transcript(&printed), @r"
    exit 0
    Source	Unit	Status	Pages	Sources	Commit
    shop	facts of 0 tables	done	-	-	[COMMIT]
    shop	8 definitions	8 imported	-	-	-
    --- stderr
    Project: [SANDBOX]/work
    ");
    insta::assert_snapshot!(imported(&sandbox, "fct_orders"), @r"
    name: fct_orders
    columns:
    - name: size
      type: string
      expr: case when amount > 9 then 'big' else 'small' end
    measures:
    - name: big_revenue
      expr: sum(amount)
      filter: (case when amount > 9 then 'big' else 'small' end) = 'big'
    - name: revenue
      expr: sum(amount)
    - name: big_share
      ratio:
        numerator: big_revenue
        denominator: revenue
    - name: german_revenue
      expr: sum(amount)
      filter: dim_buyers.country = 'DE'
    - name: grown__before
      compare:
        measure: revenue
        offset: 1
        unit: month
        as: value
    - name: grown
      expr: revenue - grown__before
    - name: week
      cumulative:
        measure: revenue
        window:
          count: 7
          unit: day
    default_time_dimension:
      dbt: ordered_at
    ");
    let line = "sl query --measure fct_orders.german_revenue --measure fct_orders.big_share --execute --format json";
    insta::assert_snapshot!(json(&sandbox, line)["rows"], @"[[30,0.8571428571428571]]");
}

const TWO_METRICS: &str = "semantic_models:
  - name: orders
    model: ref('orders')
    entities: [{name: order, type: primary, expr: order_id}]
    measures: [{name: amount, agg: sum}, {name: count, agg: count, expr: \"1\"}]
metrics:
  - {name: revenue, type: simple, type_params: {measure: amount}}
  - {name: orders, type: simple, type_params: {measure: count}}
";

/// The report names the skipped metric.
#[test]
fn a_persons_measure_goes_before_an_imported_one() {
    let sandbox = dbt_project(TWO_METRICS);
    let own = "name: fct_orders\nmeasures:\n- {name: Revenue, expr: sum(amount) * 2}\n";
    write(&sandbox, "semantic-layer/warehouse/fct_orders.yaml", own);
    commit(&sandbox, "a measure of a person");
    let printed = run(&sandbox, "ingest shop --facts");
    insta::assert_snapshot!(transcript(&printed), @r"
    exit 0
    Source	Unit	Status	Pages	Sources	Commit
    shop	facts of 0 tables	done	-	-	[COMMIT]
    shop	2 definitions	1 imported	-	-	-
    --- stderr
    Project: [SANDBOX]/work
    shop: models/schema.yml:7: measure `revenue` was not imported: `fct_orders.yaml` defines a measure of this name, which counts
    ");
    insta::assert_snapshot!(imported(&sandbox, "fct_orders"), @r"
    name: fct_orders
    measures:
    - name: orders
      expr: count(*)
    ");
    let line =
        "sl query --measure fct_orders.Revenue --measure fct_orders.orders --execute --format json";
    insta::assert_snapshot!(json(&sandbox, line)["rows"], @"[[70,3]]");
}

/// Removes the file with its last metric, but nothing while a project file is unreadable.
#[test]
fn an_import_follows_its_source() {
    let sandbox = dbt_project(TWO_METRICS);
    run(&sandbox, "ingest shop --facts");
    write(&sandbox, "dbt/models/broken.yml", "models: [");
    let (before, _) = TWO_METRICS
        .rsplit_once("  - {name: orders")
        .expect("a metric");
    write(&sandbox, "dbt/models/schema.yml", before);
    run(&sandbox, "ingest shop --facts");
    insta::assert_snapshot!(imported(&sandbox, "fct_orders"), @r"
    name: fct_orders
    measures:
    - name: revenue
      expr: sum(amount)
    - name: orders
      expr: count(*)
    ");
    std::fs::remove_file(sandbox.work().join("dbt/models/broken.yml")).expect("a file");
    run(&sandbox, "ingest shop --facts");
    insta::assert_snapshot!(imported(&sandbox, "fct_orders"), @r"
    name: fct_orders
    measures:
    - name: revenue
      expr: sum(amount)
    ");
    write(&sandbox, "dbt/models/schema.yml", "models: []\n");
    run(&sandbox, "ingest shop --facts");
    insta::assert_snapshot!(imported(&sandbox, "fct_orders"), @"No such file or directory (os error 2)");
}

#[test]
fn imports_go_with_their_connection() {
    let sandbox = dbt_project(TWO_METRICS);
    run(&sandbox, "ingest shop --facts");
    let config = "connections:\n  warehouse: {driver: sqlite, path: warehouse.db}\n  store: {driver: dbt, source_dir: dbt}\n";
    write(&sandbox, "ktx.yaml", config);
    let printed = run(&sandbox, "ingest --facts");
    assert_eq!(printed.code, Some(0), "{printed}");
    let folder = sandbox.work().join("semantic-layer/warehouse/_imports");
    let left = std::fs::read_dir(folder).expect("a folder");
    let left: Vec<_> = left
        .map(|entry| entry.expect("an entry").file_name())
        .collect();
    assert_eq!(left, ["store"]);
}

/// Equal definitions count for both sources; one line per conflict.
#[test]
fn of_two_sources_that_define_a_metric_the_first_counts() {
    let sandbox = dbt_project(TWO_METRICS);
    let config = "connections:\n  warehouse: {driver: sqlite, path: warehouse.db}\n  shop: {driver: dbt, source_dir: dbt}\n  store: {driver: dbt, source_dir: store}\n";
    write(&sandbox, "ktx.yaml", config);
    write(&sandbox, "store/dbt_project.yml", "name: store\n");
    let sql = "{{ config(alias='fct_orders') }} select * from raw.orders";
    write(&sandbox, "store/models/orders.sql", sql);
    let other = TWO_METRICS.replace("agg: sum", "agg: max");
    write(&sandbox, "store/models/schema.yml", &other);
    for _ in 0..2 {
        let printed = run(&sandbox, "ingest --facts");
        assert_eq!(printed.code, Some(0), "{printed}");
        insta::allow_duplicates! {
            insta::assert_snapshot!(printed.stderr, @"
            Project: [SANDBOX]/work
            store: models/schema.yml:7: measure `revenue` was not imported: `_imports/shop/fct_orders.yaml` defines the measure in another way, which counts
            ");
        }
        let answer = json(
            &sandbox,
            "sl query --measure fct_orders.revenue --measure fct_orders.orders --execute --format json",
        );
        assert_eq!(answer["rows"], serde_json::json!([[35, 3]]));
    }
    let answer = json(&sandbox, "ingest --facts --json");
    insta::assert_snapshot!(answer["results"][1]["imports"], @r#"{"exact":1,"partly":[],"left":[{"kind":"measure","name":"revenue","spot":"models/schema.yml:7","why":"taken","reason":"`_imports/shop/fct_orders.yaml` defines the measure in another way, which counts"}]}"#);
}

/// Queries of the table are refused until the next run rewrites the file.
#[test]
fn a_damaged_import_is_named_and_rewritten() {
    let sandbox = dbt_project(TWO_METRICS);
    run(&sandbox, "ingest shop --facts");
    let path = "semantic-layer/warehouse/_imports/shop/fct_orders.yaml";
    write(&sandbox, path, "name: fct_orders\n<<<<<<< HEAD\n");
    let refused = run(&sandbox, "sl query --measure fct_orders.revenue");
    insta::assert_snapshot!(transcript(&refused), @"
    exit 3
    --- stderr
    Project: [SANDBOX]/work
    error: source `fct_orders` cannot be used: _imports/shop/fct_orders.yaml:3:1: could not find expected ':'

    hint: correct the file at the place that the message has; `ktx sl validate` checks all files
    ");
    let other = run(
        &sandbox,
        "sl query --measure count(dim_buyers.*) --format sql",
    );
    insta::assert_snapshot!(transcript(&other), @r"
    exit 0
    WITH dim_buyers_part AS (
    SELECT COUNT(*) AS a1_count_dim_buyers
    FROM dim_buyers AS dim_buyers
    )
    SELECT a1_count_dim_buyers AS count_dim_buyers
    FROM dim_buyers_part
    LIMIT 1000
    --- stderr
    Project: [SANDBOX]/work
    ");
    commit(&sandbox, "half a merge");
    run(&sandbox, "ingest shop --facts");
    insta::assert_snapshot!(imported(&sandbox, "fct_orders"), @r"
    name: fct_orders
    measures:
    - name: orders
      expr: count(*)
    - name: revenue
      expr: sum(amount)
    ");
}

#[test]
fn facts_without_a_source_say_what_to_name() {
    let sandbox = unscanned(ORDERS);
    insta::assert_snapshot!(transcript(&run(&sandbox, "ingest --facts")), @"
    exit 2
    --- stderr
    Project: [SANDBOX]/work
    error: none of the requested context sources has facts

    hint: name a dbt, MetricFlow, LookML, Cube, Looker or Metabase connection of ktx.yaml
    ");
}
