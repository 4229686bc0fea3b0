//! Resolves one composed source.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};

use ktx_sql::Dialect;
use sqlparser::ast::{BinaryOperator, Expr};

use crate::catalog::near::nearest;
use crate::catalog::places::Spot;
use crate::model::authored::{self, ColumnType, JoinEvidence, JoinSource, Standalone};
use crate::model::composed::{Broken, Composed};
use crate::model::error::ErrorKind;
use crate::model::formula::{Formula, Snapshot};
use crate::model::granularity::Granularity;
use crate::model::part::Part;
use crate::model::resolved::{
    Column, Counted, Join, JoinOrigin, Measure, MeasurePlaces, Origin, Relation, Segment, Source,
    best_description,
};
use crate::sql::expression;
use crate::sql::sql_text::has_gap;

pub(super) struct Known<'a> {
    pub(super) names: &'a BTreeMap<String, Composed>,
    pub(super) broken: &'a BTreeSet<String>,
    pub(super) dialect: Dialect,
    pub(super) searches: Cell<usize>,
}

pub(super) fn hint(name: &str, known: &BTreeMap<String, Composed>) -> String {
    nearest(name, known.keys().map(String::as_str))
        .first()
        .map_or(String::new(), |near| format!("; did you mean `{near}`"))
}

pub(super) struct Flaw {
    pub(super) kind: ErrorKind,
    pub(super) message: String,
    pub(super) spot: Spot,
    pub(super) is_warning: bool,
}

/// Problems stay in the source; flaws are warnings.
pub(super) fn source(composed: &Composed, known: &Known<'_>) -> (Source, Vec<Flaw>) {
    let written = &composed.source;
    let flaw = |(kind, message): Broken, spot: Spot, is_warning: bool| Flaw {
        kind,
        message,
        spot,
        is_warning,
    };
    let mut problem = rules(composed)
        .and_then(|()| table(written, known.dialect))
        .err()
        .map(|(message, part)| flaw((ErrorKind::InvalidSource, message), part.into(), false));
    let mut flaws = Vec::new();
    let mut joins = Vec::new();
    for join in &written.joins {
        let spot = || Spot::Join {
            to: join.to.clone(),
            alias: join.alias.clone(),
            on: join.on.clone(),
        };
        match self::join(&written.name, join, known) {
            Ok(join) => joins.extend(join),
            Err((_, message)) if join.source.is_some() => {
                let broken = (ErrorKind::UnmatchedManifestJoin, message);
                flaws.push(flaw(broken, spot(), true));
            }
            Err(broken) => problem = problem.or_else(|| Some(flaw(broken, spot(), false))),
        }
    }
    let refusal = problem
        .as_ref()
        .map(|flaw| (flaw.kind, flaw.message.clone()));
    flaws.extend(problem);
    let relation = match (&written.table, &written.sql) {
        (Some(table), _) => Relation::Table(table.clone()),
        (None, Some(sql)) => Relation::Sql(sql.clone()),
        (None, None) => Relation::Table(written.name.clone()),
    };
    let mut descriptions = written.descriptions.clone().unwrap_or_default().0;
    if let Some(text) = &written.description {
        descriptions
            .entry("user".to_owned())
            .or_insert_with(|| text.clone());
    }
    let resolved = Source {
        name: written.name.clone(),
        path: composed.path.clone(),
        origin: composed.origin,
        relation,
        grain: written.grain.clone(),
        has_declared_grain: !composed.is_grain_assumed,
        scanned_key: composed.scanned_key.clone(),
        columns: written
            .columns
            .iter()
            .map(|column| self::column(column, composed))
            .collect(),
        joins,
        measures: written.measures.iter().map(measure).collect(),
        segments: written.segments.iter().map(segment).collect(),
        descriptions,
        problem: refusal,
        measure_places: MeasurePlaces::default(),
    };
    (resolved, flaws)
}

