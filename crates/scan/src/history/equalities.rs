//! Finds the columns that a query compares for equality.

use std::collections::{BTreeMap, BTreeSet};

use sqlparser::ast::{
    BinaryOperator, Expr, GroupByExpr, Join, JoinConstraint, JoinOperator, Query, Select,
    SelectItem, SelectItemQualifiedWildcardKind, SetExpr, Statement, TableAlias, TableFactor,
    TableWithJoins,
};
use sqlparser::parser::Parser;
use sqlparser::tokenizer::{Token, Tokenizer};

use ktx_relationships::links::joins::Group;
use ktx_relationships::types::ColumnId;
use ktx_sql::Dialect;
use ktx_sql::grammar::Grammar;

use crate::history::Catalog;
use crate::history::scope::{Scope, Source, parts};
use crate::history::usage::Reading;

const LONGEST: usize = 256 << 10;

#[derive(Debug, Default)]
pub(super) struct Said {
    pub(super) groups: Vec<Group>,
    pub(super) readings: Vec<Reading>,
    pub(super) unread: usize,
    pub(super) has_words: bool,
}

/// Needs a large stack: syntax trees are as deep as conditions are long.
pub(super) fn equalities(text: &str, dialect: Dialect, catalog: &Catalog<'_>) -> Said {
    let unknown = || Said {
        unread: 1,
        ..Said::default()
    };
    if text.len() > LONGEST {
        return unknown();
    }
    let grammar = Grammar::new(dialect);
    let Ok(tokens) = Tokenizer::new(&grammar, text).tokenize() else {
        return unknown();
    };
    let mut said = Said {
        has_words: true,
        ..Said::default()
    };
    for statement in tokens.split(|token| *token == Token::SemiColon) {
        let empty = |token: &Token| matches!(token, Token::Whitespace(_));
        if statement.iter().all(empty) {
            continue;
        }
        let mut reading = Reading::default();
        for token in statement {
            if let Token::Word(word) = token {
                reading.named.extend(catalog.named(&word.value));
            }
        }
        let mut parser = Parser::new(&grammar).with_tokens(statement.to_vec());
        match parser.parse_statement() {
            Ok(statement) => {
                if let Some(query) = query_of(&statement) {
                    let mut walk = Walk {
                        found: Vec::new(),
                        reading,
                        dialect,
                    };
                    walk.query(query, &Scope::inside(catalog, None));
                    reading = walk.reading;
                    reading.joins = walk.found.iter().cloned().collect();
                    said.groups.append(&mut walk.found);
                }
            }
            Err(_) => said.unread += 1,
        }
        said.readings.push(reading);
    }
    said
}

fn query_of(statement: &Statement) -> Option<&Query> {
    match statement {
        Statement::Query(query) => Some(query),
        Statement::Insert(insert) => insert.source.as_deref(),
        Statement::CreateTable(table) => table.query.as_deref(),
        Statement::CreateView(view) => Some(&view.query),
        _ => None,
    }
}

struct Walk {
    found: Vec<Group>,
    reading: Reading,
    dialect: Dialect,
}

impl Walk {
    /// Returns output columns that are plain table columns.
    fn query(&mut self, query: &Query, outer: &Scope<'_>) -> BTreeMap<String, ColumnId> {
        let mut scope = Scope::inside(outer.catalog, Some(outer));
        for cte in query.with.iter().flat_map(|with| &with.cte_tables) {
            let columns = self.query(&cte.query, &scope);
            let source = Source::Columns(renamed(columns, &cte.alias));
            scope
                .ctes
                .insert(cte.alias.name.value.to_lowercase(), source);
        }
        self.body(&query.body, &scope)
    }

    fn body(&mut self, body: &SetExpr, outer: &Scope<'_>) -> BTreeMap<String, ColumnId> {
        match body {
            SetExpr::Select(select) => self.select(select, outer),
            SetExpr::Query(query) => self.query(query, outer),
            SetExpr::SetOperation { left, right, .. } => {
                let first = self.body(left, outer);
                let second = self.body(right, outer);
                // Both sides of a union must have the same column.
                first
                    .into_iter()
                    .filter(|(name, at)| second.get(name) == Some(at))
                    .collect()
            }
            _ => BTreeMap::new(),
        }
    }

