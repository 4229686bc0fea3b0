//! Resolves the references in SQL of cubes: `{CUBE}.column`, `{member}`, `{other.member}`.

use std::collections::BTreeMap;

use super::cubes::Cube;
use crate::definitions::{Fragment, Sql};
use crate::names;
use crate::yaml::text;

const DEEPEST: usize = 20;

pub(super) struct Members<'a> {
    pub(super) cubes: BTreeMap<&'a str, &'a Cube>,
}

impl<'a> Members<'a> {
    pub(super) fn sql(&self, cube: &'a Cube, sql: &str, depth: usize) -> Result<Sql, String> {
        if depth == DEEPEST {
            return Err("its members refer to each other in a circle".to_owned());
        }
        if sql.contains("{{")
            || sql.contains("{%")
            || sql.contains("FILTER_PARAMS")
            || sql.contains("COMPILE_CONTEXT")
        {
            return Err("only Cube can write its SQL out".to_owned());
        }
        if let Some(column) = names::column(sql) {
            return Ok(Sql::column(column));
        }
        let mut fragments = Vec::new();
        let mut rest = sql.trim();
        while let Some((before, behind)) = rest.split_once('{') {
            let (reference, behind) = behind.split_once('}').ok_or("a reference is not closed")?;
            if !before.is_empty() {
                fragments.push(Fragment::Text(before.to_owned()));
            }
            let reference = reference.trim();
            let bare = !reference.contains('.');
            if bare && (reference == "CUBE" || self.cubes.contains_key(reference)) {
                let (column, behind) =
                    column_behind(behind).ok_or("a cube is named without a column")?;
                let model = self.model(cube, reference)?;
                fragments.push(Fragment::Column {
                    model,
                    name: column,
                });
                rest = behind;
                continue;
            }
            fragments.extend(self.member(cube, reference, depth)?.0);
            rest = behind;
        }
        if !rest.is_empty() {
            fragments.push(Fragment::Text(rest.to_owned()));
        }
        Ok(Sql(fragments))
    }

    fn model(&self, cube: &Cube, name: &str) -> Result<Option<String>, String> {
        if name == "CUBE" || name == cube.name {
            return Ok(None);
        }
        let other = self.cubes.get(name);
        let other = other.ok_or_else(|| format!("the table of the cube `{name}` is not known"))?;
        Ok(Some(other.name.clone()))
    }

    fn member(&self, cube: &'a Cube, reference: &str, depth: usize) -> Result<Sql, String> {
        let (owner, name) = reference.split_once('.').unwrap_or(("CUBE", reference));
        let model = self.model(cube, owner)?;
        let owner = model
            .as_deref()
            .and_then(|name| self.cubes.get(name).copied());
        let owner = owner.unwrap_or(cube);
        if owner.item("measures", name).is_some() {
            return Ok(Sql::measure(model.as_deref(), name));
        }
        let Some(dimension) = owner.item("dimensions", name) else {
            return Err(format!("it names the unknown member `{reference}`"));
        };
        let sql = self.dimension(owner, name, dimension, depth)?;
        let column = sql.plain_column();
        if model.is_some() {
            return Ok(Sql(vec![Fragment::Column {
                model,
                name: column.unwrap_or(name).to_owned(),
            }]));
        }
        Ok(match column {
            Some(_) => sql,
            None => sql.between("(", ")"),
        })
    }

    pub(super) fn dimension(
        &self,
        cube: &'a Cube,
        name: &str,
        dimension: &serde_yaml::Mapping,
        depth: usize,
    ) -> Result<Sql, String> {
        for key in ["case", "sub_query", "latitude", "longitude"] {
            let is_off = text(dimension, key).is_some_and(|word| word == "false");
            if dimension.contains_key(key) && !is_off {
                return Err(format!("a dimension with `{key}` has no counterpart"));
            }
        }
        let sql = text(dimension, "sql");
        let sql = sql.ok_or_else(|| format!("`{name}` has no `sql`"))?;
        let resolved = self.sql(cube, &sql, depth + 1)?;
        match resolved.0.as_slice() {
            [Fragment::Column { model: None, name }] => Ok(Sql::column(name)),
            _ => Ok(resolved),
        }
    }
}

fn column_behind(text: &str) -> Option<(String, &str)> {
    let inner = text.strip_prefix('.')?;
    if let Some(quote) = inner
        .chars()
        .next()
        .filter(|letter| ['"', '`'].contains(letter))
    {
        let (column, behind) = inner.get(1..)?.split_once(quote)?;
        return Some((column.to_owned(), behind));
    }
    let is_word = |letter: char| letter.is_alphanumeric() || letter == '_';
    let end = inner.find(|letter| !is_word(letter)).unwrap_or(inner.len());
    let (column, behind) = inner.split_at(end);
    (!column.is_empty()).then(|| (column.to_owned(), behind))
}
