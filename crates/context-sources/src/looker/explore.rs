//! An explore as the API returns it, and as the files that a model reads.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::item::Item;
use super::{all, is_so, name, text_field, texts};

/// Maximum characters of a file.
const LONGEST: usize = 40_000;

const VALUES: usize = 50;

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Explore {
    pub(super) model: String,
    #[serde(rename = "explore")]
    pub(super) name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    label: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<String>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    hidden: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) connection: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) view: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) table: Option<String>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    always_filter: BTreeMap<String, String>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    filter_unless_changed: BTreeMap<String, String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) joins: Vec<ExploreJoin>,
    #[serde(flatten)]
    pub(super) fields: ExploreFields,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct ExploreJoin {
    pub(super) name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) view: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) table: Option<String>,
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    pub(super) kind: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) relationship: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) sql_on: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) foreign_key: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    required_joins: Vec<String>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct ExploreFields {
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) dimensions: Vec<ExploreField>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) measures: Vec<ExploreField>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    filters: Vec<ExploreField>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    parameters: Vec<ExploreField>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct ExploreField {
    /// `view.field`; for timeframes, the name of the group.
    pub(super) name: String,
    /// The original view, if the explore renames it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) defined_in: Option<String>,
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    pub(super) kind: Option<String>,
    /// Only if it says more than the name.
    #[serde(skip_serializing_if = "Option::is_none")]
    label: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) description: Option<String>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    hidden: bool,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(super) primary_key: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) sql: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) cases: Vec<FieldCase>,
    #[serde(rename = "filters", skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) conditions: BTreeMap<String, String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    timeframes: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    values: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    format: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    synonyms: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tags: Vec<String>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct FieldCase {
    when: String,
    value: String,
}

#[derive(Serialize)]
struct FieldPart<'a> {
    model: &'a str,
    explore: &'a str,
    #[serde(flatten)]
    fields: &'a ExploreFields,
}

impl Explore {
    pub(super) fn parse(value: &Value, model: &str, explore: &str) -> Option<Self> {
        let fields = value.get("fields")?;
        let of = |kind: &str| grouped(all(fields, kind).filter_map(ExploreField::parse).collect());
        let mut joins: Vec<ExploreJoin> =
            all(value, "joins").filter_map(ExploreJoin::parse).collect();
        joins.sort_by(|left, right| left.name.cmp(&right.name));
        Some(Self {
            model: model.to_owned(),
            name: explore.to_owned(),
            label: text_field(value, "label").filter(|label| *label != usual_label(explore)),
            description: text_field(value, "description"),
            hidden: is_so(value, "hidden"),
            connection: text_field(value, "connection_name"),
            view: text_field(value, "view_name").filter(|view| view != explore),
            table: text_field(value, "sql_table_name"),
            always_filter: conditions(value, "always_filter", "name", "value"),
            filter_unless_changed: conditions(value, "conditionally_filter", "name", "value"),
            joins,
            fields: ExploreFields {
                dimensions: of("dimensions"),
                measures: of("measures"),
                filters: of("filters"),
                parameters: of("parameters"),
            },
        })
    }

    fn item(&self) -> Item {
        Item::Explore {
            model: self.model.clone(),
            explore: self.name.clone(),
        }
    }

    pub(super) fn views(&self) -> Vec<(&str, &str, Option<&str>)> {
        let base = self.view.as_deref().unwrap_or(&self.name);
        let joined = self.joins.iter().map(|join| {
            let view = join.view.as_deref().unwrap_or(&join.name);
            (join.name.as_str(), view, join.table.as_deref())
        });
        std::iter::once((base, base, self.table.as_deref()))
            .chain(joined)
            .collect()
    }

    pub(super) fn table_of(&self, view: &str) -> Option<&str> {
        let joined = self.joins.iter().find(|join| join.name == view);
        match joined {
            Some(join) => join.table.as_deref(),
            None => self.table.as_deref(),
        }
    }

    /// The key may lack the permission to see SQL.
    pub(super) fn hides_sql(&self) -> bool {
        let ExploreFields {
            dimensions,
            measures,
            ..
        } = &self.fields;
        let mut fields = dimensions.iter().chain(measures);
        !dimensions.is_empty() && fields.all(|field| field.sql.is_none() && field.cases.is_empty())
    }

    /// Returns one file, or for a long explore one without fields and several with parts of the
    /// fields.
    pub(super) fn files(&self) -> Result<Vec<(String, String)>, serde_yaml::Error> {
        let item = self.item();
        let whole = serde_yaml::to_string(self)?;
        if whole.chars().count() <= LONGEST {
            return Ok(vec![(item.file(), whole)]);
        }
        let head = Self {
            fields: ExploreFields::default(),
            ..self.clone()
        };
        let mut files = vec![(item.file(), serde_yaml::to_string(&head)?)];
        for (index, fields) in self.fields.parts()?.iter().enumerate() {
            let part = FieldPart {
                model: &self.model,
                explore: &self.name,
                fields,
            };
            files.push((item.part(index + 1), serde_yaml::to_string(&part)?));
        }
        Ok(files)
    }
}

