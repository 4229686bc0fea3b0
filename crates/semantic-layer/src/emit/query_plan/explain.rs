//! Explains a plan in words, with a drawing of its joins.

use std::fmt::Write as _;

use super::{PartInfo, PlannedJoin};
use crate::emit::compile::Compiled;

/// Explains a compiled query in text that ends in a newline.
pub fn explain(compiled: &Compiled) -> String {
    let plan = &compiled.plan;
    let mut text = String::new();
    for measure in &plan.measures {
        let home = measure.source_name.as_deref().unwrap_or("several sources");
        line(
            &mut text,
            &format!(
                "measure {}: {} (rows of {home})",
                measure.name,
                measure.depends_on.join(", ")
            ),
        );
    }
    for column in plan
        .columns
        .iter()
        .filter(|column| column.provenance == "dimension")
    {
        let unit = column
            .granularity
            .map_or(String::new(), |unit| format!(" by {unit}"));
        line(
            &mut text,
            &format!("dimension {}: {}{unit}", column.name, column.expr),
        );
    }
    if let Some(periods) = &plan.periods {
        line(&mut text, &format!("periods: {periods}"));
    }
    for filter in &plan.where_filters {
        let role = if plan.period_filters.contains(filter) {
            "picks periods; measures over other periods look past it"
        } else {
            "on rows, in every part, before aggregation"
        };
        line(&mut text, &format!("filter {filter}: {role}"));
    }
    for filter in &plan.having_filters {
        line(
            &mut text,
            &format!("filter {filter}: on groups, it names measures"),
        );
    }
    for part in &plan.parts {
        line(&mut text, "");
        let periods = part
            .periods
            .as_ref()
            .map_or(String::new(), |periods| format!(", {periods}"));
        line(
            &mut text,
            &format!("part {} ({}{periods})", part.name, part.kind),
        );
        picture(&mut text, part);
    }
    if let Some(reason) = &plan.fan_out_description {
        line(&mut text, "");
        line(&mut text, reason);
    }
    for note in &compiled.notes {
        line(&mut text, &format!("note: {note}"));
    }
    text
}

fn line(text: &mut String, content: &str) {
    let written = writeln!(text, "{content}");
    debug_assert!(written.is_ok());
}

fn picture(text: &mut String, part: &PartInfo) {
    line(text, &format!("  {}", part.home));
    branches(text, part, &part.home, "  ");
}

fn branches(text: &mut String, part: &PartInfo, from: &str, margin: &str) {
    let joins = part.joins.iter().filter(|join| join.from_source == from);
    let joins: Vec<&PlannedJoin> = joins.collect();
    for (at, join) in joins.iter().enumerate() {
        let is_last = at + 1 == joins.len();
        let (branch, next) = if is_last {
            ("└─ ", "   ")
        } else {
            ("├─ ", "│  ")
        };
        let proof = join
            .proof
            .map_or(String::new(), |proof| format!(": {proof}"));
        let content = format!(
            "{margin}{branch}{} ({} = {}.{}, {}{proof})",
            join.to_source, join.from_column, join.to_source, join.to_column, join.relationship
        );
        line(text, &content);
        if margin.len() < 64 {
            branches(text, part, &join.to_source, &format!("{margin}{next}"));
        }
    }
}
