//! Random models with their rows.

use super::calendar::At;
use super::rows;
use ktx_test_support::random::Random;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Cell {
    Integer(i64),
    Text(&'static str),
}

#[derive(Debug, Clone)]
pub(super) struct Column {
    pub(super) name: String,
    pub(super) is_text: bool,
    /// Questions must not name it; joins can.
    pub(super) is_hidden: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Declared {
    Here,
    There,
    Both,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Form {
    pub(super) first: usize,
    /// The other pairs follow backwards.
    pub(super) is_backwards: bool,
    /// Bits of the pairs whose far side comes first.
    pub(super) turned: usize,
    /// Qualified with its table.
    pub(super) is_qualified: bool,
}

#[derive(Debug, Clone)]
pub(super) struct Key {
    /// In the order of the target's grain.
    pub(super) columns: Vec<usize>,
    pub(super) target: usize,
    /// The table's own, or a role.
    pub(super) node: usize,
    pub(super) is_unique: bool,
    pub(super) declared: Declared,
    pub(super) form: Form,
}

#[derive(Debug, Clone)]
pub(super) struct Row {
    /// An integer or a multiple of a quarter.
    pub(super) number: Option<f64>,
    pub(super) text: Option<&'static str>,
    pub(super) at: Option<At>,
    pub(super) flag: Option<bool>,
    pub(super) cells: Vec<Option<Cell>>,
}

impl Row {
    pub(super) fn key(&self, columns: &[usize]) -> Option<Vec<Cell>> {
        columns.iter().map(|at| self.cells[*at]).collect()
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NumberKind {
    Integer,
    Decimal,
    Real,
}

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
    pub(super) columns: Vec<Column>,
    pub(super) grain: Vec<usize>,
    pub(super) keys: Vec<Key>,
    pub(super) rows: Vec<Row>,
}

#[derive(Clone)]
pub(super) struct Node {
    pub(super) name: String,
    pub(super) table: usize,
    pub(super) is_role: bool,
}

#[derive(Clone)]
pub(super) struct World {
    pub(super) tables: Vec<Table>,
    pub(super) nodes: Vec<Node>,
    /// The bridge and its two tables.
    pub(super) bridge: Option<[usize; 3]>,
}

/// The ends of a leap February and of a year follow.
pub(super) const FIRST: (i64, i64, i64) = (2023, 12, 20);

const WIDEST: usize = 4;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Grain {
    Number,
    /// Each column has duplicates.
    Columns(usize),
    /// Like order lines.
    KeyAndColumn,
    /// Like the rows of a bridge.
    Keys,
}

impl World {
    pub(super) fn random(random: &mut Random) -> Self {
        let count = 3 + random.below(4);
        let nodes = (0..count).map(|at| Node {
            name: format!("t{at}"),
            table: at,
            is_role: false,
        });
        let mut world = Self {
            nodes: nodes.collect(),
            tables: Vec::new(),
            bridge: None,
        };
        let has_zones = random.chance(50);
        let spread = *random.pick(&[12, 75, 400]);
        let has_bridge = random.chance(35);
        for at in 0..count {
            let number = [NumberKind::Integer, NumberKind::Decimal, NumberKind::Real];
            let mut time = vec![TimeKind::Date, TimeKind::Timestamp];
            if has_zones {
                time.push(TimeKind::Zoned);
            }
            let mut table = Table {
                number: *random.pick(&number),
                time: *random.pick(&time),
                columns: Vec::new(),
                grain: Vec::new(),
                keys: if has_bridge && at + 1 == count {
                    world.bridging(random, at)
                } else {
                    world.leading(random, at)
                },
                rows: Vec::new(),
            };
            world.lay_out(random, &mut table, at);
            table.rows = rows::random(random, &table, at, &world.tables, spread);
            world.tables.push(table);
        }
        world
    }

    /// Keys to earlier tables or itself, without columns yet.
    fn leading(&mut self, random: &mut Random, at: usize) -> Vec<Key> {
        let mut keys: Vec<Key> = Vec::new();
        let wanted = if at == 0 {
            usize::from(random.chance(20))
        } else {
            1 + random.below(2)
        };
        for number in 0..wanted {
            // By a role.
            let target = if at == 0 || random.chance(8) {
                at
            } else {
                random.below(at)
            };
            let needs_role = target == at || keys.iter().any(|key| key.target == target);
            let node = if needs_role || random.chance(15) {
                self.nodes.push(Node {
                    name: format!("r{at}_{number}"),
                    table: target,
                    is_role: true,
                });
                self.nodes.len() - 1
            } else {
                target
            };
            keys.push(key(random, target, node, 15));
        }
        keys
    }

    /// Keys to two unrelated tables.
    fn bridging(&mut self, random: &mut Random, at: usize) -> Vec<Key> {
        let one = random.below(at);
        let other = (one + 1 + random.below(at - 1)) % at;
        self.bridge = Some([at, one, other]);
        [one, other]
            .map(|end| key(random, end, end, 0))
            .into_iter()
            .collect()
    }

    fn lay_out(&self, random: &mut Random, table: &mut Table, at: usize) {
        let is_bridge = self.bridge.is_some_and(|[bridge, ..]| bridge == at);
        let joins_itself = table.keys.iter().any(|key| key.target == at);
        let width = |key: &Key| self.tables.get(key.target).map_or(1, |own| own.grain.len());
        let first = table.keys.first().map_or(WIDEST, width);
        let all: usize = table.keys.iter().map(width).sum();
        let mut plan = match random.below(100) {
            0..35 => Grain::Number,
            35..65 => Grain::Columns(2),
            65..80 => Grain::Columns(3),
            _ => Grain::KeyAndColumn,
        };
        if is_bridge && random.chance(70) {
            plan = Grain::Keys;
        }
        let fits = match plan {
            Grain::Number | Grain::Columns(_) => true,
            Grain::KeyAndColumn => !joins_itself && first < WIDEST,
            Grain::Keys => !joins_itself && all <= WIDEST,
        };
        let plan = if fits { plan } else { Grain::Number };
        let own = match plan {
            Grain::Number => vec![column("id".to_owned(), false, random)],
            Grain::Columns(count) => (0..count)
                .map(|part| column(format!("g{part}"), random.chance(40), random))
                .collect(),
            Grain::KeyAndColumn => vec![column("g0".to_owned(), random.chance(40), random)],
            Grain::Keys => Vec::new(),
        };
        table.grain = (0..own.len()).collect();
        table.columns = own;
        for number in 0..table.keys.len() {
            self.add_columns(random, table, at, number);
        }
        let taken = match plan {
            Grain::Number | Grain::Columns(_) => 0,
            Grain::KeyAndColumn => 1,
            Grain::Keys => table.keys.len(),
        };
        for place in table.keys.iter().take(taken).flat_map(|key| &key.columns) {
            if !table.grain.contains(place) {
                table.grain.push(*place);
            }
        }
        // A self-referencing key has the order of the existing grain.
        if !joins_itself && random.chance(50) {
            table.grain.reverse();
        }
    }

    /// Keys can share columns, such as a region.
    fn add_columns(&self, random: &mut Random, table: &mut Table, at: usize, number: usize) {
        let Some(target) = table.keys.get(number).map(|key| key.target) else {
            return;
        };
        let found = self.tables.get(target).filter(|_| target != at);
        let parts: Vec<bool> = found.map_or_else(
            || table.kinds(&table.grain),
            |found| found.kinds(&found.grain),
        );
        let is_composite = parts.len() > 1;
        let mut columns: Vec<usize> = Vec::new();
        for (part, is_text) in parts.into_iter().enumerate() {
            let shared = (0..table.columns.len()).find(|place| {
                is_composite
                    && table.columns[*place].is_text == is_text
                    && !columns.contains(place)
                    && random.chance(12)
            });
            columns.push(shared.unwrap_or_else(|| {
                let name = if is_composite {
                    format!("k{number}_{part}")
                } else {
                    format!("k{number}")
                };
                table.columns.push(column(name, is_text, random));
                table.columns.len() - 1
            }));
        }
        // Such a key would reference the row itself.
        if target == at && columns.iter().all(|place| table.grain.contains(place)) {
            let name = format!("k{number}_0");
            let is_text = table.columns[columns[0]].is_text;
            table.columns.push(column(name, is_text, random));
            columns[0] = table.columns.len() - 1;
        }
        if let Some(key) = table.keys.get_mut(number) {
            key.form = Form {
                first: random.below(columns.len()),
                is_backwards: random.chance(50),
                turned: random.below(1 << columns.len()),
                is_qualified: random.chance(40),
            };
            key.columns = columns;
        }
    }

    pub(super) fn table_of(&self, node: usize) -> &Table {
        &self.tables[self.nodes[node].table]
    }

    pub(super) fn column_name(&self, node: usize, column: usize) -> &str {
        &self.table_of(node).columns[column].name
    }

    /// True if grains and unique keys identify rows.
    pub(super) fn is_sound(&self) -> bool {
        self.tables.iter().all(|table| {
            let unique = table.keys.iter().filter(|key| key.is_unique);
            let mut sets = unique
                .map(|key| &key.columns)
                .chain(std::iter::once(&table.grain));
            sets.all(|columns| rows::are_told_apart(&table.rows, columns))
        })
    }
}

impl Table {
    fn kinds(&self, columns: &[usize]) -> Vec<bool> {
        let kind = |at: &usize| self.columns[*at].is_text;
        columns.iter().map(kind).collect()
    }
}

fn column(name: String, is_text: bool, random: &mut Random) -> Column {
    Column {
        name,
        is_text,
        is_hidden: random.chance(10),
    }
}

fn key(random: &mut Random, target: usize, node: usize, unique: usize) -> Key {
    let declared = match random.below(10) {
        _ if target != node => Declared::Here,
        0..3 => Declared::There,
        3 => Declared::Both,
        _ => Declared::Here,
    };
    Key {
        columns: Vec::new(),
        target,
        node,
        is_unique: random.chance(unique),
        declared,
        form: Form::default(),
    }
}
