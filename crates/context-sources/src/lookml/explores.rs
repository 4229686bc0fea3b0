//! Joins of explores, between views.

use std::collections::{BTreeMap, BTreeSet};

use super::fields::Resolver;
use super::project::{blocks, text};
use super::syntax::{LookmlEntry, Value};
use crate::definitions::{
    Cardinality, ColumnPair, DefinitionKind, ModelJoin, SegmentDefinition, SkippedDefinition,
    SourcePosition, WhyLeft,
};

#[derive(Default)]
pub(super) struct ExploreFacts {
    pub(super) joins: BTreeMap<String, Vec<ModelJoin>>,
    /// Predicates that an explore always applies, by view.
    pub(super) segments: BTreeMap<String, Vec<SegmentDefinition>>,
    pub(super) left: Vec<SkippedDefinition>,
}

pub(super) fn read_explores(resolver: &Resolver<'_>, elsewhere: &BTreeSet<&str>) -> ExploreFacts {
    let mut explored = ExploreFacts::default();
    let mut written: BTreeMap<&str, Vec<&[LookmlEntry]>> = BTreeMap::new();
    for file in resolver.project.files.values() {
        for (name, entries) in blocks(&file.entries, "explore") {
            if let Some(name) = name.filter(|_| !elsewhere.contains(file.path)) {
                let plain = name.trim_start_matches('+');
                let parts = written.entry(plain).or_default();
                if plain.len() == name.len() {
                    parts.insert(0, entries);
                } else {
                    parts.push(entries);
                }
            }
        }
    }
    for file in resolver.project.files.values() {
        let is_ours = !elsewhere.contains(file.path)
            && !resolver
                .project
                .models
                .iter()
                .any(|model| model.path == file.path && model.mismatch.is_some());
        for entry in file.entries.iter().filter(|_| is_ours) {
            if let Value::Block(Some(name), inner) = &entry.value
                && entry.key == "explore"
            {
                let plain = name.trim_start_matches('+');
                let parts = written.get(plain).map_or(&[][..], Vec::as_slice);
                let explore = Explore::new(plain, inner, parts);
                explore.joins(resolver, file.path, &mut explored);
                explore.always(resolver, file.path, entry, &mut explored);
            }
        }
    }
    explored
}

struct Explore<'p> {
    name: &'p str,
    views: BTreeMap<&'p str, &'p str>,
    base: &'p str,
    entries: &'p [LookmlEntry],
}

struct JoinSide<'t> {
    name: &'t str,
    dimension: &'t str,
}

