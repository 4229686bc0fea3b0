//! Plans of a project: what a run reads, and what it needs a model for.

use super::*;

const PROJECT: &str = "
connections:
  shop: {driver: sqlite, path: shop.db}
  books: {driver: sqlite, path: books.db}
  dbt: {driver: dbt, source_dir: dbt}
  bi: {driver: metabase, api_url: https://bi.example.com}
  docs: {driver: notion, crawl_mode: all_accessible}
";

#[track_caller]
fn project(text: &str) -> Project {
    let parsed = ktx_config::parse(text, "ktx.yaml");
    parsed.project.expect("a valid file")
}

fn shown(plan: &Plan<'_>) -> String {
    let ids = |connections: &[&Connection]| {
        let ids = connections.iter().map(|found| found.id.as_str());
        ids.collect::<Vec<_>>().join(" ")
    };
    format!(
        "{} | {} | {:?} | {} roles",
        ids(&plan.warehouses),
        ids(&plan.sources),
        plan.need(),
        plan.roles().len()
    )
}

#[test]
fn a_run_is_about_everything_or_one_connection() {
    let project = project(PROJECT);
    let plan = |id| Plan::new(id, &project).map(|plan| shown(&plan));
    let plans = [None, Some("shop"), Some("dbt"), Some("bi"), Some("docs")];
    let plans: Vec<String> = plans.into_iter().filter_map(|id| plan(id).ok()).collect();
    assert_eq!(
        plans,
        [
            "books shop | bi dbt docs | BeyondFacts | 5 roles",
            "shop |  | Always | 3 roles",
            " | dbt | BeyondFacts | 3 roles",
            " | bi | BeyondFacts | 3 roles",
            " | docs | Always | 5 roles",
        ]
    );
    let refused = plan(Some("nope")).expect_err("no such connection");
    assert_eq!(refused.code, Code::UnknownConnection);
}

#[test]
fn only_sources_with_facts_are_read_for_their_facts() {
    let project = project(PROJECT);
    let facts = |id| {
        let plan = Plan::new(id, &project).and_then(Plan::facts_only);
        plan.map(|plan| shown(&plan))
    };
    assert_eq!(
        facts(None).ok().as_deref(),
        Some(" | bi dbt | BeyondFacts | 3 roles")
    );
    let refused = facts(Some("docs")).expect_err("documents have no facts");
    let hints: Vec<&str> = refused
        .hints
        .iter()
        .map(ktx_diagnostics::Hint::as_str)
        .collect();
    assert_eq!(
        (refused.message.as_str(), hints),
        (
            "none of the requested context sources has facts",
            vec!["name a dbt, MetricFlow, LookML, Cube, Looker or Metabase connection of ktx.yaml"]
        )
    );
}

#[test]
fn a_project_without_connections_has_no_plan() {
    let project = project("connections: {}\n");
    let refused = Plan::new(None, &project).expect_err("nothing to read");
    assert_eq!(refused.code, Code::NoWarehouse);
}
