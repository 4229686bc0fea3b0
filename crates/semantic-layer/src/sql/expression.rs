//! SQL fragments as trees: parses and checks them.

use std::ops::ControlFlow;

use ktx_diagnostics::excerpt;
use ktx_sql::Dialect;
use ktx_sql::grammar::Grammar;
use ktx_sql::{clickhouse_types, escapes, pipes};
use sqlparser::ast::{
    AccessExpr, BinaryOperator, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArgOperator,
    FunctionArguments, Ident, JsonPathElem, ObjectNamePart, Query, Value, ValueWithSpan,
    VisitorMut,
};
use sqlparser::parser::{Parser, ParserError};
use sqlparser::tokenizer::{Token, Tokenizer};

use crate::model::error::{ErrorKind, QueryError};
use crate::sql::operators;
use crate::sql::sql_text::literal;

const LONGEST: usize = 32 * 1024;
/// Trees are as deep as their operator chains are long.
const MOST_OPERATORS: usize = 400;

/// `orders.at:month` is a dimension. Only Snowflake and Databricks read it as a path.
const NO_PATHS: &str = "`:` has no meaning in an expression; a time is cut in a dimension, as in \
                        `orders.created_at:month`";

/// Parses one scalar expression or predicate, without subqueries, window functions or placeholders.
pub fn parse(text: &str, dialect: Dialect) -> Result<Expr, QueryError> {
    let refuse = |message: String| Err(QueryError::new(ErrorKind::ParseError, message).about(text));
    if text.len() > LONGEST {
        return refuse(format!(
            "the expression has {} bytes; the limit is {LONGEST} bytes",
            text.len()
        ));
    }
    if text
        .chars()
        .any(|letter| letter.is_control() && !letter.is_whitespace())
    {
        return refuse("the expression holds a control character".to_owned());
    }
    let grammar = Grammar::new(dialect);
    let mut parser = Parser::new(&grammar);
    let parsed = Tokenizer::new(&grammar, &escapes::double_backslashes(text, dialect))
        .tokenize_with_location()
        .map_err(ParserError::from)
        .and_then(|tokens| {
            pipes::check(&tokens, dialect)?;
            parser = Parser::new(&grammar).with_tokens_with_locations(tokens);
            if count_operators(&mut parser) > MOST_OPERATORS {
                let message = "too many operators in one expression".to_owned();
                return Err(ParserError::ParserError(message));
            }
            let tree = parser.parse_expr()?;
            parser.expect_token(&Token::EOF)?;
            operators::settle(tree, dialect)
        });
    let mut tree = match parsed {
        Ok(parsed) => parsed,
        Err(_) if parser.peek_token_ref().token == Token::Colon => {
            return refuse(NO_PATHS.to_owned());
        }
        Err(error) => {
            return refuse(format!(
                "cannot parse `{}`: {}",
                excerpt(text.trim()),
                plain(&error.to_string())
            ));
        }
    };
    let mut check = Check { dialect };
    match ktx_sql::visit_mut(&mut tree, &mut check) {
        ControlFlow::Break(error) => Err(error.about(text.trim())),
        ControlFlow::Continue(()) => Ok(tree),
    }
}

/// Empty where double quotes delimit names.
pub(crate) fn double_quoted(text: &str, dialect: Dialect) -> Vec<String> {
    if dialect.quote_open() != '`' || !text.contains('"') {
        return Vec::new();
    }
    let tokens = Tokenizer::new(&Grammar::new(dialect), text).tokenize();
    let texts = tokens
        .into_iter()
        .flatten()
        .filter_map(|token| match token {
            Token::DoubleQuotedString(text) => Some(text),
            _ => None,
        });
    texts.collect()
}

fn count_operators(parser: &mut Parser<'_>) -> usize {
    let mut tokens = 0;
    let mut operators = 0;
    loop {
        let token = parser.next_token();
        if token.token == Token::EOF {
            break;
        }
        tokens += 1;
        operators += usize::from(match token.token {
            Token::Word(word) => {
                matches!(
                    word.value.to_ascii_lowercase().as_str(),
                    "and" | "or" | "not" | "is" | "like"
                )
            }
            Token::Comma | Token::Period | Token::LParen | Token::RParen => false,
            Token::Number(..) | Token::SingleQuotedString(_) | Token::Whitespace(_) => false,
            _ => true,
        });
    }
    for _ in 0..=tokens {
        parser.prev_token();
    }
    operators
}

