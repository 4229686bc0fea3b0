//! Composes manifest entries, overlays and inherited columns into sources.

use std::collections::{BTreeMap, BTreeSet};

use ktx_diagnostics::nearest;

use crate::model::authored::{
    Column, Descriptions, Found, Join, JoinSource, ManifestEntry, ManifestJoin, Overlay,
    OverlayJoin, Role, Standalone, StrictMap,
};
use crate::model::error::ErrorKind;
use crate::model::resolved::{Origin, column_type};

/// A complete source in standalone shape, with unresolved names.
#[derive(Debug, Clone)]
pub struct Composed {
    pub source: Standalone,
    pub origin: Origin,
    pub path: String,
    pub native_types: BTreeMap<String, String>,
    pub required: BTreeSet<String>,
    /// True if the grain is the default.
    pub is_grain_assumed: bool,
    pub scanned_key: Vec<String>,
    /// From context sources; the user's definition of the same name wins.
    pub imported: Imported,
}

#[derive(Debug, Clone, Default)]
pub struct Imported {
    pub paths: Vec<String>,
    /// Lower case.
    columns: BTreeSet<String>,
    /// Lower case.
    measures: BTreeSet<String>,
}

impl Imported {
    pub fn has_measure(&self, name: &str) -> bool {
        self.measures.contains(&name.to_lowercase())
    }
}

pub(crate) type Broken = (ErrorKind, String);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Element {
    pub(crate) key: &'static str,
    pub(crate) at: Option<usize>,
}

impl Element {
    pub(crate) const fn entry(key: &'static str, at: usize) -> Self {
        Self { key, at: Some(at) }
    }
}

#[derive(Debug, Clone)]
pub(crate) struct Misfit {
    pub(crate) message: String,
    pub(crate) element: Element,
}

pub(crate) fn from_manifest(name: &str, entry: &ManifestEntry, path: String) -> Composed {
    let keys = primary_key(entry);
    let all = || {
        entry
            .columns
            .iter()
            .map(|column| column.name.clone())
            .collect()
    };
    let columns = entry.columns.iter().map(|column| {
        let kind = column_type(&column.kind);
        Column {
            name: column.name.clone(),
            kind: Some(kind),
            role: (kind == crate::model::authored::ColumnType::Time).then_some(Role::Time),
            visibility: None,
            descriptions: column.descriptions.clone(),
            description: None,
            expr: None,
            natural_granularity: None,
            constraints: column.constraints.clone(),
            enum_values: column.enum_values.clone(),
            tests: column.tests.clone(),
        }
    });
    Composed {
        source: Standalone {
            name: name.to_owned(),
            descriptions: entry.descriptions.clone(),
            description: None,
            source_type: None,
            table: Some(entry.table.clone()),
            sql: None,
            inherits_columns_from: None,
            grain: if keys.is_empty() { all() } else { keys.clone() },
            columns: columns.collect(),
            joins: entry.joins.iter().map(scanned_join).collect(),
            measures: Vec::new(),
            segments: Vec::new(),
            default_time_dimension: entry.default_time_dimension.clone(),
            tags: entry.tags.clone(),
            owners: entry.owners.clone(),
            freshness: entry.freshness.clone(),
            exposures: entry.exposures.clone(),
            usage: entry.usage.clone(),
        },
        origin: Origin::Manifest,
        path,
        native_types: native_types(entry),
        required: required(entry),
        is_grain_assumed: keys.is_empty(),
        scanned_key: keys,
        imported: Imported::default(),
    }
}

pub(crate) fn primary_key(entry: &ManifestEntry) -> Vec<String> {
    let keys = entry.columns.iter().filter(|column| column.pk);
    keys.map(|column| column.name.clone()).collect()
}

/// Unlike in hand-written joins, `source` is always set.
fn scanned_join(join: &ManifestJoin) -> Join {
    Join {
        to: join.to.clone(),
        on: join.on.clone(),
        relationship: join.relationship,
        alias: join.alias.clone(),
        source: Some(join.source.unwrap_or(JoinSource::Formal)),
        weight: None,
        found: Found {
            coverage: join.coverage,
            is_keyed: join.keyed == Some(true),
            evidence: join.evidence,
        },
    }
}

pub(crate) fn native_types(entry: &ManifestEntry) -> BTreeMap<String, String> {
    entry
        .columns
        .iter()
        .map(|column| (column.name.clone(), column.kind.clone()))
        .collect()
}

