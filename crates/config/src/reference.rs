//! The Markdown reference page of `ktx.yaml`.

use std::collections::BTreeMap;

use ktx_vocabulary::Backend;

use crate::Driver;
use crate::check::expected;
use crate::spec::{AbsentKey, Field, KeyRule, ROOT, Shape, driver_fields};

const HEAD: &str = "\
# ktx.yaml

Every key is optional unless it says otherwise; a key without a value counts as absent. Unknown keys are kept and reported as warnings. Where a value may be a reference, `env:NAME` is an environment variable, looked up on every run, and `file:PATH` a whole file, trimmed: `~/` is the home folder, and a relative path starts at the project.
";

const OPEN: &str = "\nUnknown fields of a connection are kept unchanged.\n";

const TABLE: &str = "\n| Key | Value | Default | Meaning |\n|---|---|---|---|\n";

pub fn reference_markdown() -> String {
    let mut page = ReferencePage {
        lines: vec![HEAD.to_owned()],
        documented: BTreeMap::new(),
    };
    for section in ROOT {
        page.lines
            .push(format!("\n## `{}`\n\n{}\n", section.name, section.meaning));
        if let Shape::Object(fields) = section.shape {
            page.lines.push(TABLE.to_owned());
            page.rows(section.name, fields.iter());
        } else if let Shape::Map(_, Shape::ClosedObject(fields)) = section.shape {
            page.lines.push(TABLE.to_owned());
            page.rows(&format!("{}.<name>", section.name), fields.iter());
        } else {
            page.lines.push(OPEN.to_owned());
            for driver in Driver::ALL {
                page.lines
                    .push(format!("\n### `driver: {driver}`\n{TABLE}"));
                page.rows("", driver_fields(driver).iter());
            }
        }
    }
    page.lines.concat()
}

struct ReferencePage {
    lines: Vec<String>,
    documented: BTreeMap<String, String>,
}

impl ReferencePage {
    fn rows(&mut self, above: &str, fields: impl Iterator<Item = &'static Field>) {
        for field in fields {
            let path = match above {
                "" => field.name.to_owned(),
                _ => format!("{above}.{}", field.name),
            };
            let (inner, below) = match field.shape {
                Shape::Map(KeyRule::Any, Shape::ClosedObject(inner)) if above.contains('<') => {
                    (*inner, format!("{path}.<id>"))
                }
                Shape::Object(inner) | Shape::OpenObject(inner) | Shape::ClosedObject(inner) => {
                    (inner, path.clone())
                }
                _ => (&[][..], path.clone()),
            };
            let content = format!("{inner:?}");
            let like = self.documented.get(&content).filter(|_| !inner.is_empty());
            self.lines.push(format!(
                "| {} | {}{} | {} | {} |\n",
                spellings(&path, field),
                kind(&field.shape),
                match like {
                    Some(other) if *other == path => " with the same keys as above".to_owned(),
                    Some(other) => format!(" with the keys of `{other}`"),
                    None => String::new(),
                },
                default(field),
                field.meaning
            ));
            if like.is_none() {
                self.documented.insert(content, path.clone());
                self.rows(&below, inner.iter());
            }
        }
    }
}

fn spellings(path: &str, field: &Field) -> String {
    let names = std::iter::once(path).chain(field.aliases.iter().copied());
    names
        .map(|name| format!("`{name}`"))
        .collect::<Vec<_>>()
        .join(" or ")
}

fn default(field: &Field) -> String {
    match field.absent {
        AbsentKey::Default("\"\"") => "the empty text".to_owned(),
        AbsentKey::Default(json) => format!("`{}`", json.trim_matches('"')),
        AbsentKey::Refused => "required".to_owned(),
        AbsentKey::Nothing | AbsentKey::Descend => String::new(),
    }
}

fn kind(shape: &Shape) -> String {
    match shape {
        Shape::Backend => {
            let names: Vec<String> = Backend::all()
                .map(|backend| format!("`{backend}`"))
                .collect();
            format!("one of {}", names.join(", "))
        }
        Shape::Map(KeyRule::Role, _) => "an object from role to text".to_owned(),
        Shape::Map(KeyRule::Number, inner) => format!("an object from id to {}", expected(inner)),
        Shape::Map(KeyRule::Any, inner) => format!("an object from name to {}", expected(inner)),
        other => expected(other),
    }
}

#[cfg(test)]
mod tests;
