//! Bound trees: SQL trees whose references name a node and a column.
//!
//! References, atoms and part marks are identifiers that start with control characters, which no
//! parsed expression contains.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;

use ktx_sql::Dialect;
use sqlparser::ast::{
    Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, Ident, LambdaFunction,
    OneOrManyWithParens, Value, VisitorMut,
};

use crate::catalog::graph::NodeId;
use crate::model::error::{ErrorKind, QueryError};
use crate::names::{aggregates, presence};
use crate::sql::expression::{self, raw};
use crate::sql::sql_text::{column_name, identifier};

const NODE: char = '\u{1}';
const ATOM: char = '\u{2}';
const MARK: char = '\u{4}';
/// Means the row of the node.
pub(crate) const ROW: &str = "\u{3}";

pub(crate) fn marker(node: NodeId) -> String {
    format!("{NODE}{node}")
}

pub(crate) fn atom(number: usize) -> Expr {
    raw(format!("{ATOM}{number}"))
}

pub(crate) fn column_of(tree: &Expr) -> Option<(NodeId, &str)> {
    let Expr::CompoundIdentifier(parts) = tree else {
        return None;
    };
    let [node, column, ..] = parts.as_slice() else {
        return None;
    };
    let node = node.value.strip_prefix(NODE)?.parse().ok()?;
    (column.value != ROW).then_some((node, column.value.as_str()))
}

pub(crate) fn row_of(tree: &Expr) -> Option<NodeId> {
    let Expr::CompoundIdentifier(parts) = tree else {
        return None;
    };
    let [node, column] = parts.as_slice() else {
        return None;
    };
    let node = node.value.strip_prefix(NODE)?.parse().ok()?;
    (column.value == ROW).then_some(node)
}

pub(crate) fn atom_of(tree: &Expr) -> Option<usize> {
    match tree {
        Expr::Identifier(name) => name.value.strip_prefix(ATOM)?.parse().ok(),
        _ => None,
    }
}

/// NULL in groups without rows of the part.
pub(crate) fn mark(part: usize) -> Expr {
    raw(format!("{MARK}{part}"))
}

pub(crate) fn mark_of(tree: &Expr) -> Option<usize> {
    match tree {
        Expr::Identifier(name) => name.value.strip_prefix(MARK)?.parse().ok(),
        _ => None,
    }
}

pub(crate) fn marks(tree: &Expr) -> BTreeSet<usize> {
    let mut found = BTreeSet::new();
    let flow: ControlFlow<()> = ktx_sql::visit_expressions(tree, |part| {
        found.extend(mark_of(part));
        ControlFlow::Continue(())
    });
    debug_assert!(flow.is_continue());
    found
}

/// In text order and distinct, as are `nodes` and `atoms`.
pub(crate) fn columns(tree: &Expr) -> Vec<(NodeId, String)> {
    let mut found: Vec<(NodeId, String)> = Vec::new();
    let flow: ControlFlow<()> = ktx_sql::visit_expressions(tree, |part| {
        if let Some((node, column)) = column_of(part) {
            let reference = (node, column.to_owned());
            if !found.contains(&reference) {
                found.push(reference);
            }
        }
        ControlFlow::Continue(())
    });
    debug_assert!(flow.is_continue());
    found
}

pub(crate) fn nodes(tree: &Expr) -> Vec<NodeId> {
    let mut found: Vec<NodeId> = Vec::new();
    for (node, _) in columns(tree) {
        if !found.contains(&node) {
            found.push(node);
        }
    }
    found
}

pub(crate) fn atoms(tree: &Expr) -> Vec<usize> {
    let mut found: Vec<usize> = Vec::new();
    let flow: ControlFlow<()> = ktx_sql::visit_expressions(tree, |part| {
        found.extend(atom_of(part).filter(|atom| !found.contains(atom)));
        ControlFlow::Continue(())
    });
    debug_assert!(flow.is_continue());
    found
}

pub(crate) trait Meaning {
    fn outside(&mut self, parts: &[&str]) -> Result<Expr, QueryError>;
    fn inside(&mut self, parts: &[&str]) -> Result<Expr, QueryError>;
    fn aggregate(&mut self, call: Function) -> Result<Expr, QueryError>;
}

