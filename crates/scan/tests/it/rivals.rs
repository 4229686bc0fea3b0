//! Databases in which a wrong parent looks as good as the right one.

mod cardinality;
mod groups;
mod modules;
mod parts;
mod roles;
mod versions;

use std::sync::Arc;

use ktx_scan::{ScanMode, scan};
use serde_json::Value;

use crate::memory::World;
use crate::sqlite::{Keys, Sqlite};

/// A column, and the expression of its value in row `i`.
type Column<'c> = (&'c str, &'c str);

fn table(name: &str, rows: u64, columns: &[Column<'_>]) -> String {
    let declared: Vec<&str> = columns.iter().map(|(column, _)| *column).collect();
    let values: Vec<&str> = columns.iter().map(|(_, value)| *value).collect();
    format!(
        "CREATE TABLE {name} ({});\n\
         INSERT INTO {name} WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {rows}) \
         SELECT {} FROM n WHERE {rows} > 0;\n",
        declared.join(", "),
        values.join(", ")
    )
}

/// From 1 to `most`.
fn drawn(seed: u64, most: u64) -> String {
    format!(
        "(1 + (((i + {}) * 2654435761) >> 9) % {most})",
        seed * 1_000_003
    )
}

async fn links(script: &[String]) -> Vec<String> {
    let artifact = artifact(script).await;
    let edges = artifact["accepted"].as_array().expect("a list");
    let mut found: Vec<String> = edges.iter().map(told).collect();
    found.sort();
    found
}

async fn artifact(script: &[String]) -> Value {
    let world = World::new(Arc::new(Sqlite::new(Keys::Hidden, &script.concat())));
    let outcome = scan(world.request(ScanMode::Relationships))
        .await
        .expect("a scan");
    assert_eq!(outcome.report.warnings, Vec::new());
    world.project.publish(&outcome);
    world.project.json("relationships.json")
}

fn told(edge: &Value) -> String {
    let mut pairs: Vec<(String, String)> = names(&edge["from"])
        .into_iter()
        .zip(names(&edge["to"]))
        .collect();
    pairs.sort();
    let (own, other): (Vec<String>, Vec<String>) = pairs.into_iter().unzip();
    let table = |side: &str| {
        edge[side]["table"]["name"]
            .as_str()
            .unwrap_or_default()
            .to_owned()
    };
    format!(
        "{}.{} -> {}.{}",
        table("from"),
        own.join("+"),
        table("to"),
        other.join("+")
    )
}

fn names(side: &Value) -> Vec<String> {
    let columns = side["columns"].as_array().expect("a list").iter();
    columns
        .map(|name| name.as_str().unwrap_or_default().to_owned())
        .collect()
}
