//! Generates databases in many naming styles from a fixed seed.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use crate::databases::schemas::{Entity, NounForm, PlainColumn, ReferenceKind, translate};

#[derive(Debug, Clone, Copy)]
pub struct NamingStyle {
    pub label: &'static str,
    pub language: usize,
    pub tables: fn(&str, &str) -> String,
    pub key: fn(&str) -> String,
    pub reference: fn(Option<&str>, &str) -> String,
    pub column: fn(&str, &str) -> String,
    pub values: Values,
    pub orphans: u64,
    pub size: u64,
    /// Copies the database for each prefix.
    pub layers: &'static [&'static str],
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Values {
    Numbers,
    /// Each table starts at another number.
    Offsets,
    /// 1, 2, 3 … as text on the referring side.
    TextNumbers,
    Codes,
    Uuids,
}

pub type Truth = (String, Vec<String>, String, Vec<String>);

#[derive(Debug)]
pub struct Database {
    pub script: String,
    pub truth: BTreeSet<Truth>,
    pub tables: usize,
}

/// Splitmix64.
#[derive(Debug)]
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x1234_5678)
    }

    pub fn draw(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    pub fn below(&mut self, bound: u64) -> u64 {
        self.draw() % bound.max(1)
    }
}

struct BuiltEntity<'s> {
    entity: &'s Entity,
    table: String,
    singular: String,
    key: Vec<String>,
    keys: Vec<Vec<String>>,
}

pub fn build(style: &NamingStyle, entities: &[Entity], seed: u64) -> Database {
    let mut random = Random::new(seed);
    let mut database = Database {
        script: "BEGIN;\n".to_owned(),
        truth: BTreeSet::new(),
        tables: 0,
    };
    let layers: &[&str] = if style.layers.is_empty() {
        &[""]
    } else {
        style.layers
    };
    for layer in layers {
        let mut layer_random = Random::new(random.draw());
        build_layer(style, entities, layer, &mut layer_random, &mut database);
    }
    database.script.push_str("COMMIT;\n");
    database
}

