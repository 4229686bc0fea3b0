//! Every refusal has a next step on the command line and over MCP, and its queries compile.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::sync::Arc;

use ktx_context_tools::wire::SlQueryInput;
use ktx_context_tools::{
    Execution, FileContext, FileContextParts, IndexPlace, ProjectContext, QueryRequest, Reader,
    query, query_of,
};
use ktx_diagnostics::{Failure, Hint};
use ktx_semantic_layer::{ErrorKind, Offer, Query};
use ktx_tool_descriptors::CallContext;
use ktx_wiki::UserId;
use serde_json::Value;

use crate::project::TestProject;
use crate::warehouse::{Notes, TestWarehouses};

const SOURCES: &[(&str, &str)] = &[
    (
        "orders",
        "columns: [{name: id, type: number}, {name: customer_id, type: number}, {name: billing_city_id, type: number}, \
         {name: shipping_city_id, type: number}, {name: amount, type: number}, {name: status, type: string}, \
         {name: ordered_at, type: time}, {name: paid_at, type: time}, {name: margin, type: number, visibility: hidden}]\n\
         joins: [{to: customers, on: customer_id = customers.id, relationship: many_to_one}, \
         {to: cities, on: billing_city_id = cities.id, relationship: many_to_one}, \
         {to: cities, on: shipping_city_id = cities.id, relationship: many_to_one}]\n\
         measures: [{name: revenue, expr: sum(amount)}, {name: order_count, expr: count(id)}, \
         {name: average, expr: avg(amount)}, {name: rising, compare: {measure: revenue, unit: month, as: ratio}}, \
         {name: so_far, cumulative: {measure: revenue, window: {count: 3, unit: day}}}, \
         {name: chicken, expr: egg}, {name: egg, expr: chicken}, \
         {name: last_amount, expr: revenue, semi_additive: {dimension: ordered_at, at: last, per: [customer_id]}}]\n\
         segments: [{name: paid, expr: status = 'paid'}]\n",
    ),
    (
        "customers",
        "columns: [{name: id, type: number}, {name: name, type: string}, {name: status, type: string}, \
         {name: since, type: time, natural_granularity: day}]\n\
         measures: [{name: customer_count, expr: count(id)}, {name: average, expr: count(id)}]\n",
    ),
    (
        "cities",
        "columns: [{name: id, type: number}, {name: name, type: string}]\n",
    ),
    (
        "items",
        "columns: [{name: id, type: number}, {name: order_id, type: number}, {name: product, type: string}, \
         {name: quantity, type: number}]\n\
         joins: [{to: orders, on: order_id = orders.id, relationship: many_to_one}]\n\
         measures: [{name: quantity_total, expr: sum(quantity)}]\n",
    ),
    (
        "refunds",
        "columns: [{name: id, type: number}, {name: order_id, type: number}, {name: amount, type: number}]\n\
         joins: [{to: orders, on: order_id = orders.id, relationship: many_to_one}]\n",
    ),
    (
        "weather",
        "columns: [{name: id, type: number}, {name: day, type: time}, {name: degrees, type: number}]\n",
    ),
];

