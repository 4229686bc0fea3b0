//! The databases that pin weights.

use ktx_test_support::databases::generator::build;
use ktx_test_support::databases::schemas::{SCHOOL, SHOP, UNRELATED};
use ktx_test_support::databases::shapes::{
    CHANCE, COPIES, DAYS, DatabaseShape, NAMELESS, OFFSETS, OUTSIDE, SHAPES, SPELLING, TEXTS,
    TUPLES, WORDS, build_layers, build_shape,
};
use ktx_test_support::databases::styles::styles;
use ktx_test_support::databases::{QUESTIONED, WRITTEN};

use super::spots;
use super::warehouse::{Setup, Verdict, Warehouse};

#[derive(Debug)]
pub(super) struct Example {
    asks: Asks,
}

#[derive(Debug)]
enum Asks {
    Links(Box<Warehouse>),
    Pairs(Box<Warehouse>),
    Columns(Box<Warehouse>),
    Words,
    Groups,
}

impl Example {
    pub(super) fn verdict(&self) -> Verdict {
        match &self.asks {
            Asks::Links(warehouse) => warehouse.verdict(),
            Asks::Pairs(warehouse) => warehouse.pairs(),
            Asks::Columns(warehouse) => warehouse.facts(),
            Asks::Words => spots::words(),
            Asks::Groups => spots::groups(),
        }
    }
}

pub(super) fn names() -> Vec<String> {
    let spots = spots::SPOTS.iter().map(|spot| spot.name);
    let written = WRITTEN.iter().chain(QUESTIONED).map(|(name, _)| *name);
    let mut names: Vec<String> = spots.chain(written).map(str::to_owned).collect();
    names.extend(shapes().map(|(shape, _)| shape.label.to_owned()));
    for (at, _) in COPIES.iter().enumerate() {
        names.push(format!("copies {at}"));
    }
    for style in styles() {
        for schema in ["shop", "school", "unrelated"] {
            names.push(format!("{schema}: {}", style.label));
        }
    }
    let sampled: Vec<String> = names.iter().map(|name| format!("sampled {name}")).collect();
    names.extend(sampled);
    names
}

pub(super) fn example(name: &str) -> Option<Example> {
    let asks = match name {
        "likeness of words" => Asks::Words,
        "answers about groups" => Asks::Groups,
        name => match name.split_once(" of ") {
            Some(("pairs", name)) => Asks::Pairs(Box::new(warehouse(name)?)),
            Some(("columns", name)) => Asks::Columns(Box::new(warehouse(name)?)),
            _ => Asks::Links(Box::new(warehouse(name)?)),
        },
    };
    Some(Example { asks })
}

fn warehouse(name: &str) -> Option<Warehouse> {
    if let Some(spot) = spots::SPOTS.iter().find(|spot| spot.name == name) {
        return Some(Warehouse::of(spot.script, spot.setup));
    }
    if let Some(name) = name.strip_prefix("sampled ") {
        let setup = Setup {
            sample: Some(60),
            ..Setup::default()
        };
        return Some(Warehouse::of(&script(name)?, setup));
    }
    Some(Warehouse::of(&script(name)?, Setup::default()))
}

fn script(name: &str) -> Option<String> {
    if let Some(spot) = spots::SPOTS.iter().find(|spot| spot.name == name) {
        return Some(spot.script.to_owned());
    }
    let mut written = WRITTEN.iter().chain(QUESTIONED);
    if let Some((_, script)) = written.find(|(known, _)| *known == name) {
        return Some((*script).to_owned());
    }
    if let Some((shape, seed)) = shapes().find(|(shape, _)| shape.label == name) {
        return Some(build_shape(shape, seed).0);
    }
    if let Some(at) = name.strip_prefix("copies ") {
        let (shape, layers) = COPIES.get(at.parse::<usize>().ok()?)?;
        return Some(build_layers(shape, layers, 10_000).0);
    }
    let (schema, label) = name.split_once(": ")?;
    let entities = match schema {
        "shop" => SHOP,
        "school" => SCHOOL,
        _ => UNRELATED,
    };
    let styles = styles();
    let style = styles.iter().find(|style| style.label == label)?;
    Some(build(style, entities, 200).script)
}

fn shapes() -> impl Iterator<Item = (&'static DatabaseShape, u64)> {
    let lists = [
        SHAPES, WORDS, CHANCE, OUTSIDE, NAMELESS, TEXTS, DAYS, TUPLES, OFFSETS, SPELLING,
    ];
    lists.into_iter().flatten().zip(3000..)
}
