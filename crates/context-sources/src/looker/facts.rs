//! Reads facts about columns from explores.

use std::collections::{BTreeMap, BTreeSet};

use super::LookerCrawl;
use super::explore::ExploreField;
use super::item::Item;
use crate::facts::{ColumnFacts, Facts, TableFacts, Writer, is_secret};
use crate::lookml::{chosen, is_changed, shown};
use crate::names;

/// Each with whether its name differs from its column's.
type Dimensions = Vec<(bool, ColumnFacts)>;

/// Returns descriptions of dimensions that show a column unchanged, for plain tables on these
/// Looker connections. Values that only Looker can evaluate become warnings.
pub fn facts(crawl: &LookerCrawl, connections: &BTreeSet<String>) -> Facts {
    let is_explore = |path: &str| matches!(Item::of(path), Some(Item::Explore { .. }));
    let left_out = &crawl.snapshot.left_out;
    let mut facts = Facts {
        writer: Writer::Looker,
        is_complete: !left_out.iter().any(|left| is_explore(&left.path)),
        ..Facts::default()
    };
    let mut views: BTreeMap<(&str, &str), (String, Dimensions)> = BTreeMap::new();
    let mut warnings = BTreeSet::new();
    for (item, explore) in &crawl.explores {
        let connection = explore.connection.as_ref();
        if !connection.is_some_and(|name| connections.contains(name)) {
            continue;
        }
        facts.is_complete &= !explore.hides_sql();
        for field in &explore.fields.dimensions {
            let view = field.defined_in.as_deref().unwrap_or(field.view());
            let Some(table) = explore.table_of(field.view()) else {
                continue;
            };
            let (Some(column), Some(said)) = (column(field), &field.description) else {
                continue;
            };
            if names::table(table).is_none() {
                // A derived table does not exist in the warehouse.
                if !table.contains(".SQL_TABLE_NAME}") {
                    let what = "was left out: its `sql_table_name` is not a plain name";
                    warnings.insert(format!("the view `{view}` {what}"));
                }
                continue;
            }
            if let Some(what) = problem(said) {
                warnings.insert(format!("the description of `{}` {what}", field.name));
                continue;
            }
            let known = views.entry((table, view));
            let (_, columns) = known.or_insert_with(|| (item.file(), Vec::new()));
            let is_other = !column.eq_ignore_ascii_case(field.short());
            let column = ColumnFacts {
                name: column,
                description: Some(said.clone()),
                ..ColumnFacts::default()
            };
            columns.push((is_other, column));
        }
    }
    facts.is_complete &= warnings.is_empty();
    facts.warnings.extend(warnings);
    for ((table, _), (path, columns)) in views {
        if let Some(table) = names::table(table) {
            let columns = chosen(columns);
            facts.add(TableFacts { columns, ..table }, &path);
        }
    }
    facts.sort();
    facts
}

fn column(field: &ExploreField) -> Option<String> {
    let is_other = field.kind.as_deref().is_some_and(is_changed) || !field.cases.is_empty();
    shown(field.sql.as_deref()?).filter(|_| !is_other)
}

fn problem(text: &str) -> Option<&'static str> {
    if ["{%", "{{"].iter().any(|begin| text.contains(begin)) {
        return Some("was left out: only Looker can write it out");
    }
    is_secret(text).then_some("looks like a password or key and was left out")
}
