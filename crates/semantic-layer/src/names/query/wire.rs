//! The JSON shape of a query, parsed by key for precise errors.

use serde_json::{Map, Value, json};

use super::{
    Across, DimensionRequest, Direction, EmptyMembers, MeasureRequest, MissingPeriods,
    OrderRequest, Others, Query, Totals, direction, invalid,
};
use crate::model::error::QueryError;

const KEYS: [&str; 13] = [
    "measures",
    "dimensions",
    "filters",
    "segments",
    "order_by",
    "limit",
    "limit_per",
    "include_empty",
    "fill",
    "across",
    "weight",
    "totals",
    "others",
];

/// Refuses unknown keys first, and suggests the nearest known ones.
pub(super) fn read(value: &Value) -> Result<Query, QueryError> {
    let Some(object) = value.as_object() else {
        return Err(invalid("the query must be a JSON object"));
    };
    known_keys(object, &KEYS, "the query")?;
    for part in [MEASURES, DIMENSIONS, ORDER] {
        part.check_keys(object)?;
    }
    Ok(Query {
        measures: MEASURES.read(object, |item| Ok(measure(item)))?,
        dimensions: DIMENSIONS.read(object, |item| Ok(dimension(item)))?,
        order_by: ORDER.read(object, |item| order(&item))?,
        filters: texts(object, "filters")?,
        segments: texts(object, "segments")?,
        limit: limit(object)?,
        limit_per: texts(object, "limit_per")?,
        empty_members: match truth(object, "include_empty")? {
            Some(false) => EmptyMembers::Exclude,
            Some(true) => EmptyMembers::Include,
            None => EmptyMembers::default(),
        },
        missing_periods: match truth(object, "fill")? {
            Some(true) => MissingPeriods::Fill,
            _ => MissingPeriods::LeaveOut,
        },
        across: across(object)?,
        weight: weight(object)?,
        totals: match truth(object, "totals")? {
            Some(true) => Totals::Include,
            _ => Totals::LeaveOut,
        },
        others: match truth(object, "others")? {
            Some(true) => Others::OneRow,
            _ => Others::LeaveOut,
        },
    })
}

pub(super) fn write(query: &Query) -> Value {
    let mut object = Map::new();
    let mut put = |key: &str, items: Vec<Value>| {
        if !items.is_empty() {
            object.insert(key.to_owned(), Value::Array(items));
        }
    };
    let measures = query.measures.iter().map(|measure| {
        let name = measure.name.as_ref().map(|name| ("name", name));
        item(("expr", &measure.expr), name, &measure.via)
    });
    put("measures", measures.collect());
    let dimensions = query.dimensions.iter().map(|one| {
        let unit = one.granularity.as_ref().map(|unit| ("granularity", unit));
        item(("field", &one.field), unit, &one.via)
    });
    put("dimensions", dimensions.collect());
    put(
        "filters",
        query.filters.iter().map(|text| json!(text)).collect(),
    );
    put(
        "segments",
        query.segments.iter().map(|text| json!(text)).collect(),
    );
    let order = query.order_by.iter().map(|one| match one.direction {
        Direction::Ascending => json!(one.field),
        Direction::Descending => json!({ "field": one.field, "direction": "desc" }),
    });
    put("order_by", order.collect());
    if let Some(limit) = query.limit {
        object.insert("limit".to_owned(), json!(limit));
    }
    if !query.limit_per.is_empty() {
        object.insert("limit_per".to_owned(), json!(query.limit_per));
    }
    match query.empty_members {
        EmptyMembers::UnlessRanked => None,
        EmptyMembers::Include => object.insert("include_empty".to_owned(), json!(true)),
        EmptyMembers::Exclude => object.insert("include_empty".to_owned(), json!(false)),
    };
    if query.missing_periods == MissingPeriods::Fill {
        object.insert("fill".to_owned(), json!(true));
    }
    if query.totals == Totals::Include {
        object.insert("totals".to_owned(), json!(true));
    }
    if query.others == Others::OneRow {
        object.insert("others".to_owned(), json!(true));
    }
    match query.across {
        Across::Counts => None,
        Across::CountEach => object.insert("across".to_owned(), json!(COUNT_EACH)),
        Across::Allocate => object.insert("across".to_owned(), json!(ALLOCATE)),
    };
    if let Some(weight) = &query.weight {
        object.insert("weight".to_owned(), json!(weight));
    }
    Value::Object(object)
}