/// Only the query itself causes these.
const REFUSED: &[(&str, &str)] = &[
    (
        "ambiguous_join_path",
        r#"{"measures": ["orders.revenue"], "dimensions": ["cities.name"]}"#,
    ),
    (
        "fanout",
        r#"{"measures": ["orders.revenue"], "dimensions": ["items.product"]}"#,
    ),
    (
        "filter_fanout",
        r#"{"measures": ["orders.revenue"], "filters": ["items.product = 'tea'"]}"#,
    ),
    (
        "asymmetric_dimensions",
        r#"{"measures": ["orders.revenue", "customers.customer_count"], "dimensions": ["orders.status"]}"#,
    ),
    (
        "no_join_path",
        r#"{"measures": ["orders.revenue"], "dimensions": ["weather.degrees"]}"#,
    ),
    (
        "filter_unreachable",
        r#"{"measures": ["orders.revenue"], "filters": ["weather.degrees > 3"]}"#,
    ),
    ("unknown_source", r#"{"measures": ["ordrs.revenue"]}"#),
    (
        "unknown_column",
        r#"{"measures": ["orders.revenue"], "dimensions": ["orders.stats"]}"#,
    ),
    ("unknown_measure", r#"{"measures": ["orders.revenu"]}"#),
    (
        "unknown_segment",
        r#"{"measures": ["orders.revenue"], "segments": ["orders.paids"]}"#,
    ),
    (
        "ambiguous_column",
        r#"{"measures": ["orders.revenue"], "dimensions": ["status"]}"#,
    ),
    ("ambiguous_measure", r#"{"measures": ["average"]}"#),
    ("unqualified_column", r#"{"measures": ["sum(quantity)"]}"#),
    ("hidden_column", r#"{"measures": ["sum(orders.margin)"]}"#),
    ("not_a_measure", r#"{"measures": ["orders.amount"]}"#),
    (
        "not_a_dimension",
        r#"{"measures": ["orders.revenue"], "dimensions": ["orders.order_count"]}"#,
    ),
    (
        "unknown_order_field",
        r#"{"measures": ["orders.revenue"], "order_by": ["orders.paid_at"]}"#,
    ),
    ("no_source", r#"{"measures": ["count(*)"]}"#),
    (
        "not_a_time_column",
        r#"{"measures": ["orders.revenue"], "dimensions": ["orders.status:month"]}"#,
    ),
    (
        "bad_granularity",
        r#"{"measures": ["orders.revenue"], "dimensions": [{"field": "orders.ordered_at", "granularity": "fortnight"}]}"#,
    ),
    ("no_time_dimension", r#"{"measures": ["orders.rising"]}"#),
    (
        "ambiguous_time_dimension",
        r#"{"measures": ["orders.rising"], "dimensions": ["orders.ordered_at:month", "orders.paid_at:month"]}"#,
    ),
    (
        "mixed_time_filter",
        r#"{"measures": ["orders.rising"], "dimensions": ["orders.ordered_at:month"], "filters": ["orders.ordered_at > '2025-01-01' or orders.status = 'paid'"]}"#,
    ),
    (
        "unbounded_fill",
        r#"{"measures": ["orders.revenue"], "dimensions": ["orders.ordered_at:month"], "fill": true}"#,
    ),
    (
        "fill_too_long",
        r#"{"measures": ["orders.revenue"], "dimensions": ["orders.ordered_at:minute"], "fill": true, "filters": ["orders.ordered_at >= '2000-01-01' and orders.ordered_at < '2025-01-01'"]}"#,
    ),
    (
        "bad_window",
        r#"{"measures": ["orders.rising"], "dimensions": ["orders.ordered_at:week"]}"#,
    ),
    ("bad_snapshot", r#"{"measures": ["orders.last_amount"]}"#),
    (
        "multi_source_measure",
        r#"{"measures": ["sum(items.quantity * refunds.amount)"]}"#,
    ),
    (
        "not_additive",
        r#"{"measures": ["share(orders.average)"], "dimensions": ["orders.status"]}"#,
    ),
    (
        "nested_aggregate",
        r#"{"measures": ["avg(sum(orders.amount))"]}"#,
    ),
    (
        "window_function",
        r#"{"measures": ["sum(lag(orders.amount))"]}"#,
    ),
    (
        "subquery_not_allowed",
        r#"{"measures": ["orders.revenue"], "filters": ["orders.id in (select order_id from items)"]}"#,
    ),
    ("circular_measure", r#"{"measures": ["orders.chicken"]}"#),
    (
        "mixed_or_filter",
        r#"{"measures": ["orders.revenue"], "dimensions": ["orders.customer_id"], "filters": ["orders.revenue > 3 or orders.status = 'paid'"]}"#,
    ),
    (
        "total_filter",
        r#"{"measures": ["customers.customer_count"], "filters": ["orders.order_count > 2"]}"#,
    ),
    (
        "segment_not_qualified",
        r#"{"measures": ["orders.revenue"], "segments": ["paid"]}"#,
    ),
    (
        "segment_no_measure",
        r#"{"measures": ["customers.customer_count"], "segments": ["orders.paid"]}"#,
    ),
    (
        "parse_error",
        r#"{"measures": ["orders.revenue"], "filters": ["orders.amount >"]}"#,
    ),
    (
        "invalid_query",
        r#"{"measures": ["orders.revenue"], "weight": "orders.amount"}"#,
    ),
];

/// Caused by files, or replaced by another refusal before a query is read.
const OTHERS: [ErrorKind; 7] = [
    ErrorKind::MultiGrainMeasure,
    ErrorKind::UnknownDialect,
    ErrorKind::InvalidSource,
    ErrorKind::DuplicateSource,
    ErrorKind::OrphanJoinTarget,
    ErrorKind::InvalidJoinCondition,
    ErrorKind::InvalidOverlay,
];

pub(crate) async fn ask(
    project: &TestProject,
    reader: Reader,
    query: Query,
) -> Result<(), Failure> {
    let context: Arc<dyn ProjectContext> = Arc::new(FileContext::new(FileContextParts {
        root: project.folder.path().to_owned(),
        user: UserId::parse("local").expect("a user id"),
        reader,
        index: IndexPlace::Memory,
        vectors: None,
        warehouses: Arc::new(TestWarehouses::default()),
        withheld: ktx_context_tools::WithheldParts::default(),
        policy: None,
        audit: Arc::new(Notes::default()),
        now: std::time::SystemTime::now,
    }));
    let request = QueryRequest {
        connection: None,
        query,
        execution: Execution::CompileOnly,
    };
    let call = CallContext::detached("call-1");
    self::query(context.as_ref(), &request, &call)
        .await
        .map(drop)
}

fn failure_kind(code: &str) -> ErrorKind {
    let mut kinds = ErrorKind::ALL.iter();
    *kinds
        .find(|kind| kind.as_str() == code)
        .expect("a kind of this code")
}

pub(crate) fn parsed(query: &Value) -> Query {
    let input: SlQueryInput = serde_json::from_value(query.clone()).expect("the input of the tool");
    query_of(&input).expect("a query")
}

fn shop() -> TestProject {
    let project = TestProject::new();
    for file in ["broken.yaml", "orders.yaml", "_schema/public.yaml"] {
        project.remove(&format!("semantic-layer/warehouse/{file}"));
    }
    for (name, rest) in SOURCES {
        let text = format!("name: {name}\ntable: {name}\ngrain: [id]\n{rest}");
        project.write(&format!("semantic-layer/warehouse/{name}.yaml"), &text);
    }
    project
}

#[tokio::test]
async fn every_refusal_has_a_next_step() {
    let project = shop();
    let mut shown = String::new();
    let mut problems: Vec<String> = Vec::new();
    let mut met: BTreeSet<String> = OTHERS.iter().map(ToString::to_string).collect();
    for (code, asked) in REFUSED.iter().copied() {
        let asked: Value = serde_json::from_str(asked).expect("JSON");
        for reader in [Reader::Agent, Reader::Person] {
            let Err(failure) = ask(&project, reader, parsed(&asked)).await else {
                problems.push(format!("{code}: {asked} is answered"));
                continue;
            };
            if failure.code.as_str() != code {
                let found = format!("{}: {}", failure.code, failure.message);
                problems.push(format!("{code}: {asked} is refused with {found}"));
            }
            for request in &failure.detail.requests {
                let offered = Query::from_json(request).expect("a query");
                if let Err(again) = ask(&project, reader, offered).await {
                    problems.push(format!("{code}: {request}: {}", again.message));
                }
            }
            let offer = failure_kind(code).advice().map(|advice| advice.offer);
            match (offer, failure.detail.requests.len()) {
                (Some(Offer::Queries), 1..=2) | (Some(Offer::Never(_)), 0) => {}
                (offer, count) => problems.push(format!("{code}: {offer:?}, and offers {count}")),
            }
            let steps: Vec<&str> = failure.hints.iter().map(Hint::as_str).collect();
            if steps.is_empty() && failure.detail.requests.is_empty() {
                problems.push(format!("{code} has no next step"));
            }
            if reader == Reader::Person {
                writeln!(shown, "{code}").expect("a text");
                for step in steps.iter().take(2) {
                    writeln!(shown, "  hint {step}").expect("a text");
                }
                for request in failure.detail.requests.iter().take(2) {
                    writeln!(shown, "  ask  {request}").expect("a text");
                }
            }
        }
        met.insert(code.to_owned());
    }
    insta::assert_snapshot!("every_refusal", shown);
    assert_eq!(problems, Vec::<String>::new());
    let unmet: Vec<&ErrorKind> = ErrorKind::ALL
        .iter()
        .filter(|kind| kind.advice().is_some() && !met.contains(kind.as_str()))
        .collect();
    assert_eq!(unmet, Vec::<&ErrorKind>::new());
}

#[tokio::test]
async fn no_offered_query_has_a_limit_without_its_order() {
    let project = shop();
    let mut shown = String::new();
    for asked in [
        r#"{"measures": ["orders.revenue"], "dimensions": ["orders.status"], "order_by": ["orders.paid_at:desc"]}"#,
        r#"{"measures": ["orders.revenue"], "dimensions": ["orders.status"], "order_by": ["orders.paid_at:desc"], "limit": 3}"#,
        r#"{"measures": ["orders.revenue"], "dimensions": ["orders.status"], "order_by": ["orders.revenue:desc", "orders.paid_at"], "limit": 3}"#,
        r#"{"measures": [{"expr": "orders.revenue", "name": "earned"}, "customers.customer_count"], "dimensions": ["orders.status"], "order_by": ["earned:desc"], "limit": 3}"#,
        r#"{"measures": ["orders.revenue", "customers.customer_count"], "dimensions": ["orders.status"], "order_by": ["orders.revenue:desc"], "limit": 3}"#,
        r#"{"measures": ["orders.revenue", "customers.customer_count"], "dimensions": ["orders.status"], "order_by": ["customers.customer_count:desc"], "limit": 3}"#,
        r#"{"measures": ["orders.revenue", "customers.customer_count"], "dimensions": ["orders.status"], "limit": 3}"#,
        r#"{"measures": [{"expr": "orders.revenue", "name": "earned"}, "count(weather.id)"], "dimensions": ["orders.status"], "order_by": ["earned:desc"], "limit": 3}"#,
        r#"{"measures": [{"expr": "orders.revenue", "name": "earned"}, {"expr": "count(weather.id)", "name": "days"}], "dimensions": ["orders.status"], "order_by": ["days:desc"], "limit": 3}"#,
    ] {
        let asked: Value = serde_json::from_str(asked).expect("JSON");
        let refused = ask(&project, Reader::Agent, parsed(&asked)).await;
        let failure = refused.expect_err("a refusal");
        writeln!(shown, "{asked}\n  {}", failure.code).expect("a text");
        for request in &failure.detail.requests {
            writeln!(shown, "  ask  {request}").expect("a text");
        }
        for step in failure.hints.iter().take(2) {
            writeln!(shown, "  hint {}", step.as_str()).expect("a text");
        }
    }
    insta::assert_snapshot!("limited_refusals", shown);
}

#[test]
fn the_lines_of_the_guide_are_yaml() {
    let keys = [
        "column_overrides",
        "columns",
        "default_time_dimension",
        "joins",
        "measures",
        "name",
        "segments",
        "sql",
    ];
    let rows = ErrorKind::ALL.iter().filter_map(|kind| kind.advice());
    for row in rows.filter(|row| !row.line.is_empty()) {
        let read: Value = ktx_config::yaml::load_text(row.line, "line")
            .expect("YAML")
            .value;
        let found: Vec<&String> = read.as_object().expect("a mapping").keys().collect();
        assert!(
            matches!(found.as_slice(), [key] if keys.contains(&key.as_str())),
            "{}: {found:?}",
            row.kind
        );
    }
}

#[test]
fn the_guide_knows_every_refusal() {
    let without: Vec<&ErrorKind> = ErrorKind::ALL
        .iter()
        .filter(|kind| **kind <= ErrorKind::InvalidOverlay && kind.advice().is_none())
        .collect();
    assert_eq!(without, Vec::<&ErrorKind>::new());
}

#[test]
fn the_guide_is_generated() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let page = root.join("docs-site/src/guides/refused.md");
    let expected = ktx_semantic_layer::refused_markdown();
    if std::env::var_os("KTX_UPDATE_DOCS").is_some() {
        std::fs::write(&page, &expected).expect("the page can be written");
    }
    let found = std::fs::read_to_string(&page).expect("a page");
    assert!(
        found == expected,
        "set KTX_UPDATE_DOCS=1 and look at the difference"
    );
}