pub(crate) fn bind(
    mut tree: Expr,
    dialect: Dialect,
    meaning: &mut dyn Meaning,
) -> Result<Expr, QueryError> {
    let mut binding = Binding {
        dialect,
        meaning,
        depth: 0,
        parameters: Vec::new(),
    };
    match ktx_sql::visit_mut(&mut tree, &mut binding) {
        ControlFlow::Break(error) => Err(error),
        ControlFlow::Continue(()) => Ok(tree),
    }
}

pub(crate) fn bind_rows(
    tree: Expr,
    dialect: Dialect,
    column: &mut dyn FnMut(&[&str]) -> Result<Expr, QueryError>,
) -> Result<Expr, QueryError> {
    bind(tree, dialect, &mut Rows { column })
}

struct Rows<'a> {
    column: &'a mut dyn FnMut(&[&str]) -> Result<Expr, QueryError>,
}

impl Meaning for Rows<'_> {
    fn outside(&mut self, parts: &[&str]) -> Result<Expr, QueryError> {
        (self.column)(parts)
    }

    fn inside(&mut self, parts: &[&str]) -> Result<Expr, QueryError> {
        (self.column)(parts)
    }

    fn aggregate(&mut self, call: Function) -> Result<Expr, QueryError> {
        let message = format!(
            "a row expression cannot contain the aggregate `{}`",
            call.name
        );
        Err(QueryError::new(ErrorKind::NestedAggregate, message))
    }
}

struct Binding<'a> {
    dialect: Dialect,
    meaning: &'a mut dyn Meaning,
    depth: usize,
    parameters: Vec<String>,
}

impl Binding<'_> {
    fn reference(&mut self, parts: &[&str]) -> Result<Expr, QueryError> {
        if let [name] = parts {
            if self.parameters.iter().any(|parameter| parameter == name) {
                return Ok(Expr::Identifier(Ident::new(*name)));
            }
            let truth = name.eq_ignore_ascii_case("true") || name.eq_ignore_ascii_case("false");
            if truth && self.dialect == Dialect::SqlServer {
                let digit = if name.eq_ignore_ascii_case("true") {
                    "1"
                } else {
                    "0"
                };
                return Ok(Expr::value(Value::Placeholder(digit.to_owned())));
            }
        }
        if self.depth > 0 {
            self.meaning.inside(parts)
        } else {
            self.meaning.outside(parts)
        }
    }
}

fn lambda_parameters(lambda: &LambdaFunction) -> Vec<String> {
    match &lambda.params {
        OneOrManyWithParens::One(one) => vec![one.name.value.clone()],
        OneOrManyWithParens::Many(many) => many.iter().map(|one| one.name.value.clone()).collect(),
    }
}

impl VisitorMut for Binding<'_> {
    type Break = QueryError;

    fn pre_visit_expr(&mut self, tree: &mut Expr) -> ControlFlow<QueryError> {
        match tree {
            Expr::Function(call) => {
                let is_rank = call.name.to_string().eq_ignore_ascii_case("rank");
                if is_rank && call.within_group.is_empty() {
                    let message = expression::needs_over("rank");
                    let error = QueryError::new(ErrorKind::WindowFunction, message);
                    return ControlFlow::Break(error);
                }
                fix_date_parts(call, self.dialect);
                if aggregates::is_aggregate(call) {
                    if self.depth > 0 {
                        let message = format!("aggregate `{}` inside an aggregate", call.name);
                        return ControlFlow::Break(QueryError::new(
                            ErrorKind::NestedAggregate,
                            message,
                        ));
                    }
                    self.depth += 1;
                }
            }
            Expr::Lambda(lambda) => self.parameters.extend(lambda_parameters(lambda)),
            _ => {}
        }
        ControlFlow::Continue(())
    }

    fn post_visit_expr(&mut self, tree: &mut Expr) -> ControlFlow<QueryError> {
        let changed = match tree {
            Expr::Identifier(name) => self.reference(&[name.value.clone().as_str()]),
            Expr::CompoundIdentifier(parts) => {
                let parts: Vec<String> = parts.iter().map(|part| part.value.clone()).collect();
                let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
                self.reference(&parts)
            }
            Expr::Function(call) if aggregates::is_aggregate(call) => {
                self.depth -= 1;
                self.meaning.aggregate(call.clone())
            }
            Expr::Lambda(lambda) => {
                let open = self.parameters.len() - lambda_parameters(lambda).len();
                self.parameters.truncate(open);
                return ControlFlow::Continue(());
            }
            _ => return ControlFlow::Continue(()),
        };
        match changed {
            Ok(changed) => {
                *tree = changed;
                ControlFlow::Continue(())
            }
            Err(error) => ControlFlow::Break(error),
        }
    }
}