fn item((key, text): (&str, &String), other: Option<(&str, &String)>, via: &[String]) -> Value {
    if other.is_none() && via.is_empty() {
        return json!(text);
    }
    let mut object = Map::from_iter([(key.to_owned(), json!(text))]);
    object.extend(other.map(|(key, text)| (key.to_owned(), json!(text))));
    if !via.is_empty() {
        object.insert(VIA.to_owned(), json!(via));
    }
    Value::Object(object)
}

const VIA: &str = "via";

const COUNT_EACH: &str = "count_each";

const ALLOCATE: &str = "allocate";

#[derive(Clone, Copy)]
struct Items {
    key: &'static str,
    keys: [&'static str; 2],
    via: Way,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    Allowed,
    Unknown,
}

const MEASURES: Items = Items {
    key: "measures",
    keys: ["expr", "name"],
    via: Way::Allowed,
};
const DIMENSIONS: Items = Items {
    key: "dimensions",
    keys: ["field", "granularity"],
    via: Way::Allowed,
};
const ORDER: Items = Items {
    key: "order_by",
    keys: ["field", "direction"],
    via: Way::Unknown,
};

enum Item<'v> {
    Text(&'v str),
    Fields(&'v str, Option<&'v str>, Vec<String>),
}

impl Items {
    fn place(self) -> String {
        format!("an item of `{}`", self.key)
    }

    fn check_keys(self, query: &Map<String, Value>) -> Result<(), QueryError> {
        for item in list(query, self.key)? {
            match item {
                Value::Object(object) => {
                    let via = (self.via == Way::Allowed).then_some(VIA);
                    let keys: Vec<&str> = self.keys.into_iter().chain(via).collect();
                    known_keys(object, &keys, &self.place())?;
                }
                Value::String(_) => {}
                other => {
                    let message = format!(
                        "{} must be a text or an object with `{}`",
                        self.place(),
                        self.keys.join("`, `")
                    );
                    return Err(invalid(message).about(other.to_string()));
                }
            }
        }
        Ok(())
    }

    fn read<T>(
        self,
        query: &Map<String, Value>,
        read: impl Fn(Item<'_>) -> Result<T, QueryError>,
    ) -> Result<Vec<T>, QueryError> {
        let items = list(query, self.key)?.iter();
        items
            .map(|item| match item {
                Value::Object(object) => read(self.fields(item, object)?),
                item => read(Item::Text(item.as_str().unwrap_or_default())),
            })
            .collect()
    }

    fn fields<'v>(
        self,
        item: &Value,
        object: &'v Map<String, Value>,
    ) -> Result<Item<'v>, QueryError> {
        let [first, second] = self.keys;
        let text = |key: &str| match object.get(key) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text.as_str())),
            Some(Value::Null) if key == second => Ok(None),
            Some(other) => {
                let message = format!(
                    "`{key}` of {} must be a text, not {}",
                    self.place(),
                    kind(other)
                );
                Err(invalid(message).about(item.to_string()))
            }
        };
        let Some(field) = text(first)? else {
            let message = format!("{} has no `{first}`", self.place());
            return Err(invalid(message).about(item.to_string()));
        };
        Ok(Item::Fields(field, text(second)?, texts(object, VIA)?))
    }
}

fn measure(item: Item<'_>) -> MeasureRequest {
    match item {
        Item::Text(text) => MeasureRequest::parse(text),
        Item::Fields(expr, name, via) => MeasureRequest {
            expr: expr.to_owned(),
            name: name.map(str::to_owned),
            via,
        },
    }
}