fn plain(message: &str) -> &str {
    message
        .strip_prefix("sql parser error: ")
        .unwrap_or(message)
}

/// DuckDB's grammar reads `f(status = 'paid' and cost > 1)` as an argument named `status`.
fn read_as_predicates(
    arguments: &mut FunctionArguments,
    dialect: Dialect,
) -> Result<(), ParserError> {
    let FunctionArguments::List(list) = arguments else {
        return Ok(());
    };
    for argument in &mut list.args {
        if let FunctionArg::Named {
            name,
            arg: FunctionArgExpr::Expr(value),
            operator: FunctionArgOperator::Equals,
        } = argument
        {
            let text = format!("{name} = {value}");
            let tree = Parser::new(&Grammar::new(dialect))
                .try_with_sql(&text)?
                .parse_expr()?;
            *argument = FunctionArg::Unnamed(FunctionArgExpr::Expr(tree));
        }
    }
    Ok(())
}

struct Check {
    dialect: Dialect,
}

fn refuse(kind: ErrorKind, message: &str) -> ControlFlow<QueryError> {
    ControlFlow::Break(QueryError::new(kind, message))
}

fn ranks_rows(call: &Function, dialect: Dialect) -> Option<String> {
    let name = call.name.to_string().to_ascii_lowercase();
    let is_window = match name.as_str() {
        "row_number" | "rank" | "dense_rank" | "percent_rank" | "cume_dist" | "ntile" | "lag"
        | "lead" => true,
        // Also aggregates in these dialects.
        "first_value" | "last_value" | "nth_value" => !matches!(
            dialect,
            Dialect::ClickHouse | Dialect::Databricks | Dialect::DuckDb
        ),
        _ => false,
    };
    // A query can rank its groups by a measure.
    let is_ours = name == "rank"
        && !matches!(&call.args, FunctionArguments::List(list) if list.args.is_empty());
    (is_window && !is_ours && call.within_group.is_empty()).then(|| needs_over(&name))
}

pub(crate) fn needs_over(name: &str) -> String {
    format!(
        "`{name}` is a window function, which has no value without `OVER`, and window functions are not allowed \
         here; rank the groups of an answer with `rank(measure)`, or sort it by a measure and limit it"
    )
}

/// They would read hidden columns.
fn columns_by_name(call: &Function) -> ControlFlow<QueryError> {
    let is = |name: &str| call.name.to_string().eq_ignore_ascii_case(name);
    if is("columns") {
        return refuse(
            ErrorKind::HiddenColumn,
            "`columns(...)` stands for columns that it does not name, hidden ones too",
        );
    }
    let FunctionArguments::List(list) = &call.args else {
        return ControlFlow::Continue(());
    };
    let is_all = |argument: &FunctionArg| {
        let (FunctionArg::Unnamed(value)
        | FunctionArg::Named { arg: value, .. }
        | FunctionArg::ExprNamed { arg: value, .. }) = argument;
        !matches!(value, FunctionArgExpr::Expr(_))
    };
    if !is("count") && list.args.iter().any(is_all) {
        return refuse(ErrorKind::ParseError, "`*` can only be counted");
    }
    ControlFlow::Continue(())
}

impl VisitorMut for Check {
    type Break = QueryError;

    fn pre_visit_query(&mut self, _: &mut Query) -> ControlFlow<QueryError> {
        refuse(
            ErrorKind::SubqueryNotAllowed,
            "subqueries are not allowed in expressions",
        )
    }