fn build_layer(
    style: &NamingStyle,
    entities: &[Entity],
    layer: &str,
    random: &mut Random,
    database: &mut Database,
) {
    let mut built: BTreeMap<&str, BuiltEntity<'_>> = BTreeMap::new();
    for (number, entity) in entities.iter().enumerate() {
        let singular = translate(entity.name, style.language, NounForm::Singular);
        let plural = translate(entity.name, style.language, NounForm::Plural);
        let table = format!("{layer}{}", (style.tables)(&singular, &plural));
        let rows = entity.rows * (60 + random.below(80)) * style.size / 10_000 + 3;
        let mut columns: Vec<(String, &'static str, Vec<String>)> = Vec::new();
        let mut key: Vec<String> = Vec::new();
        let mut keys: Vec<Vec<String>> = Vec::new();
        if !entity.numbered && entity.part_of.is_none() {
            let name = (style.column)(&singular, &(style.key)(&singular));
            let values: Vec<String> = (0..rows)
                .map(|row| key_value(style, number, row, random))
                .collect();
            keys = values.iter().map(|value| vec![value.clone()]).collect();
            columns.push((name.clone(), key_type(style), values));
            key.push(name);
        }
        if let Some(whole) = entity.part_of.and_then(|name| built.get(name)) {
            part_columns(
                style,
                whole,
                (&singular, &table),
                rows,
                random,
                &mut columns,
                database,
            );
        }
        for refers in entity.refers {
            let role = refers
                .role
                .map(|role| translate(role, style.language, NounForm::Singular));
            let own = refers.to == entity.name;
            let parent = built.get(refers.to);
            let target = parent.map_or(singular.clone(), |parent| parent.singular.clone());
            let name = (style.column)(&singular, &(style.reference)(role.as_deref(), &target));
            let parents = parent.map_or(&keys, |parent| &parent.keys);
            let values = references(style, parents, rows, refers.kind, random);
            let to = parent.map_or((table.clone(), key.clone()), |parent| {
                (parent.table.clone(), parent.key.clone())
            });
            assert!(
                own || parent.is_some(),
                "{} comes before {}",
                refers.to,
                entity.name
            );
            database
                .truth
                .insert((table.clone(), vec![name.clone()], to.0, to.1));
            let kind = if style.values == Values::TextNumbers {
                "TEXT"
            } else {
                key_type(style)
            };
            columns.push((name, kind, values));
        }
        if entity.numbered {
            number_rows(style, &singular, &mut columns, &mut key, &mut keys);
        }
        for plain in entity.plain {
            let (name, kind, values) = plain_values(plain, rows, random);
            let name = (style.column)(
                &singular,
                &translate(name, style.language, NounForm::Singular),
            );
            columns.push((name, kind, values));
        }
        write_table(&table, &columns, database);
        built.insert(
            entity.name,
            BuiltEntity {
                entity,
                table,
                singular,
                key,
                keys,
            },
        );
    }
    // Rows identified by reference and number have no single-column key.
    assert!(built.values().all(|built| built.entity.numbered
        || built.entity.part_of.is_some()
        || built.key.len() == 1));
}

fn part_columns(
    style: &NamingStyle,
    whole: &BuiltEntity<'_>,
    (singular, table): (&str, &str),
    rows: u64,
    random: &mut Random,
    columns: &mut Vec<(String, &'static str, Vec<String>)>,
    database: &mut Database,
) {
    let picks: Vec<&Vec<String>> = (0..rows)
        .map(|_| &whole.keys[pick(random, whole.keys.len())])
        .collect();
    let mut names = Vec::new();
    for (at, key) in whole.key.iter().enumerate() {
        let bare = own_part(style, &whole.singular, key);
        let name = (style.column)(singular, &bare);
        let kind = match (at, style.values) {
            (0, Values::TextNumbers) => "TEXT",
            (0, _) => key_type(style),
            _ => "INTEGER",
        };
        columns.push((
            name.clone(),
            kind,
            picks.iter().map(|pick| pick[at].clone()).collect(),
        ));
        names.push(name);
    }
    database.truth.insert((
        table.to_owned(),
        names,
        whole.table.clone(),
        whole.key.clone(),
    ));
}

fn own_part(style: &NamingStyle, singular: &str, column: &str) -> String {
    let marked = (style.column)(singular, "\u{1}");
    let prefix = marked.trim_end_matches('\u{1}');
    column.strip_prefix(prefix).unwrap_or(column).to_owned()
}

fn number_rows(
    style: &NamingStyle,
    singular: &str,
    columns: &mut Vec<(String, &'static str, Vec<String>)>,
    key: &mut Vec<String>,
    keys: &mut Vec<Vec<String>>,
) {
    let (first, _, parents) = columns[0].clone();
    let mut seen: BTreeMap<String, u64> = BTreeMap::new();
    let numbers: Vec<String> = parents
        .iter()
        .map(|parent| {
            let count = seen.entry(parent.clone()).or_insert(0);
            *count += 1;
            count.to_string()
        })
        .collect();
    let name = (style.column)(
        singular,
        &translate("number", style.language, NounForm::Singular),
    );
    *key = vec![first, name.clone()];
    *keys = parents
        .into_iter()
        .zip(numbers.iter().cloned())
        .map(|(parent, number)| vec![parent, number])
        .collect();
    columns.push((name, "INTEGER", numbers));
}

fn pick(random: &mut Random, length: usize) -> usize {
    usize::try_from(random.below(length as u64)).expect("small")
}

fn key_type(style: &NamingStyle) -> &'static str {
    match style.values {
        Values::Numbers | Values::Offsets | Values::TextNumbers => "INTEGER",
        Values::Codes | Values::Uuids => "TEXT",
    }
}

fn key_value(style: &NamingStyle, entity: usize, row: u64, random: &mut Random) -> String {
    match style.values {
        Values::Numbers | Values::TextNumbers => (row + 1).to_string(),
        Values::Offsets => (10_000 * (entity as u64 + 1) + row).to_string(),
        Values::Codes => format!(
            "'{}{:05}'",
            ["A", "K", "P", "X"][entity % 4],
            row * 7 + entity as u64 * 13 + 1
        ),
        Values::Uuids => {
            let (left, right) = (random.draw(), random.draw());
            format!(
                "'{:08x}-{:04x}-4{:03x}-8{:03x}-{:012x}'",
                left >> 32,
                left & 0xffff,
                right & 0xfff,
                (right >> 12) & 0xfff,
                right >> 16
            )
        }
    }
}

fn references(
    style: &NamingStyle,
    parents: &[Vec<String>],
    rows: u64,
    kind: ReferenceKind,
    random: &mut Random,
) -> Vec<String> {
    let mut left: Vec<usize> = (0..parents.len()).collect();
    (0..rows)
        .map(|_| {
            if random.below(100) < style.orphans {
                return match style.values {
                    Values::Numbers | Values::Offsets | Values::TextNumbers => {
                        (900_000 + random.below(90_000)).to_string()
                    }
                    Values::Codes | Values::Uuids => format!("'zz{:06}'", random.below(900_000)),
                };
            }
            match kind {
                ReferenceKind::Optional if random.below(100) < 15 => "NULL".to_owned(),
                ReferenceKind::One if left.is_empty() => "NULL".to_owned(),
                ReferenceKind::One => {
                    let at = pick(random, left.len());
                    parents[left.swap_remove(at)][0].clone()
                }
                ReferenceKind::Many | ReferenceKind::Optional => {
                    let (one, two) = (pick(random, parents.len()), pick(random, parents.len()));
                    let at = if random.below(3) == 0 {
                        one.min(two)
                    } else {
                        one
                    };
                    parents[at][0].clone()
                }
            }
        })
        .collect()
}

fn plain_values(
    plain: &PlainColumn,
    rows: u64,
    random: &mut Random,
) -> (&'static str, &'static str, Vec<String>) {
    let mut order: Vec<u64> = (1..=rows).collect();
    let mut fill = |value: &mut dyn FnMut(&mut Random) -> String| {
        (0..rows).map(|_| value(random)).collect::<Vec<String>>()
    };
    match plain {
        PlainColumn::Count(name, bound) => (
            name,
            "INTEGER",
            fill(&mut |random| (1 + random.below(*bound)).to_string()),
        ),
        PlainColumn::Order(name) => {
            for at in (1..order.len()).rev() {
                let other = usize::try_from(random.below(at as u64 + 1)).expect("small");
                order.swap(at, other);
            }
            (name, "INTEGER", order.iter().map(u64::to_string).collect())
        }
        PlainColumn::Year(name) => (
            name,
            "INTEGER",
            fill(&mut |random| (2015 + random.below(10)).to_string()),
        ),
        PlainColumn::Flag(name) => (
            name,
            "INTEGER",
            fill(&mut |random| random.below(2).to_string()),
        ),
        PlainColumn::Word(name) => (
            name,
            "TEXT",
            fill(&mut |random| format!("'{}'", ["open", "done", "late", "new"][pick(random, 4)])),
        ),
        PlainColumn::Amount(name) => (
            name,
            "REAL",
            fill(&mut |random| format!("{}.{:02}", random.below(900), random.below(99) + 1)),
        ),
        PlainColumn::Name(name) => {
            let mut number = 0;
            (
                name,
                "TEXT",
                fill(&mut |random| {
                    number += 1;
                    format!(
                        "'{} {}'",
                        ["Ada", "Ben", "Cleo", "Dan", "Eva", "Finn"][pick(random, 6)],
                        number
                    )
                }),
            )
        }
        PlainColumn::Day(name) => (
            name,
            "DATE",
            fill(&mut |random| {
                format!(
                    "'2024-{:02}-{:02}'",
                    1 + random.below(12),
                    1 + random.below(28)
                )
            }),
        ),
    }
}

fn write_table(
    table: &str,
    columns: &[(String, &'static str, Vec<String>)],
    database: &mut Database,
) {
    database.tables += 1;
    let mut names = BTreeSet::new();
    let list: Vec<String> = columns
        .iter()
        .map(|(name, kind, _)| {
            assert!(names.insert(name.to_lowercase()), "{table}.{name} twice");
            format!("\"{name}\" {kind}")
        })
        .collect();
    writeln!(
        database.script,
        "CREATE TABLE \"{table}\" ({});",
        list.join(", ")
    )
    .expect("a string");
    let rows = columns.first().map_or(0, |(_, _, values)| values.len());
    for chunk in (0..rows).collect::<Vec<_>>().chunks(200) {
        let lines: Vec<String> = chunk
            .iter()
            .map(|row| {
                let cells: Vec<&str> = columns
                    .iter()
                    .map(|(_, _, values)| values[*row].as_str())
                    .collect();
                format!("({})", cells.join(","))
            })
            .collect();
        writeln!(
            database.script,
            "INSERT INTO \"{table}\" VALUES {};",
            lines.join(",")
        )
        .expect("a string");
    }
}
