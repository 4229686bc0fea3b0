//! Compares two catalogs, source by source.

use std::collections::BTreeSet;

use super::meaning::{is_same_expression, is_same_query, sql};
use super::{Change, Difference, Effect, FieldChange, Subject};
use ktx_semantic_layer::Catalog;
use ktx_semantic_layer::authored::{Role, Visibility};
use ktx_semantic_layer::{Column, Join, Measure, Relation, Segment, Source};

#[derive(Clone, Copy)]
struct States<'a> {
    old: &'a Catalog,
    new: &'a Catalog,
}

pub(super) fn sources(old: &Catalog, new: &Catalog) -> Vec<Difference> {
    let names: BTreeSet<&str> = old
        .sources()
        .iter()
        .chain(new.sources())
        .map(|source| source.name.as_str())
        .collect();
    let mut all = Vec::new();
    for name in names {
        match (old.source(name), new.source(name)) {
            (Some(before), Some(after)) => {
                let pair = Pair {
                    states: States { old, new },
                    before,
                    after,
                };
                all.extend(pair.differences());
            }
            (Some(gone), None) => all.push(whole(gone, old, Change::Removed)),
            (None, Some(added)) => all.push(whole(added, new, Change::Added)),
            (None, None) => {}
        }
    }
    all
}

/// Joins through the source can change the paths of other queries, and its measures' numbers
/// disappear with it.
fn whole(source: &Source, catalog: &Catalog, change: Change) -> Difference {
    let node = catalog.graph().node_id(&source.name);
    let is_joined = node.is_some_and(|node| !catalog.graph().edges_from(node).is_empty());
    let is_lost = change == Change::Removed && !source.measures.is_empty();
    Difference {
        source: source.name.clone(),
        subject: Subject::Source,
        name: source.name.clone(),
        change,
        effect: if is_joined || is_lost {
            Effect::Numbers
        } else {
            Effect::Queries
        },
    }
}

#[derive(Default)]
struct Fields {
    changes: Vec<FieldChange>,
    effect: Option<Effect>,
}

impl Fields {
    fn compare(
        &mut self,
        field: &'static str,
        old: Option<String>,
        new: Option<String>,
        effect: Effect,
    ) {
        if old != new {
            self.changes.push(FieldChange { field, old, new });
            self.effect = self.effect.max(Some(effect));
        }
    }
}

#[derive(Clone, Copy)]
struct Pair<'a> {
    states: States<'a>,
    before: &'a Source,
    after: &'a Source,
}

