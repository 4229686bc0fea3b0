//! Filters of MetricFlow: predicates whose Jinja names dimensions and entities.

use minijinja::value::{Object, Rest};
use minijinja::{Environment, Error, ErrorKind, State, UndefinedBehavior, Value};
use std::sync::Arc;

use super::semantic_model::{EntityKind, SemanticModel};
use crate::definitions::{Fragment, Sql};

const FUEL: u64 = 10_000;

/// Marks the two ends of a reference in rendered text.
const MARK: char = '\u{1}';
const PART: char = '\u{2}';

/// Means the time dimension of the requested measure.
const METRIC_TIME: &str = "metric_time";

#[derive(Debug, Clone, Copy)]
pub(super) struct FilterScope<'a> {
    pub(super) models: &'a [SemanticModel],
    pub(super) home: &'a SemanticModel,
    pub(super) time: Option<&'a str>,
}

#[derive(Debug)]
struct FilterMember {
    kind: &'static str,
    name: String,
    grain: Option<String>,
}

impl Object for FilterMember {
    fn call_method(
        self: &Arc<Self>,
        _: &mut State<'_, '_>,
        method: &str,
        arguments: &[Value],
    ) -> Result<Value, Error> {
        match (method, arguments) {
            ("grain", [grain]) => Ok(Value::from_object(Self {
                kind: "TimeDimension",
                name: self.name.clone(),
                grain: Some(grain.to_string()),
            })),
            _ => Err(Error::new(
                ErrorKind::UnknownMethod,
                format!("`{method}` of `{}` has no counterpart", self.kind),
            )),
        }
    }

    fn render(self: &Arc<Self>, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let grain = self.grain.as_deref().unwrap_or_default();
        write!(
            f,
            "{MARK}{}{PART}{}{PART}{grain}{MARK}",
            self.kind, self.name
        )
    }
}

pub(super) fn filter(text: &str, scope: FilterScope<'_>) -> Result<Sql, String> {
    let rendered = environment()
        .render_str(text, ())
        .map_err(|error| match error.detail() {
            Some(detail) => format!("its filter cannot be read: {detail}"),
            None => format!("its filter cannot be read: {}", error.kind()),
        })?;
    let mut fragments = Vec::new();
    for (at, piece) in rendered.split(MARK).enumerate() {
        if at % 2 == 0 {
            if !piece.is_empty() {
                fragments.push(Fragment::Text(piece.to_owned()));
            }
            continue;
        }
        let mut parts = piece.split(PART);
        let kind = parts.next().unwrap_or_default();
        let name = parts.next().unwrap_or_default();
        let grain = parts.next().filter(|grain| !grain.is_empty());
        fragments.extend(scope.reference(kind, name, grain)?.0);
    }
    Ok(Sql(fragments))
}

fn environment() -> Environment<'static> {
    let mut words = Environment::new();
    words.set_fuel(Some(FUEL));
    words.set_undefined_behavior(UndefinedBehavior::Strict);
    for kind in ["Dimension", "Entity"] {
        words.add_function(kind, move |name: String, _: Rest<Value>| {
            Value::from_object(FilterMember {
                kind,
                name,
                grain: None,
            })
        });
    }
    words.add_function(
        "TimeDimension",
        |name: String, grain: Option<String>, _: Rest<Value>| {
            Value::from_object(FilterMember {
                kind: "TimeDimension",
                name,
                grain,
            })
        },
    );
    words.add_function("Metric", |name: String, _: Rest<Value>| {
        Err::<Value, _>(Error::new(
            ErrorKind::InvalidOperation,
            format!("it compares the metric `{name}`, which has no counterpart"),
        ))
    });
    words
}

impl<'a> FilterScope<'a> {
    /// Resolves `entity__…__name` from the home model.
    fn reference(self, kind: &str, name: &str, grain: Option<&str>) -> Result<Sql, String> {
        let unknown = || format!("its filter names the unknown {} `{name}`", noun(kind));
        let steps: Vec<&str> = name.split("__").collect();
        let Some((last, entities)) = steps.split_last() else {
            return Err(unknown());
        };
        if *last == METRIC_TIME {
            let own = self.time.ok_or_else(unknown)?;
            return self.column(self.home, own, grain);
        }
        if kind == "Entity" && entities.is_empty() {
            let entity = self.home.entity(last).ok_or_else(unknown)?;
            return Ok(entity.expr.clone());
        }
        let mut model = self.home;
        for (at, entity) in entities.iter().enumerate() {
            let is_last = at + 1 == entities.len();
            let is_own = model
                .entity(entity)
                .is_some_and(|known| known.kind == EntityKind::Unique);
            if is_own && (!is_last || model.dimension(last).is_some()) {
                continue;
            }
            model.entity(entity).ok_or_else(unknown)?;
            let next = entities.get(at + 1).copied();
            model = self
                .next_model(model, entity, next, last)
                .ok_or_else(unknown)?;
        }
        if entities.is_empty() && model.dimension(last).is_none() {
            return Err(unknown());
        }
        self.column(model, last, grain)
    }

    /// Returns the model that an entity leads to and that has the next entity, or the dimension.
    fn next_model(
        self,
        from: &SemanticModel,
        entity: &str,
        next: Option<&str>,
        dimension: &str,
    ) -> Option<&'a SemanticModel> {
        let others = self.models.iter().filter(|other| {
            let known = other.entity(entity);
            other.name != from.name && known.is_some_and(|one| one.kind == EntityKind::Unique)
        });
        let mut having = others.filter(|other| match next {
            Some(next) => other.entity(next).is_some(),
            None => other.dimension(dimension).is_some(),
        });
        let first = having.next()?;
        having.next().is_none().then_some(first)
    }

    fn column(self, model: &SemanticModel, name: &str, grain: Option<&str>) -> Result<Sql, String> {
        let dimension = model
            .dimension(name)
            .ok_or_else(|| format!("its filter names the unknown dimension `{name}`"))?;
        // A column without a finer unit already holds days.
        let is_own = grain.is_none_or(|grain| {
            let own = dimension.granularity.as_deref().unwrap_or("day");
            grain.eq_ignore_ascii_case(own)
        });
        if !is_own {
            let grain = grain.unwrap_or_default();
            return Err(format!("its filter compares `{name}` by {grain}"));
        }
        if model.name == self.home.name {
            return Ok(match dimension.expr.plain_column() {
                Some(_) => dimension.expr.clone(),
                None => dimension.expr.clone().between("(", ")"),
            });
        }
        let column = dimension.expr.plain_column().unwrap_or(name);
        Ok(Sql(vec![Fragment::Column {
            model: Some(model.name.clone()),
            name: column.to_owned(),
        }]))
    }
}

fn noun(kind: &str) -> &'static str {
    if kind == "Entity" {
        "entity"
    } else {
        "dimension"
    }
}
