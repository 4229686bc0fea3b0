//! Random models with their rows.

use std::fmt::Write as _;

use ktx_semantic_layer::SourceFile;
use serde_json::{Value, json};

use super::calendar::{self, At};
use super::measures::{MEASURES, real};
use super::random::Random;

/// A foreign key of a table.
#[derive(Clone)]
pub(super) struct Key {
    pub(super) column: String,
    pub(super) target: usize,
    /// The node that it leads to: the table's own, or a role.
    pub(super) node: usize,
    pub(super) is_unique: bool,
    /// Whether the join is declared on the target's side.
    pub(super) is_declared_there: bool,
}

/// One row: number, text, time, truth, and the values of its keys.
#[derive(Clone)]
pub(super) struct Row {
    pub(super) id: i64,
    /// Whole, or with quarters where the table has a kind of number that can hold them.
    pub(super) number: Option<f64>,
    pub(super) text: Option<&'static str>,
    pub(super) at: Option<At>,
    pub(super) flag: Option<bool>,
    pub(super) keys: Vec<Option<i64>>,
}

/// How warehouses with types of their own hold a table's numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NumberKind {
    Integer,
    Decimal,
    Real,
}

/// How they hold a table's times.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TimeKind {
    Date,
    Timestamp,
    Zoned,
}

#[derive(Clone)]
pub(super) struct Table {
    pub(super) number: NumberKind,
    pub(super) time: TimeKind,
    pub(super) keys: Vec<Key>,
    pub(super) rows: Vec<Row>,
}

/// A table or a role of it.
#[derive(Clone)]
pub(super) struct Node {
    pub(super) name: String,
    pub(super) table: usize,
    pub(super) is_role: bool,
}

/// A model with its rows.
#[derive(Clone)]
pub(super) struct World {
    pub(super) tables: Vec<Table>,
    pub(super) nodes: Vec<Node>,
}

const TEXTS: [Option<&str>; 4] = [Some("a"), Some("b"), Some("c"), None];

/// The first day of the rows' times: the ends of a leap February and of a year lie ahead.
pub(super) const FIRST: (i64, i64, i64) = (2023, 12, 20);

impl World {
    pub(super) fn random(random: &mut Random) -> Self {
        let count = 3 + random.below(4);
        let mut nodes: Vec<Node> = (0..count)
            .map(|at| Node {
                name: format!("t{at}"),
                table: at,
                is_role: false,
            })
            .collect();
        let has_zones = random.chance(50);
        let spread = *random.pick(&[12, 75, 400]);
        let mut tables: Vec<Table> = Vec::new();
        for at in 0..count {
            let mut keys: Vec<Key> = Vec::new();
            let wanted = if at == 0 {
                usize::from(random.chance(20))
            } else {
                1 + random.below(2)
            };
            for number in 0..wanted {
                // A table may join itself, by a role.
                let target = if at == 0 || random.chance(8) {
                    at
                } else {
                    random.below(at)
                };
                let needs_role = target == at || keys.iter().any(|key| key.target == target);
                let node = if needs_role || random.chance(15) {
                    nodes.push(Node {
                        name: format!("r{at}_{number}"),
                        table: target,
                        is_role: true,
                    });
                    nodes.len() - 1
                } else {
                    target
                };
                let is_role = node != target;
                keys.push(Key {
                    column: format!("k{number}"),
                    target,
                    node,
                    is_unique: random.chance(15),
                    is_declared_there: !is_role && random.chance(30),
                });
            }
            let number = [NumberKind::Integer, NumberKind::Decimal, NumberKind::Real];
            let mut time = vec![TimeKind::Date, TimeKind::Timestamp];
            if has_zones {
                time.push(TimeKind::Zoned);
            }
            let mut table = Table {
                number: *random.pick(&number),
                time: *random.pick(&time),
                keys,
                rows: Vec::new(),
            };
            table.rows = rows(random, &table, &tables, spread);
            tables.push(table);
        }
        Self { tables, nodes }
    }