fn rules(composed: &Composed) -> Result<(), (String, Part)> {
    let written = &composed.source;
    let invalid = |message: &str, part: Part| Err((message.to_owned(), part));
    let blank = |text: &Option<String>| text.as_ref().is_some_and(|text| text.trim().is_empty());
    if written.table.is_some() && written.sql.is_some() {
        return invalid(
            "exactly one of `table` and `sql` is allowed",
            Part::Relation,
        );
    }
    if blank(&written.table) || blank(&written.sql) {
        return invalid("`table` and `sql` must not be blank", Part::Relation);
    }
    if written.columns.is_empty() {
        return invalid("`columns` must not be empty", Part::Column(String::new()));
    }
    if written.grain.is_empty() {
        return invalid("`grain` must not be empty", Part::Grain);
    }
    let mut seen = BTreeSet::new();
    for column in &written.columns {
        // A hand-written name with spaces is a mistake.
        let is_scanned = composed.origin != Origin::Standalone && column.expr.is_none();
        let is_slip = column.name.trim().is_empty() && !is_scanned;
        let flaw = if is_slip || !authored::is_column_name(&column.name) {
            "a column has no usable name".to_owned()
        } else if !seen.insert(column.name.as_str()) {
            format!("column `{}` is declared twice", column.name)
        } else if column.kind.is_none() {
            format!("column `{}` has no `type`", column.name)
        } else {
            continue;
        };
        return invalid(&flaw, Part::Column(column.name.clone()));
    }
    let mut seen = BTreeSet::new();
    match written
        .segments
        .iter()
        .find(|segment| !seen.insert(segment.name.as_str()))
    {
        Some(segment) => invalid(
            &format!("segment `{}` is declared twice", segment.name),
            Part::Segment(segment.name.clone()),
        ),
        None => Ok(()),
    }
}

/// Some warehouses read an empty part of a table's name as the default schema, others ignore it.
fn table(written: &Standalone, dialect: Dialect) -> Result<(), (String, Part)> {
    match &written.table {
        Some(table) if has_gap(dialect, table) => {
            let message = format!("`table: {table}` has an empty part between its dots");
            Err((message, Part::Relation))
        }
        _ => Ok(()),
    }
}

fn column(written: &authored::Column, composed: &Composed) -> Column {
    let descriptions = written.descriptions.clone().unwrap_or_default().0;
    Column {
        name: written.name.clone(),
        kind: written.kind.unwrap_or(ColumnType::String),
        role: written.role.unwrap_or_default(),
        visibility: written.visibility.unwrap_or_default(),
        expr: written.expr.clone(),
        description: best_description(&descriptions).or_else(|| written.description.clone()),
        native_type: composed.native_types.get(&written.name).cloned(),
        natural_granularity: written
            .natural_granularity
            .as_deref()
            .and_then(Granularity::parse),
        is_unique: is_unique(written),
        is_required: written.expr.is_none() && composed.required.contains(&written.name),
    }
}

/// Returns true for `unique: true` as a constraint or `name: unique` as a test, by any author.
fn is_unique(written: &authored::Column) -> bool {
    let parts = |meta: &Option<authored::Meta>| -> Vec<authored::Meta> {
        let map = meta.as_ref().and_then(authored::Meta::as_mapping);
        map.map_or(Vec::new(), |map| map.values().cloned().collect())
    };
    let says = |constraints: &authored::Meta| {
        constraints.get("unique").and_then(authored::Meta::as_bool) == Some(true)
    };
    let tests = |list: &authored::Meta| {
        let is_it = |test: &authored::Meta| {
            test.get("name").and_then(authored::Meta::as_str) == Some("unique")
        };
        list.as_sequence()
            .is_some_and(|tests| tests.iter().any(is_it))
    };
    parts(&written.constraints).iter().any(says) || parts(&written.tests).iter().any(tests)
}

fn measure(written: &authored::Measure) -> Measure {
    let (formula, expr) = Formula::of(written);
    Measure {
        name: written.name.clone(),
        formula,
        expr,
        snapshot: written.semi_additive.as_ref().map(Snapshot::of),
        filter: written
            .filter
            .clone()
            .filter(|text| !text.trim().is_empty()),
        segments: written.segments.clone(),
        description: written.description.clone(),
    }
}

fn segment(written: &authored::Segment) -> Segment {
    Segment {
        name: written.name.clone(),
        expr: written.expr.clone(),
        description: written.description.clone(),
    }
}

