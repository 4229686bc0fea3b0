//! Questions across a table of pairs, per row of another table, and with numbers over all rows, on
//! one small model.

use std::collections::{BTreeMap, BTreeSet};

use ktx_semantic_layer::{Catalog, Query, compile};
use ktx_test_support::random::Random;
use serde_json::{Value, json};

use super::engine::{Engine, Rows, Sqlite};
use super::measures::real;
use super::world::{
    Cell, Column, Declared, Form, Key, Node, NumberKind, Row, Table, TimeKind, World,
};

const THINGS: usize = 0;
const GROUPS: usize = 1;
const PAIRS: usize = 2;
const FACTS: usize = 3;

const QUESTIONS: usize = 12;

/// Dimensions, then values.
type Answer = Vec<(Vec<Option<&'static str>>, Vec<Option<f64>>)>;

fn key(column: usize, target: usize) -> Key {
    Key {
        columns: vec![column],
        target,
        node: target,
        is_unique: false,
        declared: Declared::Here,
        form: Form::default(),
    }
}

fn table(names: &[&str], grain: Vec<usize>, keys: Vec<Key>, number: NumberKind) -> Table {
    let column = |name: &&str| Column {
        name: (*name).to_owned(),
        is_text: false,
        is_hidden: false,
    };
    Table {
        number,
        time: TimeKind::Date,
        columns: names.iter().map(column).collect(),
        grain,
        keys,
        rows: Vec::new(),
    }
}

fn row(random: &mut Random, cells: &[i64]) -> Row {
    let number = i64::try_from(random.below(6)).expect("a small number") - 1;
    Row {
        number: (!random.chance(15)).then(|| real(number)),
        text: (!random.chance(15)).then(|| *random.pick(&["a", "b", "c"])),
        at: None,
        flag: None,
        cells: cells
            .iter()
            .map(|cell| Some(Cell::Integer(*cell)))
            .collect(),
    }
}

fn id(random: &mut Random, count: usize) -> i64 {
    // The last one refers to nothing.
    i64::try_from(random.below(count + 1)).expect("a small number")
}

fn world(random: &mut Random) -> World {
    let mut tables = vec![
        table(&["id"], vec![0], Vec::new(), NumberKind::Integer),
        table(&["id"], vec![0], Vec::new(), NumberKind::Integer),
        table(
            &["k0", "k1"],
            vec![0, 1],
            vec![key(0, THINGS), key(1, GROUPS)],
            NumberKind::Real,
        ),
        table(
            &["id", "k0"],
            vec![0],
            vec![key(1, THINGS)],
            NumberKind::Integer,
        ),
    ];
    let (things, groups) = (random.below(6), random.below(4));
    for (table, count) in [(THINGS, things), (GROUPS, groups)] {
        let ids = (0..count).map(|at| i64::try_from(at).expect("a small number"));
        tables[table].rows = ids.map(|id| row(random, &[id])).collect();
    }
    let mut pairs: BTreeSet<[i64; 2]> = BTreeSet::new();
    for _ in 0..random.below(10) {
        let thing = id(random, things);
        pairs.insert([thing, id(random, groups)]);
    }
    for pair in pairs {
        let mut row = row(random, &pair);
        row.number = row.number.map(|number| number / 4.0);
        tables[PAIRS].rows.push(row);
    }
    let count = i64::try_from(random.below(8)).expect("a small number");
    for at in 0..count {
        let thing = id(random, things);
        let fact = row(random, &[at, thing]);
        tables[FACTS].rows.push(fact);
    }
    let nodes = (0..tables.len()).map(|table| Node {
        name: format!("t{table}"),
        table,
        is_role: false,
    });
    World {
        nodes: nodes.collect(),
        tables,
        bridge: None,
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Across {
    CountEach,
    Allocate,
}

#[derive(Debug, Clone, Copy)]
enum Question {
    /// By groups and by own text; can be limited to those with a text.
    Bridge {
        across: Across,
        by_groups: bool,
        by_things: bool,
        of_things: bool,
        of_groups: bool,
    },
    /// The average total of things with at least this number of facts.
    Sets(i64),
    /// Facts above the average, by the text of their things.
    Above,
}

fn question(random: &mut Random) -> Question {
    match random.below(4) {
        0 => Question::Sets(i64::try_from(random.below(3)).expect("a small number")),
        1 => Question::Above,
        _ => {
            let of_groups = random.chance(40);
            Question::Bridge {
                across: *random.pick(&[Across::CountEach, Across::Allocate]),
                by_groups: !of_groups || random.chance(50),
                by_things: random.chance(50),
                of_things: random.chance(30),
                of_groups,
            }
        }
    }
}

fn query(question: Question) -> Value {
    match question {
        Question::Bridge {
            across,
            by_groups,
            by_things,
            of_things,
            of_groups,
        } => {
            let mut measures = vec!["sum(t0.num)", "count(t0.*)", "count(t0.num)"];
            if across == Across::CountEach {
                measures.extend(["avg(t0.num)", "count(distinct t0.txt)"]);
            }
            let mut dimensions = Vec::new();
            dimensions.extend(by_groups.then_some("t1.txt"));
            dimensions.extend(by_things.then_some("t0.txt"));
            let mut filters = Vec::new();
            filters.extend(of_things.then_some("t0.txt = 'a'"));
            filters.extend(of_groups.then_some("t1.txt = 'a'"));
            let mut query = json!({
                "measures": measures, "dimensions": dimensions, "filters": filters, "include_empty": false,
            });
            match across {
                Across::CountEach => query["across"] = json!("count_each"),
                Across::Allocate => {
                    query["across"] = json!("allocate");
                    query["weight"] = json!("t2.num");
                }
            }
            query
        }
        Question::Sets(least) => json!({
            "measures": ["avg(per(t0, t3.total))", "count(t0.*)"], "dimensions": ["t0.txt"],
            "filters": [format!("per(t0, t3.cnt) >= {least}")], "include_empty": false,
        }),
        Question::Above => json!({
            "measures": ["count(t3.*)", {"expr": "count(t3.*) / overall(count(t3.*))", "name": "part"}],
            "dimensions": ["t0.txt"], "filters": ["t3.num > overall(avg(t3.num))"], "include_empty": false,
        }),
    }
}

fn is_cell(row: &Row, column: usize, wanted: Option<Cell>) -> bool {
    wanted.is_some() && row.cells[column] == wanted
}

fn sum(numbers: &[f64]) -> Option<f64> {
    (!numbers.is_empty()).then(|| numbers.iter().sum())
}

fn counted(count: usize) -> f64 {
    real(i64::try_from(count).expect("a small number"))
}

/// By their text, with the part of the thing in each.
fn groups_of(world: &World, thing: &Row, of_groups: bool) -> BTreeMap<Option<&'static str>, f64> {
    let mut groups = BTreeMap::new();
    let pairs = world.tables[PAIRS].rows.iter();
    let pairs: Vec<&Row> = pairs
        .filter(|pair| is_cell(pair, 0, thing.cells[0]))
        .collect();
    if pairs.is_empty() && !of_groups {
        groups.insert(None, 1.0);
    }
    for pair in pairs {
        let mut all = world.tables[GROUPS].rows.iter();
        let text = all
            .find(|group| is_cell(group, 0, pair.cells[1]))
            .and_then(|group| group.text);
        if !of_groups || text == Some("a") {
            *groups.entry(text).or_default() += pair.number.unwrap_or(0.0);
        }
    }
    groups
}

fn facts_of<'w>(world: &'w World, thing: &Row) -> Vec<&'w Row> {
    let all = world.tables[FACTS].rows.iter();
    all.filter(|fact| is_cell(fact, 1, thing.cells[0]))
        .collect()
}