impl Pair<'_> {
    fn difference(
        &self,
        subject: Subject,
        name: &str,
        change: Change,
        effect: Effect,
    ) -> Difference {
        Difference {
            source: self.after.name.clone(),
            subject,
            name: name.to_owned(),
            change,
            effect,
        }
    }

    fn changed(&self, subject: Subject, name: &str, fields: Fields) -> Option<Difference> {
        let effect = fields.effect?;
        Some(self.difference(subject, name, Change::Changed(fields.changes), effect))
    }

    fn differences(&self) -> Vec<Difference> {
        let mut all = Vec::new();
        all.extend(self.changed(Subject::Source, &self.after.name, self.own_fields()));
        all.extend(self.named(
            (Subject::Column, Effect::Queries),
            (&self.before.columns, &self.after.columns),
            |column| column.name.as_str(),
            Self::column,
        ));
        all.extend(self.named(
            (Subject::Measure, Effect::Queries),
            (&self.before.measures, &self.after.measures),
            |measure| measure.name.as_str(),
            Self::measure,
        ));
        all.extend(self.named(
            (Subject::Segment, Effect::Queries),
            (&self.before.segments, &self.after.segments),
            |segment| segment.name.as_str(),
            Self::segment,
        ));
        all.extend(self.joins());
        all
    }

    /// The first object of a name counts.
    fn named<T>(
        &self,
        (subject, effect): (Subject, Effect),
        (before, after): (&[T], &[T]),
        name: impl Fn(&T) -> &str,
        fields: impl Fn(&Self, &T, &T) -> Fields,
    ) -> Vec<Difference> {
        let names: BTreeSet<&str> = before.iter().chain(after).map(&name).collect();
        let mut all = Vec::new();
        for wanted in names {
            let find = |items: &'_ [T]| items.iter().position(|item| name(item) == wanted);
            let old = find(before).and_then(|at| before.get(at));
            let new = find(after).and_then(|at| after.get(at));
            all.extend(match (old, new) {
                (Some(old), Some(new)) => self.changed(subject, wanted, fields(self, old, new)),
                (Some(_), None) => {
                    let effect = match subject {
                        Subject::Measure => Effect::Numbers,
                        _ => effect,
                    };
                    Some(self.difference(subject, wanted, Change::Removed, effect))
                }
                (None, Some(_)) => Some(self.difference(subject, wanted, Change::Added, effect)),
                (None, None) => None,
            });
        }
        all
    }

    fn own_fields(&self) -> Fields {
        let (old, new) = (self.before, self.after);
        let mut fields = Fields::default();
        let relation = |source: &Source| match &source.relation {
            Relation::Table(table) => (Some(table.clone()), None),
            Relation::Sql(sql) => (None, Some(sql.clone())),
        };
        let ((old_table, old_sql), (new_table, new_sql)) = (relation(old), relation(new));
        let query_effect = match (&old_sql, &new_sql) {
            (Some(before), Some(after))
                if is_same_query(new, before, after, self.states.new.dialect()) =>
            {
                Effect::Words
            }
            _ => Effect::Numbers,
        };
        fields.compare("table", old_table, new_table, Effect::Numbers);
        fields.compare("sql", old_sql, new_sql, query_effect);
        let grain = |source: &Source| Some(source.grain.join(", "));
        fields.compare("grain", grain(old), grain(new), Effect::Numbers);
        let texts = |source: &Source| {
            let texts = source
                .descriptions
                .iter()
                .map(|(writer, text)| format!("{writer}: {text}"));
            let texts: Vec<String> = texts.collect();
            (!texts.is_empty()).then(|| texts.join("\n"))
        };
        fields.compare("descriptions", texts(old), texts(new), Effect::Words);
        let problem = |source: &Source| source.problem.as_ref().map(|(_, message)| message.clone());
        fields.compare("problem", problem(old), problem(new), Effect::Queries);
        fields
    }

    fn column(&self, old: &Column, new: &Column) -> Fields {
        let mut fields = Fields::default();
        let kind = |column: &Column| Some(column.kind.name().to_owned());
        fields.compare("type", kind(old), kind(new), Effect::Numbers);
        let role = |column: &Column| match column.role {
            Role::Default => None,
            Role::Time => Some("time".to_owned()),
        };
        fields.compare("role", role(old), role(new), Effect::Words);
        let visibility = |column: &Column| {
            let word = match column.visibility {
                Visibility::Public => "public",
                Visibility::Internal => "internal",
                Visibility::Hidden => "hidden",
            };
            Some(word.to_owned())
        };
        let is_hidden = |column: &Column| column.visibility == Visibility::Hidden;
        let effect = if is_hidden(old) == is_hidden(new) {
            Effect::Words
        } else {
            Effect::Queries
        };
        fields.compare("visibility", visibility(old), visibility(new), effect);
        let effect = self.expression_effect(old.expr.as_deref(), new.expr.as_deref());
        fields.compare("expr", old.expr.clone(), new.expr.clone(), effect);
        fields.compare(
            "description",
            old.description.clone(),
            new.description.clone(),
            Effect::Words,
        );
        fields.compare(
            "native type",
            old.native_type.clone(),
            new.native_type.clone(),
            Effect::Queries,
        );
        fields
    }

    fn expression_effect(&self, old: Option<&str>, new: Option<&str>) -> Effect {
        match (old, new) {
            (Some(old), Some(new)) if is_same_expression(old, new, self.states.new.dialect()) => {
                Effect::Words
            }
            _ => Effect::Numbers,
        }
    }

    fn segment(&self, old: &Segment, new: &Segment) -> Fields {
        let mut fields = Fields::default();
        let effect = self.expression_effect(Some(&old.expr), Some(&new.expr));
        fields.compare(
            "expr",
            Some(old.expr.clone()),
            Some(new.expr.clone()),
            effect,
        );
        fields.compare(
            "description",
            old.description.clone(),
            new.description.clone(),
            Effect::Words,
        );
        fields
    }

    fn measure(&self, old: &Measure, new: &Measure) -> Fields {
        let mut fields = Fields::default();
        let old_sql = sql(self.states.old, self.before, old);
        let new_sql = sql(self.states.new, self.after, new);
        let effect = match (&old_sql, &new_sql) {
            (Some(old), Some(new)) if old == new => Effect::Words,
            (None, Some(_)) => Effect::Queries,
            _ => Effect::Numbers,
        };
        for key in ["expr", "ratio", "cumulative", "compare"] {
            let text =
                |measure: &Measure| (measure.formula.key() == key).then(|| measure.expr.clone());
            fields.compare(key, text(old), text(new), effect);
        }
        let snapshot = |measure: &Measure| measure.snapshot.as_ref().map(ToString::to_string);
        fields.compare("semi_additive", snapshot(old), snapshot(new), effect);
        fields.compare("filter", old.filter.clone(), new.filter.clone(), effect);
        let segments =
            |measure: &Measure| (!measure.segments.is_empty()).then(|| measure.segments.join(", "));
        fields.compare("segments", segments(old), segments(new), effect);
        let is_lost = old_sql.is_some() && new_sql.is_none();
        if fields.changes.is_empty() || is_lost {
            fields.compare("sql", old_sql, new_sql, effect);
        }
        fields.compare(
            "description",
            old.description.clone(),
            new.description.clone(),
            Effect::Words,
        );
        fields
    }

    /// By target, and by columns if either state has several joins to one target.
    fn joins(&self) -> Vec<Difference> {
        let place = |join: &Join| join.alias.clone().unwrap_or_else(|| join.to.clone());
        let key = |join: &Join, all: &[Join]| {
            let sharing = all
                .iter()
                .filter(|other| place(other) == place(join))
                .count();
            if sharing > 1 {
                format!("{} on {}", place(join), condition(join))
            } else {
                place(join)
            }
        };
        let keyed = |joins: &'_ [Join], other: &[Join]| -> Vec<String> {
            let all = |join: &Join| {
                let (own, others) = (
                    key(join, joins),
                    other
                        .iter()
                        .filter(|other| place(other) == place(join))
                        .count(),
                );
                if others > 1 {
                    format!("{} on {}", place(join), condition(join))
                } else {
                    own
                }
            };
            joins.iter().map(all).collect()
        };
        let old_keys = keyed(&self.before.joins, &self.after.joins);
        let new_keys = keyed(&self.after.joins, &self.before.joins);
        let names: BTreeSet<&String> = old_keys.iter().chain(&new_keys).collect();
        let mut all = Vec::new();
        for name in names {
            let find = |keys: &[String]| keys.iter().position(|key| key == name);
            let old = find(&old_keys).and_then(|at| self.before.joins.get(at));
            let new = find(&new_keys).and_then(|at| self.after.joins.get(at));
            let only = |change| Some(self.difference(Subject::Join, name, change, Effect::Numbers));
            all.extend(match (old, new) {
                (Some(old), Some(new)) => self.changed(Subject::Join, name, join(old, new)),
                (Some(_), None) => only(Change::Removed),
                (None, Some(_)) => only(Change::Added),
                (None, None) => None,
            });
        }
        all
    }
}

fn condition(join: &Join) -> String {
    let mut pairs: Vec<String> = join
        .pairs
        .iter()
        .map(|(from, to)| format!("{from} = {to}"))
        .collect();
    pairs.sort();
    pairs.join(" AND ")
}

fn join(old: &Join, new: &Join) -> Fields {
    let mut fields = Fields::default();
    let is_same = condition(old) == condition(new);
    let effect = if is_same {
        Effect::Words
    } else {
        Effect::Numbers
    };
    fields.compare(
        "to",
        Some(old.to.clone()),
        Some(new.to.clone()),
        Effect::Numbers,
    );
    fields.compare("on", Some(old.on.clone()), Some(new.on.clone()), effect);
    let relationship = |join: &Join| Some(join.relationship.name().to_owned());
    fields.compare(
        "relationship",
        relationship(old),
        relationship(new),
        Effect::Numbers,
    );
    fields
}