    fn select(&mut self, select: &Select, outer: &Scope<'_>) -> BTreeMap<String, ColumnId> {
        let mut scope = Scope::inside(outer.catalog, Some(outer));
        let mut equal: BTreeSet<(ColumnId, ColumnId)> = BTreeSet::new();
        for from in &select.from {
            self.from(from, &mut scope, &mut equal);
        }
        for condition in [&select.selection, &select.having, &select.qualify]
            .into_iter()
            .flatten()
        {
            self.condition(condition, &scope, &mut equal);
        }
        if let GroupByExpr::Expressions(keys, _) = &select.group_by {
            let columns = keys.iter().filter_map(|key| scope.column(key));
            self.reading.grouped.extend(columns);
        }
        for item in &select.projection {
            if let SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. } = item {
                self.nested(expr, &scope);
            }
        }
        self.found.append(&mut grouped(equal));
        output(select, &scope)
    }

    fn from(
        &mut self,
        from: &TableWithJoins,
        scope: &mut Scope<'_>,
        equal: &mut BTreeSet<(ColumnId, ColumnId)>,
    ) {
        self.factor(&from.relation, scope, equal);
        for join in &from.joins {
            self.join(join, scope, equal);
        }
    }

    fn join(
        &mut self,
        join: &Join,
        scope: &mut Scope<'_>,
        equal: &mut BTreeSet<(ColumnId, ColumnId)>,
    ) {
        let before = scope.sources.len();
        self.factor(&join.relation, scope, equal);
        match constraint(&join.join_operator) {
            Some(JoinConstraint::On(condition)) => self.condition(condition, scope, equal),
            Some(JoinConstraint::Using(names)) => {
                for name in names {
                    let name = parts(name).join(".");
                    let left = (0..before).find_map(|at| scope.column_of(at, &name));
                    let right =
                        (before..scope.sources.len()).find_map(|at| scope.column_of(at, &name));
                    equal.extend(left.zip(right).and_then(ordered));
                }
            }
            _ => {}
        }
    }

    fn factor(
        &mut self,
        factor: &TableFactor,
        scope: &mut Scope<'_>,
        equal: &mut BTreeSet<(ColumnId, ColumnId)>,
    ) {
        match factor {
            TableFactor::Table {
                name, alias, args, ..
            } => {
                let source = if args.is_some() {
                    Source::Unknown
                } else {
                    let source = scope.relation(name);
                    if !matches!(source, Source::Columns(_)) {
                        let exact = scope.catalog.exact(&parts(name), self.dialect);
                        self.reading.tables.extend(exact);
                    }
                    source
                };
                let known = alias.as_ref().map_or_else(
                    || parts(name).pop().unwrap_or_default(),
                    |alias| alias.name.value.clone(),
                );
                scope.sources.push((known.to_lowercase(), source));
            }
            TableFactor::Derived {
                subquery, alias, ..
            } => {
                let columns = self.query(subquery, scope);
                let Some(alias) = alias else {
                    scope
                        .sources
                        .push((String::new(), Source::Columns(columns)));
                    return;
                };
                let source = Source::Columns(renamed(columns, alias));
                scope
                    .sources
                    .push((alias.name.value.to_lowercase(), source));
            }
            TableFactor::NestedJoin {
                table_with_joins, ..
            } => self.from(table_with_joins, scope, equal),
            _ => scope.sources.push((String::new(), Source::Unknown)),
        }
    }

    fn condition(
        &mut self,
        condition: &Expr,
        scope: &Scope<'_>,
        equal: &mut BTreeSet<(ColumnId, ColumnId)>,
    ) {
        let mut open = vec![condition];
        while let Some(part) = open.pop() {
            match part {
                Expr::Nested(inner) => open.push(inner),
                Expr::BinaryOp {
                    left,
                    op: BinaryOperator::And,
                    right,
                } => open.extend([left.as_ref(), right.as_ref()]),
                Expr::BinaryOp {
                    left,
                    op: BinaryOperator::Eq,
                    right,
                } => {
                    let pair = scope.column(left).zip(scope.column(right));
                    equal.extend(pair.and_then(ordered));
                    if pair.is_none() {
                        self.filter([left.as_ref(), right.as_ref()], scope);
                        self.nested(left, scope);
                        self.nested(right, scope);
                    }
                }
                Expr::InSubquery {
                    expr,
                    subquery,
                    negated: _,
                } => {
                    let columns = self.query(subquery, scope);
                    self.filter([expr.as_ref()], scope);
                    let only = (columns.len() == 1).then(|| columns.into_values().next());
                    let pair = scope.column(expr).zip(only.flatten());
                    self.found
                        .extend(pair.and_then(ordered).map(|pair| vec![pair]));
                }
                other => {
                    self.filter(operands(other), scope);
                    self.nested(other, scope);
                }
            }
        }
    }

    fn filter<'e>(&mut self, sides: impl IntoIterator<Item = &'e Expr>, scope: &Scope<'_>) {
        let columns = sides.into_iter().filter_map(|side| scope.column(side));
        self.reading.filters.extend(columns);
    }

    fn nested(&mut self, expression: &Expr, scope: &Scope<'_>) {
        let mut open = vec![expression];
        while let Some(part) = open.pop() {
            match part {
                Expr::Subquery(query)
                | Expr::Exists {
                    subquery: query, ..
                } => {
                    self.query(query, scope);
                }
                Expr::InSubquery { .. } => self.condition(part, scope, &mut BTreeSet::new()),
                Expr::Nested(inner)
                | Expr::UnaryOp { expr: inner, .. }
                | Expr::Cast { expr: inner, .. } => open.push(inner),
                Expr::BinaryOp { left, right, .. } => {
                    open.extend([left.as_ref(), right.as_ref()]);
                }
                _ => {}
            }
        }
    }
}

