//! Builds the prompt that describes a table, with text from the warehouse fenced as data.

use ktx_relationships::profile::TableProfile;
use ktx_relationships::settings::Switch;
use ktx_warehouse::{Table, TableKind};
use serde::Serialize;

use crate::profile::dictionary::example_values;
use crate::profile::personal::kept_back;
use crate::prompts::{DESCRIBE, fenced, render};
use crate::request::ScanError;
use crate::settings::ScanSettings;

const CELL: usize = 80;
const NAME: usize = 120;
const COMMENT: usize = 300;
const VALUES: usize = 6;
const OTHERS: usize = 60;

pub(crate) struct PromptSubject<'a> {
    pub(crate) table: &'a Table,
    pub(crate) profile: Option<&'a TableProfile>,
    pub(crate) columns: &'a [&'a str],
    pub(crate) with_table: bool,
    pub(crate) settings: &'a ScanSettings,
}

#[derive(Serialize)]
struct ShownColumn {
    name: String,
    #[serde(rename = "type")]
    ty: String,
    key: bool,
    comment: Option<String>,
    values: Option<String>,
}

pub(crate) fn describe_prompt(subject: &PromptSubject<'_>) -> Result<String, ScanError> {
    let table = subject.table;
    let columns: Vec<ShownColumn> = table
        .columns
        .iter()
        .filter(|column| subject.columns.contains(&column.name.as_str()))
        .map(|column| ShownColumn {
            name: fenced(&column.name, NAME),
            ty: fenced(&column.native_type, NAME),
            key: column.primary_key,
            comment: column
                .comment
                .as_deref()
                .map(|comment| fenced(comment, COMMENT)),
            values: values(subject, &column.name),
        })
        .collect();
    let others: Vec<String> = table
        .columns
        .iter()
        .filter(|column| !subject.columns.contains(&column.name.as_str()))
        .take(OTHERS)
        .map(|column| fenced(&column.name, NAME))
        .collect();
    let kind = match table.kind {
        TableKind::Table => "table",
        TableKind::View => "view",
        TableKind::External => "external table",
        TableKind::EventStream => "event stream",
    };
    let comment = table
        .comment
        .as_deref()
        .map(|comment| fenced(comment, COMMENT));
    let rows = subject
        .profile
        .and_then(|profile| profile.rows)
        .map(magnitude);
    render(
        DESCRIBE,
        serde_json::json!({
            "table": fenced(&table.table.to_string(), NAME * 3),
            "kind": kind,
            "comment": comment,
            "rows": rows,
            "columns": columns,
            "others": others.join(", "),
            "examples": examples(subject),
            "with_table": subject.with_table,
            "asked": columns.len(),
        }),
    )
}

/// An order of magnitude, so that a few new rows do not change the prompt.
fn magnitude(rows: u64) -> String {
    match rows {
        0 => "none".to_owned(),
        1..10 => "a few".to_owned(),
        rows => format!("about 10^{}", rows.ilog10()),
    }
}

fn values(subject: &PromptSubject<'_>, column: &str) -> Option<String> {
    let profile = subject.profile?.column(column)?;
    let values = example_values(&subject.table.table.name, profile, VALUES, subject.settings);
    let shown: Vec<String> = values.iter().map(|value| fenced(value, CELL)).collect();
    (!shown.is_empty()).then(|| shown.join(" | "))
}

/// Masks columns that look personal.
fn examples(subject: &PromptSubject<'_>) -> Vec<String> {
    let Some(profile) = subject.profile else {
        return Vec::new();
    };
    let hide = subject.settings.hide_personal_values == Switch::On;
    let shown: Vec<(usize, bool)> = profile
        .columns
        .iter()
        .enumerate()
        .filter(|(_, column)| subject.columns.contains(&column.name.as_str()))
        .map(|(at, column)| {
            (
                at,
                hide && kept_back(&subject.table.table.name, column).is_some(),
            )
        })
        .collect();
    let cell = |row: &Vec<Option<String>>, (at, masked): &(usize, bool)| match row.get(*at) {
        Some(Some(_)) if *masked => "(hidden)".to_owned(),
        Some(Some(text)) => fenced(text, CELL),
        _ => "NULL".to_owned(),
    };
    let line = |row: &Vec<Option<String>>| {
        shown
            .iter()
            .map(|place| cell(row, place))
            .collect::<Vec<_>>()
            .join(" | ")
    };
    profile.examples.iter().take(5).map(line).collect()
}
