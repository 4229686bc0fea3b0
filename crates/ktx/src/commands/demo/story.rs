//! Validation, search, and a question answered twice.

use std::collections::BTreeMap;

use ktx_context_tools::wire::WikiSearchInput;
use ktx_context_tools::{
    Execution, Lanes, ProjectContext, QueryRequest, SqlRequest, execute_sql, query, search_sources,
    search_wiki,
};
use ktx_diagnostics::counted;
use ktx_semantic_layer::{DimensionRequest, Finding, MeasureRequest, Query, validate};
use ktx_tool_descriptors::CallContext;
use ktx_warehouse::{Cell, QueryResult};
use serde_json::{Value, json};

use super::StoryPrinter;
use crate::compose;
use crate::connections;
use crate::context;
use crate::demo::files::{CHECK_SQL, MEASURE, NAIVE_SQL, QUESTION};
use crate::invocation::{Invocation, OpenProject};
use crate::report::Outcome;

pub(crate) struct Story {
    pub agrees: bool,
    pub validation: Value,
    pub search: Value,
    pub question: Value,
}

/// Cents by region; `None` for an empty answer.
type RegionAmounts = BTreeMap<String, Option<i64>>;

/// The amounts of the question, by each way to get them.
struct QuestionAnswers {
    naive: RegionAmounts,
    semantic: RegionAmounts,
    direct: RegionAmounts,
}

impl QuestionAnswers {
    /// Whether the semantic query equals the direct count in every region.
    fn agree(&self) -> bool {
        let value = |amounts: &RegionAmounts, region: &str| {
            amounts.get(region).copied().flatten().unwrap_or_default()
        };
        let mut regions = self.direct.keys();
        regions.all(|region| value(&self.semantic, region) == value(&self.direct, region))
            && self.semantic.len() == self.direct.len()
    }
}

pub(crate) fn tell(
    invocation: &Invocation,
    project: &OpenProject,
    teller: &StoryPrinter,
) -> Outcome<Story> {
    let context = context::open(invocation, project)?;
    compose::block_on(|_| async move {
        let context = context.as_ref();
        let validation = check(context, project, teller).await?;
        let search = search(context, teller).await?;
        let (agrees, question) = question(context, teller).await?;
        Ok(Story {
            agrees,
            validation,
            search,
            question,
        })
    })
}

async fn check(
    context: &dyn ProjectContext,
    project: &OpenProject,
    teller: &StoryPrinter,
) -> Outcome<Value> {
    let connection = connections::warehouse(&project.config, None)?;
    let catalog = context.catalog(&connection.id).await?;
    let report = validate(&catalog, &[]);
    let sources = catalog.list().len();
    teller.say(&format!(
        "4  validate: {}, {}, {}",
        counted(sources, "semantic source"),
        counted(report.errors.len(), "error"),
        counted(report.warnings.len(), "warning")
    ));
    let errors: Vec<String> = report.errors.iter().map(shown).collect();
    for error in &errors {
        teller.say(&format!("   error: {error}"));
    }
    Ok(json!({ "sources": sources, "errors": errors, "warnings": report.warnings.len() }))
}

fn shown(finding: &Finding) -> String {
    let path = finding.path.as_deref().unwrap_or("semantic-layer");
    format!("{path}: {}", finding.message)
}

async fn search(context: &dyn ProjectContext, teller: &StoryPrinter) -> Outcome<Value> {
    let input = WikiSearchInput {
        query: "net revenue".to_owned(),
        limit: Some(3),
    };
    let pages = search_wiki(context, &input, Lanes::Hidden).await?.results;
    let (sources, _) = search_sources(context, "refunds", None, 3).await?;
    teller.say("5  search: what is known about \"net revenue\"?");
    for page in &pages {
        teller.say(&format!("   wiki/{}: {}", page.item.key, page.item.summary));
    }
    let names: Vec<&str> = sources.iter().map(|hit| hit.item.name.as_str()).collect();
    teller.say(&format!("   sources for \"refunds\": {}", names.join(", ")));
    let keys: Vec<&str> = pages.iter().map(|page| page.item.key.as_str()).collect();
    Ok(json!([
        { "query": "net revenue", "in": "wiki", "found": keys },
        { "query": "refunds", "in": "sl", "found": names },
    ]))
}