/// Includes comparisons below `OR` and `NOT`.
fn operands(condition: &Expr) -> Vec<&Expr> {
    let (mut open, mut sides) = (vec![condition], Vec::new());
    while let Some(part) = open.pop() {
        match part {
            Expr::BinaryOp {
                left,
                op: BinaryOperator::Or | BinaryOperator::And,
                right,
            } => {
                open.extend([left.as_ref(), right.as_ref()]);
            }
            Expr::Nested(inner) | Expr::UnaryOp { expr: inner, .. } => open.push(inner),
            Expr::BinaryOp { left, right, .. } => {
                sides.extend([left.as_ref(), right.as_ref()]);
            }
            Expr::Between { expr, .. }
            | Expr::InList { expr, .. }
            | Expr::Like { expr, .. }
            | Expr::ILike { expr, .. }
            | Expr::IsNull(expr)
            | Expr::IsNotNull(expr) => sides.push(expr.as_ref()),
            _ => {}
        }
    }
    sides
}

fn output(select: &Select, scope: &Scope<'_>) -> BTreeMap<String, ColumnId> {
    let mut columns = BTreeMap::new();
    for item in &select.projection {
        match item {
            SelectItem::UnnamedExpr(expr) => {
                let name = match expr {
                    Expr::Identifier(name) => Some(name),
                    Expr::CompoundIdentifier(parts) => parts.last(),
                    _ => None,
                };
                if let (Some(name), Some(at)) = (name, scope.column(expr)) {
                    columns.insert(name.value.to_lowercase(), at);
                }
            }
            SelectItem::ExprWithAlias { expr, alias } => {
                if let Some(at) = scope.column(expr) {
                    columns.insert(alias.value.to_lowercase(), at);
                }
            }
            SelectItem::QualifiedWildcard(SelectItemQualifiedWildcardKind::ObjectName(name), _) => {
                let known = parts(name).pop().unwrap_or_default().to_lowercase();
                let found = scope.sources.iter().find(|(name, _)| *name == known);
                if let Some((_, source)) = found {
                    columns.extend(scope.all_of(source));
                }
            }
            SelectItem::Wildcard(_) => {
                for (_, source) in &scope.sources {
                    columns.extend(scope.all_of(source));
                }
            }
            _ => {}
        }
    }
    columns
}

/// The map has no order, so a list of names drops all columns.
fn renamed(columns: BTreeMap<String, ColumnId>, alias: &TableAlias) -> BTreeMap<String, ColumnId> {
    if alias.columns.is_empty() {
        columns
    } else {
        BTreeMap::new()
    }
}

const fn constraint(operator: &JoinOperator) -> Option<&JoinConstraint> {
    match operator {
        JoinOperator::Join(constraint)
        | JoinOperator::Inner(constraint)
        | JoinOperator::Left(constraint)
        | JoinOperator::LeftOuter(constraint)
        | JoinOperator::Right(constraint)
        | JoinOperator::RightOuter(constraint)
        | JoinOperator::FullOuter(constraint)
        | JoinOperator::CrossJoin(constraint)
        | JoinOperator::Semi(constraint)
        | JoinOperator::LeftSemi(constraint)
        | JoinOperator::RightSemi(constraint)
        | JoinOperator::Anti(constraint)
        | JoinOperator::LeftAnti(constraint)
        | JoinOperator::RightAnti(constraint)
        | JoinOperator::AsOf { constraint, .. }
        | JoinOperator::StraightJoin(constraint) => Some(constraint),
        _ => None,
    }
}

fn ordered((left, right): (ColumnId, ColumnId)) -> Option<(ColumnId, ColumnId)> {
    (left != right).then(|| (left.min(right), left.max(right)))
}

fn grouped(equal: BTreeSet<(ColumnId, ColumnId)>) -> Vec<Group> {
    let mut by_tables: BTreeMap<(usize, usize), Group> = BTreeMap::new();
    let mut groups: Vec<Group> = Vec::new();
    for (left, right) in equal {
        if left.table == right.table {
            groups.push(vec![(left, right)]);
        } else {
            by_tables
                .entry((left.table, right.table))
                .or_default()
                .push((left, right));
        }
    }
    for group in by_tables.into_values() {
        let lefts: BTreeSet<ColumnId> = group.iter().map(|(left, _)| *left).collect();
        let rights: BTreeSet<ColumnId> = group.iter().map(|(_, right)| *right).collect();
        if lefts.len() == group.len() && rights.len() == group.len() {
            groups.push(group);
        } else {
            // One column compared with two is two roles, not one key.
            groups.extend(group.into_iter().map(|pair| vec![pair]));
        }
    }
    groups
}
