//! Generated tables fitted to a server, with the expected introspection.

use std::collections::BTreeSet;

use ktx_vocabulary::TableRef;
use ktx_warehouse::{Column, DimensionType, ForeignKey, SchemaSnapshot, Table, TableKind};

use super::draft::{NameWord, RelationDraft, RelationForm};

#[derive(Debug)]
pub(super) struct ColumnKind {
    pub(super) declared: &'static str,
    pub(super) native: &'static str,
    pub(super) dimension: DimensionType,
    pub(super) default: Option<&'static str>,
}

pub(super) const fn plain(
    native: &'static str,
    dimension: DimensionType,
    default: Option<&'static str>,
) -> ColumnKind {
    ColumnKind {
        declared: native,
        native,
        dimension,
        default,
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ConstraintNames {
    /// By the test, unique within a table.
    OwnInTable,
    /// By the test, unique within a schema.
    OwnInSchema,
    Theirs,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NameEquality {
    Exact,
    /// Case-insensitive and accent-insensitive.
    Folded,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Constraints {
    All,
    /// Only those that types imply.
    Types,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LinkScope {
    Nowhere,
    OwnSchema,
    EverySchema,
}

pub(super) struct ServerRules {
    /// Empty: one flat namespace.
    pub(super) schemas: &'static [&'static str],
    pub(super) forms: &'static [RelationForm],
    pub(super) types: &'static [ColumnKind],
    pub(super) key_types: usize,
    pub(super) reach: LinkScope,
    pub(super) names: ConstraintNames,
    pub(super) tables: NameEquality,
    pub(super) columns: NameEquality,
    pub(super) partitions_link: bool,
    pub(super) constraints: Constraints,
}

pub(super) trait Server {
    const RULES: ServerRules;

    fn fits(name: &str) -> bool;

    fn clean(name: &str) -> String {
        name.to_owned()
    }

    fn remark(text: &str) -> String {
        text.to_owned()
    }

    fn quote(name: &str) -> String {
        format!("\"{}\"", name.replace('"', "\"\""))
    }

    fn literal(text: &str) -> String {
        format!("'{}'", text.replace('\'', "''"))
    }

    fn prepare() -> Vec<String>;

    fn column_tail(_column: &Column) -> String {
        String::new()
    }

    fn table_tail(_relation: &Relation) -> String {
        String::new()
    }

    fn finish(_relation: &Relation) -> Vec<String> {
        Vec::new()
    }

    fn view_column(base: &Column) -> Column {
        Column {
            nullable: true,
            primary_key: false,
            comment: None,
            ..base.clone()
        }
    }

    fn adjust(_relation: &mut Relation) {}
}

#[derive(Debug, Clone)]
pub(super) struct Relation {
    pub(super) form: RelationForm,
    pub(super) table: Table,
    /// Type, explicit NOT NULL, and default of each column.
    pub(super) declared: Vec<(&'static str, bool, Option<&'static str>)>,
    pub(super) unique: Vec<String>,
    pub(super) base: Option<(TableRef, Vec<String>)>,
    pub(super) spare: Vec<String>,
    pub(super) rows: u64,
}

pub(super) struct CatalogModel {
    pub(super) relations: Vec<Relation>,
    schemas: Vec<String>,
}

impl CatalogModel {
    pub(super) fn of<S: Server>(drafts: &[RelationDraft]) -> Self {
        let mut relations = Vec::new();
        let mut names = BTreeSet::new();
        for draft in drafts {
            let relation = relation::<S>(draft, &relations, &mut names);
            relations.push(relation);
        }
        for relation in &mut relations {
            S::adjust(relation);
        }
        let schemas = S::RULES.schemas.iter().map(|name| (*name).to_owned());
        let schemas = schemas.collect();
        Self { relations, schemas }
    }

    pub(super) fn snapshot(&self) -> SchemaSnapshot {
        let tables = self.relations.iter().map(|relation| relation.table.clone());
        let mut tables: Vec<Table> = tables.collect();
        tables.sort_by(|left, right| left.table.cmp(&right.table));
        SchemaSnapshot {
            listing: Vec::new(),
            schemas: self.schemas.clone(),
            tables,
            warnings: Vec::new(),
        }
    }
}

type UsedNames = BTreeSet<(Option<String>, String)>;

fn fit_name<S: Server>(
    word: &NameWord,
    place: Option<&str>,
    same: NameEquality,
    used: &mut UsedNames,
) -> String {
    let (text, is_long) = match word {
        NameWord::Short(text) => (text, false),
        NameWord::Long(text) => (text, true),
    };
    for number in 0_usize.. {
        let tail = if number == 0 {
            String::new()
        } else {
            number.to_string()
        };
        let mut name = text.clone();
        while is_long && S::fits(&S::clean(&format!("{name}x{tail}"))) {
            name.push('x');
        }
        let name = S::clean(&format!("{name}{tail}"));
        let known = match same {
            NameEquality::Exact => name.clone(),
            NameEquality::Folded => name.to_lowercase().replace('ä', "a"),
        };
        if used.insert((place.map(str::to_owned), known)) {
            return name;
        }
    }
    unreachable!("there are numbers enough")
}

fn relation<S: Server>(
    draft: &RelationDraft,
    before: &[Relation],
    names: &mut UsedNames,
) -> Relation {
    let rules = &S::RULES;
    let schema =
        (!rules.schemas.is_empty()).then(|| rules.schemas[draft.schema.index(rules.schemas.len())]);
    let name = fit_name::<S>(&draft.name, schema, rules.tables, names);
    let mut form = draft.form;
    let is_view = matches!(form, RelationForm::View | RelationForm::Materialized);
    if !rules.forms.contains(&form) || (is_view && before.is_empty()) {
        form = RelationForm::Table;
    }
    let mut relation = Relation {
        form,
        table: Table {
            table: TableRef::new(None, schema, &name),
            kind: TableKind::Table,
            comment: reported_comment::<S>(draft.comment.as_ref()),
            estimated_rows: None,
            columns: Vec::new(),
            primary_key: Vec::new(),
            foreign_keys: Vec::new(),
        },
        declared: Vec::new(),
        unique: Vec::new(),
        base: None,
        spare: Vec::new(),
        rows: 0,
    };
    if matches!(form, RelationForm::View | RelationForm::Materialized) {
        view::<S>(
            draft,
            &before[draft.base.index(before.len())],
            &mut relation,
        );
        return relation;
    }
    let mut columns = BTreeSet::new();
    fill::<S>(draft, &mut relation, &mut columns);
    let is_plain = form == RelationForm::Table;
    if is_plain || rules.partitions_link {
        link::<S>(draft, before, &mut relation, &mut columns);
    }
    if !is_plain {
        let word = NameWord::Short("part".to_owned());
        let spare = || fit_name::<S>(&word, schema, rules.tables, names);
        relation.spare = std::iter::repeat_with(spare).take(2).collect();
    }
    let is_open = relation.declared.iter().all(|(_, required, _)| !required);
    let is_open = is_open && relation.unique.is_empty();
    if is_plain && is_open && relation.table.primary_key.is_empty() {
        relation.rows = draft.rows;
    }
    relation.table.estimated_rows = Some(relation.rows);
    relation
}

/// The introspection drops blank comments.
fn reported_comment<S: Server>(comment: Option<&String>) -> Option<String> {
    let comment = comment.filter(|text| !text.trim().is_empty());
    comment.map(|text| S::remark(text))
}

fn fill<S: Server>(draft: &RelationDraft, relation: &mut Relation, used: &mut UsedNames) {
    let rules = &S::RULES;
    let count = draft.columns.len();
    let (mut keys, reversed) = draft.key;
    let has_constraints = rules.constraints == Constraints::All;
    keys = keys.min(count);
    let unique: Vec<usize> = match draft.unique {
        Some((first, length)) if relation.form == RelationForm::Table && has_constraints => {
            let first = first.index(count);
            (first..(first + length).min(count)).collect()
        }
        _ => Vec::new(),
    };
    for (position, column) in draft.columns.iter().enumerate() {
        let is_key = position < keys;
        // The first column is the partition key.
        let is_keyed = is_key || unique.contains(&position) || position == 0;
        let kinds = if is_keyed {
            rules.key_types
        } else {
            rules.types.len()
        };
        let kind = &rules.types[column.kind.index(kinds)];
        let default = kind.default.filter(|_| column.has_default && !is_key);
        let name = fit_name::<S>(&column.name, None, rules.columns, used);
        let required = column.required && has_constraints;
        add(relation, name, kind, (required, is_key, default));
        if let Some(added) = relation.table.columns.last_mut() {
            added.comment = reported_comment::<S>(column.comment.as_ref());
        }
    }
    let name = |position: &usize| relation.table.columns[*position].name.clone();
    let mut key: Vec<String> = (0..keys).map(|position| name(&position)).collect();
    // Some servers merge constraints on the same columns.
    let unique = if unique.iter().copied().eq(0..keys) {
        Vec::new()
    } else {
        unique.iter().map(name).collect()
    };
    if reversed {
        key.reverse();
    }
    relation.table.primary_key = key;
    relation.unique = unique;
}

fn add(
    relation: &mut Relation,
    name: String,
    kind: &'static ColumnKind,
    (required, is_key, default): (bool, bool, Option<&'static str>),
) {
    relation.declared.push((kind.declared, required, default));
    relation.table.columns.push(Column {
        name,
        native_type: kind.native.to_owned(),
        normalized_type: kind.native.to_owned(),
        dimension_type: kind.dimension,
        nullable: !(required || is_key),
        primary_key: is_key,
        comment: None,
    });
}

fn link<S: Server>(
    draft: &RelationDraft,
    before: &[Relation],
    relation: &mut Relation,
    used: &mut UsedNames,
) {
    let rules = &S::RULES;
    for (number, (parent, word)) in draft.links.iter().enumerate() {
        let own = relation.clone();
        let parents: Vec<(&Relation, &Vec<String>)> = before
            .iter()
            .chain([&own])
            .filter(|parent| match rules.reach {
                LinkScope::Nowhere => false,
                LinkScope::OwnSchema => parent.table.table.db == relation.table.table.db,
                LinkScope::EverySchema => true,
            })
            .filter(|parent| parent.form == RelationForm::Table || rules.partitions_link)
            .flat_map(|parent| {
                [
                    (parent, &parent.table.primary_key),
                    (parent, &parent.unique),
                ]
            })
            .filter(|(_, columns)| !columns.is_empty())
            .collect();
        if parents.is_empty() {
            return;
        }
        let (parent, to_columns) = parents[parent.index(parents.len())];
        let mut from_columns = Vec::new();
        for name in to_columns {
            let at = parent.table.columns.iter().position(|of| of.name == *name);
            let native = &parent.table.columns[at.unwrap()].native_type;
            let kind = rules.types.iter().find(|kind| kind.native == *native);
            let word = NameWord::Short(format!("ref {}", name.chars().take(9).collect::<String>()));
            let from = fit_name::<S>(&word, None, rules.columns, used);
            add(relation, from.clone(), kind.unwrap(), (false, false, None));
            from_columns.push(from);
        }
        let (NameWord::Short(base) | NameWord::Long(base)) = word;
        let name = match rules.names {
            ConstraintNames::OwnInSchema => format!("{base}{}_{number}", before.len()),
            ConstraintNames::OwnInTable | ConstraintNames::Theirs => format!("{base}{number}"),
        };
        relation.table.foreign_keys.push(ForeignKey {
            constraint_name: (rules.names != ConstraintNames::Theirs).then(|| S::clean(&name)),
            from_columns,
            to_table: parent.table.table.clone(),
            to_columns: to_columns.clone(),
        });
    }
}

fn view<S: Server>(draft: &RelationDraft, base: &Relation, relation: &mut Relation) {
    let mut used = BTreeSet::new();
    let mut sources = Vec::new();
    for (column, source) in draft.columns.iter().zip(&base.table.columns) {
        let name = fit_name::<S>(&column.name, None, S::RULES.columns, &mut used);
        relation.table.columns.push(Column {
            name,
            ..S::view_column(source)
        });
        sources.push(source.name.clone());
    }
    relation.table.kind = TableKind::View;
    relation.base = Some((base.table.table.clone(), sources));
}