fn dimension(item: Item<'_>) -> DimensionRequest {
    match item {
        Item::Text(text) => DimensionRequest::parse(text),
        Item::Fields(field, granularity, via) => DimensionRequest {
            field: field.to_owned(),
            granularity: granularity.map(str::to_owned),
            via,
        },
    }
}

fn order(item: &Item<'_>) -> Result<OrderRequest, QueryError> {
    match item {
        Item::Text(text) => OrderRequest::parse(text),
        Item::Fields(field, word, _) => Ok(OrderRequest {
            field: (*field).to_owned(),
            direction: word.map_or(Ok(Direction::default()), direction)?,
        }),
    }
}

fn list<'v>(query: &'v Map<String, Value>, key: &str) -> Result<&'v [Value], QueryError> {
    match query.get(key) {
        None => Ok(&[]),
        Some(Value::Array(items)) => Ok(items),
        Some(other) => {
            let error = invalid(format!("`{key}` must be a list, not {}", kind(other)));
            let error = error.about(other.to_string());
            Err(match other {
                Value::String(_) => error.suggest([format!("\"{key}\": [{other}]")]),
                _ => error,
            })
        }
    }
}

fn texts(query: &Map<String, Value>, key: &str) -> Result<Vec<String>, QueryError> {
    let items = list(query, key)?.iter();
    items
        .map(|item| match item {
            Value::String(text) => Ok(text.clone()),
            other => {
                let message = format!("an item of `{key}` must be a text, not {}", kind(other));
                Err(invalid(message).about(other.to_string()))
            }
        })
        .collect()
}

fn limit(query: &Map<String, Value>) -> Result<Option<u64>, QueryError> {
    match query.get("limit") {
        None | Some(Value::Null) => Ok(None),
        Some(value) => value.as_u64().map(Some).ok_or_else(|| {
            let shown = match value {
                Value::Number(number) => format!("`{number}`"),
                other => kind(other).to_owned(),
            };
            let message = format!("`limit` must be a whole number, 0 or greater, not {shown}");
            invalid(message).about(value.to_string())
        }),
    }
}

fn truth(query: &Map<String, Value>, key: &str) -> Result<Option<bool>, QueryError> {
    match query.get(key) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::Bool(truth)) => Ok(Some(*truth)),
        Some(other) => {
            let message = format!("`{key}` must be true or false, not {}", kind(other));
            Err(invalid(message).about(other.to_string()))
        }
    }
}

fn across(query: &Map<String, Value>) -> Result<Across, QueryError> {
    match query.get("across") {
        None | Some(Value::Null) => Ok(Across::default()),
        Some(Value::String(word)) if word == COUNT_EACH => Ok(Across::CountEach),
        Some(Value::String(word)) if word == ALLOCATE => Ok(Across::Allocate),
        Some(other) => {
            let message = format!("`across` can only be `{COUNT_EACH}` or `{ALLOCATE}`");
            Err(invalid(message)
                .about(other.to_string())
                .suggest([COUNT_EACH, ALLOCATE]))
        }
    }
}

fn weight(query: &Map<String, Value>) -> Result<Option<String>, QueryError> {
    match query.get("weight") {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.clone())),
        Some(other) => {
            let message = format!("`weight` must be a text, not {}", kind(other));
            Err(invalid(message).about(other.to_string()))
        }
    }
}

const fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a truth value",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

fn known_keys(object: &Map<String, Value>, keys: &[&str], place: &str) -> Result<(), QueryError> {
    match object.keys().find(|key| !keys.contains(&key.as_str())) {
        None => Ok(()),
        Some(key) => {
            let near = ktx_diagnostics::nearest(key, keys.iter().copied());
            Err(invalid(format!("unknown key `{key}` in {place}"))
                .about(key)
                .suggest(near))
        }
    }
}
