//! Builds shapes from a fixed seed.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use crate::databases::generator::{Random, Truth};
use crate::databases::shapes::ColumnFill::{
    self, Apart, Beside, Block, BlockOf, Code, Count, Day, DayIn, Days, Each, Free, Gaps, Hash,
    Like, Line, Listed, Of, PartOf, Respelled, Scattered, Text, Tuple, UpTo, Word,
};
use crate::databases::shapes::values::{
    day_in, letters, part_of, respelled, sentence, text, written,
};
use crate::databases::shapes::{DatabaseShape, DateForm};

#[derive(Debug, Clone, Copy)]
pub struct NoiseLayer {
    pub before: &'static str,
    pub rows: u64,
    /// Makes every column text.
    pub texts: bool,
    /// Percentage of duplicate rows.
    pub twice: u64,
}

const ONLY: NoiseLayer = NoiseLayer {
    before: "",
    rows: 100,
    texts: false,
    twice: 0,
};

const GROUPS: [u64; 7] = [1, 4, 2, 3, 5, 1, 2];

pub fn build_shape(shape: &DatabaseShape, seed: u64) -> (String, BTreeSet<Truth>) {
    build_layers(shape, &[ONLY], seed)
}

pub fn build_layers(
    shape: &DatabaseShape,
    layers: &[NoiseLayer],
    seed: u64,
) -> (String, BTreeSet<Truth>) {
    let mut script = "BEGIN;\n".to_owned();
    let mut truth = BTreeSet::new();
    for layer in layers {
        let mut maker = CellMaker {
            shape,
            layer: *layer,
            seed,
            random: Random::new(seed),
        };
        for (name, rows, columns) in shape.tables {
            maker.write(name, *rows, columns, &mut script);
            maker.note_links(name, columns, &mut truth);
        }
    }
    script.push_str("COMMIT;\n");
    (script, truth)
}

struct CellMaker<'s> {
    shape: &'s DatabaseShape,
    layer: NoiseLayer,
    seed: u64,
    random: Random,
}

type TableRows<'p> = (&'p str, u64);

impl CellMaker<'_> {
    fn write(
        &mut self,
        name: &str,
        rows: u64,
        columns: &[(&str, ColumnFill)],
        script: &mut String,
    ) {
        let table = format!("{}{name}", self.layer.before);
        let kind = |fill: ColumnFill| {
            if self.layer.texts {
                "TEXT"
            } else {
                type_of(self.shape, fill)
            }
        };
        let list: Vec<String> = columns
            .iter()
            .map(|(column, fill)| format!("\"{column}\" {}", kind(*fill)))
            .collect();
        writeln!(script, "CREATE TABLE \"{table}\" ({});", list.join(", ")).expect("a text");
        for row in 0..self.rows(rows) {
            let cells: Vec<String> = columns
                .iter()
                .map(|(_, fill)| self.cell(*fill, (name, row)))
                .collect();
            let line = format!("INSERT INTO \"{table}\" VALUES ({});\n", cells.join(", "));
            script.push_str(&line);
            if row % 100 < self.layer.twice {
                script.push_str(&line);
            }
        }
    }

    fn rows(&self, rows: u64) -> u64 {
        (rows * self.layer.rows / 100).max(1)
    }

    fn note_links(&self, name: &str, columns: &[(&str, ColumnFill)], truth: &mut BTreeSet<Truth>) {
        let full = |name: &str| format!("{}{name}", self.layer.before);
        let mut groups: BTreeMap<&str, (Vec<String>, Vec<String>)> = BTreeMap::new();
        for (column, fill) in columns {
            match fill {
                Of(table, key, _)
                | Each(table, key)
                | BlockOf(table, key)
                | Respelled(table, key, ..) => {
                    let side = |column: &str| vec![column.to_owned()];
                    truth.insert((full(name), side(column), full(table), side(key)));
                }
                Tuple(table, key) => {
                    let group = groups.entry(table).or_default();
                    group.0.push((*column).to_owned());
                    group.1.push((*key).to_owned());
                }
                _ => {}
            }
        }
        for (table, (own, other)) in groups {
            truth.insert((full(name), own, full(table), other));
        }
    }

    fn source(&self, table: &str, key: &str) -> (u64, ColumnFill) {
        let (rows, fill) = source(self.shape, table, key);
        (self.rows(rows), fill)
    }

    fn cell(&mut self, fill: ColumnFill, place: TableRows<'_>) -> String {
        match fill {
            Of(table, key, (from, to)) | Like(table, key, (from, to)) => {
                let (rows, fill) = self.source(table, key);
                let (from, to) = (rows * from / 100, rows * to / 100);
                let row = from + self.random.below((to - from).max(1));
                self.cell(fill, (table, row))
            }
            Each(table, key) => {
                let (_, fill) = self.source(table, key);
                self.cell(fill, (table, place.1))
            }
            BlockOf(table, key) => {
                let (rows, fill) = self.source(table, key);
                self.cell(fill, (table, group(place.1).0 % rows))
            }
            Tuple(table, key) | Beside(table, key) => {
                let (rows, fill) = self.source(table, key);
                let own = letters(place.1) + place.0 + table;
                let mut picked = Random::new(number(&own).wrapping_add(self.seed));
                self.cell(fill, (table, picked.below(rows)))
            }
            Respelled(table, key, percent, spelling) => {
                let (rows, fill) = self.source(table, key);
                let row = self.random.below(rows);
                let odd = self.random.below(100) < percent;
                let value = self.cell(fill, (table, row));
                if odd {
                    respelled(&value, spelling)
                } else {
                    value
                }
            }
            own => own_value(own, place.1, &mut self.random),
        }
    }
}

