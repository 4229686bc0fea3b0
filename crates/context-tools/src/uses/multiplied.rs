//! Finds joins of a statement that multiply the rows of its aggregates.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;

use ktx_read_only_sql::ReadOnlySql;
use ktx_semantic_layer::{Catalog, Query, Relationship, Source, compile};
use ktx_sql::grammar::Grammar;
use serde_json::{Value, json};
use sqlparser::ast::{
    BinaryOperator, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, GroupByExpr,
    JoinConstraint, JoinOperator, Select, SetExpr, Statement, TableFactor,
};
use sqlparser::parser::Parser;

use crate::scans::Places;

/// Duplicate rows change these aggregates.
const ADDING: [&str; 4] = ["sum", "avg", "count", "total"];

struct Relations<'a> {
    by_alias: BTreeMap<String, &'a Source>,
    steps: BTreeMap<(String, String), Found>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Found {
    One,
    Several,
}

/// Judges only plain queries over joined tables, and joins that the catalog knows.
pub(super) fn multiplied(
    statement: &ReadOnlySql,
    catalog: &Catalog,
    places: &Places<'_>,
) -> Vec<String> {
    let grammar = Grammar::new(statement.dialect());
    let Ok(parsed) = Parser::parse_sql(&grammar, statement.as_str()) else {
        return Vec::new();
    };
    let [Statement::Query(query)] = parsed.as_slice() else {
        return Vec::new();
    };
    let SetExpr::Select(select) = query.body.as_ref() else {
        return Vec::new();
    };
    let Some(relations) = relations(select, catalog, places) else {
        return Vec::new();
    };
    let mut notes = Vec::new();
    for (aggregate, alias) in aggregates(select, &relations) {
        let Some(other) = relations.multiplier(&alias) else {
            continue;
        };
        let (own, other) = (relations.name(&alias), relations.name(&other));
        let mut note = format!(
            "`{aggregate}` counts rows of `{own}` more than once: the join to `{other}` finds several rows for one"
        );
        if let Some(instead) = instead(&aggregate, select, &relations, catalog) {
            note = format!("{note}; send to `sl_query` instead: {instead}");
        }
        if !notes.contains(&note) {
            notes.push(note);
        }
    }
    notes
}

impl Relations<'_> {
    fn name(&self, alias: &str) -> &str {
        self.by_alias
            .get(alias)
            .map_or("", |source| source.name.as_str())
    }

    fn multiplier(&self, alias: &str) -> Option<String> {
        let mut reached = BTreeSet::from([alias.to_owned()]);
        let mut open = vec![alias.to_owned()];
        while let Some(from) = open.pop() {
            for ((start, end), found) in &self.steps {
                if *start != from || reached.contains(end) {
                    continue;
                }
                if *found == Found::Several {
                    return Some(end.clone());
                }
                reached.insert(end.clone());
                open.push(end.clone());
            }
        }
        None
    }

    fn owner(&self, column: &Expr) -> Option<(String, String)> {
        match column {
            Expr::CompoundIdentifier(parts) => match parts.as_slice() {
                [.., alias, column] => {
                    let alias = alias.value.to_lowercase();
                    let known = self.by_alias.contains_key(&alias);
                    known.then(|| (alias, column.value.clone()))
                }
                _ => None,
            },
            Expr::Identifier(column) => {
                let has = |source: &Source| {
                    let mut names = source.columns.iter().map(|column| &column.name);
                    names.any(|name| name.eq_ignore_ascii_case(&column.value))
                };
                let mut owners = self.by_alias.iter().filter(|(_, source)| has(source));
                let (alias, _) = owners.next()?;
                let is_only = owners.next().is_none();
                is_only.then(|| (alias.clone(), column.value.clone()))
            }
            _ => None,
        }
    }
}

fn relations<'a>(
    select: &Select,
    catalog: &'a Catalog,
    places: &Places<'_>,
) -> Option<Relations<'a>> {
    let [from] = select.from.as_slice() else {
        return None;
    };
    let mut relations = Relations {
        by_alias: BTreeMap::new(),
        steps: BTreeMap::new(),
    };
    let (alias, source) = relation(&from.relation, catalog, places)?;
    relations.by_alias.insert(alias, source);
    for join in &from.joins {
        let (alias, source) = relation(&join.relation, catalog, places)?;
        relations.by_alias.insert(alias, source);
        let (JoinOperator::Join(JoinConstraint::On(condition))
        | JoinOperator::Inner(JoinConstraint::On(condition))
        | JoinOperator::Left(JoinConstraint::On(condition))
        | JoinOperator::LeftOuter(JoinConstraint::On(condition))) = &join.join_operator
        else {
            return None;
        };
        let mut pairs: BTreeMap<(String, String), Vec<(String, String)>> = BTreeMap::new();
        equalities(condition, &relations, &mut pairs);
        for ((left, right), columns) in pairs {
            let (one, other) = (
                relations.by_alias.get(&left)?,
                relations.by_alias.get(&right)?,
            );
            if let Some(found) = found(one, other, &columns) {
                relations.steps.insert((left.clone(), right.clone()), found);
            }
            let mirrored: Vec<(String, String)> = columns
                .into_iter()
                .map(|(left, right)| (right, left))
                .collect();
            if let Some(found) = self::found(other, one, &mirrored) {
                relations.steps.insert((right, left), found);
            }
        }
    }
    Some(relations)
}

