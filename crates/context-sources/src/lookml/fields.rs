//! Fields of views with inheritance, and their SQL with its references.

use std::collections::BTreeMap;

use super::inheritance::{Chain, View, Views};
use super::project::{LookmlProject, blocks, text};
use super::syntax::{LookmlEntry, Value};
use crate::definitions::{Fragment, SourcePosition, Sql};
use crate::names;

const DEEPEST: usize = 20;

pub(super) struct FieldView<'p> {
    pub(super) name: &'p str,
    pub(super) fields: BTreeMap<&'p str, Field<'p>>,
}

pub(super) struct Field<'p> {
    pub(super) kind: FieldKind,
    pub(super) spot: SourcePosition,
    /// The field's definitions, the last one first.
    parts: Vec<&'p [LookmlEntry]>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FieldKind {
    Dimension,
    /// A column by several units of time.
    TimeGroup,
    Measure,
}

impl<'p> FieldView<'p> {
    pub(super) fn of(chain: &Chain<'p>, views: &Views<'p>, project: &LookmlProject<'_>) -> Self {
        let mut fields: BTreeMap<&str, Field<'p>> = BTreeMap::new();
        for View { path, entries, .. } in chain.views(views) {
            for entry in *entries {
                let Value::Block(Some(name), inner) = &entry.value else {
                    continue;
                };
                let kind = match entry.key.as_str() {
                    "dimension" => FieldKind::Dimension,
                    "dimension_group" => FieldKind::TimeGroup,
                    "measure" => FieldKind::Measure,
                    _ => continue,
                };
                let place = project.place(path, entry.at);
                let field = fields.entry(name).or_insert_with(|| Field {
                    kind,
                    spot: SourcePosition::new(),
                    parts: Vec::new(),
                });
                field.kind = kind;
                field.spot = place
                    .rsplit_once(':')
                    .map_or(place.clone(), |(line, _)| line.to_owned());
                field.parts.insert(0, inner);
            }
        }
        Self {
            name: chain.name,
            fields,
        }
    }
}

impl<'p> Field<'p> {
    pub(super) fn text(&self, key: &str) -> Option<&'p str> {
        self.parts.iter().find_map(|part| text(part, key))
    }

    pub(super) fn entries(&self, key: &str) -> Vec<&'p LookmlEntry> {
        let having = self.parts.iter().map(|part| -> Vec<&'p LookmlEntry> {
            part.iter().filter(|entry| entry.key == key).collect()
        });
        having
            .into_iter()
            .find(|entries| !entries.is_empty())
            .unwrap_or_default()
    }

    fn is_looker_only(&self) -> bool {
        let has = |key: &str| {
            self.parts
                .iter()
                .any(|part| blocks(part, key).next().is_some())
        };
        has("case") || has("sql_case") || self.text("expression").is_some()
    }
}

pub(super) struct Resolver<'p> {
    pub(super) project: &'p LookmlProject<'p>,
    pub(super) views: BTreeMap<&'p str, FieldView<'p>>,
}

