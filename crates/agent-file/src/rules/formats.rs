//! The schema of structured answers (HOLO-31).

use std::fs;

use ktx_diagnostics::Code;
use ktx_tool_descriptors::{ObjectSchema, SchemaError};
use serde_json::{Value, json};

use super::Rules;
use crate::spec::PathKind;

const KEY: &[&str] = &["response_format"];

impl Rules<'_> {
    /// Faults of the schema's shape or path have been reported.
    pub(super) fn response_format(&mut self) {
        let schema = match self.at(KEY) {
            Some(schema @ Value::Object(_)) => schema.clone(),
            Some(Value::String(name)) => match self.schema_file(name) {
                Some(Ok(schema)) => schema,
                Some(Err(reason)) => {
                    let message = format!("`{name}` cannot be read: {reason}");
                    self.error(KEY, Code::BadValue, &message);
                    return;
                }
                None => return,
            },
            _ => return,
        };
        match object_schema(schema) {
            Ok(_) => {}
            // Already reported for an inline schema.
            Err(SchemaError::NotAnObject) if self.at(KEY).is_some_and(Value::is_object) => {}
            Err(SchemaError::NotAnObject) => {
                self.error(KEY, Code::BadValue, "the root must be an object");
            }
            Err(error) => {
                self.error(KEY, Code::BadValue, &error.to_string());
            }
        }
    }

    fn schema_file(&self, name: &str) -> Option<Result<Value, String>> {
        let path = self.disk.find(name, PathKind::File).ok()?;
        let read = fs::read_to_string(path).map_err(|error| error.to_string());
        Some(read.and_then(|text| {
            let loaded = ktx_config::yaml::load_text(&text, name);
            loaded
                .map(|loaded| loaded.value)
                .map_err(|faults| faults.to_string())
        }))
    }
}

/// A schema without a type is a schema of objects.
fn object_schema(mut schema: Value) -> Result<ObjectSchema, SchemaError> {
    if let Value::Object(root) = &mut schema {
        root.entry("type").or_insert_with(|| json!("object"));
    }
    ObjectSchema::new(schema)
}
