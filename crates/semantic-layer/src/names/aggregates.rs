//! Aggregate functions: names, result types, and filters.

mod filters;

use filters::Way;
pub(crate) use filters::check as check_filter;
use ktx_sql::Dialect;
use sqlparser::ast::{
    CaseWhen, DuplicateTreatment, Expr, Function, FunctionArg, FunctionArgExpr,
    FunctionArgumentClause, FunctionArgumentList, FunctionArguments, HavingBound, Ident,
    ObjectName, OrderBySort, Value, helpers::attached_token::AttachedToken,
};

use crate::model::authored::ColumnType;
use crate::model::error::{ErrorKind, QueryError};
use crate::sql::sql_text::{as_real, native_percentile};

/// Others are recognized by prefix.
const AGGREGATES: &str = " any any_value anyheavy anylast approx_count_distinct approx_distinct approx_median \
approx_percentile approx_quantile approx_quantiles approx_set approx_top_count approx_top_k arbitrary \
arg_max arg_min argmax argmin array_agg array_concat_agg avg avgif bit_and bit_or bit_xor bit_and_agg \
bit_or_agg bit_xor_agg bitand_agg bitor_agg bitxor_agg bool_and bool_or booland_agg boolor_agg \
checksum_agg corr count count_big count_distinct count_if countif covar_pop covar_samp entropy every favg \
first first_value fsum geometric_mean group_concat hll histogram json_agg \
json_arrayagg json_group_array json_group_object json_object_agg json_objectagg jsonb_agg jsonb_object_agg \
kurtosis kurtosis_pop last last_value list listagg logical_and logical_or mad map_agg max max_by maxif mean median \
min min_by minif mode multimap_agg object_agg percentile percentile_approx percentile_cont percentile_disc \
product quantile quantile_cont quantile_disc quantileexact quantileexactinclusive regr_avgx regr_avgy \
regr_count regr_intercept regr_r2 regr_slope regr_sxx regr_sxy regr_syy skewness some std stddev stddev_pop \
stddev_samp stddevpop stddevsamp stdev stdevp string_agg sum sumif sum_no_overflow sumkahan total \
sum_if avg_if min_if max_if count_distinct_if uniq uniqcombined uniqexact uniqhll12 var var_pop var_samp variance \
varp varpop varsamp xmlagg ";

/// ClickHouse arrays, maps and tuples cannot be NULL, so a CASE cannot filter them.
const CONTAINERS: &str = " grouparray grouparrayarray grouparrayinsertat grouparrayintersect grouparraylast \
grouparraymovingavg grouparraymovingsum grouparraysample grouparraysorted groupuniqarray groupuniqarrayarray \
maxmap minmap quantiles quantilesbfloat16 quantilesddsketch quantilesdeterministic quantilesexact \
quantilesexactexclusive quantilesexacthigh quantilesexactinclusive quantilesexactlow quantilesexactweighted \
quantilesgk quantilesinterpolatedweighted quantilestdigest quantilestdigestweighted quantilestiming \
quantilestimingweighted sumarray summap summapwithoverflow topk topkweighted ";

const APPROXIMATE: &str = " median quantile quantiles quantilesbfloat16 quantilesddsketch quantilesdeterministic \
quantilesgk quantilestdigest quantilestdigestweighted quantilestiming quantilestimingweighted topk \
topkweighted uniq uniqcombined uniqhll12 ";

const SAME_TYPE: &str = " any any_value anylast anyheavy arbitrary arg_max arg_min argmax argmin first \
first_value last last_value max max_by min min_by mode percentile_disc maxif minif ";

const NUMBERS: &str = " approx_count_distinct approx_distinct approx_median approx_percentile approx_quantile avg \
avgif bit_and bit_or bit_xor corr count count_big count_if countif covar_pop covar_samp entropy favg fsum \
geometric_mean kurtosis mean product quantile regr_avgx regr_avgy regr_count regr_intercept regr_r2 \
regr_slope skewness std stddev stddev_pop stddev_samp stddevpop stddevsamp stdev stdevp sum sumif sumkahan \
total uniq uniqcombined uniqexact var var_pop var_samp variance varp varpop varsamp ";

/// PostgreSQL aggregates whose results may have no order: documents, bytes, keys.
const UNORDERED: &str = " json_agg json_agg_strict json_arrayagg json_object_agg json_object_agg_strict \
json_objectagg jsonb_agg jsonb_agg_strict jsonb_object_agg jsonb_object_agg_strict string_agg xmlagg ";