impl<'p> Resolver<'p> {
    pub(super) fn field(&self, view: &str, name: &str) -> Option<&Field<'p>> {
        self.views.get(view)?.fields.get(name)
    }

    /// Resolves over the columns of the view.
    pub(super) fn dimension(&self, view: &str, name: &str) -> Result<Sql, String> {
        self.own_dimension(view, name, 0)
    }

    fn own_dimension(&self, view: &str, name: &str, depth: usize) -> Result<Sql, String> {
        if depth > DEEPEST {
            return Err(format!("`{name}` is built on itself"));
        }
        let (field, raw) = self.dimension_of(view, name)?;
        let kind = field.text("type").unwrap_or("string");
        if super::is_changed(kind) || field.is_looker_only() {
            return Err(format!("only Looker computes `{view}.{name}`"));
        }
        match field.text("sql") {
            None => Ok(Sql::column(raw)),
            Some(sql) => self.sql(view, sql, depth + 1),
        }
    }

    fn dimension_of<'n>(&self, view: &str, name: &'n str) -> Result<(&Field<'p>, &'n str), String> {
        let known = self.field(view, name);
        if let Some(field) = known.filter(|field| field.kind == FieldKind::Dimension) {
            return Ok((field, name));
        }
        for unit in ["_raw", "_time"] {
            let group = name.strip_suffix(unit);
            let field = group.and_then(|group| Some((self.field(view, group)?, group)));
            if let Some((field, group)) = field
                && field.kind == FieldKind::TimeGroup
                && field.text("type").unwrap_or("time") == "time"
            {
                return Ok((field, group));
            }
        }
        let group = name.rsplit_once('_').map(|(group, _)| group);
        let is_unit = group
            .and_then(|group| self.field(view, group))
            .is_some_and(|field| field.kind == FieldKind::TimeGroup);
        Err(if is_unit {
            format!("`{name}` is a unit of time, which Looker computes")
        } else {
            format!("there is no dimension `{view}.{name}`")
        })
    }

    /// Resolves over the columns and measures of the view.
    pub(super) fn sql(&self, view: &str, text: &str, depth: usize) -> Result<Sql, String> {
        let text = self
            .project
            .written_out(text)
            .ok_or("only Looker can write its SQL out")?;
        let mut fragments = Vec::new();
        let mut rest = text.as_str();
        while let Some((before, behind)) = rest.split_once("${") {
            if !before.is_empty() {
                fragments.push(Fragment::Text(before.to_owned()));
            }
            let (name, behind) = behind
                .split_once('}')
                .ok_or("a `${` in its SQL does not end")?;
            rest = behind;
            if name.trim() == "TABLE" {
                let (column, behind) = column_behind(behind)
                    .ok_or("its SQL uses `${TABLE}` other than for a column")?;
                fragments.push(Fragment::Column {
                    model: None,
                    name: column,
                });
                rest = behind;
                continue;
            }
            fragments.extend(self.reference(view, name.trim(), depth)?.0);
        }
        if !rest.is_empty() {
            fragments.push(Fragment::Text(rest.to_owned()));
        }
        Ok(whole_column(fragments))
    }

    fn reference(&self, view: &str, name: &str, depth: usize) -> Result<Sql, String> {
        let (owner, name) = name.split_once('.').unwrap_or((view, name));
        let is_own = owner == view;
        if self
            .field(owner, name)
            .is_some_and(|field| field.kind == FieldKind::Measure)
        {
            return Ok(Sql::measure((!is_own).then_some(owner), name));
        }
        if !self.views.contains_key(owner) {
            return Err(format!("no table of a view `{owner}` is known"));
        }
        let sql = self.own_dimension(owner, name, depth)?;
        if is_own {
            return Ok(match sql.plain_column() {
                Some(_) => sql,
                None => sql.between("(", ")"),
            });
        }
        let column = sql.plain_column().unwrap_or(name);
        Ok(Sql(vec![Fragment::Column {
            model: Some(owner.to_owned()),
            name: column.to_owned(),
        }]))
    }
}

fn whole_column(fragments: Vec<Fragment>) -> Sql {
    match fragments.as_slice() {
        [Fragment::Text(text)] => match names::column(text) {
            Some(column) => Sql::column(column),
            None => Sql(fragments),
        },
        _ => Sql(fragments),
    }
}

fn column_behind(text: &str) -> Option<(String, &str)> {
    let rest = text.strip_prefix('.')?;
    let end = match rest.chars().next()? {
        quote @ ('"' | '`') => rest.get(1..)?.find(quote)? + 2,
        '[' => rest.find(']')? + 1,
        _ => {
            let is_word = |letter: char| letter.is_alphanumeric() || "_$".contains(letter);
            rest.find(|letter| !is_word(letter)).unwrap_or(rest.len())
        }
    };
    let (name, behind) = rest.split_at(end);
    // A second dot leads into the column.
    if behind.starts_with('.') {
        return None;
    }
    Some((names::column(name)?, behind))
}