impl ExploreFields {
    fn parts(&self) -> Result<Vec<Self>, serde_yaml::Error> {
        let kinds = [
            &self.dimensions,
            &self.measures,
            &self.filters,
            &self.parameters,
        ];
        let fields = kinds.into_iter().enumerate();
        let fields = fields.flat_map(|(kind, list)| list.iter().map(move |field| (kind, field)));
        let mut fields: Vec<(usize, &ExploreField)> = fields.collect();
        fields.sort_by_key(|(kind, field)| (field.view(), *kind, &field.name));
        let mut parts: Vec<Self> = Vec::new();
        let mut room = 0;
        for (kind, field) in fields {
            let length = serde_yaml::to_string(field)?.chars().count();
            if parts.is_empty() || length > room {
                parts.push(Self::default());
                room = LONGEST;
            }
            room = room.saturating_sub(length);
            let Some(part) = parts.last_mut() else {
                continue;
            };
            let list = match kind {
                0 => &mut part.dimensions,
                1 => &mut part.measures,
                2 => &mut part.filters,
                _ => &mut part.parameters,
            };
            list.push(field.clone());
        }
        Ok(parts)
    }
}

impl ExploreField {
    fn parse(value: &Value) -> Option<Self> {
        let full = name(value)?;
        let group = text_field(value, "dimension_group");
        let kind = text_field(value, "type");
        let own = group.as_ref().unwrap_or(&full);
        let (view, short) = own.split_once('.').unwrap_or(("", own));
        let timeframe = group.as_ref().and_then(|group| {
            let rest = full.strip_prefix(group.as_str())?;
            Some(rest.trim_start_matches('_').to_owned())
        });
        // The label of a timeframe names the timeframe.
        let label = text_field(value, "label_short").filter(|_| group.is_none());
        let cases = all(value, "sql_case").map(|case| FieldCase {
            when: text_field(case, "condition").unwrap_or_default(),
            value: text_field(case, "value").unwrap_or_default(),
        });
        let values = all(value, "enumerations").filter_map(|one| text_field(one, "value"));
        Some(Self {
            name: own.clone(),
            defined_in: text_field(value, "original_view").filter(|original| original != view),
            kind: match (&group, kind) {
                (Some(_), Some(kind)) if kind.starts_with("duration") => {
                    Some("duration".to_owned())
                }
                (Some(_), _) => Some("time".to_owned()),
                (None, kind) => kind,
            },
            label: label.filter(|label| *label != usual_label(short)),
            description: text_field(value, "description"),
            hidden: is_so(value, "hidden"),
            primary_key: is_so(value, "primary_key"),
            sql: text_field(value, "sql"),
            cases: cases.collect(),
            conditions: conditions(value, "filters", "field", "condition"),
            timeframes: timeframe.into_iter().collect(),
            values: values.take(VALUES).collect(),
            format: text_field(value, "value_format"),
            synonyms: texts(value, "synonyms"),
            tags: texts(value, "tags"),
        })
    }

    pub(super) fn view(&self) -> &str {
        self.name.split_once('.').map_or("", |(view, _)| view)
    }

    pub(super) fn short(&self) -> &str {
        let name = self.name.split_once('.');
        name.map_or(self.name.as_str(), |(_, short)| short)
    }
}

impl ExploreJoin {
    fn parse(value: &Value) -> Option<Self> {
        let name = name(value)?;
        Some(Self {
            view: text_field(value, "from").filter(|from| *from != name),
            table: text_field(value, "sql_table_name"),
            kind: text_field(value, "type"),
            relationship: text_field(value, "relationship"),
            sql_on: text_field(value, "sql_on"),
            foreign_key: text_field(value, "foreign_key")
                .or_else(|| text_field(value, "sql_foreign_key")),
            required_joins: texts(value, "required_joins"),
            name,
        })
    }
}

fn grouped(fields: Vec<ExploreField>) -> Vec<ExploreField> {
    let mut all: Vec<ExploreField> = Vec::new();
    for field in fields {
        let same = |known: &&mut ExploreField| {
            let whole = ExploreField {
                timeframes: known.timeframes.clone(),
                ..field.clone()
            };
            !field.timeframes.is_empty() && **known == whole
        };
        match all.iter_mut().find(same) {
            Some(known) => known.timeframes.extend(field.timeframes),
            None => all.push(field),
        }
    }
    for field in &mut all {
        field.timeframes.sort();
    }
    all.sort_by(|left, right| {
        (&left.name, &left.timeframes).cmp(&(&right.name, &right.timeframes))
    });
    all
}

fn conditions(value: &Value, field: &str, name: &str, condition: &str) -> BTreeMap<String, String> {
    let pairs = all(value, field);
    let pairs = pairs.filter_map(|pair| {
        Some((
            text_field(pair, name)?,
            text_field(pair, condition).unwrap_or_default(),
        ))
    });
    pairs.collect()
}

fn usual_label(name: &str) -> String {
    let words = name.split('_').map(|word| {
        let mut letters = word.chars();
        let first = letters.next().map(char::to_uppercase);
        let first: String = first.into_iter().flatten().collect();
        format!("{first}{}", letters.as_str())
    });
    words.collect::<Vec<_>>().join(" ")
}