fn join(own: &str, written: &authored::Join, known: &Known<'_>) -> Result<Option<Join>, Broken> {
    if !known.names.contains_key(&written.to) {
        if known.broken.contains(&written.to) {
            return Ok(None);
        }
        let hint = match known.searches.get() {
            0 => String::new(),
            left => {
                known.searches.set(left - 1);
                hint(&written.to, known.names)
            }
        };
        let message = format!("join to the unknown source `{}`{hint}", written.to);
        return Err((ErrorKind::OrphanJoinTarget, message));
    }
    let pairs = condition(own, written, known.dialect).map_err(|reason| {
        (
            ErrorKind::InvalidJoinCondition,
            format!("join `{}`: {reason}", written.on),
        )
    })?;
    let origin = match written.source {
        Some(JoinSource::Formal) => JoinOrigin::Declared,
        Some(JoinSource::Inferred) => match written.found.evidence {
            Some(JoinEvidence::Decision | JoinEvidence::Statement) => JoinOrigin::Confirmed,
            Some(JoinEvidence::Queries) => JoinOrigin::Queried,
            Some(JoinEvidence::Names) => JoinOrigin::Named,
            None => JoinOrigin::Measured,
        },
        Some(JoinSource::Manual) | None => JoinOrigin::Written,
    };
    Ok(Some(Join {
        to: written.to.clone(),
        alias: written
            .alias
            .clone()
            .filter(|alias| !alias.trim().is_empty()),
        relationship: written.relationship,
        on: written.on.clone(),
        pairs,
        weight: written
            .weight
            .clone()
            .filter(|text| !text.trim().is_empty()),
        origin,
        counted: counted(&written.found, origin),
    }))
}

/// A measured join without a written coverage is complete.
fn counted(found: &authored::Found, origin: JoinOrigin) -> Counted {
    let whole = (origin == JoinOrigin::Measured).then_some(Counted::ALL);
    Counted {
        coverage: found.coverage.map(percent).or(whole),
        is_keyed: found.is_keyed,
    }
}

/// Finer differences do not affect path choice.
fn percent(share: f64) -> u8 {
    let hundredths = (0..=100_u8).rev();
    let found = hundredths.filter(|one| f64::from(*one) - 0.5 <= share * 100.0);
    found.max().unwrap_or_default()
}

/// Parses column pairs, local side first.
pub(super) fn condition(
    own: &str,
    join: &authored::Join,
    dialect: Dialect,
) -> Result<Vec<(String, String)>, String> {
    let tree = expression::parse(&join.on, dialect).map_err(|error| error.message)?;
    expression::conjuncts(tree)
        .into_iter()
        .map(|clause| pair(own, join, unwrapped(&clause)))
        .collect()
}

fn unwrapped(tree: &Expr) -> &Expr {
    match tree {
        Expr::Nested(inner) => unwrapped(inner),
        tree => tree,
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    Local,
    Target,
    Bare,
    Same,
}

/// Returns (local column, target column).
fn pair(own: &str, join: &authored::Join, clause: &Expr) -> Result<(String, String), String> {
    let Expr::BinaryOp {
        left,
        op: BinaryOperator::Eq,
        right,
    } = clause
    else {
        return Err("only equalities joined by AND are allowed".to_owned());
    };
    let (left_side, left) = side(own, join, left)?;
    let (right_side, right) = side(own, join, right)?;
    match (left_side, right_side) {
        (Side::Local, Side::Local) => Err("both sides are of the source itself".to_owned()),
        (Side::Target, Side::Target) => Err("both sides are of the target".to_owned()),
        (Side::Target, _) => Ok((right, left)),
        (_, Side::Target) | (Side::Local, _) => Ok((left, right)),
        (_, Side::Local) => Ok((right, left)),
        // In `drivers.id = boss_id` of a self join, the bare side is local.
        (Side::Same, Side::Bare) => Ok((right, left)),
        (Side::Bare | Side::Same, _) => Ok((left, right)),
    }
}

fn side(own: &str, join: &authored::Join, tree: &Expr) -> Result<(Side, String), String> {
    let parts = expression::reference(tree).ok_or_else(|| {
        format!("`{tree}` is not a column; only equalities of columns are allowed")
    })?;
    let (column, qualifier) = match parts.split_last() {
        Some((column, qualifier)) => ((*column).to_owned(), qualifier.join(".")),
        None => return Err("a column name is missing".to_owned()),
    };
    let last = |name: &str| name.rsplit('.').next().unwrap_or(name).to_owned();
    let names = |name: &str| qualifier == name || qualifier == last(name);
    let is_target = names(&join.to) || join.alias.as_deref().is_some_and(names);
    let is_local = names(own);
    let side = match (is_local, is_target) {
        _ if qualifier.is_empty() => Side::Bare,
        (true, true) if join.alias.as_deref().is_some_and(names) => Side::Target,
        (true, true) if join.to == own => Side::Same,
        (_, true) => Side::Target,
        (true, false) => Side::Local,
        (false, false) => return Err(format!("`{qualifier}` is neither side of the join")),
    };
    Ok((side, column))
}
