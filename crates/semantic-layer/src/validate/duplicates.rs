//! Measures that are declared twice, by name or by what they say.

use std::ops::ControlFlow;

use sqlparser::ast::{Expr, VisitMut, VisitorMut};

use super::Findings;
use crate::names::Names;
use crate::probes::Part;
use crate::resolved::Source;
use crate::{ErrorKind, expression};

/// Refuses a name that is declared twice, and measures that say the same.
pub(super) fn check(names: Names<'_>, source: &Source, found: &mut Findings<'_>) {
    let written = |text: &str| spelled(names, source, text);
    let exprs: Vec<String> = source
        .measures
        .iter()
        .map(|one| written(&one.expr))
        .collect();
    for (at, measure) in source.measures.iter().enumerate() {
        let part = Part::Measure(measure.name.clone());
        for (before, other) in source.measures.iter().take(at).enumerate() {
            if other.name == measure.name {
                let message = format!("measure `{}` is declared twice", measure.name);
                found.error((source, &part), ErrorKind::DuplicateMeasureName, message);
                continue;
            }
            let mut segments = [measure.segments.clone(), other.segments.clone()];
            for list in &mut segments {
                list.sort();
            }
            let same_segments = segments.first() == segments.last();
            let same_formula = other.formula.key() == measure.formula.key()
                && other.snapshot == measure.snapshot
                && exprs.get(before) == exprs.get(at);
            if !same_formula || !same_segments {
                continue;
            }
            let filter = |text: &Option<String>| text.as_deref().map(written);
            if filter(&other.filter) == filter(&measure.filter) {
                let message = format!(
                    "measures `{}` and `{}` are the same; remove one",
                    other.name, measure.name
                );
                found.error((source, &part), ErrorKind::DuplicateMeasureExpr, message);
            } else {
                let message = format!(
                    "measures `{}` and `{}` differ in their filter only; a segment says it once",
                    other.name, measure.name
                );
                found.warn((source, &part), ErrorKind::DuplicateMeasureExpr, message);
            }
        }
    }
}

/// An expression in the one spelling that all of its kind have: own columns without their source, no
/// parentheses around what needs none.
fn spelled(names: Names<'_>, source: &Source, text: &str) -> String {
    let Ok(mut tree) = expression::parse(text, names.dialect) else {
        return squeezed(text);
    };
    let mut plain = Plain { own: &source.name };
    let flow = VisitMut::visit(&mut tree, &mut plain);
    debug_assert!(flow.is_continue());
    squeezed(&tree.to_string())
}

/// Takes out what says nothing.
struct Plain<'a> {
    own: &'a str,
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
            && front.value == self.own
        {
            *tree = Expr::Identifier(column.clone());
        }
        ControlFlow::Continue(())
    }
}

/// A text without white space, in lower case outside of quotes.
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
