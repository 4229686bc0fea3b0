//! Builds the databases of particular shapes from a fixed seed.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use crate::generator::{Random, Truth};
use crate::shapes::Fill::{
    self, Apart, Code, Count, Day, Each, Gaps, Hash, Like, Of, Scattered, UpTo, Word,
};
use crate::shapes::Shape;

/// The statements that make a database, and its true links.
pub(crate) fn build_shape(shape: &Shape, seed: u64) -> (String, BTreeSet<Truth>) {
    let mut random = Random::new(seed);
    let mut script = "BEGIN;\n".to_owned();
    let mut truth = BTreeSet::new();
    for (name, rows, columns) in shape.tables {
        let list: Vec<String> = columns
            .iter()
            .map(|(column, fill)| format!("\"{column}\" {}", type_of(shape, *fill)))
            .collect();
        writeln!(script, "CREATE TABLE \"{name}\" ({});", list.join(", ")).expect("a text");
        for row in 0..*rows {
            let cells: Vec<String> = columns
                .iter()
                .map(|(_, fill)| cell(shape, *fill, row, &mut random))
                .collect();
            writeln!(
                script,
                "INSERT INTO \"{name}\" VALUES ({});",
                cells.join(", ")
            )
            .expect("a text");
        }
        for (column, fill) in *columns {
            if let Of(table, key, _) | Each(table, key) = fill {
                let side = |column: &str| vec![column.to_owned()];
                truth.insert((
                    (*name).to_owned(),
                    side(column),
                    (*table).to_owned(),
                    side(key),
                ));
            }
        }
    }
    script.push_str("COMMIT;\n");
    (script, truth)
}

fn source(shape: &Shape, table: &str, key: &str) -> (u64, Fill) {
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

fn type_of(shape: &Shape, fill: Fill) -> &'static str {
    match fill {
        Count(_) | Gaps(_) | Scattered(_) | UpTo(_) | Apart(_) => "INTEGER",
        Code(_) | Hash(_) | Word(_) | Day => "TEXT",
        Of(table, key, _) | Like(table, key, _) | Each(table, key) => {
            type_of(shape, source(shape, table, key).1)
        }
    }
}

fn cell(shape: &Shape, fill: Fill, row: u64, random: &mut Random) -> String {
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
            format!("'{:016x}{:016x}'", hash.next(), hash.next())
        }
        Word(words) => {
            let at = usize::try_from(random.below(words.len() as u64)).expect("a place");
            format!("'{}'", words[at])
        }
        Day => format!(
            "'20{:02}-{:02}-{:02}'",
            19 + random.below(5),
            1 + random.below(12),
            1 + random.below(28)
        ),
        Of(table, key, (from, to)) | Like(table, key, (from, to)) => {
            let (rows, fill) = source(shape, table, key);
            let (from, to) = (rows * from / 100, rows * to / 100);
            let row = from + random.below((to - from).max(1));
            cell(shape, fill, row, random)
        }
        Each(table, key) => {
            let (_, fill) = source(shape, table, key);
            cell(shape, fill, row, random)
        }
    }
}
