//! Dashboards and looks: their queries, as the file that a model reads.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::item::Item;
use super::{all, is_so, text_field, texts};

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct LookerContent {
    title: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<String>,
    #[serde(skip_serializing_if = "String::is_empty")]
    folder: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    filters: Vec<Filter>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tiles: Vec<Tile>,
    #[serde(skip_serializing_if = "Option::is_none")]
    query: Option<TileQuery>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
struct Filter {
    name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    field: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    default: Option<String>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    required: bool,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
struct Tile {
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    look: Option<String>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    merges_queries: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    query: Option<TileQuery>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
struct TileQuery {
    model: String,
    explore: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    fields: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pivots: Vec<String>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    filters: BTreeMap<String, String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    filter_expression: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    sorts: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    limit: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    calculations: Vec<BTreeMap<String, Value>>,
}

impl LookerContent {
    pub(super) fn parse(item: &Item, value: &Value, folder: String) -> Option<Self> {
        text_field(value, "id")?;
        let mut content = Self {
            title: text_field(value, "title")?,
            description: text_field(value, "description"),
            folder,
            ..Self::default()
        };
        match item {
            Item::Look(_) => content.query = TileQuery::parse(value.get("query")?),
            Item::Dashboard(_) | Item::Explore { .. } => {
                let elements = value.get("dashboard_elements")?.as_array()?;
                let kept = elements.iter().filter(|element| !is_so(element, "deleted"));
                let mut elements: Vec<&Value> = kept.collect();
                elements.sort_by_key(|element| {
                    let id = text_field(element, "id").unwrap_or_default();
                    (id.parse().unwrap_or(u64::MAX), id)
                });
                content.tiles = elements.into_iter().filter_map(Tile::parse).collect();
                let filters = all(value, "dashboard_filters").filter_map(Filter::parse);
                content.filters = filters.collect();
                content
                    .filters
                    .sort_by(|left, right| left.name.cmp(&right.name));
            }
        }
        Some(content)
    }

    pub(super) fn title(&self) -> &str {
        &self.title
    }

    pub(super) fn queried_explores(&self) -> impl Iterator<Item = Item> {
        let queries = self.tiles.iter().filter_map(|tile| tile.query.as_ref());
        queries.chain(&self.query).map(|query| Item::Explore {
            model: query.model.clone(),
            explore: query.explore.clone(),
        })
    }

    pub(super) fn says_something(&self) -> bool {
        self.query.is_some() || !self.tiles.is_empty() || self.description.is_some()
    }
}

impl Filter {
    fn parse(value: &Value) -> Option<Self> {
        let field = text_field(value, "dimension").map(|field| {
            let place = text_field(value, "model").zip(text_field(value, "explore"));
            place.map_or_else(
                || field.clone(),
                |(model, explore)| format!("{field} of {model}.{explore}"),
            )
        });
        Some(Self {
            name: text_field(value, "title").or_else(|| text_field(value, "name"))?,
            field,
            default: text_field(value, "default_value"),
            required: is_so(value, "required"),
        })
    }
}

impl Tile {
    fn parse(value: &Value) -> Option<Self> {
        let made = value.get("result_maker");
        let look = value.get("look").filter(|look| look.is_object());
        let queries = [
            value.get("query"),
            made.and_then(|made| made.get("query")),
            look.and_then(|look| look.get("query")),
        ];
        let texts = ["title_text", "subtitle_text", "body_text"];
        let mut texts: Vec<String> = texts
            .iter()
            .filter_map(|field| text_field(value, field))
            .collect();
        texts.extend(rich(value));
        let merged = made.and_then(|made| text_field(made, "merge_result_id"));
        let tile = Self {
            title: text_field(value, "title").or_else(|| text_field(look?, "title")),
            note: text_field(value, "note_text"),
            text: (!texts.is_empty()).then(|| texts.join("\n")),
            look: text_field(value, "look_id").or_else(|| text_field(look?, "id")),
            merges_queries: merged
                .or_else(|| text_field(value, "merge_result_id"))
                .is_some(),
            query: queries.into_iter().flatten().find_map(TileQuery::parse),
        };
        (tile != Self::default()).then_some(tile)
    }
}

/// The rich text editor stores a tree.
fn rich(value: &Value) -> Option<String> {
    fn collect(value: &Value, found: &mut Vec<String>) {
        match value {
            Value::Array(items) => items.iter().for_each(|item| collect(item, found)),
            Value::Object(fields) => {
                found.extend(text_field(value, "text"));
                let below = fields.iter().filter(|(name, _)| *name != "text");
                below.for_each(|(_, value)| collect(value, found));
            }
            _ => {}
        }
    }
    let tree: Value = serde_json::from_str(value.get("rich_content_json")?.as_str()?).ok()?;
    let mut found = Vec::new();
    collect(&tree, &mut found);
    (!found.is_empty()).then(|| found.join("\n"))
}

impl TileQuery {
    fn parse(value: &Value) -> Option<Self> {
        let filters = value.get("filters").and_then(Value::as_object);
        let filters = filters.into_iter().flatten();
        let filters = filters.map(|(name, _)| {
            let condition = value.get("filters").and_then(|all| text_field(all, name));
            (name.clone(), condition.unwrap_or_default())
        });
        Some(Self {
            model: text_field(value, "model")?,
            explore: text_field(value, "view")?,
            fields: texts(value, "fields"),
            pivots: texts(value, "pivots"),
            filters: filters.collect(),
            filter_expression: text_field(value, "filter_expression"),
            sorts: texts(value, "sorts"),
            limit: text_field(value, "limit"),
            calculations: calculations(value),
        })
    }
}

/// The API stores calculations as a JSON string.
fn calculations(value: &Value) -> Vec<BTreeMap<String, Value>> {
    const SAID: [&str; 9] = [
        "table_calculation",
        "measure",
        "dimension",
        "label",
        "expression",
        "based_on",
        "type",
        "filters",
        "filter_expression",
    ];
    let text = value.get("dynamic_fields").and_then(Value::as_str);
    let list: Vec<Value> = text
        .and_then(|text| serde_json::from_str(text).ok())
        .unwrap_or_default();
    let known = list.iter().map(|one| {
        let kept = SAID.iter().filter_map(|field| {
            let mut value = one.get(field)?.clone();
            value.sort_all_objects();
            let is_empty = value.is_null() || value.as_str() == Some("");
            (!is_empty).then(|| ((*field).to_owned(), value))
        });
        kept.collect::<BTreeMap<String, Value>>()
    });
    known.filter(|one| !one.is_empty()).collect()
}