pub(crate) fn apply_import(base: &mut Composed, import: Overlay, path: &str) -> Result<(), Broken> {
    if import.grain.is_some()
        || import.usage.is_some()
        || import.descriptions.is_some()
        || !import.exclude_columns.is_empty()
        || !import.column_overrides.is_empty()
        || !import.disable_joins.is_empty()
    {
        let message = "an import file has `columns`, `joins`, `measures`, `segments` and \
                       `default_time_dimension` only"
            .to_owned();
        return Err((ErrorKind::InvalidOverlay, message));
    }
    let source = &mut base.source;
    for column in import.columns {
        let is_same = |known: &Column| known.name.eq_ignore_ascii_case(&column.name);
        if !source.columns.iter().any(is_same) {
            base.imported.columns.insert(column.name.to_lowercase());
            source.columns.push(column);
        }
    }
    let joins = import.joins.into_iter();
    let Some(joins) = joins.map(OverlayJoin::whole).collect::<Option<_>>() else {
        let message = "a join of an import file has `to`, `on` and `relationship`".to_owned();
        return Err((ErrorKind::InvalidOverlay, message));
    };
    add_joins(&mut source.joins, joins);
    let known = source.measures.len();
    add_named(&mut source.measures, import.measures, |measure| {
        &measure.name
    });
    let added = source.measures.iter().skip(known);
    let added = added.map(|measure| measure.name.to_lowercase());
    base.imported.measures.extend(added);
    add_named(&mut source.segments, import.segments, |segment| {
        &segment.name
    });
    if source.default_time_dimension.is_none() {
        source.default_time_dimension = import.default_time_dimension;
    }
    base.imported.paths.push(path.to_owned());
    Ok(())
}

fn add_named<T>(to: &mut Vec<T>, more: Vec<T>, name: impl Fn(&T) -> &String) {
    let mut known: BTreeSet<String> = to.iter().map(|item| name(item).to_lowercase()).collect();
    to.extend(
        more.into_iter()
            .filter(|item| known.insert(name(item).to_lowercase())),
    );
}

fn add_joins(to: &mut Vec<Join>, more: Vec<Join>) {
    for join in more {
        let is_same = |other: &Join| {
            other.to == join.to
                && collapsed(&other.on) == collapsed(&join.on)
                && other.alias == join.alias
        };
        match to.iter().position(is_same).and_then(|at| to.get_mut(at)) {
            None => to.push(join),
            Some(known) => known.weight = join.weight.or(known.weight.take()),
        }
    }
}

pub(crate) fn required(entry: &ManifestEntry) -> BTreeSet<String> {
    let required = entry
        .columns
        .iter()
        .filter(|column| column.nullable == Some(false));
    required.map(|column| column.name.clone()).collect()
}

fn check_columns(base: &Composed, overlay: &Overlay) -> Result<(), Misfit> {
    let invalid = |message: String, key: &'static str, at: usize| {
        let element = Element::entry(key, at);
        Err(Misfit { message, element })
    };
    let known: BTreeMap<String, String> = base
        .source
        .columns
        .iter()
        .map(|column| (column.name.to_lowercase(), column.name.clone()))
        .collect();
    let excluded: BTreeSet<String> = overlay
        .exclude_columns
        .iter()
        .map(|name| name.to_lowercase())
        .collect();
    for (at, patch) in overlay.column_overrides.iter().enumerate() {
        let name = &patch.name;
        if !known.contains_key(&name.to_lowercase()) {
            let near = nearest(name, known.values().map(String::as_str));
            let hint = near
                .first()
                .map_or(String::new(), |near| format!("; did you mean `{near}`"));
            let message = format!("`column_overrides` names the unknown column `{name}`{hint}");
            return invalid(message, "column_overrides", at);
        }
        if excluded.contains(&name.to_lowercase()) {
            let message = format!("column `{name}` is both excluded and overridden");
            return invalid(message, "column_overrides", at);
        }
    }
    for (at, column) in overlay.columns.iter().enumerate() {
        let name = &column.name;
        let is_imported = base.imported.columns.contains(&name.to_lowercase());
        if known.contains_key(&name.to_lowercase()) && !is_imported {
            let message = format!("computed column `{name}` is a column of the table already");
            return invalid(message, "columns", at);
        }
        if column.expr.is_none() || column.kind.is_none() {
            let message = format!("computed column `{name}` needs `expr` and `type`");
            return invalid(message, "columns", at);
        }
    }
    Ok(())
}