fn relation<'a>(
    factor: &TableFactor,
    catalog: &'a Catalog,
    places: &Places<'_>,
) -> Option<(String, &'a Source)> {
    let TableFactor::Table { name, alias, .. } = factor else {
        return None;
    };
    let [table] = places.named(&name.to_string()) else {
        return None;
    };
    let mut sources = catalog.sources().iter();
    let source = sources.find(|source| {
        let read = places.read_by(source);
        read.is_some_and(|read| read.table == table.table)
    })?;
    let alias = match alias {
        Some(alias) => alias.name.value.to_lowercase(),
        None => table.table.name.to_lowercase(),
    };
    Some((alias, source))
}

fn equalities(
    condition: &Expr,
    relations: &Relations<'_>,
    pairs: &mut BTreeMap<(String, String), Vec<(String, String)>>,
) {
    match condition {
        Expr::Nested(inner) => equalities(inner, relations, pairs),
        Expr::BinaryOp {
            left,
            op: BinaryOperator::And,
            right,
        } => {
            equalities(left, relations, pairs);
            equalities(right, relations, pairs);
        }
        Expr::BinaryOp {
            left,
            op: BinaryOperator::Eq,
            right,
        } => {
            let owners = relations.owner(left).zip(relations.owner(right));
            if let Some(((left, one), (right, other))) = owners
                && left != right
            {
                pairs.entry((left, right)).or_default().push((one, other));
            }
        }
        _ => {}
    }
}

fn found(from: &Source, to: &Source, columns: &[(String, String)]) -> Option<Found> {
    let is_pair = |pair: &(String, String)| {
        columns.iter().any(|(local, target)| {
            local.eq_ignore_ascii_case(&pair.0) && target.eq_ignore_ascii_case(&pair.1)
        })
    };
    let mut joins = from.joins.iter();
    let join = joins.find(|join| join.to == to.name && join.pairs.iter().all(is_pair))?;
    Some(match join.relationship {
        Relationship::OneToMany => Found::Several,
        Relationship::ManyToOne | Relationship::OneToOne => Found::One,
    })
}

fn aggregates(select: &Select, relations: &Relations<'_>) -> Vec<(String, String)> {
    let mut found: Vec<(String, String)> = Vec::new();
    let flow: ControlFlow<()> = ktx_sql::visit_expressions(&select.projection, |part| {
        if let Expr::Function(call) = part
            && let Some(one) = adding(call, relations)
            && !found.contains(&one)
        {
            found.push(one);
        }
        ControlFlow::Continue(())
    });
    debug_assert!(flow.is_continue());
    found
}

fn adding(call: &Function, relations: &Relations<'_>) -> Option<(String, String)> {
    let name = call.name.to_string().to_lowercase();
    if !ADDING.contains(&name.as_str()) || call.over.is_some() {
        return None;
    }
    let FunctionArguments::List(list) = &call.args else {
        return None;
    };
    let [FunctionArg::Unnamed(FunctionArgExpr::Expr(column))] = list.args.as_slice() else {
        return None;
    };
    if list.duplicate_treatment.is_some() {
        return None;
    }
    let (alias, column) = relations.owner(column)?;
    let name = if name == "total" { "sum" } else { &name };
    Some((
        format!("{name}({}.{column})", relations.name(&alias)),
        alias,
    ))
}

fn instead(
    aggregate: &str,
    select: &Select,
    relations: &Relations<'_>,
    catalog: &Catalog,
) -> Option<Value> {
    let dotted = |column: &Expr| {
        let (alias, column) = relations.owner(column)?;
        Some(format!("{}.{column}", relations.name(&alias)))
    };
    let groups = match &select.group_by {
        GroupByExpr::Expressions(groups, modifiers) if modifiers.is_empty() => groups,
        _ => return None,
    };
    let dimensions: Vec<String> = groups.iter().map(dotted).collect::<Option<_>>()?;
    if select.having.is_some() {
        return None;
    }
    let mut query = json!({ "measures": [aggregate] });
    if !dimensions.is_empty() {
        query["dimensions"] = json!(dimensions);
    }
    if let Some(condition) = &select.selection {
        let mut text = condition.to_string();
        for (alias, source) in &relations.by_alias {
            text = with_source(&text, alias, &source.name);
        }
        query["filters"] = json!([text]);
    }
    let read = Query::from_value(&query).ok()?;
    compile(catalog, &read, catalog.dialect()).ok()?;
    Some(query)
}

fn with_source(text: &str, alias: &str, source: &str) -> String {
    let is_part = |letter: char| letter.is_alphanumeric() || letter == '_' || letter == '.';
    let mut written = String::new();
    let mut word = String::new();
    for letter in text.chars().chain([' ']) {
        if is_part(letter) {
            word.push(letter);
            continue;
        }
        match word.split_once('.') {
            Some((first, rest)) if first.eq_ignore_ascii_case(alias) => {
                written.push_str(source);
                written.push('.');
                written.push_str(rest);
            }
            _ => written.push_str(&word),
        }
        word.clear();
        written.push(letter);
    }
    written.truncate(written.len().saturating_sub(1));
    written
}