async fn question(context: &dyn ProjectContext, teller: &StoryPrinter) -> Outcome<(bool, Value)> {
    let naive = run_sql(context, NAIVE_SQL).await?;
    let naive = amounts(&naive, |row| cents(row.get(1)));
    let direct = run_sql(context, CHECK_SQL).await?;
    let direct = amounts(&direct, |row| {
        let sold = cents(row.get(1))?;
        Some(sold - cents(row.get(2)).unwrap_or_default())
    });
    let request = QueryRequest {
        connection: None,
        query: Query {
            measures: vec![MeasureRequest {
                expr: MEASURE.to_owned(),
                name: Some("net_revenue".to_owned()),
                via: Vec::new(),
            }],
            dimensions: vec![DimensionRequest {
                field: "regions.name".to_owned(),
                granularity: None,
                via: Vec::new(),
            }],
            ..Query::default()
        },
        execution: Execution::Run { max_rows: None },
    };
    let answer = query(context, &request, &CallContext::detached("demo")).await?;
    let sql = answer.compiled.sql.clone();
    let semantic = answer
        .result
        .as_ref()
        .map(|result| amounts(result, |row| cents(row.get(1))));
    let semantic = semantic.unwrap_or_default();
    let answers = QuestionAnswers {
        naive,
        semantic,
        direct,
    };
    print(teller, &answers);
    let agrees = answers.agree();
    let value = json!({
        "text": QUESTION,
        "naive": { "sql": NAIVE_SQL, "answer": dollars(&answers.naive) },
        "semantic": { "measure": MEASURE, "dimension": "regions.name", "sql": sql, "answer": dollars(&answers.semantic) },
        "directCount": { "sql": CHECK_SQL, "answer": dollars(&answers.direct) },
        "naiveIsWrong": answers.naive != answers.direct,
        "semanticIsRight": agrees,
    });
    Ok((agrees, value))
}

fn print(teller: &StoryPrinter, answers: &QuestionAnswers) {
    teller.say(&format!("6  one question, answered twice: {QUESTION}"));
    teller.say(&format!(
        "   {:<10}{:>18}{:>18}{:>18}",
        "region", "naive join", "semantic query", "direct count"
    ));
    let show = |amounts: &RegionAmounts, region: &str| match amounts.get(region) {
        Some(Some(cents)) => money(*cents),
        Some(None) => "none".to_owned(),
        None => "missing".to_owned(),
    };
    for region in answers.direct.keys() {
        teller.say(&format!(
            "   {region:<10}{:>18}{:>18}{:>18}",
            show(&answers.naive, region),
            show(&answers.semantic, region),
            show(&answers.direct, region)
        ));
    }
    let verdict = if answers.agree() {
        "equals"
    } else {
        "DIFFERS FROM"
    };
    teller.say("   the join counts items, tax, refunds and test accounts several times over;");
    teller.say(&format!(
        "   the compiled query {verdict} the direct count in every region"
    ));
}

async fn run_sql(context: &dyn ProjectContext, sql: &str) -> Outcome<QueryResult> {
    let request = SqlRequest {
        connection: None,
        sql: sql.to_owned(),
        max_rows: Some(100),
        timeout: None,
    };
    let answer = execute_sql(context, &request, &CallContext::detached("demo")).await;
    Ok(answer?.result)
}

fn amounts(result: &QueryResult, amount: impl Fn(&[Cell]) -> Option<i64>) -> RegionAmounts {
    let rows = result.rows.iter();
    rows.filter_map(|row| Some((row.first()?.to_text()?, amount(row))))
        .collect()
}

/// Whole cents.
#[expect(
    clippy::cast_possible_truncation,
    reason = "amounts of the sample are far below the range"
)]
fn cents(cell: Option<&Cell>) -> Option<i64> {
    let dollars: f64 = cell?.to_text()?.parse().ok()?;
    Some((dollars * 100.0).round() as i64)
}

fn money(cents: i64) -> String {
    let digits = (cents.abs() / 100).to_string();
    let mut whole = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            whole.push(',');
        }
        whole.push(digit);
    }
    let sign = if cents < 0 { "-" } else { "" };
    format!("{sign}{whole}.{:02}", cents.abs() % 100)
}

fn dollars(amounts: &RegionAmounts) -> Value {
    let amounts = amounts.iter().map(|(region, cents)| {
        let text = cents.map(|cents| {
            let sign = if cents < 0 { "-" } else { "" };
            format!("{sign}{}.{:02}", cents.abs() / 100, cents.abs() % 100)
        });
        (region.clone(), json!(text))
    });
    Value::Object(amounts.collect())
}