impl<'p> Explore<'p> {
    /// `parts` are the explore and its refinements: each may name a view that another one uses.
    fn new(name: &'p str, entries: &'p [LookmlEntry], parts: &[&'p [LookmlEntry]]) -> Self {
        let last = |key: &str| {
            let others = parts.iter().rev().find_map(|part| text(part, key));
            text(entries, key).or(others)
        };
        let base_name = last("view_name").unwrap_or(name);
        let base = last("from").unwrap_or(base_name);
        let mut views = BTreeMap::from([(base_name, base), (name, base)]);
        let joins = parts.iter().copied().chain([entries]);
        for (alias, inner) in joins.flat_map(|part| blocks(part, "join")) {
            if let Some(alias) = alias {
                views.insert(alias, text(inner, "from").unwrap_or(alias));
            }
        }
        Self {
            name,
            views,
            base,
            entries,
        }
    }

    fn joins(&self, resolver: &Resolver<'_>, path: &str, explored: &mut ExploreFacts) {
        for entry in self.entries.iter().filter(|entry| entry.key == "join") {
            let Value::Block(Some(alias), inner) = &entry.value else {
                continue;
            };
            let spot = spot(resolver, path, entry);
            match self.join(alias, inner, resolver) {
                Ok((from, join)) => {
                    let known = explored.joins.entry(from).or_default();
                    let join = ModelJoin { spot, ..join };
                    let is_same = |other: &ModelJoin| {
                        (&other.to, &other.alias, &other.pairs)
                            == (&join.to, &join.alias, &join.pairs)
                    };
                    if !known.iter().any(is_same) {
                        known.push(join);
                    }
                }
                Err(reason) => explored.left.push(SkippedDefinition {
                    why: WhyLeft::NotTranslated,
                    kind: DefinitionKind::Join,
                    name: format!("{} → {alias}", self.name),
                    spot,
                    reason,
                }),
            }
        }
    }

    fn join(
        &self,
        alias: &str,
        inner: &[LookmlEntry],
        resolver: &Resolver<'_>,
    ) -> Result<(String, ModelJoin), String> {
        let to = self.views.get(alias).copied().unwrap_or(alias);
        let cardinality = match text(inner, "relationship").unwrap_or("many_to_one") {
            "many_to_one" => Cardinality::ManyToOne,
            "one_to_many" => Cardinality::OneToMany,
            "one_to_one" => Cardinality::OneToOne,
            other => return Err(format!("a `{other}` join has no counterpart")),
        };
        if text(inner, "type") == Some("cross") {
            return Err("a cross join has no counterpart".to_owned());
        }
        if inner.iter().any(|entry| entry.key == "sql_where") {
            return Err("its `sql_where` drops rows".to_owned());
        }
        let (from, pairs) = match (text(inner, "sql_on"), text(inner, "foreign_key")) {
            (Some(on), _) => self.equalities(on, alias, to, resolver)?,
            (None, Some(key)) => (self.base, vec![self.key(key, to, resolver)?]),
            (None, None) => return Err("it has no `sql_on`".to_owned()),
        };
        let join = ModelJoin {
            to: to.to_owned(),
            alias: (alias != to).then(|| alias.to_owned()),
            pairs,
            cardinality,
            spot: SourcePosition::new(),
        };
        Ok((from.to_owned(), join))
    }

    /// Parses `${a.x} = ${b.y} AND …`; one side of each is the joined view.
    fn equalities(
        &self,
        on: &str,
        alias: &str,
        to: &str,
        resolver: &Resolver<'_>,
    ) -> Result<(&'p str, Vec<ColumnPair>), String> {
        let words: Vec<&str> = on.split_whitespace().collect();
        let clauses = words.split(|word| word.eq_ignore_ascii_case("and"));
        let mut from: Option<String> = None;
        let mut pairs = Vec::new();
        for clause in clauses {
            let clause = clause.join(" ");
            let more = || "its condition is more than equal columns".to_owned();
            let (left, right) = clause.split_once('=').ok_or_else(more)?;
            let (left, right) = (side(left).ok_or_else(more)?, side(right).ok_or_else(more)?);
            let (own, other) = if right.name == alias {
                (left, right)
            } else {
                (right, left)
            };
            if other.name != alias || own.name == alias {
                return Err("its condition does not compare the joined view".to_owned());
            }
            let view = self.views.get(own.name).copied();
            let view = view.ok_or_else(|| format!("the explore has no view `{}`", own.name))?;
            if from.as_ref().is_some_and(|known| known != own.name) {
                return Err("its condition compares columns of two views".to_owned());
            }
            from = Some(own.name.to_owned());
            pairs.push(ColumnPair {
                own: column(resolver, view, own.dimension)?,
                other: column(resolver, to, other.dimension)?,
            });
        }
        let from = from.and_then(|name| self.views.get(name.as_str()).copied());
        Ok((from.ok_or("its condition is empty")?, pairs))
    }

    fn key(&self, key: &str, to: &str, resolver: &Resolver<'_>) -> Result<ColumnPair, String> {
        let view = resolver.views.get(to);
        let view = view.ok_or_else(|| format!("no table of a view `{to}` is known"))?;
        let mut keys = view
            .fields
            .iter()
            .filter(|(_, field)| field.text("primary_key") == Some("yes"));
        let primary = keys.next().map(|(name, _)| *name);
        let primary = primary.ok_or_else(|| format!("`{to}` has no `primary_key`"))?;
        let (owner, key) = key.split_once('.').unwrap_or((self.base, key));
        let owner = self.views.get(owner).copied().unwrap_or(owner);
        Ok(ColumnPair {
            own: column(resolver, owner, key)?,
            other: column(resolver, to, primary)?,
        })
    }

    /// The references of an SQL text, with the view for the name that the explore gives it.
    fn with_views(&self, sql: &str) -> Result<String, String> {
        let mut parts = sql.split("${");
        let mut text = parts.next().unwrap_or_default().to_owned();
        for part in parts {
            text.push_str("${");
            let name = part.split('}').next().unwrap_or_default();
            match name.split_once('.') {
                Some((alias, _)) => {
                    let alias = alias.trim();
                    let view = self.views.get(alias).copied().unwrap_or(alias);
                    if view != alias && view != self.base {
                        return Err(format!("it is about `{alias}`, a role of `{view}`"));
                    }
                    text.push_str(view);
                    text.push_str(
                        part.get(part.find('.').unwrap_or_default()..)
                            .unwrap_or_default(),
                    );
                }
                None => text.push_str(part),
            }
        }
        Ok(text)
    }

    fn always(
        &self,
        resolver: &Resolver<'_>,
        path: &str,
        entry: &LookmlEntry,
        explored: &mut ExploreFacts,
    ) {
        let Some(sql) = text(self.entries, "sql_always_where") else {
            return;
        };
        let name = format!("{}_always", self.name);
        let spot = spot(resolver, path, entry);
        let sql = self.with_views(sql);
        match sql.and_then(|sql| resolver.sql(self.base, &sql, 0)) {
            Ok(expr) => {
                let segments = explored.segments.entry(self.base.to_owned()).or_default();
                segments.push(SegmentDefinition {
                    name,
                    expr,
                    description: None,
                    lost: vec!["the explore applies it to every query".to_owned()],
                    spot,
                });
            }
            Err(reason) => explored.left.push(SkippedDefinition {
                why: WhyLeft::NotTranslated,
                kind: DefinitionKind::Segment,
                name,
                spot,
                reason,
            }),
        }
    }
}

fn spot(resolver: &Resolver<'_>, path: &str, entry: &LookmlEntry) -> SourcePosition {
    let place = resolver.project.place(path, entry.at);
    place
        .rsplit_once(':')
        .map_or(place.clone(), |(line, _)| line.to_owned())
}

fn side(text: &str) -> Option<JoinSide<'_>> {
    let inner = text.trim().strip_prefix("${")?.strip_suffix('}')?.trim();
    let (name, dimension) = inner.split_once('.')?;
    Some(JoinSide { name, dimension })
}

fn column(resolver: &Resolver<'_>, view: &str, dimension: &str) -> Result<String, String> {
    if !resolver.views.contains_key(view) {
        return Err(format!("no table of a view `{view}` is known"));
    }
    let sql = resolver.dimension(view, dimension)?;
    let column = sql.plain_column().map(str::to_owned);
    column.ok_or_else(|| format!("`{view}.{dimension}` is not a column"))
}