fn answer(world: &World, question: Question) -> Answer {
    match question {
        Question::Bridge { .. } => across_pairs(world, question),
        Question::Sets(least) => of_things_with(world, least),
        Question::Above => above_average(world),
    }
}

fn across_pairs(world: &World, question: Question) -> Answer {
    let Question::Bridge {
        across,
        by_groups,
        by_things,
        of_things,
        of_groups,
    } = question
    else {
        return Vec::new();
    };
    let mut found: BTreeMap<Vec<Option<&str>>, Vec<(&Row, f64)>> = BTreeMap::new();
    if !by_groups && !by_things {
        found.insert(Vec::new(), Vec::new());
    }
    let things = world.tables[THINGS].rows.iter();
    for thing in things.filter(|thing| !of_things || thing.text == Some("a")) {
        let mut own: BTreeMap<Vec<Option<&str>>, f64> = BTreeMap::new();
        for (text, weight) in groups_of(world, thing, of_groups) {
            let mut tuple = Vec::new();
            tuple.extend(by_groups.then_some(text));
            tuple.extend(by_things.then_some(thing.text));
            *own.entry(tuple).or_default() += weight;
        }
        for (tuple, weight) in own {
            let weight = if across == Across::CountEach {
                1.0
            } else {
                weight
            };
            found.entry(tuple).or_default().push((thing, weight));
        }
    }
    let values = |rows: Vec<(&Row, f64)>| {
        let parts = rows.iter();
        let parts = parts.filter_map(|(row, weight)| Some((row.number?, *weight)));
        let parts: Vec<(f64, f64)> = parts.collect();
        let numbers: Vec<f64> = parts
            .iter()
            .map(|(number, weight)| number * weight)
            .collect();
        let mut values = vec![
            sum(&numbers),
            Some(rows.iter().map(|(_, weight)| weight).sum()),
            Some(parts.iter().map(|(_, weight)| weight).sum()),
        ];
        if across == Across::CountEach {
            let texts: BTreeSet<&str> = rows.iter().filter_map(|(row, _)| row.text).collect();
            values.push(sum(&numbers).map(|sum| sum / counted(numbers.len())));
            values.push(Some(counted(texts.len())));
        }
        values
    };
    let rows = found.into_iter();
    rows.map(|(tuple, rows)| (tuple, values(rows))).collect()
}

