//! Checks whether the names in a policy exist.

use ktx_config::{Client, WarehouseRules};
use ktx_diagnostics::nearest;
use ktx_sql::Dialect;

use super::pattern::{ColumnPattern, Pattern};
use crate::scans::{ScanSnapshot, ScannedTable};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PolicyProblem {
    pub path: Vec<String>,
    pub message: String,
    pub hint: String,
}

/// Finds unknown names and invalid SQL.
pub fn policy_problems(
    client: &Client,
    connection: &str,
    scan: Option<&ScanSnapshot>,
    dialect: Dialect,
) -> Vec<PolicyProblem> {
    let Some(rules) = client.warehouses.get(connection) else {
        return Vec::new();
    };
    let path = ["clients", &client.name, "warehouses", connection].map(str::to_owned);
    let mut check = RuleCheck {
        path: path.to_vec(),
        tables: scan.map(|scan| scan.tables.as_slice()).unwrap_or_default(),
        dialect,
        problems: Vec::new(),
    };
    if scan.is_none() {
        let message = format!(
            "the policy of `{}` cannot be checked: `{connection}` was never scanned",
            client.name
        );
        check.add(&[], message, format!("run `ktx scan {connection}`"));
    } else {
        check.rules(rules);
    }
    check.problems
}

struct RuleCheck<'a> {
    path: Vec<String>,
    tables: &'a [ScannedTable],
    dialect: Dialect,
    problems: Vec<PolicyProblem>,
}

impl RuleCheck<'_> {
    fn add(&mut self, below: &[&str], message: String, hint: String) {
        let mut path = self.path.clone();
        path.extend(below.iter().map(|part| (*part).to_owned()));
        self.problems.push(PolicyProblem {
            path,
            message,
            hint,
        });
    }

    fn rules(&mut self, rules: &WarehouseRules) {
        let lists = [
            ("tables", rules.tables.as_deref().unwrap_or_default()),
            ("hidden_tables", &rules.hidden_tables),
        ];
        for (key, names) in lists {
            for (index, name) in names.iter().enumerate() {
                self.table(&[key, &index.to_string()], name);
            }
        }
        for (index, name) in rules.hidden_columns.iter().enumerate() {
            self.column(&["hidden_columns", &index.to_string()], name);
        }
        for (name, filter) in &rules.row_filters {
            self.table(&["row_filters", name], name);
            self.expression(&["row_filters", name], filter);
        }
        for (name, mask) in &rules.masked_columns {
            self.column(&["masked_columns", name], name);
            self.expression(&["masked_columns", name], mask);
        }
    }

    fn named(&self, pattern: &Pattern) -> Vec<&ScannedTable> {
        let fits = |table: &&ScannedTable| pattern.fits(table.table.parts());
        self.tables.iter().filter(fits).collect()
    }

    fn table(&mut self, place: &[&str], name: &str) {
        if !self.named(&Pattern::of(name)).is_empty() {
            return;
        }
        let all: Vec<String> = self
            .tables
            .iter()
            .map(|one| one.table.to_string())
            .collect();
        let own = self.tables.iter().map(|one| one.table.name.as_str());
        let known = all.iter().map(String::as_str).chain(own);
        let hint = suggestion(name, known, "tables");
        self.add(
            place,
            format!("the policy names a table `{name}` that the last scan does not have"),
            hint,
        );
    }

    fn column(&mut self, place: &[&str], name: &str) {
        let Some(pattern) = ColumnPattern::of(name) else {
            let message = format!("the policy names a column `{name}` without its table");
            return self.add(place, message, "write `table.column`".to_owned());
        };
        let tables = self.named(&pattern.table);
        if tables.is_empty() {
            let table = name.rsplit_once('.').map_or(name, |(table, _)| table);
            return self.table(place, table);
        }
        let columns = || {
            let all = tables.iter().flat_map(|table| &table.columns);
            all.map(|column| column.name.as_str())
        };
        let own = name.rsplit_once('.').map_or(name, |(_, column)| column);
        let is_there = tables.iter().any(|table| {
            let mut columns = table.columns.iter();
            columns.any(|column| pattern.fits(&table.table, &column.name))
        });
        if !is_there {
            let hint = suggestion(own, columns(), "columns");
            let table = name.rsplit_once('.').map_or(name, |(table, _)| table);
            let message = format!(
                "the policy names a column `{own}` that `{table}` does not have in the last scan"
            );
            self.add(place, message, hint);
        }
    }

    fn expression(&mut self, place: &[&str], text: &str) {
        let statement = format!("SELECT ({text})");
        let is_alone = balanced(text);
        match ktx_read_only_sql::check(&statement, self.dialect) {
            Ok(_) if is_alone => {}
            Ok(_) => self.add(
                place,
                "the expression closes a bracket that it did not open".to_owned(),
                "write one expression".to_owned(),
            ),
            Err(refusal) => self.add(
                place,
                format!("the expression cannot be read as SQL: {refusal}"),
                format!(
                    "write one expression in the dialect of the warehouse ({})",
                    self.dialect
                ),
            ),
        }
    }
}

fn balanced(text: &str) -> bool {
    let (mut depth, mut is_text) = (0_usize, false);
    for letter in text.chars() {
        match letter {
            '\'' => is_text = !is_text,
            '(' if !is_text => depth += 1,
            ')' if !is_text => match depth.checked_sub(1) {
                Some(less) => depth = less,
                None => return false,
            },
            _ => {}
        }
    }
    true
}

fn suggestion<'a>(
    wanted: &str,
    known: impl Iterator<Item = &'a str> + Clone,
    what: &str,
) -> String {
    match nearest(wanted, known).first() {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("correct the name, or run `ktx scan` if the {what} are new"),
    }
}