    fn pre_visit_expr(&mut self, tree: &mut Expr) -> ControlFlow<QueryError> {
        match tree {
            Expr::Cast { data_type, .. } if self.dialect == Dialect::ClickHouse => {
                clickhouse_types::spell_with_null(data_type);
                ControlFlow::Continue(())
            }
            tree @ Expr::UnaryOp { .. } => {
                part_signs(tree);
                ControlFlow::Continue(())
            }
            // Double parentheses have a special meaning: see [`whole`].
            Expr::Nested(outer) if matches!(**outer, Expr::Nested(_)) => {
                let inner = std::mem::replace(&mut **outer, Expr::value(Value::Null));
                *tree = inner;
                self.pre_visit_expr(tree)
            }
            Expr::Function(function) => {
                if function.over.is_some() {
                    return refuse(
                        ErrorKind::WindowFunction,
                        "window functions are not allowed",
                    );
                }
                if let Some(message) = ranks_rows(function, self.dialect) {
                    return refuse(ErrorKind::WindowFunction, &message);
                }
                if matches!(function.args, FunctionArguments::Subquery(_)) {
                    return refuse(
                        ErrorKind::SubqueryNotAllowed,
                        "subqueries are not allowed in expressions",
                    );
                }
                let is_plain = |part: &ObjectNamePart| {
                    part.as_ident()
                        .is_some_and(|name| name.quote_style.is_none())
                };
                if !function.name.0.iter().all(is_plain) {
                    return refuse(ErrorKind::ParseError, "function names must not be quoted");
                }
                if let Err(error) = read_as_predicates(&mut function.args, self.dialect) {
                    return refuse(ErrorKind::ParseError, plain(&error.to_string()));
                }
                columns_by_name(function)
            }
            Expr::JsonAccess { path, .. }
                if !matches!(self.dialect, Dialect::Snowflake | Dialect::Databricks)
                    && !matches!(path.path.first(), Some(JsonPathElem::Bracket { .. })) =>
            {
                refuse(ErrorKind::ParseError, NO_PATHS)
            }
            Expr::CompoundFieldAccess { root, access_chain } if is_name(root) => {
                whole_name(root, access_chain);
                ControlFlow::Continue(())
            }
            Expr::BinaryOp {
                op: BinaryOperator::Assignment,
                ..
            } => refuse(ErrorKind::ParseError, "`:=` sets a variable"),
            // A database of this dialect reads it as two names.
            Expr::CompoundFieldAccess { root, .. } if matches!(**root, Expr::Value(_)) => refuse(
                ErrorKind::ParseError,
                "a literal has no fields; quote names as this warehouse does",
            ),
            // SQLite's times are texts without typed literals.
            Expr::TypedString(typed) if self.dialect == Dialect::Sqlite => {
                *tree = Expr::Value(typed.value.clone());
                ControlFlow::Continue(())
            }
            Expr::Wildcard(_) | Expr::QualifiedWildcard(..) => {
                refuse(ErrorKind::ParseError, "`*` can only be counted")
            }
            Expr::Prefixed { prefix, value }
                if operators::is_operator(&prefix.value)
                    || operators::is_type(&prefix.value, value) =>
            {
                ControlFlow::Continue(())
            }
            Expr::Prefixed { .. }
            | Expr::MatchAgainst { .. }
            | Expr::OuterJoin(_)
            | Expr::Prior(_) => refuse(
                ErrorKind::ParseError,
                "this form is not allowed in expressions",
            ),
            _ => ControlFlow::Continue(()),
        }
    }

    fn pre_visit_value(&mut self, value: &mut ValueWithSpan) -> ControlFlow<QueryError> {
        let text = match &value.value {
            Value::SingleQuotedString(text)
            | Value::DoubleQuotedString(text)
            | Value::TripleSingleQuotedString(text)
            | Value::TripleDoubleQuotedString(text)
            | Value::EscapedStringLiteral(text)
            | Value::SingleQuotedRawStringLiteral(text)
            | Value::DoubleQuotedRawStringLiteral(text) => literal(self.dialect, text),
            Value::DollarQuotedString(quoted) => literal(self.dialect, &quoted.value),
            Value::NationalStringLiteral(text) if self.dialect == Dialect::SqlServer => {
                format!("N{}", literal(self.dialect, text))
            }
            Value::NationalStringLiteral(text) => literal(self.dialect, text),
            Value::Boolean(truth) if self.dialect == Dialect::SqlServer => {
                if *truth {
                    "1".to_owned()
                } else {
                    "0".to_owned()
                }
            }
            Value::HexStringLiteral(digits) if is_blob(self.dialect, digits) => {
                format!("X'{digits}'")
            }
            Value::Number(..) | Value::Boolean(_) | Value::Null => return ControlFlow::Continue(()),
            Value::Placeholder(_) => {
                return refuse(
                    ErrorKind::ParseError,
                    "placeholders are not allowed in expressions",
                );
            }
            _ => {
                return refuse(
                    ErrorKind::ParseError,
                    "this kind of literal is not supported",
                );
            }
        };
        value.value = Value::Placeholder(text);
        ControlFlow::Continue(())
    }
}