fn of_things_with(world: &World, least: i64) -> Answer {
    let mut found: BTreeMap<Option<&str>, Vec<&Row>> = BTreeMap::new();
    for thing in &world.tables[THINGS].rows {
        if counted(facts_of(world, thing).len()) >= real(least) {
            found.entry(thing.text).or_default().push(thing);
        }
    }
    let values = |rows: Vec<&Row>| {
        let total = |thing: &&Row| {
            let facts = facts_of(world, thing);
            let numbers: Vec<f64> = facts.iter().filter_map(|fact| fact.number).collect();
            sum(&numbers)
        };
        let totals: Vec<f64> = rows.iter().filter_map(total).collect();
        vec![
            sum(&totals).map(|sum| sum / counted(totals.len())),
            Some(counted(rows.len())),
        ]
    };
    let rows = found.into_iter();
    rows.map(|(text, rows)| (vec![text], values(rows)))
        .collect()
}

fn above_average(world: &World) -> Answer {
    let facts = &world.tables[FACTS].rows;
    let numbers: Vec<f64> = facts.iter().filter_map(|fact| fact.number).collect();
    let Some(average) = sum(&numbers).map(|sum| sum / counted(numbers.len())) else {
        return Vec::new();
    };
    let mut found: BTreeMap<Option<&str>, usize> = BTreeMap::new();
    let is_above = |fact: &&Row| fact.number.is_some_and(|number| number > average);
    for fact in facts.iter().filter(is_above) {
        let mut things = world.tables[THINGS].rows.iter();
        let thing = things.find(|thing| is_cell(thing, 0, fact.cells[1]));
        *found.entry(thing.and_then(|thing| thing.text)).or_default() += 1;
    }
    let whole = counted(facts.len());
    let values = |count: usize| vec![Some(counted(count)), Some(counted(count) / whole)];
    let rows = found.into_iter();
    rows.map(|(text, count)| (vec![text], values(count)))
        .collect()
}

fn spelled(answer: Answer) -> Vec<Vec<String>> {
    let text = |text: Option<&str>| text.unwrap_or("null").to_owned();
    let number =
        |value: Option<f64>| value.map_or("null".to_owned(), |value| format!("{:.6}", value + 0.0));
    let rows = answer.into_iter().map(|(tuple, values)| {
        let values = values.into_iter().map(number);
        tuple.into_iter().map(text).chain(values).collect()
    });
    let mut rows: Vec<Vec<String>> = rows.collect();
    rows.sort();
    rows
}

fn comparable(rows: &Rows) -> Vec<Vec<String>> {
    let cell = |cell: &Option<String>| match cell {
        None => "null".to_owned(),
        Some(text) => match text.parse::<f64>() {
            Ok(number) => format!("{:.6}", number + 0.0),
            Err(_) => text.clone(),
        },
    };
    let mut rows: Vec<Vec<String>> = rows
        .iter()
        .map(|row| row.iter().map(cell).collect())
        .collect();
    rows.sort();
    rows
}

/// Returns the number of answers.
pub(super) fn check(cases: usize, engine: &mut dyn Engine) -> usize {
    let mut checked = 0;
    for seed in super::seeds(cases.div_ceil(QUESTIONS) * super::QUESTIONS) {
        let mut random = Random::new(seed);
        let world = world(&mut random);
        engine.load(&world);
        let catalog = Catalog::load(world.files(), engine.dialect());
        for _ in 0..QUESTIONS {
            let question = question(&mut random);
            let json = query(question);
            let compiled = Query::from_value(&json)
                .and_then(|query| compile(&catalog, &query, engine.dialect()));
            let compiled = compiled.unwrap_or_else(|error| panic!("seed {seed}: {json}: {error}"));
            let rows = engine.run(&compiled.sql);
            let rows = rows
                .unwrap_or_else(|reason| panic!("seed {seed}: {json}: {reason}\n{}", compiled.sql));
            assert_eq!(
                comparable(&rows),
                spelled(answer(&world, question)),
                "{}, seed {seed}: {json}\n{}\n{}",
                engine.dialect(),
                compiled.sql,
                world.data()
            );
            checked += 1;
        }
    }
    checked
}

#[test]
fn answers_across_pairs_agree_with_brute_force() {
    let cases = super::cases() / 4;
    assert!(check(cases, &mut Sqlite::default()) >= cases);
}
