//! A random model as source files and as data.

use std::fmt::Write as _;

use ktx_semantic_layer::SourceFile;
use serde_json::{Value, json};

use super::calendar::{self, At};
use super::measures::MEASURES;
use super::world::{Cell, Declared, Form, Key, World};

struct Join {
    own: usize,
    other: usize,
    pairs: Vec<(String, String)>,
}

impl Join {
    /// In one of its equivalent forms.
    fn condition(&self, form: Form) -> String {
        let mut pairs = self.pairs.clone();
        pairs.rotate_left(form.first);
        if form.is_backwards {
            pairs.reverse();
        }
        let spelled = pairs.iter().enumerate().map(|(at, (near, far))| {
            let far = format!("t{}.{far}", self.other);
            let near = if form.is_qualified && self.own != self.other {
                format!("t{}.{near}", self.own)
            } else {
                near.clone()
            };
            if form.turned & (1 << at) == 0 {
                format!("{near} = {far}")
            } else {
                format!("{far} = {near}")
            }
        });
        spelled.collect::<Vec<_>>().join(" AND ")
    }
}

impl World {
    pub(super) fn files(&self) -> Vec<SourceFile> {
        let files = self.tables.iter().enumerate().map(|(at, table)| {
            let grain: Vec<&str> = table
                .grain
                .iter()
                .map(|place| table.columns[*place].name.as_str())
                .collect();
            let mut text = format!(
                "name: t{at}\ntable: t{at}\ngrain: [{}]\ncolumns:\n",
                grain.join(", ")
            );
            for (name, kind) in [
                ("num", "number"),
                ("txt", "string"),
                ("at", "time"),
                ("flag", "boolean"),
            ] {
                line(&mut text, &format!("- {{name: {name}, type: {kind}}}"));
            }
            line(
                &mut text,
                "- {name: lacks, type: string, expr: \"coalesce(txt, 'none')\"}",
            );
            line(
                &mut text,
                "- {name: is_large, type: boolean, expr: num > 2}",
            );
            for column in &table.columns {
                let kind = if column.is_text { "string" } else { "number" };
                let hidden = if column.is_hidden {
                    ", visibility: hidden"
                } else {
                    ""
                };
                let name = &column.name;
                line(
                    &mut text,
                    &format!("- {{name: {name}, type: {kind}{hidden}}}"),
                );
            }
            let joins = self.joins(at);
            if !joins.is_empty() {
                line(&mut text, "joins:");
            }
            for join in joins {
                line(&mut text, &join);
            }
            line(&mut text, "measures:");
            for (name, definition, _) in MEASURES {
                line(&mut text, &format!("- {{name: {name}, {definition}}}"));
            }
            line(&mut text, "segments:\n- {name: of_a, expr: txt = 'a'}");
            SourceFile::new(format!("t{at}.yaml"), text)
        });
        files.collect()
    }

    fn pairs(&self, table: usize, key: &Key) -> Vec<(String, String)> {
        let (own, target) = (&self.tables[table], &self.tables[key.target]);
        let pairs = key.columns.iter().zip(&target.grain);
        pairs
            .map(|(near, far)| {
                let (near, far) = (&own.columns[*near], &target.columns[*far]);
                (near.name.clone(), far.name.clone())
            })
            .collect()
    }

    fn joins(&self, at: usize) -> Vec<String> {
        let kind = |is_unique, many| if is_unique { "one_to_one" } else { many };
        let mut joins = Vec::new();
        for key in &self.tables[at].keys {
            if key.declared == Declared::There {
                continue;
            }
            let alias = match self.nodes.get(key.node) {
                Some(node) if node.is_role => format!(", alias: {}", node.name),
                _ => String::new(),
            };
            let join = Join {
                own: at,
                other: key.target,
                pairs: self.pairs(at, key),
            };
            joins.push(format!(
                "- {{to: t{}, on: {}, relationship: {}{alias}}}",
                key.target,
                join.condition(key.form),
                kind(key.is_unique, "many_to_one"),
            ));
        }
        for (other, theirs) in self.tables.iter().enumerate() {
            for key in &theirs.keys {
                if key.target != at || key.declared == Declared::Here {
                    continue;
                }
                let turned = self.pairs(other, key).into_iter();
                let join = Join {
                    own: at,
                    other,
                    pairs: turned.map(|(near, far)| (far, near)).collect(),
                };
                // Each declaring file uses its own form.
                let mut form = key.form;
                if key.declared == Declared::Both {
                    form.is_backwards = !form.is_backwards;
                }
                joins.push(format!(
                    "- {{to: t{other}, on: {}, relationship: {}}}",
                    join.condition(form),
                    kind(key.is_unique, "one_to_many")
                ));
            }
        }
        joins
    }

    pub(super) fn data(&self) -> Value {
        let mut tables = serde_json::Map::new();
        for (at, table) in self.tables.iter().enumerate() {
            let mut columns = vec![
                json!(["num", "float"]),
                json!(["txt", "text"]),
                json!(["at", "text"]),
                json!(["flag", "bool"]),
            ];
            columns.extend(table.columns.iter().map(|column| {
                let kind = if column.is_text { "text" } else { "int" };
                json!([column.name, kind])
            }));
            let rows = table.rows.iter().map(|row| {
                let mut cells = vec![
                    json!(row.number),
                    json!(row.text),
                    json!(row.at.map(time)),
                    json!(row.flag),
                ];
                cells.extend(row.cells.iter().map(|cell| match cell {
                    None => Value::Null,
                    Some(Cell::Integer(number)) => json!(number),
                    Some(Cell::Text(text)) => json!(text),
                }));
                Value::from(cells)
            });
            tables.insert(
                format!("t{at}"),
                json!({"columns": columns, "rows": rows.collect::<Vec<_>>()}),
            );
        }
        json!({"tables": tables})
    }
}

fn line(text: &mut String, content: &str) {
    writeln!(text, "{content}").expect("text");
}

pub(super) fn time(at: At) -> String {
    let date = calendar::text(at.day);
    match at.minute {
        Some(minute) => format!("{date} {:02}:{:02}:00", minute / 60, minute % 60),
        None => date,
    }
}