fn is_name(tree: &Expr) -> bool {
    matches!(tree, Expr::Identifier(_))
}

/// The parser subscripts only `a` in `a.b[…]`; joins the name.
fn whole_name(root: &mut Expr, access: &mut Vec<AccessExpr>) {
    let Expr::Identifier(first) = root else {
        return;
    };
    let names = access.iter().map_while(|step| match step {
        AccessExpr::Dot(Expr::Identifier(name)) => Some(name.clone()),
        _ => None,
    });
    let names: Vec<Ident> = std::iter::once(first.clone()).chain(names).collect();
    if names.len() > 1 {
        access.drain(..names.len() - 1);
        *root = Expr::CompoundIdentifier(names);
    }
}

/// In other dialects they are bits, bytes or a text.
pub(crate) fn is_blob(dialect: Dialect, digits: &str) -> bool {
    let is_digit = |letter: char| letter.is_ascii_hexdigit();
    dialect == Dialect::Sqlite && digits.len().is_multiple_of(2) && digits.chars().all(is_digit)
}

pub(crate) fn reference(tree: &Expr) -> Option<Vec<&str>> {
    match tree {
        Expr::Identifier(name) => Some(vec![name.value.as_str()]),
        Expr::CompoundIdentifier(parts) => {
            Some(parts.iter().map(|part| part.value.as_str()).collect())
        }
        Expr::Nested(inner) => reference(inner),
        _ => None,
    }
}

/// Two adjacent signs would print as a comment or another operator.
pub(crate) fn part_signs(tree: &mut Expr) {
    if let Expr::UnaryOp { expr, .. } = tree
        && matches!(**expr, Expr::UnaryOp { .. })
    {
        let inner = std::mem::replace(&mut **expr, Expr::value(Value::Null));
        **expr = nested(inner);
    }
}

/// Marks a tree as one value with double parentheses; [`crate::plan::scalars::finish`] keeps one
/// pair if needed.
pub(crate) fn whole(tree: Expr) -> Expr {
    let nest = |tree| Expr::Nested(Box::new(tree));
    match tree {
        Expr::Identifier(_) | Expr::CompoundIdentifier(_) | Expr::Value(_) => tree,
        Expr::Nested(inner) if matches!(*inner, Expr::Nested(_)) => Expr::Nested(inner),
        Expr::Nested(inner) => nest(Expr::Nested(inner)),
        tree => nest(nest(tree)),
    }
}

pub(crate) fn conjuncts(tree: Expr) -> Vec<Expr> {
    match tree {
        Expr::Nested(inner) if is_and(&inner) => conjuncts(*inner),
        Expr::BinaryOp {
            left,
            op: BinaryOperator::And,
            right,
        } => {
            let mut all = conjuncts(*left);
            all.extend(conjuncts(*right));
            all
        }
        tree => vec![tree],
    }
}

fn is_and(tree: &Expr) -> bool {
    match tree {
        Expr::Nested(inner) => is_and(inner),
        Expr::BinaryOp { op, .. } => *op == BinaryOperator::And,
        _ => false,
    }
}

/// Prints verbatim; only for text from the SQL writer.
pub(crate) fn raw(text: impl Into<String>) -> Expr {
    Expr::Identifier(Ident::new(text))
}

/// Adds parentheses unless the tree is atomic.
pub fn nested(tree: Expr) -> Expr {
    match tree {
        Expr::Nested(_) | Expr::Identifier(_) | Expr::CompoundIdentifier(_) | Expr::Value(_) => {
            tree
        }
        Expr::Function(_) | Expr::Cast { .. } | Expr::Case { .. } => tree,
        tree => Expr::Nested(Box::new(tree)),
    }
}
