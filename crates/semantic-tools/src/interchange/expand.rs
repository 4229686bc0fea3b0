//! Expands measures to self-contained expressions: qualified names, inner conditions, inlined
//! measures.

use std::ops::ControlFlow;

use sqlparser::ast::{
    BinaryOperator, DuplicateTreatment, Expr, Function, FunctionArg, FunctionArgExpr,
    FunctionArgumentList, FunctionArguments, Ident, ObjectName, VisitorMut,
};

use ktx_semantic_layer::Catalog;
use ktx_semantic_layer::Formula;
use ktx_semantic_layer::aggregates::{
    Counted, all_of, counts_rows, filtered, is_aggregate, name_of, unconditional,
};
use ktx_semantic_layer::sql::expression;
use ktx_semantic_layer::{Measure, Source};

/// A deeper chain of measures is a cycle.
const DEEPEST: usize = 16;

pub(super) struct Expanded {
    pub(super) expression: String,
    pub(super) rewritten: Vec<(&'static str, String)>,
}

pub(super) fn expand(
    catalog: &Catalog,
    source: &Source,
    measure: &Measure,
) -> Result<Expanded, String> {
    let mut expander = Expander {
        catalog,
        rewritten: Vec::new(),
    };
    let tree = expander.measure((source, measure), &[], 0)?;
    let mut rewritten = expander.rewritten;
    rewritten.sort();
    rewritten.dedup();
    Ok(Expanded {
        expression: tree.to_string(),
        rewritten,
    })
}

struct Expander<'a> {
    catalog: &'a Catalog,
    rewritten: Vec<(&'static str, String)>,
}

impl Expander<'_> {
    fn note(&mut self, construct: &'static str, message: impl Into<String>) {
        self.rewritten.push((construct, message.into()));
    }

    fn measure(
        &mut self,
        (source, measure): (&Source, &Measure),
        outer: &[Expr],
        depth: usize,
    ) -> Result<Expr, String> {
        if depth > DEEPEST {
            return Err("it is made of itself".to_owned());
        }
        if measure.snapshot.is_some() {
            return Err("the format has no measures of one moment (`semi_additive`)".to_owned());
        }
        match &measure.formula {
            Formula::Expression => {
                let mut conditions = outer.to_vec();
                conditions.extend(self.conditions(source, measure)?);
                self.rewrite(&measure.expr, source, &conditions, depth)
            }
            Formula::Ratio {
                numerator,
                denominator,
            } => {
                let mut conditions = outer.to_vec();
                conditions.extend(self.conditions(source, measure)?);
                let above = self.named(numerator, source, &conditions, depth)?;
                let below = self.named(denominator, source, &conditions, depth)?;
                self.note("ratio", "a ratio is written as a division");
                let text = format!("1.0 * ({above}) / NULLIF({below}, 0)");
                self.parse(&text)
            }
            Formula::Cumulative { .. } => {
                Err("the format has no running totals (`cumulative`)".to_owned())
            }
            Formula::Compare { .. } => {
                Err("the format has no comparisons of periods (`compare`)".to_owned())
            }
        }
    }

    fn parse(&self, text: &str) -> Result<Expr, String> {
        expression::parse(text, self.catalog.dialect()).map_err(|error| error.message)
    }

    fn named(
        &mut self,
        name: &str,
        source: &Source,
        conditions: &[Expr],
        depth: usize,
    ) -> Result<Expr, String> {
        let found = match name.rsplit_once('.') {
            Some((owner, name)) => self
                .catalog
                .source(owner)
                .and_then(|owner| Some((owner, owner.measure(name)?))),
            None => source.measure(name).map(|measure| (source, measure)),
        };
        let found = found.ok_or_else(|| format!("`{name}` is not a measure"))?;
        self.measure(found, conditions, depth + 1)
    }

    fn conditions(&mut self, source: &Source, measure: &Measure) -> Result<Vec<Expr>, String> {
        let mut texts: Vec<&str> = Vec::new();
        if let Some(filter) = &measure.filter {
            self.note(
                "measure_filter",
                "the filter is written as CASE inside the aggregates",
            );
            texts.push(filter);
        }
        for name in &measure.segments {
            let segment = source
                .segment(name)
                .ok_or_else(|| format!("`{name}` is not a segment"))?;
            self.note(
                "measure_segment",
                format!("the segment `{name}` is written as CASE inside the aggregates"),
            );
            texts.push(&segment.expr);
        }
        texts
            .into_iter()
            .map(|text| self.rewrite(text, source, &[], 0))
            .collect()
    }

    fn rewrite(
        &mut self,
        text: &str,
        source: &Source,
        conditions: &[Expr],
        depth: usize,
    ) -> Result<Expr, String> {
        let mut tree = self.parse(text)?;
        let mut rewriting = Rewrite {
            expander: self,
            source,
            conditions,
            depth,
            inside: 0,
        };
        match ktx_sql::visit_mut(&mut tree, &mut rewriting) {
            ControlFlow::Continue(()) => Ok(tree),
            ControlFlow::Break(reason) => Err(reason),
        }
    }
}

struct Rewrite<'r, 'a> {
    expander: &'r mut Expander<'a>,
    source: &'r Source,
    conditions: &'r [Expr],
    depth: usize,
    inside: usize,
}

impl Rewrite<'_, '_> {
    fn column_of(&self, source: &Source, name: &Ident) -> Option<Expr> {
        let (_, column) = source.column(&name.value)?;
        let spelled = |name: &str| Ident {
            value: name.to_owned(),
            quote_style: needs_quotes(name).then(|| self.expander.catalog.dialect().quote_open()),
            span: sqlparser::tokenizer::Span::empty(),
        };
        Some(Expr::CompoundIdentifier(vec![
            spelled(&source.name),
            spelled(&column.name),
        ]))
    }