const DATE_PARTS: &str = " year yy yyyy quarter qq q month mm m week wk ww isoweek iso_week isoyear day dd d dayofyear dy weekday dw dayofweek hour hh minute mi n second ss s millisecond ms microsecond mcs nanosecond ns epoch epoch_second epoch_millisecond epoch_microsecond epoch_nanosecond dow doy dayofweekiso dayofweek_iso weekiso week_iso weekofyear yearofweek yearofweekiso century decade millennium ";

/// Date parts must not resolve as columns.
fn fix_date_parts(call: &mut Function, dialect: Dialect) {
    let name = call.name.to_string().to_ascii_lowercase();
    let FunctionArguments::List(list) = &mut call.args else {
        return;
    };
    let is_big_query = dialect == Dialect::BigQuery;
    let place = match name.as_str() {
        "dateadd" | "datediff" | "datediff_big" | "datepart" | "datename" | "datetrunc"
        | "date_bucket" | "timestampadd" | "timestampdiff" => 0,
        "date_part" if matches!(dialect, Dialect::Snowflake | Dialect::Redshift) => 0,
        "date_trunc" if !is_big_query => 0,
        "date_trunc" | "timestamp_trunc" | "datetime_trunc" | "time_trunc" => 1,
        "date_diff" | "timestamp_diff" | "datetime_diff" | "time_diff" if is_big_query => 2,
        "last_day" => 1,
        _ => return,
    };
    if list.args.len() < 2 {
        return;
    }
    if let Some(FunctionArg::Unnamed(FunctionArgExpr::Expr(tree))) = list.args.get_mut(place)
        && let Expr::Identifier(word) = tree
        && word.quote_style.is_none()
        && DATE_PARTS.contains(&format!(" {} ", word.value.to_ascii_lowercase()))
    {
        *tree = Expr::value(Value::Placeholder(word.value.to_uppercase()));
    }
}

pub(crate) struct Printer<'a> {
    pub(crate) dialect: Dialect,
    pub(crate) node: &'a dyn Fn(NodeId) -> String,
    pub(crate) atom: &'a dyn Fn(usize) -> String,
    pub(crate) mark: &'a dyn Fn(usize) -> String,
}

impl Printer<'_> {
    pub(crate) fn print(&self, tree: &Expr) -> String {
        let mut tree = presence::resolved(tree, &BTreeMap::new());
        let mut spelling = Spelling { printer: self };
        let flow = ktx_sql::visit_mut(&mut tree, &mut spelling);
        debug_assert!(flow.is_continue());
        tree.to_string()
    }
}

struct Spelling<'a, 'b> {
    printer: &'a Printer<'b>,
}

impl VisitorMut for Spelling<'_, '_> {
    type Break = ();

    fn post_visit_expr(&mut self, tree: &mut Expr) -> ControlFlow<()> {
        let dialect = self.printer.dialect;
        let text = if let Some(number) = atom_of(tree) {
            Some((self.printer.atom)(number))
        } else if let Some(part) = mark_of(tree) {
            Some((self.printer.mark)(part))
        } else if let (Some((node, column)), Expr::CompoundIdentifier(parts)) =
            (column_of(tree), &*tree)
        {
            let mut text = format!(
                "{}.{}",
                (self.printer.node)(node),
                column_name(dialect, column)
            );
            for field in parts.iter().skip(2) {
                text.push('.');
                text.push_str(&column_name(dialect, &field.value));
            }
            Some(text)
        } else if let Expr::Identifier(parameter) = &*tree {
            Some(identifier(dialect, &parameter.value))
        } else {
            None
        };
        if let Some(text) = text {
            *tree = Expr::value(Value::Placeholder(text));
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_ident(&mut self, name: &mut Ident) -> ControlFlow<()> {
        if name.quote_style.is_some() {
            name.value = self.printer.dialect.quote(&name.value);
            name.quote_style = None;
        }
        ControlFlow::Continue(())
    }
}
