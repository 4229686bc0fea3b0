//! Finds duplicate measures, by name or by meaning.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;

use sqlparser::ast::{Expr, Ident, VisitorMut};

use super::Findings;
use crate::model::error::ErrorKind;
use crate::model::part::Part;
use crate::model::resolved::{Measure, Source};
use crate::names::Names;
use crate::sql::expression;

#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Saying {
    expr: String,
    formula: &'static str,
    snapshot: Option<String>,
    segments: Vec<String>,
}

/// Compares each measure with earlier ones by name, text and filter.
pub(super) fn check(names: Names<'_>, source: &Source, found: &mut Findings<'_>) {
    let mut by_name: BTreeSet<&str> = BTreeSet::new();
    let mut by_saying: BTreeMap<Saying, (&str, BTreeMap<Option<String>, &str>)> = BTreeMap::new();
    let composed = names.catalog.composed(&source.name);
    let is_imported =
        |measure: &&Measure| composed.is_some_and(|own| own.imported.has_measure(&measure.name));
    for measure in source.measures.iter().filter(|one| !is_imported(one)) {
        let part = Part::Measure(measure.name.clone());
        if !by_name.insert(&measure.name) {
            let message = format!("measure `{}` is declared twice", measure.name);
            found.error((source, &part), ErrorKind::DuplicateMeasureName, message);
            continue;
        }
        let written = |text: &str| spelled(names, source, text);
        let filter = measure.filter.as_deref().map(written);
        let (first, filters) = by_saying
            .entry(saying(measure, written(&measure.expr)))
            .or_insert_with(|| (&measure.name, BTreeMap::new()));
        if let Some(other) = filters.get(&filter) {
            let message = format!(
                "measures `{other}` and `{}` are the same; remove one",
                measure.name
            );
            found.error((source, &part), ErrorKind::DuplicateMeasureExpr, message);
            continue;
        }
        if !filters.is_empty() {
            let message = format!(
                "measures `{first}` and `{}` differ in their filter only; a segment says it once",
                measure.name
            );
            found.warn((source, &part), ErrorKind::DuplicateMeasureExpr, message);
        }
        filters.insert(filter, &measure.name);
    }
}

fn saying(measure: &Measure, expr: String) -> Saying {
    let mut segments = measure.segments.clone();
    segments.sort();
    Saying {
        expr,
        formula: measure.formula.key(),
        snapshot: measure.snapshot.as_ref().map(ToString::to_string),
        segments,
    }
}

/// Own columns without source, no redundant parentheses.
fn spelled(names: Names<'_>, source: &Source, text: &str) -> String {
    let Ok(mut tree) = expression::parse(text, names.dialect) else {
        return squeezed(text);
    };
    let mut plain = Plain { own: source };
    let flow = ktx_sql::visit_mut(&mut tree, &mut plain);
    debug_assert!(flow.is_continue());
    squeezed(&tree.to_string())
}

struct Plain<'a> {
    own: &'a Source,
}

impl VisitorMut for Plain<'_> {
    type Break = ();

    fn post_visit_expr(&mut self, tree: &mut Expr) -> ControlFlow<()> {
        if let Expr::Nested(inner) = tree {
            let inner = (**inner).clone();
            let is_whole = !matches!(expression::nested(inner.clone()), Expr::Nested(_));
            if is_whole {
                *tree = inner;
            }
        }
        if let Expr::CompoundIdentifier(parts) = tree
            && let [front, column] = parts.as_slice()
            && front.value == self.own.name
        {
            *tree = Expr::Identifier(column.clone());
        }
        // Two columns may differ only in case.
        if let Expr::Identifier(name) = tree
            && let Some((_, column)) = self.own.column(&name.value)
        {
            *name = Ident::with_quote('"', &column.name);
        }
        ControlFlow::Continue(())
    }
}

fn squeezed(text: &str) -> String {
    let mut quote: Option<char> = None;
    let mut out = String::with_capacity(text.len());
    for letter in text.chars() {
        match quote {
            Some(close) => {
                if letter == close {
                    quote = None;
                }
                out.push(letter);
            }
            None if letter.is_whitespace() => {}
            None => {
                if matches!(letter, '\'' | '"' | '`') {
                    quote = Some(letter);
                }
                out.extend(letter.to_lowercase());
            }
        }
    }
    out
}