    /// Returns an expression that is not NULL on any row.
    fn key_of(&self, source: &Source) -> Result<Expr, String> {
        let key = source.grain.first().cloned();
        let key = key.or_else(|| source.columns.first().map(|column| column.name.clone()));
        key.and_then(|key| self.column_of(source, &Ident::new(key)))
            .ok_or_else(|| format!("`{}` has no column to count its rows by", source.name))
    }

    fn name(&mut self, tree: &mut Expr) -> Result<(), String> {
        let parts: Vec<Ident> = match &*tree {
            Expr::Identifier(name) => vec![name.clone()],
            Expr::CompoundIdentifier(parts) => parts.clone(),
            _ => return Ok(()),
        };
        let source = self.source;
        let found = match parts.as_slice() {
            [name] => {
                let column = self.column_of(source, name);
                let measure = source.measure(&name.value).map(|measure| (source, measure));
                (column, measure)
            }
            [owner, name] => {
                let Some(owner) = self.expander.catalog.source(&owner.value) else {
                    return Ok(());
                };
                let measure = owner.measure(&name.value).map(|measure| (owner, measure));
                (self.column_of(owner, name), measure)
            }
            _ => return Ok(()),
        };
        match found {
            (_, Some(measure)) if self.inside == 0 => {
                let inner = self
                    .expander
                    .measure(measure, self.conditions, self.depth + 1)?;
                self.expander.note(
                    "measure_reference",
                    "measures that it is made of are spelled out",
                );
                *tree = expression::nested(inner);
            }
            (Some(column), _) => *tree = column,
            _ => {}
        }
        Ok(())
    }

    /// Measures divide as real numbers, and by zero to NULL.
    fn division(&mut self, tree: &mut Expr) -> Result<(), String> {
        let Expr::BinaryOp { left, right, .. } = &*tree else {
            return Ok(());
        };
        let text = format!("1.0 * ({left}) / NULLIF({right}, 0)");
        self.expander.note(
            "division",
            "the division of real numbers that gives NULL by zero is spelled out",
        );
        *tree = expression::nested(self.expander.parse(&text)?);
        Ok(())
    }

    fn aggregate(&mut self, call: &mut Function) -> Result<(), String> {
        let dialect = self.expander.catalog.dialect();
        let mut conditions = self.conditions.to_vec();
        let (plain, condition) = unconditional(call, dialect).map_err(|error| error.message)?;
        if let Some(condition) = condition {
            self.expander.note(
                "conditional_aggregate",
                format!("`{}` is written as CASE", name_of(call)),
            );
            *call = plain;
            conditions.push(condition);
        }
        if name_of(call) == "count_distinct" {
            call.name = ObjectName::from(vec![Ident::new("COUNT")]);
            if let FunctionArguments::List(list) = &mut call.args {
                list.duplicate_treatment = Some(DuplicateTreatment::Distinct);
            }
        }
        if let Some(counted) = counts_rows(call) {
            let owner = match &counted {
                Counted::OwnRows => Some(self.source),
                Counted::RowsOf(name) => self.expander.catalog.source(&name.to_string()),
            };
            let key = self.key_of(owner.unwrap_or(self.source))?;
            self.expander
                .note("count_rows", "rows are counted by a column of their key");
            call.args = FunctionArguments::List(FunctionArgumentList {
                duplicate_treatment: None,
                args: vec![FunctionArg::Unnamed(FunctionArgExpr::Expr(key))],
                clauses: Vec::new(),
            });
        }
        if conditions.is_empty() {
            return Ok(());
        }
        let condition = all_of(&conditions);
        if let Some(own) = call.filter.take() {
            call.filter = Some(Box::new(all_of(&[*own, condition])));
        } else if let Some(order) = call.within_group.first_mut() {
            order.expr = filtered(&order.expr, Some(&condition));
        } else if let FunctionArguments::List(list) = &mut call.args {
            let first = list.args.first_mut();
            if let Some(FunctionArg::Unnamed(FunctionArgExpr::Expr(value))) = first {
                *value = filtered(value, Some(&condition));
            }
        }
        Ok(())
    }
}

fn needs_quotes(name: &str) -> bool {
    let mut letters = name.chars();
    let begins = letters
        .next()
        .is_some_and(|letter| letter.is_ascii_alphabetic() || letter == '_');
    !begins || !letters.all(|letter| letter.is_ascii_alphanumeric() || letter == '_')
}

fn is_aggregate_call(tree: &Expr) -> bool {
    matches!(tree, Expr::Function(call) if is_aggregate(call))
}

fn flow(result: Result<(), String>) -> ControlFlow<String> {
    match result {
        Ok(()) => ControlFlow::Continue(()),
        Err(reason) => ControlFlow::Break(reason),
    }
}

impl VisitorMut for Rewrite<'_, '_> {
    type Break = String;

    fn pre_visit_expr(&mut self, tree: &mut Expr) -> ControlFlow<String> {
        if is_aggregate_call(tree) {
            self.inside += 1;
        }
        ControlFlow::Continue(())
    }

    fn post_visit_expr(&mut self, tree: &mut Expr) -> ControlFlow<String> {
        if is_aggregate_call(tree) {
            self.inside = self.inside.saturating_sub(1);
        }
        match tree {
            Expr::Function(call) if is_aggregate(call) => flow(self.aggregate(call)),
            Expr::Identifier(_) | Expr::CompoundIdentifier(_) => flow(self.name(tree)),
            Expr::BinaryOp {
                op: BinaryOperator::Divide,
                ..
            } if self.inside == 0 => flow(self.division(tree)),
            _ => ControlFlow::Continue(()),
        }
    }
}
