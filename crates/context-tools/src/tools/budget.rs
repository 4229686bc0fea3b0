//! The size limit of results, and the cursor for the next part.
//!
//! ktx keeps no state: the tool runs again, and the cursor proves that the data are the same.

mod cursor;
mod parts;
mod shorten;
mod table;

use ktx_diagnostics::{Code, Failure};
use ktx_tool_descriptors::{ALIASES, LONGEST_TWICE, SHARED};
use serde_json::{Map, Value, json};

use cursor::Cursor;
use parts::Parts;
pub(crate) use parts::Shape;
use shorten::Cut;

/// In tokens.
const USUAL: usize = 4_000;

/// In tokens.
pub(super) const MOST: usize = 10_000;

/// In tokens: less would hold only the note before the data.
const FEWEST: usize = 200;

/// No usual tokenizer makes smaller tokens of names, numbers and JSON.
const TOKEN_BYTES: usize = 3;

const ROOM: usize = 120;

const WARNINGS: usize = 5;

const WARNING_LETTERS: usize = 300;

#[derive(Debug)]
pub(crate) struct Ask {
    tokens: usize,
    cursor: Option<String>,
    form: Form,
    pub(crate) arguments: Value,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    Text,
    Json,
}

#[derive(Debug)]
pub(crate) struct Part {
    pub(crate) value: Value,
    pub(crate) text: String,
}

impl Ask {
    pub(crate) fn of(arguments: Value) -> Self {
        let mut arguments = match arguments {
            Value::Object(map) => map,
            _ => Map::new(),
        };
        let tokens = arguments
            .shift_remove("maxTokens")
            .and_then(|tokens| usize::try_from(tokens.as_u64()?).ok());
        let cursor = arguments.shift_remove("cursor");
        let form = arguments.shift_remove("format");
        Self {
            tokens: tokens.unwrap_or(USUAL).clamp(FEWEST, MOST),
            cursor: cursor.and_then(|cursor| cursor.as_str().map(str::to_owned)),
            form: if form.is_some_and(|form| form == "json") {
                Form::Json
            } else {
                Form::Text
            },
            arguments: Value::Object(arguments),
        }
    }

    /// False for a cursor of another call, which can only be refused.
    pub(crate) fn can_go_on(&self, tool: &str) -> bool {
        let cursor = self.cursor.as_deref();
        cursor.is_none_or(|cursor| Cursor::belongs(cursor, tool, &self.arguments))
    }

    pub(crate) fn part(&self, tool: &str, whole: Value, shape: Shape) -> Result<Part, Failure> {
        let proof = Cursor::new(tool, &self.arguments, &whole);
        let start = match &self.cursor {
            Some(text) => proof.start(text)?,
            None => 0,
        };
        let parts = Parts::new(capped(whole), shape);
        if start > 0 && start >= parts.len() {
            return Err(cursor::wrong("no part begins there"));
        }
        let window = Window {
            parts: &parts,
            start,
            ask: self,
        };
        let (shown, mut value) = window.largest().ok_or_else(|| too_small(self.tokens))?;
        let end = start + shown;
        if end < parts.len() {
            Parts::goes_on(&mut value, &proof.text(end));
        } else if start > 0 {
            parts.ends(&mut value);
        }
        Ok(self.faces(value))
    }

    fn faces(&self, value: Value) -> Part {
        let json = value.to_string();
        let text = if self.is_given_twice(&json) {
            json
        } else if self.form == Form::Json {
            "The result is the `structuredContent` of this answer.".to_owned()
        } else {
            table::text_of(&value)
        };
        Part { value, text }
    }

    /// Both must be JSON, short, and together within the budget.
    fn is_given_twice(&self, json: &str) -> bool {
        json.len() <= LONGEST_TWICE.min(self.most() / 2)
    }

    fn most(&self) -> usize {
        self.tokens * TOKEN_BYTES
    }
}

struct Window<'a> {
    parts: &'a Parts,
    start: usize,
    ask: &'a Ask,
}

