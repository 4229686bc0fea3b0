//! Contradictory queries and overlays: one clear refusal, with place and next step.

use std::fmt::Write as _;

use ktx_context_tools::Reader;
use ktx_diagnostics::Failure;
use serde_json::{Value, json};

use crate::project::TestProject;
use crate::refusals::{ask, parsed};

const SHARD: &str = "tables:
  orders:
    table: orders
    columns:
      - {name: id, type: integer, pk: true}
      - {name: customer_id, type: integer}
      - {name: billing_city_id, type: integer}
      - {name: shipping_city_id, type: integer}
      - {name: amount, type: integer}
    joins:
      - {to: customers, on: customer_id = customers.id, relationship: many_to_one, source: formal}
      - {to: cities, on: billing_city_id = cities.id, relationship: many_to_one, source: formal}
      - {to: cities, on: shipping_city_id = cities.id, relationship: many_to_one, source: formal}
  customers:
    table: customers
    columns:
      - {name: id, type: integer, pk: true}
      - {name: name, type: text}
  cities:
    table: cities
    columns:
      - {name: id, type: integer, pk: true}
      - {name: name, type: text}
";

const OVERLAY: &str = "name: orders
joins:
  - {to: cities, on: shipping_city_id = cities.id, exclude: true}
measures:
  - {name: revenue, expr: sum(amount)}
  - {name: average, expr: avg(amount)}
  - {name: of_buyers, expr: revenue - of_others}
  - {name: of_others, expr: revenue - of_buyers}
";

fn project(overlay: &str) -> TestProject {
    let project = TestProject::new();
    for file in ["broken.yaml", "orders.yaml", "_schema/public.yaml"] {
        project.remove(&format!("semantic-layer/warehouse/{file}"));
    }
    project.write("semantic-layer/warehouse/_schema/shop.yaml", SHARD);
    project.write("semantic-layer/warehouse/orders.yaml", overlay);
    project
}

async fn refused(overlay: &str, query: &Value) -> String {
    let project = project(overlay);
    let mut told = String::new();
    for reader in [Reader::Agent, Reader::Person] {
        let refused: Result<(), Failure> = ask(&project, reader, parsed(query)).await;
        let failure = refused.expect_err("a refusal");
        for request in &failure.detail.requests {
            let offered: Value = serde_json::from_str(request).expect("JSON");
            ask(&project, reader, parsed(&offered))
                .await
                .expect("an answer");
        }
        assert!(
            !failure.hints.is_empty() || !failure.detail.requests.is_empty(),
            "a next step: {failure:?}"
        );
        if reader == Reader::Person {
            writeln!(told, "{}: {}", failure.code, failure.message).expect("text grows");
            for hint in &failure.hints {
                writeln!(told, "hint {}", hint.as_str()).expect("text grows");
            }
            for request in &failure.detail.requests {
                writeln!(told, "ask  {request}").expect("text grows");
            }
        }
    }
    told
}

fn by(dimension: &str) -> Value {
    json!({ "measures": ["orders.revenue"], "dimensions": [dimension] })
}

#[tokio::test]
async fn a_role_path_that_turns_back() {
    let path = by("orders.customers.orders.id");
    insta::assert_snapshot!(refused(OVERLAY, &path).await, @"
    fanout: a path cannot go from `customers` to `orders`: `orders` has many rows per row of `customers`
    hint group by a column of the measure's own table, or count each row once in each of its groups with `across: count_each` (`--across count_each`)
    ");
}

#[tokio::test]
async fn a_path_through_an_excluded_join() {
    let path = by("orders.shipping_city.name");
    insta::assert_snapshot!(refused(OVERLAY, &path).await, @"
    unknown_column: `orders` has no column and no join `shipping_city`; its joins are `cities`, `customers`
    hint take a column that `ktx sl read SOURCE` lists
    ");
}

#[tokio::test]
async fn an_overlay_that_names_a_column_that_is_gone() {
    let overlay = "name: orders\nexclude_columns: [amount_net]\nmeasures:\n  - {name: revenue, expr: sum(total)}\n";
    let query = json!({ "measures": ["orders.revenue"] });
    insta::assert_snapshot!(refused(overlay, &query).await, @"
    unknown_column: unknown column `orders.total`: `orders` has the columns `id`, `customer_id`, `billing_city_id`, `shipping_city_id`, `amount`
    hint try `orders.amount`
    ");
}

#[tokio::test]
async fn a_cycle_of_sets() {
    let query = json!({ "measures": ["avg(per(customers, orders.of_buyers))"] });
    insta::assert_snapshot!(refused(OVERLAY, &query).await, @"
    circular_measure: measure `orders.of_buyers` depends on itself
    hint define one of them by its columns
    ");
}

#[tokio::test]
async fn a_share_of_a_measure_that_does_not_add_up() {
    let query = json!({ "measures": ["share(orders.average)"], "dimensions": ["customers.name"] });
    insta::assert_snapshot!(refused(OVERLAY, &query).await, @r#"
    not_additive: `share` adds up the groups of the answer, and these values do not add up to a total: it goes with counts and sums, and with their sums and differences
    ask  {"measures":["orders.average"],"dimensions":["customers.name"]}
    "#);
}