    /// The source files.
    pub(super) fn files(&self) -> Vec<SourceFile> {
        let files = (0..self.tables.len()).map(|at| {
            let mut text = format!("name: t{at}\ntable: t{at}\ngrain: [id]\ncolumns:\n");
            for (name, kind) in [
                ("id", "number"),
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
            let keys = self
                .tables
                .get(at)
                .map_or(&[] as &[Key], |table| &table.keys);
            for key in keys {
                line(
                    &mut text,
                    &format!("- {{name: {}, type: number}}", key.column),
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

    /// The joins that a table's file declares.
    fn joins(&self, at: usize) -> Vec<String> {
        let kind = |is_unique, many| if is_unique { "one_to_one" } else { many };
        let mut joins = Vec::new();
        let own = self
            .tables
            .get(at)
            .map_or(&[] as &[Key], |table| &table.keys);
        for key in own.iter().filter(|key| !key.is_declared_there) {
            let alias = match self.nodes.get(key.node) {
                Some(node) if node.is_role => format!(", alias: {}", node.name),
                _ => String::new(),
            };
            joins.push(format!(
                "- {{to: t{target}, on: {} = t{target}.id, relationship: {}{alias}}}",
                key.column,
                kind(key.is_unique, "many_to_one"),
                target = key.target,
            ));
        }
        for (other, theirs) in self.tables.iter().enumerate() {
            let here = |key: &&Key| key.target == at && key.is_declared_there;
            joins.extend(theirs.keys.iter().filter(here).map(|key| {
                format!(
                    "- {{to: t{other}, on: id = t{other}.{}, relationship: {}}}",
                    key.column,
                    kind(key.is_unique, "one_to_many")
                )
            }));
        }
        joins
    }

    /// The rows in the shape of the public models' data.
    pub(super) fn data(&self) -> Value {
        let mut tables = serde_json::Map::new();
        for (at, table) in self.tables.iter().enumerate() {
            let mut columns = vec![
                json!(["id", "int"]),
                json!(["num", "float"]),
                json!(["txt", "text"]),
                json!(["at", "text"]),
                json!(["flag", "bool"]),
            ];
            columns.extend(table.keys.iter().map(|key| json!([key.column, "int"])));
            let rows = table.rows.iter().map(|row| {
                let mut cells = vec![
                    json!(row.id),
                    json!(row.number),
                    json!(row.text),
                    json!(row.at.map(time)),
                    json!(row.flag),
                ];
                cells.extend(row.keys.iter().map(|key| json!(key)));
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

/// A time as the table holds it.
pub(super) fn time(at: At) -> String {
    let date = calendar::text(at.day);
    match at.minute {
        Some(minute) => format!("{date} {:02}:{:02}:00", minute / 60, minute % 60),
        None => date,
    }
}

/// Rows with NULL, dangling and, for unique keys, once-used values.
fn rows(random: &mut Random, own: &Table, tables: &[Table], spread: usize) -> Vec<Row> {
    let count = random.below(9);
    let (year, month, day) = FIRST;
    let first = calendar::day(year, month, day);
    let mut rows: Vec<Row> = Vec::new();
    for id in 0..count {
        let mut values: Vec<Option<i64>> = Vec::new();
        for (at, key) in own.keys.iter().enumerate() {
            let targets = tables
                .get(key.target)
                .map_or(count, |table| table.rows.len());
            let value = whole(random.below(targets + 1)) + 1;
            let is_used = rows
                .iter()
                .any(|row| row.keys.get(at) == Some(&Some(value)));
            let is_null = random.chance(15) || (key.is_unique && is_used);
            values.push((!is_null).then_some(value));
        }
        let has_minute = own.time != TimeKind::Date && random.chance(40);
        let at = At {
            day: first + whole(random.below(spread)),
            minute: has_minute.then(|| whole(random.below(4)) * 359 + 1),
        };
        let number = if own.number == NumberKind::Integer {
            real(whole(random.below(7)))
        } else {
            real(whole(random.below(25))) / 4.0
        };
        rows.push(Row {
            id: whole(id) + 1,
            number: (!random.chance(20)).then_some(number),
            text: *random.pick(&TEXTS),
            at: (!random.chance(10)).then_some(at),
            flag: *random.pick(&[Some(true), Some(false), None]),
            keys: values,
        });
    }
    rows
}

fn whole(number: usize) -> i64 {
    i64::try_from(number).expect("a small number")
}