fn is_in(list: &str, name: &str) -> bool {
    list.contains(&format!(" {name} "))
}

pub fn name_of(call: &Function) -> String {
    call.name.to_string().to_ascii_lowercase()
}

pub fn is_aggregate(call: &Function) -> bool {
    call.over.is_none()
        && ((is_known(&name_of(call)) && !is_largest_of_several(call))
            || !call.within_group.is_empty()
            || call.filter.is_some())
}

fn is_known(name: &str) -> bool {
    is_in(AGGREGATES, name) || is_in(CONTAINERS, name)
}

/// SQLite's `max(a, b)` picks the largest value in one row.
fn is_largest_of_several(call: &Function) -> bool {
    matches!(name_of(call).as_str(), "max" | "min") && arguments(call).len() > 1
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Call {
    Rows,
    Function(Function),
    /// Interpolated; `fraction` is the text of a number from 0 to 1.
    Percentile {
        value: Expr,
        fraction: String,
    },
}

pub(crate) fn arguments(call: &Function) -> Vec<&Expr> {
    let FunctionArguments::List(list) = &call.args else {
        return Vec::new();
    };
    let expressions = list.args.iter().filter_map(|argument| match argument {
        FunctionArg::Unnamed(FunctionArgExpr::Expr(tree)) => Some(tree),
        _ => None,
    });
    expressions.collect()
}

/// Such results may have no maximum.
pub(crate) fn has_no_maximum(call: &Function, dialect: Dialect) -> bool {
    dialect == Dialect::Postgres && is_in(UNORDERED, &name_of(call))
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Counted {
    /// `count(*)`: rows of the source that owns the expression.
    OwnRows,
    RowsOf(ObjectName),
}

pub fn counts_rows(call: &Function) -> Option<Counted> {
    if name_of(call) != "count" {
        return None;
    }
    let FunctionArguments::List(list) = &call.args else {
        return None;
    };
    match list.args.as_slice() {
        [] => Some(Counted::OwnRows),
        [FunctionArg::Unnamed(FunctionArgExpr::Wildcard)] => Some(Counted::OwnRows),
        [FunctionArg::Unnamed(FunctionArgExpr::QualifiedWildcard(name))] => {
            Some(Counted::RowsOf(name.clone()))
        }
        _ => None,
    }
}

/// The condition of `count_if(condition)` and similar calls is printed as a filter.
pub fn unconditional(
    call: &Function,
    dialect: Dialect,
) -> Result<(Function, Option<Expr>), QueryError> {
    let name = name_of(call);
    let plain = match name.as_str() {
        "sum_if" => "SUM",
        "avg_if" => "AVG",
        "min_if" => "MIN",
        "max_if" => "MAX",
        "count_distinct_if" => "COUNT_DISTINCT",
        "count_if" => "COUNT",
        // ClickHouse's own function also takes a value.
        "countif" if dialect != Dialect::ClickHouse => "COUNT",
        _ => return Ok((call.clone(), None)),
    };
    let mut call = call.clone();
    call.name = ObjectName::from(vec![Ident::new(plain)]);
    let FunctionArguments::List(list) = &mut call.args else {
        return Ok((call, None));
    };
    let wanted = if plain == "COUNT" { 1 } else { 2 };
    let condition = match list.args.pop() {
        Some(FunctionArg::Unnamed(FunctionArgExpr::Expr(tree)))
            if list.args.len() + 1 == wanted && list.duplicate_treatment.is_none() =>
        {
            tree
        }
        _ => {
            let form = if wanted == 1 {
                format!("{name}(condition)")
            } else {
                format!("{name}(value, condition)")
            };
            let message = format!("`{name}` is written `{form}`");
            return Err(QueryError::new(ErrorKind::ParseError, message)
                .about(name)
                .suggest([form]));
        }
    };
    Ok((call, Some(condition)))
}

pub(crate) fn is_approximate(call: &Call, dialect: Dialect) -> bool {
    let Call::Function(function) = call else {
        return false;
    };
    let name = name_of(function);
    name.starts_with("approx_")
        || name == "percentile_approx"
        || name == "hll"
        || (dialect == Dialect::ClickHouse && is_in(APPROXIMATE, &name))
}

pub(crate) fn call(mut function: Function) -> Result<Call, QueryError> {
    let name = name_of(&function);
    let values: Vec<Expr> = arguments(&function).into_iter().cloned().collect();
    let has_group = !function.within_group.is_empty();
    match (name.as_str(), values.as_slice()) {
        ("count_distinct", [_, ..]) => {
            function.name = ObjectName::from(vec![Ident::new("COUNT")]);
            if let FunctionArguments::List(list) = &mut function.args {
                list.duplicate_treatment = Some(DuplicateTreatment::Distinct);
            }
            Ok(Call::Function(function))
        }
        ("median", [value]) if is_plain(&function) => Ok(Call::Percentile {
            value: value.clone(),
            fraction: "0.5".to_owned(),
        }),
        ("percentile", [_, _]) if !is_plain(&function) => {
            let message = "`percentile` takes a value and a fraction and nothing else: no `DISTINCT` and no clause";
            Err(QueryError::new(ErrorKind::ParseError, message).about(name))
        }
        ("percentile" | "quantile_cont", [value, fraction]) if is_plain(&function) => {
            Ok(Call::Percentile {
                value: value.clone(),
                fraction: fraction_text(fraction)?,
            })
        }
        ("percentile", [_]) if !has_group => {
            let message = "`percentile` is written `percentile(value, fraction)`";
            Err(QueryError::new(ErrorKind::ParseError, message).about(name))
        }
        ("percentile_cont", [fraction]) if has_group => match function.within_group.as_slice() {
            [order] if !matches!(order.options.sort, Some(OrderBySort::Desc)) => {
                Ok(Call::Percentile {
                    value: order.expr.clone(),
                    fraction: fraction_text(fraction)?,
                })
            }
            _ => Ok(Call::Function(function)),
        },
        _ => Ok(Call::Function(function)),
    }
}

fn is_plain(call: &Function) -> bool {
    let has_clauses =
        matches!(&call.args, FunctionArguments::List(list) if !list.clauses.is_empty());
    !has_clauses && !is_distinct(call)
}

pub(crate) fn is_distinct(call: &Function) -> bool {
    matches!(&call.args, FunctionArguments::List(list) if list.duplicate_treatment.is_some())
}

fn fraction_text(tree: &Expr) -> Result<String, QueryError> {
    let text = tree.to_string();
    match text.parse::<f64>() {
        Ok(number) if (0.0..=1.0).contains(&number) => Ok(format!("{number}")),
        _ => {
            let message = format!("percentile fraction `{text}` must be a number from 0 to 1");
            Err(QueryError::new(ErrorKind::ParseError, message)
                .about(text)
                .suggest(["0.5"]))
        }
    }
}

/// Returns the sum and the count whose ratio is an average; `None` for another function.
pub(crate) fn as_sum_and_count(function: &Function) -> Option<[Function; 2]> {
    let is_average = name_of(function) == "avg"
        && !is_distinct(function)
        && function.within_group.is_empty()
        && arguments(function).len() == 1;
    let called = |name: &str| Function {
        name: ObjectName::from(vec![Ident::new(name)]),
        ..function.clone()
    };
    is_average.then(|| [called("sum"), called("count")])
}

pub(crate) fn is_count(call: &Call) -> bool {
    match call {
        Call::Rows => true,
        Call::Percentile { .. } => false,
        Call::Function(function) => {
            let counts = " count count_big count_if countif approx_count_distinct approx_distinct uniq uniqexact \
uniqcombined regr_count ";
            is_in(counts, &name_of(function))
        }
    }
}

pub(crate) fn answer_type(
    call: &Call,
    argument: &dyn Fn(&Expr) -> Option<ColumnType>,
) -> Option<ColumnType> {
    let function = match call {
        Call::Rows | Call::Percentile { .. } => return Some(ColumnType::Number),
        Call::Function(function) => function,
    };
    let name = name_of(function);
    if is_in(SAME_TYPE, &name) {
        let ordered = function.within_group.first().map(|order| &order.expr);
        return ordered
            .or_else(|| arguments(function).first().copied())
            .and_then(argument);
    }
    match name.as_str() {
        "bool_and" | "bool_or" | "every" | "logical_and" | "logical_or" | "booland_agg"
        | "boolor_agg" | "some" => Some(ColumnType::Boolean),
        "string_agg" | "group_concat" | "listagg" => Some(ColumnType::String),
        name if is_in(NUMBERS, name) => Some(ColumnType::Number),
        _ => None,
    }
}

fn when(condition: &Expr, value: Expr) -> Expr {
    Expr::Case {
        case_token: AttachedToken::empty(),
        end_token: AttachedToken::empty(),
        operand: None,
        conditions: vec![CaseWhen {
            condition: condition.clone(),
            result: value,
        }],
        else_result: None,
    }
}

pub(crate) fn sql(
    call: &Call,
    filter: Option<&Expr>,
    dialect: Dialect,
    kind: Option<ColumnType>,
    print: &dyn Fn(&Expr) -> String,
) -> String {
    match call {
        Call::Rows => match filter {
            None => "COUNT(*)".to_owned(),
            Some(filter) => format!("COUNT({})", print(&when(filter, number("1")))),
        },
        Call::Percentile { value, fraction } => {
            let value = print(&filtered(value, filter));
            native_percentile(dialect, &value, kind, fraction)
        }
        Call::Function(function) => function_sql(function, filter, dialect, print),
    }
}

pub fn filtered(value: &Expr, filter: Option<&Expr>) -> Expr {
    match filter {
        None => value.clone(),
        Some(filter) => when(filter, value.clone()),
    }
}

fn number(text: &str) -> Expr {
    Expr::value(Value::Placeholder(text.to_owned()))
}

fn function_sql(
    function: &Function,
    filter: Option<&Expr>,
    dialect: Dialect,
    print: &dyn Fn(&Expr) -> String,
) -> String {
    let mut function = function.clone();
    let name = name_of(&function);
    let own = function.filter.take().map(|own| *own);
    let filter = match (own, filter) {
        (Some(own), Some(filter)) => Some(all_of(&[own, filter.clone()])),
        (Some(own), None) => Some(own),
        (None, filter) => filter.cloned(),
    };
    let mut filtered_count = 0;
    match filters::way(&function, dialect) {
        Way::Arguments(count) => filtered_count = count,
        Way::Order => {
            if let Some(order) = function.within_group.first_mut() {
                order.expr = filtered(&order.expr, filter.as_ref());
            }
        }
        // `check` has refused these filters.
        Way::Clause | Way::Nothing => {
            function.filter = filter.map(Box::new);
            return print(&Expr::Function(function));
        }
    }
    if let FunctionArguments::List(list) = &mut function.args {
        let filter = filter.as_ref().map(|filter| (filter, filtered_count));
        adjust_arguments(list, &name, filter, dialect, print);
    }
    print(&Expr::Function(function))
}

/// Also adapts averages that are not real numbers and sums over no rows that are not NULL.
fn adjust_arguments(
    list: &mut FunctionArgumentList,
    name: &str,
    filter: Option<(&Expr, usize)>,
    dialect: Dialect,
    print: &dyn Fn(&Expr) -> String,
) {
    for clause in &mut list.clauses {
        if let (FunctionArgumentClause::Having(HavingBound(_, tree)), Some((filter, _))) =
            (clause, filter)
        {
            *tree = filtered(tree, Some(filter));
        }
    }
    for (at, argument) in list.args.iter_mut().enumerate() {
        let FunctionArg::Unnamed(FunctionArgExpr::Expr(tree)) = argument else {
            continue;
        };
        if let Some((filter, _)) = filter.filter(|(_, count)| at < *count) {
            *tree = filtered(tree, Some(filter));
        }
        // Here an average has the type or the decimal places of its column.
        let averages_as_written = matches!(
            dialect,
            Dialect::SqlServer
                | Dialect::Redshift
                | Dialect::MySql
                | Dialect::MariaDb
                | Dialect::Trino
        );
        if name == "avg" && averages_as_written {
            *tree = number(&as_real(dialect, &print(tree)));
        }
        // Over no rows, ClickHouse returns 0 unless the argument is nullable.
        if dialect == Dialect::ClickHouse && at == 0 && is_nullable_aggregate(name) {
            *tree = number(&format!("toNullable({})", print(tree)));
        }
    }
}

fn is_nullable_aggregate(name: &str) -> bool {
    matches!(
        name,
        "sum"
            | "avg"
            | "min"
            | "max"
            | "any"
            | "any_value"
            | "stddev_samp"
            | "stddev_pop"
            | "var_samp"
            | "var_pop"
    )
}

pub fn all_of(predicates: &[Expr]) -> Expr {
    let mut all = predicates.iter().map(|predicate| match predicate {
        Expr::Nested(_) => predicate.clone(),
        predicate => Expr::Nested(Box::new(predicate.clone())),
    });
    let first = all.next().unwrap_or_else(|| number("1 = 1"));
    all.fold(first, |left, right| Expr::BinaryOp {
        left: Box::new(left),
        op: sqlparser::ast::BinaryOperator::And,
        right: Box::new(right),
    })
}