fn group(row: u64) -> (u64, u64) {
    let size: u64 = GROUPS.iter().sum();
    let mut rest = row % size;
    let mut at = 0;
    for rows in GROUPS {
        if rest < rows {
            break;
        }
        rest -= rows;
        at += 1;
    }
    (row / size * GROUPS.len() as u64 + at, rest)
}

fn number(text: &str) -> u64 {
    text.bytes().fold(7, |sum, byte| {
        (sum ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3)
    })
}

fn source(shape: &DatabaseShape, table: &str, key: &str) -> (u64, ColumnFill) {
    let (_, rows, columns) = shape
        .tables
        .iter()
        .find(|(name, _, _)| *name == table)
        .expect("a table");
    let (_, fill) = columns
        .iter()
        .find(|(name, _)| *name == key)
        .expect("a column");
    (*rows, *fill)
}

fn type_of(shape: &DatabaseShape, fill: ColumnFill) -> &'static str {
    match fill {
        Count(_) | Gaps(_) | Scattered(_) | UpTo(_) | Apart(_) | Block(_) | Line | PartOf(..) => {
            "INTEGER"
        }
        Days(form, _) | DayIn(form, ..) => match form {
            DateForm::Date => "DATE",
            DateForm::Text => "TEXT",
            DateForm::Number => "INTEGER",
        },
        Code(_) | Hash(_) | Word(_) | Day | Listed(_) | Text(..) | Free => "TEXT",
        Of(table, key, _)
        | Like(table, key, _)
        | Each(table, key)
        | BlockOf(table, key)
        | Tuple(table, key)
        | Beside(table, key)
        | Respelled(table, key, ..) => type_of(shape, source(shape, table, key).1),
    }
}

fn own_value(fill: ColumnFill, row: u64, random: &mut Random) -> String {
    match fill {
        Count(from) => (from + row).to_string(),
        Apart(seed) => {
            let far = Random::new(seed * 1_000_003 + row).below(1_000_000_000_000_000);
            (1_400_000_000_000_000_000 + far).to_string()
        }
        Gaps(seed) => {
            let mut block = Random::new(seed * 1_000_003 + row / 5);
            let first = block.below(7);
            let gaps = [first, (first + 1 + block.below(6)) % 7];
            let mut kept = (0..7).filter(|place| !gaps.contains(place));
            let place = kept.nth(usize::try_from(row % 5).expect("a place"));
            (1 + row / 5 * 7 + place.expect("five of seven")).to_string()
        }
        Scattered(seed) => {
            let number = Random::new(seed * 1_000_003 + row).below(9_000_000);
            (1_000_000 + number).to_string()
        }
        UpTo(most) => (1 + random.below(most)).to_string(),
        Code(begin) => format!("'{begin}{row:06}'"),
        Hash(begin) => {
            let seed = begin
                .bytes()
                .fold(row, |sum, byte| sum * 257 + u64::from(byte));
            let mut hash = Random::new(seed);
            format!("'{:016x}{:016x}'", hash.draw(), hash.draw())
        }
        Word(words) => {
            let at = usize::try_from(random.below(words.len() as u64)).expect("a place");
            format!("'{}'", words[at])
        }
        Listed(words) => {
            let at = usize::try_from(row).expect("a place") % words.len();
            format!("'{}'", words[at])
        }
        Day => format!(
            "'20{:02}-{:02}-{:02}'",
            19 + random.below(5),
            1 + random.below(12),
            1 + random.below(28)
        ),
        Text(look, seed) => format!("'{}'", text(look, seed, row)),
        Free => format!("'{}'", sentence(random)),
        Days(form, from) => written(form, from + i64::try_from(row).expect("a day")),
        DayIn(form, from, days) => written(form, day_in(random, from, days)),
        PartOf(period, from) => part_of(period, from + i64::try_from(row).expect("a day")),
        Block(from) => (from + group(row).0).to_string(),
        Line => (1 + group(row).1).to_string(),
        Of(..) | Like(..) | Each(..) | BlockOf(..) | Tuple(..) | Beside(..) | Respelled(..) => {
            unreachable!("values of other tables are taken from there")
        }
    }
}
