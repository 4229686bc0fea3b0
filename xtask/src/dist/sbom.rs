//! The bill of materials (`CycloneDX` 1.5) of linked packages.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context as _, Result};
use serde_json::{Value, json};

use super::Release;
use crate::process;

/// Reproducible JSON: no time, no serial number.
pub(super) fn document(release: &Release<'_>) -> Result<String> {
    let arguments = [
        "metadata",
        "--format-version",
        "1",
        "--locked",
        "--filter-platform",
        &release.platform.triple,
    ];
    let text = process::output(&mut process::cargo(release.repository, &arguments))?;
    let metadata: Value =
        serde_json::from_str(&text).context("`cargo metadata` printed no JSON")?;
    let mut printed = serde_json::to_string_pretty(&bill(&metadata)?)?;
    printed.push('\n');
    Ok(printed)
}

pub(super) fn bill(metadata: &Value) -> Result<Value> {
    let packages: BTreeMap<&str, &Value> = list(&metadata["packages"])
        .filter_map(|package| Some((package["id"].as_str()?, package)))
        .collect();
    let root = packages
        .iter()
        .find(|(_, package)| package["name"] == "ktx")
        .map(|(id, _)| *id)
        .context("`cargo metadata` names no package `ktx`")?;
    let edges = linked_edges(metadata);
    let mut linked = BTreeSet::new();
    let mut waiting = vec![root];
    while let Some(id) = waiting.pop() {
        if linked.insert(id) {
            waiting.extend(edges.get(id).into_iter().flatten());
        }
    }
    let component = |id: &str| packages.get(id).map(|package| component(package));
    let components: Vec<Value> = linked
        .iter()
        .filter(|id| **id != root)
        .filter_map(|id| component(id))
        .collect();
    Ok(json!({
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": { "component": component(root) },
        "components": components,
    }))
}

/// Excludes build and test dependencies.
fn linked_edges(metadata: &Value) -> BTreeMap<&str, Vec<&str>> {
    list(&metadata["resolve"]["nodes"])
        .filter_map(|node| {
            let targets = list(&node["deps"])
                .filter(|edge| list(&edge["dep_kinds"]).any(|kind| kind["kind"].is_null()))
                .filter_map(|edge| edge["pkg"].as_str())
                .collect();
            Some((node["id"].as_str()?, targets))
        })
        .collect()
}

fn component(package: &Value) -> Value {
    let text = |field: &str| package[field].as_str().unwrap_or_default();
    let url = format!("pkg:cargo/{}@{}", text("name"), text("version"));
    let mut component = json!({
        "type": if text("name") == "ktx" { "application" } else { "library" },
        "bom-ref": url,
        "name": text("name"),
        "version": text("version"),
        "purl": url,
    });
    if let Some(license) = package["license"].as_str() {
        // Cargo accepts `A/B`; the bill needs SPDX.
        component["licenses"] = json!([{ "expression": license.replace('/', " OR ") }]);
    }
    component
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}
