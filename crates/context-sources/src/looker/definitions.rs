//! Reads measures, computed dimensions and joins of explores as definitions, by way of LookML.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use super::LookerCrawl;
use super::explore::{Explore, ExploreField, ExploreJoin};
use super::item::Item;
use crate::definitions::{DefinitionKind, Definitions, SkippedDefinition, SourcePosition, WhyLeft};
use crate::facts::Writer;
use crate::lookml;
use crate::snapshot::Snapshot;

const ENDING: &str = ".lkml";

struct View<'e> {
    table: Option<&'e str>,
    file: String,
    fields: BTreeMap<&'e str, Vec<FieldDefinition<'e>>>,
}

struct FieldDefinition<'e> {
    model: &'e str,
    file: String,
    kind: DefinitionKind,
    text: String,
    formula: String,
}

pub fn definitions(crawl: &LookerCrawl, connections: &BTreeSet<String>) -> Definitions {
    let mut views: BTreeMap<&str, View<'_>> = BTreeMap::new();
    let mut files: BTreeMap<String, String> = BTreeMap::new();
    let mut left = Vec::new();
    for (item, explore) in &crawl.explores {
        let connection = explore.connection.as_ref();
        if !connection.is_some_and(|name| connections.contains(name)) {
            continue;
        }
        if let Some(view) = conflict(explore, &views) {
            left.push(SkippedDefinition {
                why: WhyLeft::Taken,
                kind: DefinitionKind::Join,
                name: explore.name.clone(),
                spot: item.file(),
                reason: format!("another explore has a view `{view}` of another table"),
            });
            continue;
        }
        add_views(explore, item, &mut views);
        files.insert(format!("{}{ENDING}", item.file()), explore_text(explore));
    }
    for (name, view) in views {
        let file = files.entry(format!("{}{ENDING}", view.file)).or_default();
        let _ = writeln!(file, "view: {name} {{");
        match view.table {
            Some(table) if is_plain(table) => {
                let _ = writeln!(file, "sql_table_name: {table} ;;");
            }
            Some(_) => file.push_str("derived_table: { sql: select 1 ;; }\n"),
            None => {}
        }
        for (field, definitions) in &view.fields {
            match definitions.as_slice() {
                [first, others @ ..]
                    if others.iter().all(|other| other.formula == first.formula) =>
                {
                    file.push_str(&first.text);
                }
                rivals => left.extend(rivals.iter().map(|one| rival(name, field, one, rivals))),
            }
        }
        file.push_str("}\n");
    }
    let snapshot = Snapshot {
        files,
        ..Snapshot::default()
    };
    as_explores(lookml::definitions(&snapshot, None), left)
}

/// Replaces the positions of the generated LookML by the explores.
fn as_explores(mut read: Definitions, left: Vec<SkippedDefinition>) -> Definitions {
    let own = |spot: &mut SourcePosition| {
        if let Some((file, _)) = spot.split_once(&format!("{ENDING}:")) {
            *spot = file.to_owned();
        }
    };
    for model in &mut read.models {
        model.columns.iter_mut().for_each(|one| own(&mut one.spot));
        model.joins.iter_mut().for_each(|one| own(&mut one.spot));
        model.measures.iter_mut().for_each(|one| own(&mut one.spot));
        model.segments.iter_mut().for_each(|one| own(&mut one.spot));
    }
    read.left.iter_mut().for_each(|one| own(&mut one.spot));
    read.left.extend(left);
    read.left.sort();
    read.writer = Writer::Looker;
    read
}

fn conflict<'e>(explore: &'e Explore, views: &BTreeMap<&str, View<'_>>) -> Option<&'e str> {
    let mut all = explore.views().into_iter();
    let other = all.find(|(_, view, table)| {
        let known = views.get(view);
        known.is_some_and(|known| known.table != *table)
    });
    other.map(|(_, view, _)| view)
}