pub(crate) fn apply_overlay(
    base: &mut Composed,
    overlay: Overlay,
    joins: Vec<Join>,
    path: &str,
) -> Result<(), Misfit> {
    check_columns(base, &overlay)?;
    let excluded: BTreeSet<String> = overlay
        .exclude_columns
        .iter()
        .map(|name| name.to_lowercase())
        .collect();
    let source = &mut base.source;
    merge_descriptions(&mut source.descriptions, overlay.descriptions);
    source
        .columns
        .retain(|column| !excluded.contains(&column.name.to_lowercase()));
    for patch in overlay.column_overrides {
        let same = |column: &&mut Column| column.name.eq_ignore_ascii_case(&patch.name);
        if let Some(column) = source.columns.iter_mut().find(same) {
            column.role = patch.role.or(column.role);
            column.visibility = patch.visibility.or(column.visibility);
            merge_descriptions(&mut column.descriptions, patch.descriptions.clone());
            column.constraints = patch.constraints.clone().or(column.constraints.take());
            column.enum_values = patch.enum_values.clone().or(column.enum_values.take());
            column.tests = patch.tests.clone().or(column.tests.take());
        }
    }
    source.columns.retain(|column| {
        let is_same = |own: &Column| own.name.eq_ignore_ascii_case(&column.name);
        !overlay.columns.iter().any(is_same)
    });
    source.columns.extend(overlay.columns);
    if let Some(grain) = overlay.grain {
        source.grain = grain;
        base.is_grain_assumed = false;
    }
    let disabled: BTreeSet<Condition> = overlay.disable_joins.iter().map(|on| sides(on)).collect();
    source
        .joins
        .retain(|join| !disabled.contains(&sides(&join.on)));
    add_joins(&mut source.joins, joins);
    for measure in &overlay.measures {
        base.imported.measures.remove(&measure.name.to_lowercase());
    }
    let imported = std::mem::replace(&mut source.measures, overlay.measures);
    add_named(&mut source.measures, imported, |measure| &measure.name);
    let imported = std::mem::replace(&mut source.segments, overlay.segments);
    add_named(&mut source.segments, imported, |segment| &segment.name);
    source.default_time_dimension = overlay
        .default_time_dimension
        .or(source.default_time_dimension.take());
    source.usage = overlay.usage.or(source.usage.take());
    base.origin = Origin::Overlay;
    path.clone_into(&mut base.path);
    Ok(())
}

/// The equalities of a join, in any order, side and spacing.
pub(crate) type Condition = BTreeSet<[String; 2]>;

pub(crate) fn sides(on: &str) -> Condition {
    let words: Vec<&str> = on.split_whitespace().collect();
    let clauses = words.split(|word| word.eq_ignore_ascii_case("and"));
    let equality = |clause: &[&str]| {
        let text = clause.join(" ");
        let (left, right) = text.split_once('=').unwrap_or((&text, ""));
        let mut both = [left.trim().to_owned(), right.trim().to_owned()];
        both.sort();
        both
    };
    clauses.map(equality).collect()
}

fn collapsed(on: &str) -> String {
    on.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn merge_descriptions(base: &mut Option<Descriptions>, over: Option<Descriptions>) {
    if let Some(StrictMap(over)) = over {
        base.get_or_insert_default().0.extend(over);
    }
}

/// From the source's manifest entry.
pub(crate) fn inherit(composed: &mut Composed, entry: &ManifestEntry) {
    let types = native_types(entry);
    composed.required = required(entry);
    for column in composed
        .source
        .columns
        .iter_mut()
        .filter(|column| column.expr.is_none())
    {
        let same = |other: &&crate::model::authored::ManifestColumn| {
            other.name.eq_ignore_ascii_case(&column.name)
        };
        let Some(inherited) = entry.columns.iter().find(same) else {
            continue;
        };
        let kind = column_type(&inherited.kind);
        column.kind = column.kind.or(Some(kind));
        column.role = column
            .role
            .or((kind == crate::model::authored::ColumnType::Time).then_some(Role::Time));
        if column
            .descriptions
            .as_ref()
            .is_none_or(|texts| texts.0.is_empty())
        {
            column.descriptions.clone_from(&inherited.descriptions);
        }
        if let Some(native) = types.get(&inherited.name) {
            composed
                .native_types
                .insert(column.name.clone(), native.clone());
        }
    }
}
