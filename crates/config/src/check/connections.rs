//! The check of `connections`.

use ktx_diagnostics::{Code, Diagnostic};
use ktx_vocabulary::ConnectionId;
use serde_json::{Map, Value};

use super::{Checker, UnknownKeys, listed, with_nearest};
use crate::Driver;
use crate::spec::{Field, Shape, driver_fields};

impl Checker<'_> {
    pub(super) fn connections(&mut self, object: &Map<String, Value>) {
        for (id, fields) in object {
            self.within(id, |check| {
                if let Err(error) = ConnectionId::parse(id) {
                    check.error_at_key(Code::UnsafeConnectionId, error.to_string());
                }
                match fields.as_object() {
                    Some(fields) => check.connection(fields),
                    None => check.report_mismatch(fields, &Shape::AnyObject),
                }
            });
        }
    }

    fn connection(&mut self, fields: &Map<String, Value>) {
        let Some(driver) = self.driver(fields.get("driver")) else {
            return;
        };
        let known: Vec<Field> = driver_fields(driver).iter().copied().collect();
        self.object(fields, &known, UnknownKeys::Keep);
        if driver == Driver::Notion {
            self.notion_roots(fields);
        }
    }

    fn driver(&mut self, value: Option<&Value>) -> Option<Driver> {
        let names = Driver::ALL.map(Driver::as_str);
        let path = format!("{}.driver", self.path.join("."));
        let diagnostic = match value {
            None | Some(Value::Null) => {
                Diagnostic::error(Code::MissingKey, format!("`{path}` is missing"))
                    .hint(format!("add `driver:` with one of {}", listed(&names)))
            }
            Some(Value::String(text)) => {
                if let Some(driver) = Driver::parse(text) {
                    return Some(driver);
                }
                let message = format!("Unsupported {path}: {text} (allowed: {})", names.join(", "));
                with_nearest(Diagnostic::error(Code::UnknownDriver, message), text, names)
            }
            Some(_) => Diagnostic::error(Code::BadValue, format!("`{path}` must be text")),
        };
        self.within("driver", |check| {
            check.report(diagnostic.at(check.value_place()));
        });
        None
    }

    fn notion_roots(&mut self, fields: &Map<String, Value>) {
        let mode = fields
            .get("crawl_mode")
            .and_then(Value::as_str)
            .unwrap_or("selected_roots");
        let roots = ["root_page_ids", "root_database_ids", "root_data_source_ids"];
        let any = roots.iter().any(|key| match fields.get(*key) {
            Some(Value::Array(items)) => !items.is_empty(),
            Some(Value::String(text)) => !text.is_empty(),
            _ => false,
        });
        if mode == "selected_roots" && !any {
            let path = self.path.join(".");
            let message = format!("`{path}` selects no roots: give one of {}", listed(&roots));
            self.error(Code::MissingKey, message);
        }
    }
}