impl Window<'_> {
    /// If not even one unit fits, cuts long texts and lists.
    fn largest(&self) -> Option<(usize, Value)> {
        Cut::LEVELS.iter().find_map(|cut| self.largest_cut(*cut))
    }

    fn largest_cut(&self, cut: Option<Cut>) -> Option<(usize, Value)> {
        let all = self.parts.len() - self.start;
        let left = cut.map_or(all, |cut| all.min(cut.most_units()));
        let build = |units: usize| {
            let value = self.parts.build(self.start, units);
            match cut {
                Some(cut) => cut.apply(value),
                None => value,
            }
        };
        let fits = |units: usize, room: usize| self.size(&build(units)) + room <= self.ask.most();
        if fits(left, if left < all { ROOM } else { 0 }) {
            return Some((left, build(left)));
        }
        let (mut good, mut bad) = (0, 1);
        while bad < left && fits(bad, ROOM) {
            good = bad;
            bad = (bad * 2).min(left);
        }
        while good + 1 < bad {
            let middle = good.midpoint(bad);
            if fits(middle, ROOM) {
                good = middle;
            } else {
                bad = middle;
            }
        }
        let good = self.parts.whole(self.start, good);
        (good > 0).then(|| (good, build(good)))
    }

    fn size(&self, value: &Value) -> usize {
        let json = value.to_string();
        if self.ask.form == Form::Json || self.ask.is_given_twice(&json) {
            json.len()
        } else {
            table::text_of(value).len()
        }
    }
}

pub(crate) fn input_schema(mut schema: Value) -> Value {
    if let Some(properties) = schema.get_mut("properties").and_then(Value::as_object_mut) {
        let connection = properties.get_mut("connectionId");
        if let Some(connection) = connection.and_then(Value::as_object_mut) {
            connection.insert(SHARED.to_owned(), Value::from(true));
            connection.insert(
                ALIASES.to_owned(),
                json!(["connection", "warehouse", "database"]),
            );
        }
        let tokens = json!({
            "type": "integer", "minimum": FEWEST, "maximum": MOST, SHARED: true,
            "description": format!("Most tokens of the result ({USUAL})."),
        });
        properties.insert("maxTokens".to_owned(), tokens);
        let cursor = json!({
            "type": "string", SHARED: true, "description": "`cursor` of the part before.",
        });
        properties.insert("cursor".to_owned(), cursor);
        let format = json!({
            "enum": ["text", "json"], SHARED: true, "description": "`json`: as `structuredContent`.",
        });
        properties.insert("format".to_owned(), format);
    }
    schema
}

pub(super) fn output_schema(mut schema: Value) -> Value {
    if let Some(properties) = schema.get_mut("properties").and_then(Value::as_object_mut) {
        properties.insert(
            "hasMore".to_owned(),
            json!({"type": "boolean", "description": "Whether there is more than is given; left out of a result in one part. Without `cursor`, a higher row limit gives more."}),
        );
        properties.insert(
            "cursor".to_owned(),
            json!({"type": "string", "description": "Send it with the same arguments to read on."}),
        );
        properties.insert(
            "leftOut".to_owned(),
            json!({"type": "string", "description": "What was cut to fit `maxTokens`."}),
        );
    }
    schema
}

/// Each part repeats the warnings.
fn capped(mut whole: Value) -> Value {
    let warnings = whole.get_mut("warnings").and_then(Value::as_array_mut);
    let Some(warnings) = warnings else {
        return whole;
    };
    let more = warnings.len().saturating_sub(WARNINGS);
    warnings.truncate(WARNINGS);
    for warning in warnings.iter_mut() {
        if let Value::String(text) = warning {
            shorten::cut_text(text, WARNING_LETTERS);
        }
    }
    if more > 0 {
        warnings.push(Value::from(format!("{more} more are left out")));
    }
    whole
}

fn too_small(tokens: usize) -> Failure {
    Failure::new(
        Code::InvalidArguments,
        format!("nothing of the result fits in {tokens} tokens"),
    )
    .hint(format!(
        "send `maxTokens`: {MOST}, or ask for fewer columns"
    ))
}

#[cfg(test)]
mod tests;
