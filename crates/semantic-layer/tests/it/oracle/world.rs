//! Random models with rows, and random questions about them.

use std::fmt::Write as _;

use ktx_semantic_layer::SourceFile;
use serde_json::{Value, json};

use super::random::Random;

/// A foreign key of a table.
pub(super) struct Key {
    pub(super) column: String,
    pub(super) target: usize,
    /// The node that it leads to: the table's own, or a role.
    pub(super) node: usize,
    pub(super) is_unique: bool,
    /// Whether the join is declared on the target's side.
    pub(super) is_declared_there: bool,
}

/// One row: number, text, and the values of its keys.
pub(super) struct Row {
    pub(super) id: i64,
    pub(super) number: Option<i64>,
    pub(super) text: Option<&'static str>,
    pub(super) keys: Vec<Option<i64>>,
}

pub(super) struct Table {
    pub(super) keys: Vec<Key>,
    pub(super) rows: Vec<Row>,
}

/// A table or a role of it.
pub(super) struct Node {
    pub(super) name: String,
    pub(super) table: usize,
    pub(super) is_role: bool,
}

/// A model with its rows.
pub(super) struct World {
    pub(super) tables: Vec<Table>,
    pub(super) nodes: Vec<Node>,
}

const TEXTS: [Option<&str>; 4] = [Some("a"), Some("b"), Some("c"), None];

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
        let mut tables: Vec<Table> = Vec::new();
        for at in 0..count {
            let mut keys: Vec<Key> = Vec::new();
            let wanted = if at == 0 { 0 } else { 1 + random.below(2) };
            for number in 0..wanted {
                let target = random.below(at);
                let needs_role = keys.iter().any(|key| key.target == target);
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
            let rows = rows(random, &keys, &tables);
            tables.push(Table { keys, rows });
        }
        Self { tables, nodes }
    }

    /// The source files.
    pub(super) fn files(&self) -> Vec<SourceFile> {
        let files = self.tables.iter().enumerate().map(|(at, table)| {
            let mut text = format!("name: t{at}\ntable: t{at}\ngrain: [id]\ncolumns:\n");
            let mut line = |content: &str| writeln!(text, "{content}").expect("text");
            for (name, kind) in [("id", "number"), ("num", "number"), ("txt", "string")] {
                line(&format!("- {{name: {name}, type: {kind}}}"));
            }
            for key in &table.keys {
                line(&format!("- {{name: {}, type: number}}", key.column));
            }
            line("joins:");
            for key in table.keys.iter().filter(|key| !key.is_declared_there) {
                let kind = if key.is_unique {
                    "one_to_one"
                } else {
                    "many_to_one"
                };
                let target = key.target;
                let alias = match self.nodes.get(key.node) {
                    Some(node) if node.is_role => format!(", alias: {}", node.name),
                    _ => String::new(),
                };
                line(&format!(
                    "- {{to: t{target}, on: {} = t{target}.id, relationship: {kind}{alias}}}",
                    key.column
                ));
            }
            for (other, theirs) in self.tables.iter().enumerate() {
                for key in theirs
                    .keys
                    .iter()
                    .filter(|key| key.target == at && key.is_declared_there)
                {
                    let kind = if key.is_unique {
                        "one_to_one"
                    } else {
                        "one_to_many"
                    };
                    line(&format!(
                        "- {{to: t{other}, on: id = t{other}.{}, relationship: {kind}}}",
                        key.column
                    ));
                }
            }
            line("measures:");
            line("- {name: cnt, expr: count(*)}");
            line("- {name: total, expr: sum(num)}");
            line("- {name: kinds, expr: count(distinct txt)}");
            line("- {name: top, expr: max(num)}");
            line("- {name: only_a, expr: sum(num), filter: txt = 'a'}");
            line("- {name: mean, expr: total / cnt}");
            SourceFile::new(
                format!("t{at}.yaml"),
                text.replace("joins:\nmeasures:", "measures:"),
            )
        });
        files.collect()
    }

    /// The rows in the shape of the public models' data.
    pub(super) fn data(&self) -> Value {
        let mut tables = serde_json::Map::new();
        for (at, table) in self.tables.iter().enumerate() {
            let mut columns = vec![
                json!(["id", "int"]),
                json!(["num", "int"]),
                json!(["txt", "text"]),
            ];
            columns.extend(table.keys.iter().map(|key| json!([key.column, "int"])));
            let rows = table.rows.iter().map(|row| {
                let mut cells = vec![json!(row.id), json!(row.number), json!(row.text)];
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

/// Rows with NULL, dangling and, for unique keys, once-used values.
fn rows(random: &mut Random, keys: &[Key], tables: &[Table]) -> Vec<Row> {
    let count = random.below(9);
    let mut rows: Vec<Row> = Vec::new();
    for id in 0..count {
        let mut values: Vec<Option<i64>> = Vec::new();
        for (at, key) in keys.iter().enumerate() {
            let targets = tables.get(key.target).map_or(0, |table| table.rows.len());
            let value = i64::try_from(random.below(targets + 1)).expect("a small number") + 1;
            let is_used = rows
                .iter()
                .any(|row| row.keys.get(at) == Some(&Some(value)));
            let is_null = random.chance(15) || (key.is_unique && is_used);
            values.push((!is_null).then_some(value));
        }
        rows.push(Row {
            id: i64::try_from(id).expect("a small number") + 1,
            number: (!random.chance(20))
                .then(|| i64::try_from(random.below(7)).expect("a small number")),
            text: *random.pick(&TEXTS),
            keys: values,
        });
    }
    rows
}

/// A predefined measure of a table.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Measure {
    Count,
    Total,
    Kinds,
    Top,
    OnlyA,
    Mean,
}

impl Measure {
    const ALL: [Self; 6] = [
        Self::Count,
        Self::Total,
        Self::Kinds,
        Self::Top,
        Self::OnlyA,
        Self::Mean,
    ];

    fn name(self) -> &'static str {
        match self {
            Self::Count => "cnt",
            Self::Total => "total",
            Self::Kinds => "kinds",
            Self::Top => "top",
            Self::OnlyA => "only_a",
            Self::Mean => "mean",
        }
    }
}

/// What is asked for in one column.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Asked {
    /// A measure of a table.
    Measure(usize, Measure),
    /// The total of one table over the count of another.
    Ratio(usize, usize),
    /// The total of one table less that of another.
    Difference(usize, usize),
}

/// A predicate.
#[derive(Clone, Copy)]
pub(super) enum Filter {
    /// The node's text is the one given.
    Text(usize, &'static str),
    /// The node's number is above the one given.
    Above(usize, i64),
    /// The table's count is above the one given.
    CountAbove(usize, i64),
}

/// A question to a world.
pub(super) struct Question {
    pub(super) asked: Vec<Asked>,
    /// Nodes whose text groups the rows.
    pub(super) dimensions: Vec<usize>,
    pub(super) filters: Vec<Filter>,
    pub(super) include_empty: bool,
    names: Vec<String>,
}

impl Question {
    pub(super) fn random(world: &World, random: &mut Random) -> Self {
        let table = |random: &mut Random| random.below(world.tables.len());
        let mut asked: Vec<Asked> = Vec::new();
        for _ in 0..=random.below(3) {
            let one = match random.below(8) {
                0 => Asked::Ratio(table(random), table(random)),
                1 => Asked::Difference(table(random), table(random)),
                _ => Asked::Measure(table(random), *random.pick(&Measure::ALL)),
            };
            if !asked.contains(&one) {
                asked.push(one);
            }
        }
        let mut dimensions: Vec<usize> = Vec::new();
        for _ in 0..random.below(3) {
            let node = random.below(world.nodes.len());
            if !dimensions.contains(&node) {
                dimensions.push(node);
            }
        }
        let mut filters: Vec<Filter> = Vec::new();
        if random.chance(40) {
            let node = random.below(world.nodes.len());
            filters.push(if random.chance(50) {
                Filter::Text(node, "a")
            } else {
                Filter::Above(node, 2)
            });
        }
        if random.chance(15) {
            filters.push(Filter::CountAbove(table(random), 1));
        }
        let names = world.nodes.iter().map(|node| node.name.clone()).collect();
        Self {
            asked,
            dimensions,
            filters,
            include_empty: random.chance(70),
            names,
        }
    }

    fn name(&self, node: usize) -> &str {
        self.names.get(node).expect("a node")
    }

    /// The question as a query.
    pub(super) fn json(&self) -> Value {
        let measures = self.asked.iter().enumerate().map(|(at, asked)| match asked {
            Asked::Measure(table, measure) => json!(format!("t{table}.{}", measure.name())),
            Asked::Ratio(left, right) => {
                json!({"expr": format!("t{left}.total / t{right}.cnt"), "name": format!("m{at}")})
            }
            Asked::Difference(left, right) => {
                json!({"expr": format!("t{left}.total - t{right}.total"), "name": format!("m{at}")})
            }
        });
        let filters = self.filters.iter().map(|filter| match filter {
            Filter::Text(node, text) => format!("{}.txt = '{text}'", self.name(*node)),
            Filter::Above(node, number) => format!("{}.num > {number}", self.name(*node)),
            Filter::CountAbove(table, number) => format!("t{table}.cnt > {number}"),
        });
        json!({
            "measures": measures.collect::<Vec<_>>(),
            "dimensions": self.dimensions.iter().map(|node| format!("{}.txt", self.name(*node))).collect::<Vec<_>>(),
            "filters": filters.collect::<Vec<_>>(),
            "include_empty": self.include_empty,
            "limit": 100_000,
        })
    }
}