fn rival(
    view: &str,
    field: &str,
    own: &FieldDefinition<'_>,
    rivals: &[FieldDefinition<'_>],
) -> SkippedDefinition {
    let mut others = rivals.iter();
    let other = others.find(|other| other.formula != own.formula);
    let other = other.map_or("?", |other| other.model);
    SkippedDefinition {
        why: WhyLeft::Taken,
        kind: own.kind,
        name: format!("{view}.{field}"),
        spot: own.file.clone(),
        reason: format!("the model `{other}` defines another one of this name"),
    }
}

fn add_views<'e>(explore: &'e Explore, item: &Item, views: &mut BTreeMap<&'e str, View<'e>>) {
    for (prefix, name, table) in explore.views() {
        if !is_name(name) {
            continue;
        }
        let view = views.entry(name).or_insert_with(|| View {
            table,
            file: item.file(),
            fields: BTreeMap::new(),
        });
        let fields = &explore.fields;
        let all = fields.dimensions.iter().map(|field| (field, "dimension"));
        let all = all.chain(fields.measures.iter().map(|field| (field, "measure")));
        for (field, kind) in all.filter(|(field, _)| field.view() == prefix) {
            let known = view.fields.entry(field.short()).or_default();
            // A view is the same in all explores of a model.
            let is_known = known.iter().any(|one| one.model == explore.model);
            if is_name(field.short()) && !is_known {
                known.push(FieldDefinition {
                    model: &explore.model,
                    file: item.file(),
                    kind: if kind == "measure" {
                        DefinitionKind::Measure
                    } else {
                        DefinitionKind::Column
                    },
                    text: field_text(field, kind),
                    formula: formula(field, kind),
                });
            }
        }
    }
}

/// Returns the field's LookML without description and view name.
fn formula(field: &ExploreField, kind: &str) -> String {
    let mut bare = field.clone();
    bare.description = None;
    let own = format!("{}.", field.view());
    let conditions = std::mem::take(&mut bare.conditions).into_iter();
    let short = |name: &str| name.strip_prefix(&own).unwrap_or(name).to_owned();
    bare.conditions = conditions
        .map(|(name, words)| (short(&name), words))
        .collect();
    field_text(&bare, kind)
}

fn explore_text(explore: &Explore) -> String {
    let mut text = format!("explore: {} {{\n", explore.name);
    if let Some(view) = &explore.view {
        let _ = writeln!(text, "view_name: {view}");
    }
    for join in explore.joins.iter().filter(|join| is_name(&join.name)) {
        text.push_str(&join_text(join));
    }
    text + "}\n"
}

fn join_text(join: &ExploreJoin) -> String {
    let mut text = format!("join: {} {{\n", join.name);
    let words = [
        ("from", &join.view),
        ("type", &join.kind),
        ("relationship", &join.relationship),
        ("foreign_key", &join.foreign_key),
    ];
    for (key, word) in words {
        if let Some(word) = word.as_deref().filter(|word| is_path(word)) {
            let _ = writeln!(text, "{key}: {word}");
        }
    }
    if let Some(on) = join.sql_on.as_deref().filter(|sql| !sql.contains(";;")) {
        let _ = writeln!(text, "sql_on: {on} ;;");
    }
    text + "}\n"
}

fn field_text(field: &ExploreField, kind: &str) -> String {
    let kind = if field.kind.as_deref() == Some("time") || field.kind.as_deref() == Some("duration")
    {
        "dimension_group"
    } else {
        kind
    };
    let mut text = format!("{kind}: {} {{\n", field.short());
    if let Some(word) = field.kind.as_deref().filter(|word| is_path(word)) {
        let _ = writeln!(text, "type: {word}");
    }
    if field.primary_key {
        text.push_str("primary_key: yes\n");
    }
    if !field.cases.is_empty() {
        text.push_str("case: { when: { sql: 1 ;; } }\n");
    }
    if let Some(description) = &field.description {
        let _ = writeln!(text, "description: \"{}\"", quoted(description));
    }
    let conditions = field.conditions.iter().filter(|(name, _)| is_path(name));
    let conditions: Vec<String> = conditions
        .map(|(name, words)| format!("{name}: \"{}\"", quoted(words)))
        .collect();
    if !conditions.is_empty() {
        let _ = writeln!(text, "filters: [{}]", conditions.join(", "));
    }
    if let Some(sql) = field.sql.as_deref().filter(|sql| !sql.contains(";;")) {
        let _ = writeln!(text, "sql: {sql} ;;");
    }
    text + "}\n"
}

fn quoted(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"")
}

fn is_name(word: &str) -> bool {
    let is_letter = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    !word.is_empty() && word.chars().all(is_letter)
}

fn is_path(word: &str) -> bool {
    word.split('.').all(is_name)
}

fn is_plain(table: &str) -> bool {
    let is_query =
        table.split_whitespace().count() > 1 && !table.trim_start().starts_with(['"', '`', '[']);
    !is_query && !table.contains("${") && !table.contains(";;")
}
