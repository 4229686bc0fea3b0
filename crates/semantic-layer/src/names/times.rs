//! Arithmetic with times in warehouses that would calculate with texts or digits.

use std::ops::ControlFlow;

use ktx_sql::Dialect;
use sqlparser::ast::{BinaryOperator, Expr, Function, Value, VisitorMut};

use crate::model::authored::ColumnType;
use crate::model::error::{ErrorKind, QueryError};
use crate::model::resolved::column_type;
use crate::names::aggregates::{arguments, name_of};
use crate::names::{Names, bound, types};
use crate::sql::build::{call, digit};
use crate::sql::expression::nested;

const TIMES: &str = " adddate curdate current_date current_timestamp date date_add date_sub dateadd \
datefromparts datetime eomonth from_unixtime getdate getutcdate last_day localtimestamp makedate now \
str_to_date subdate sysdate sysdatetime time timestamp utc_date utc_timestamp ";

const CHOICES: &str = " coalesce greatest ifnull iif isnull least max min nullif nvl ";

const CALCULATING: &str = " avg avg_if median percentile stddev sum sum_if total variance ";

pub(crate) fn of_rows(tree: Expr, names: Names<'_>) -> Result<Expr, QueryError> {
    settled(tree, names.dialect, &|tree| row_type(tree, names))
}

pub(crate) fn settled(
    mut tree: Expr,
    dialect: Dialect,
    kind: &dyn Fn(&Expr) -> Option<ColumnType>,
) -> Result<Expr, QueryError> {
    if !matches!(
        dialect,
        Dialect::Sqlite | Dialect::MySql | Dialect::MariaDb | Dialect::SqlServer
    ) {
        return Ok(tree);
    }
    match ktx_sql::visit_mut(&mut tree, &mut Times { dialect, kind }) {
        ControlFlow::Break(error) => Err(error),
        ControlFlow::Continue(()) => Ok(tree),
    }
}

/// A time stored as a number counts as a number.
fn row_type(tree: &Expr, names: Names<'_>) -> Option<ColumnType> {
    let native = bound::column_of(tree).and_then(|(node, column)| {
        let (_, column) = names.source(node).ok()?.column(column)?;
        column.native_type.as_deref().map(column_type)
    });
    match native {
        Some(ColumnType::Number) => native,
        _ => types::of(tree, names),
    }
}

struct Times<'k> {
    dialect: Dialect,
    kind: &'k dyn Fn(&Expr) -> Option<ColumnType>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Side {
    Time,
    /// A literal that may be a time.
    Text,
    Interval,
    Other,
}

impl VisitorMut for Times<'_> {
    type Break = QueryError;

    fn post_visit_expr(&mut self, tree: &mut Expr) -> ControlFlow<QueryError> {
        match tree {
            Expr::BinaryOp { left, op, right } => {
                let sides = (self.side(left), self.side(right));
                match (op, sides) {
                    (
                        BinaryOperator::Minus,
                        (Side::Time, Side::Time | Side::Text) | (Side::Text, Side::Time),
                    ) => *tree = self.days_between((**right).clone(), (**left).clone()),
                    (
                        BinaryOperator::Plus | BinaryOperator::Minus,
                        (Side::Time, Side::Interval),
                    )
                    | (BinaryOperator::Plus, (Side::Interval, Side::Time)) => {}
                    (
                        BinaryOperator::Plus
                        | BinaryOperator::Minus
                        | BinaryOperator::Multiply
                        | BinaryOperator::Divide
                        | BinaryOperator::Modulo,
                        (Side::Time, _) | (_, Side::Time),
                    ) => return self.refuse(),
                    _ => {}
                }
                ControlFlow::Continue(())
            }
            Expr::Function(function) if self.calculates_with_time(function) => self.refuse(),
            _ => ControlFlow::Continue(()),
        }
    }
}

impl Times<'_> {
    fn calculates_with_time(&self, function: &Function) -> bool {
        let values = arguments(function);
        is_in(CALCULATING, function)
            && values
                .first()
                .is_some_and(|value| self.side(value) == Side::Time)
    }

    fn side(&self, tree: &Expr) -> Side {
        let is_time = |tree: &Expr| self.side(tree) == Side::Time;
        let time_if = |is_time| if is_time { Side::Time } else { Side::Other };
        match tree {
            Expr::Nested(inner) => self.side(inner),
            Expr::Interval(_) => Side::Interval,
            Expr::TypedString(_) => Side::Time,
            Expr::Value(value) => match &value.value {
                Value::Placeholder(text) if text.starts_with(['\'', 'N']) => Side::Text,
                _ => Side::Other,
            },
            Expr::Case {
                conditions,
                else_result,
                ..
            } => {
                let mut results = conditions
                    .iter()
                    .map(|when| &when.result)
                    .chain(else_result.as_deref());
                time_if(results.any(is_time))
            }
            // SQLite's cast to a date returns the leading number of a text.
            Expr::Cast { .. } if self.dialect == Dialect::Sqlite => Side::Other,
            Expr::Function(function) if is_in(CHOICES, function) => {
                time_if(arguments(function).into_iter().any(is_time))
            }
            Expr::Function(function) if is_in(TIMES, function) => Side::Time,
            tree => time_if((self.kind)(tree) == Some(ColumnType::Time)),
        }
    }

    fn days_between(&self, from: Expr, to: Expr) -> Expr {
        let binary = |left: Expr, op: BinaryOperator, right: Expr| {
            nested(Expr::BinaryOp {
                left: Box::new(left),
                op,
                right: Box::new(right),
            })
        };
        let counted = |function: &str, unit: &str, in_a_day: &str| {
            let units = call(function, vec![digit(unit), from.clone(), to.clone()]);
            binary(units, BinaryOperator::Divide, digit(in_a_day))
        };
        match self.dialect {
            Dialect::SqlServer => counted("DATEDIFF_BIG", "MILLISECOND", "8.64e7"),
            Dialect::MySql | Dialect::MariaDb => counted("TIMESTAMPDIFF", "MICROSECOND", "8.64e10"),
            _ => {
                let day = |time: Expr| call("JULIANDAY", vec![time]);
                binary(day(to), BinaryOperator::Minus, day(from))
            }
        }
    }

    fn refuse(&self) -> ControlFlow<QueryError> {
        let message = match self.dialect {
            // SQL Server adds days to times and reports unsupported operations.
            Dialect::SqlServer => return ControlFlow::Continue(()),
            Dialect::Sqlite => {
                "SQLite would calculate with the text of a time here; move a time with \
                 `datetime(x, '+7 days')`, and take `julianday(x)` for its days as a number"
            }
            _ => {
                "the warehouse would calculate with the digits of a time here; move a time with \
                 `x + INTERVAL 7 DAY`, and take `timestampdiff(SECOND, a, b)` for a number"
            }
        };
        ControlFlow::Break(QueryError::new(ErrorKind::InvalidQuery, message))
    }
}

fn is_in(list: &str, function: &Function) -> bool {
    list.contains(&format!(" {} ", name_of(function)))
}
