//! Measures links of particular shapes.

use std::collections::BTreeMap;
use std::sync::Arc;

use ktx_scan::{ScanMode, ScanSettings, scan};
use serde_json::Value;

use super::{Tally, assert_good, measure_shapes, tally_script};
use crate::memory::World;
use crate::sqlite::{Keys, Sqlite};
use ktx_test_support::databases::shapes::{
    COPIES, DAYS, DatabaseShape, NoiseLayer, OFFSETS, SHAPES, SPELLING, TEXTS, TUPLES,
    build_layers, build_shape,
};

#[tokio::test]
async fn finds_links_to_keys_that_are_texts_of_any_look() {
    let (lines, all, mean) = measure_shapes(TEXTS, 6000).await;
    println!("{}\nmean F1 {mean:.3}", lines.join("\n"));
    assert_good((&all, mean));
}

#[tokio::test]
async fn days_refer_to_a_calendar_where_there_is_one() {
    let (lines, all, mean) = measure_shapes(DAYS, 7000).await;
    println!("{}\nmean F1 {mean:.3}", lines.join("\n"));
    assert_good((&all, mean));
}

#[tokio::test]
async fn finds_keys_of_two_columns_under_other_names() {
    let (lines, all, mean) = measure_shapes(TUPLES, 8000).await;
    println!("{}\nmean F1 {mean:.3}", lines.join("\n"));
    assert_good((&all, mean));
}

#[tokio::test]
async fn finds_links_without_names_where_keys_begin_above_one() {
    let (lines, all, mean) = measure_shapes(OFFSETS, 9000).await;
    println!("{}\nmean F1 {mean:.3}", lines.join("\n"));
    assert_good((&all, mean));
}

#[tokio::test]
async fn finds_the_links_of_each_layer_and_keeps_copies_apart() {
    let mut all = Tally::default();
    let mut sum = 0.0;
    let mut count = 0.0;
    for ((shape, layers), seed) in COPIES.iter().zip(10_000..) {
        let (script, truth) = build_layers(shape, layers, seed);
        let one = tally_script(shape.label, &script, &truth, ScanSettings::default()).await;
        let (precision, recall, f1) = one.scores();
        let names: Vec<&str> = layers.iter().map(|layer| layer.before).collect();
        println!(
            "{:<45} {precision:>6.3} {recall:>6.3} {f1:>6.3}   {one}\n{}",
            format!("{} {}", shape.label, names.join(" ")),
            one.told.join("\n")
        );
        sum += f1;
        count += 1.0;
        all.add(one);
    }
    assert_good((&all, sum / count));
}

/// With the share of rows that an exact join finds.
fn told(artifact: &Value) -> BTreeMap<String, (&'static str, Option<f64>)> {
    let mut told = BTreeMap::new();
    for list in ["accepted", "review"] {
        for edge in artifact[list].as_array().expect("a list") {
            let link = edge["id"].as_str().expect("a text").to_owned();
            let evidence = &edge["evidence"];
            let respelled = evidence["looseRowCoverage"].is_number();
            let exact = evidence["rowCoverage"].as_f64().filter(|_| respelled);
            let rounded = exact.map(|share| (share * 10.0).round() / 10.0);
            told.insert(link, (list, rounded));
        }
    }
    told
}

/// The join would miss rows.
#[tokio::test]
async fn references_in_another_spelling_are_left_to_a_person() {
    let (script, truth) = build_shape(&SPELLING[0], 11_000);
    let world = World::new(Arc::new(Sqlite::new(Keys::Hidden, &script)));
    let outcome = scan(world.request(ScanMode::Relationships))
        .await
        .expect("a scan");
    world.project.publish(&outcome);
    let found = told(&world.project.json("relationships.json"));
    let expected = [
        ("letter:(item_code)->item:(item_code)", "review", Some(0.6)),
        ("letter:(region)->region:(region)", "review", Some(0.0)),
        ("parcel:(depot_no)->depot:(depot_no)", "review", Some(0.0)),
        ("parcel:(item_code)->item:(item_code)", "review", Some(0.8)),
        ("sale:(email)->person:(email)", "accepted", None),
        ("sale:(item_code)->item:(item_code)", "accepted", Some(0.9)),
        ("stock:(item_code)->item:(item_code)", "review", Some(0.7)),
    ];
    assert_eq!(expected.len(), truth.len());
    let expected = expected.map(|(link, list, exact)| (link.to_owned(), (list, exact)));
    assert_eq!(found, expected.into());
}

/// Each layer has fewer rows than the previous one, so that keys of the next layer fit as well.
const THINNING: &[NoiseLayer] = &[
    NoiseLayer {
        before: "bronze_",
        rows: 100,
        texts: true,
        twice: 0,
    },
    NoiseLayer {
        before: "silver_",
        rows: 96,
        texts: false,
        twice: 0,
    },
    NoiseLayer {
        before: "gold_",
        rows: 80,
        texts: false,
        twice: 0,
    },
];

#[tokio::test]
async fn a_layer_with_fewer_rows_takes_no_links_from_the_others() {
    let mut all = Tally::default();
    let mut sum = 0.0;
    let mut count = 0.0;
    let plain = |shape: &&DatabaseShape| !shape.label.starts_with("layers");
    for (shape, seed) in SHAPES.iter().filter(plain).chain(TEXTS).zip(12_000..) {
        let (script, truth) = build_layers(shape, THINNING, seed);
        let one = tally_script(shape.label, &script, &truth, ScanSettings::default()).await;
        let (precision, recall, f1) = one.scores();
        println!(
            "{:<45} {precision:>6.3} {recall:>6.3} {f1:>6.3}   {one}",
            shape.label
        );
        sum += f1;
        count += 1.0;
        all.add(one);
    }
    println!("{}", all.told.join("\n"));
    assert_good((&all, sum / count));
}
