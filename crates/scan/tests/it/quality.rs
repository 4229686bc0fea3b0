//! Measures links in generated databases without declared keys and without a model.

mod particular;
mod written;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Instant;

use ktx_scan::{ScanMode, ScanSettings, ValidationBudget, scan};
use serde_json::Value;

use crate::memory::World;
use crate::sqlite::{Keys, Sqlite};
use ktx_test_support::databases::generator::{NamingStyle, Truth, build};
use ktx_test_support::databases::schemas::{Entity, SCHOOL, SHOP, UNRELATED};
use ktx_test_support::databases::shapes::{
    CHANCE, DatabaseShape, NAMELESS, OUTSIDE, SHAPES, WORDS, build_shape,
};
use ktx_test_support::databases::styles::{
    PLAIN, dirt_and_layers, endings, styles, words_and_values,
};

#[derive(Debug, Default, Clone)]
struct Tally {
    told: Vec<String>,
    right: usize,
    wrong: usize,
    missed: usize,
}

impl std::fmt::Display for Tally {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:>5} {:>5} {:>6}", self.right, self.wrong, self.missed)
    }
}

impl Tally {
    fn add(&mut self, other: Self) {
        self.told.extend(other.told);
        self.right += other.right;
        self.wrong += other.wrong;
        self.missed += other.missed;
    }

    #[expect(clippy::cast_precision_loss, reason = "small counts")]
    fn scores(&self) -> (f64, f64, f64) {
        let right = self.right as f64;
        let precision = if self.right + self.wrong == 0 {
            1.0
        } else {
            right / (self.right + self.wrong) as f64
        };
        let recall = if self.right + self.missed == 0 {
            1.0
        } else {
            right / (self.right + self.missed) as f64
        };
        let both = precision + recall;
        (
            precision,
            recall,
            if both == 0.0 {
                0.0
            } else {
                2.0 * precision * recall / both
            },
        )
    }
}

fn accepted(artifact: &Value) -> BTreeSet<Truth> {
    let side = |edge: &Value, side: &str| {
        let table = edge[side]["table"]["name"]
            .as_str()
            .expect("a table")
            .to_owned();
        let columns = edge[side]["columns"].as_array().expect("columns");
        (
            table,
            columns
                .iter()
                .map(|column| column.as_str().expect("a name").to_owned())
                .collect::<Vec<_>>(),
        )
    };
    let edges = artifact["accepted"].as_array().expect("a list");
    edges
        .iter()
        .map(|edge| {
            let ((from, own), (to, other)) = (side(edge, "from"), side(edge, "to"));
            // The order has no meaning.
            let mut pairs: Vec<(String, String)> = own.into_iter().zip(other).collect();
            pairs.sort();
            let (own, other) = pairs.into_iter().unzip();
            (from, own, to, other)
        })
        .collect()
}

fn sorted(truth: &BTreeSet<Truth>) -> BTreeSet<Truth> {
    truth
        .iter()
        .map(|(from, own, to, other)| {
            let mut pairs: Vec<(String, String)> =
                own.iter().cloned().zip(other.iter().cloned()).collect();
            pairs.sort();
            let (own, other) = pairs.into_iter().unzip();
            (from.clone(), own, to.clone(), other)
        })
        .collect()
}

async fn tally(style: &NamingStyle, entities: &[Entity], seed: u64) -> Tally {
    tally_with(style, entities, seed, ScanSettings::default()).await
}

async fn tally_with(
    style: &NamingStyle,
    entities: &[Entity],
    seed: u64,
    settings: ScanSettings,
) -> Tally {
    let database = build(style, entities, seed);
    tally_script(style.label, &database.script, &database.truth, settings).await
}

async fn tally_script(
    label: &str,
    script: &str,
    truth: &BTreeSet<Truth>,
    settings: ScanSettings,
) -> Tally {
    let world = World::new(Arc::new(Sqlite::new(Keys::Hidden, script)));
    let mut request = world.request(ScanMode::Relationships);
    request.settings = settings;
    let outcome = scan(request).await.expect("a scan");
    assert_eq!(outcome.report.warnings, Vec::new());
    world.project.publish(&outcome);
    let artifact = world.project.json("relationships.json");
    let found = accepted(&artifact);
    let truth = sorted(truth);
    let wrong = found
        .difference(&truth)
        .map(|link| format!("  wrong  [{label}] {link:?}"));
    let missed = truth.difference(&found);
    let missed = missed.map(|link| format!("  missed [{label}] {link:?} {}", why(&artifact, link)));
    let told = wrong.chain(missed).collect();
    Tally {
        told,
        right: found.intersection(&truth).count(),
        wrong: found.difference(&truth).count(),
        missed: truth.difference(&found).count(),
    }
}

fn why(artifact: &Value, link: &Truth) -> String {
    for list in ["review", "rejected", "skipped"] {
        for edge in artifact[list].as_array().expect("a list") {
            if edge["from"]["table"]["name"] == link.0.as_str()
                && edge["from"]["columns"][0] == link.1[0].as_str()
            {
                return format!(
                    "{list} -> {}: {} {}",
                    edge["to"]["tableId"], edge["score"], edge["reasons"]
                );
            }
        }
    }
    "no candidate".to_owned()
}

/// Scans databases of these styles and prints the number of found links by style.
async fn measure(styles: &[NamingStyle], first_seed: u64) -> (Vec<String>, Tally, f64) {
    let mut all = Tally::default();
    let (mut sum_of_f1, mut count) = (0.0, 0.0);
    let mut lines = vec![format!(
        "{:<40} {:>6} {:>6} {:>6}   right wrong missed",
        "style", "prec", "recall", "F1"
    )];
    for (style, seed) in styles.iter().zip((first_seed..).step_by(10)) {
        let mut sum = tally(style, SHOP, seed).await;
        sum.add(tally(style, SCHOOL, seed + 1).await);
        let (precision, recall, f1) = sum.scores();
        let label = style.label;
        lines.push(format!(
            "{label:<40} {precision:>6.3} {recall:>6.3} {f1:>6.3}   {sum}"
        ));
        sum_of_f1 += f1;
        count += 1.0;
        all.add(sum);
    }
    let (precision, recall, f1) = all.scores();
    lines.push(format!(
        "{:<40} {precision:>6.3} {recall:>6.3} {f1:>6.3}   {all}",
        "all"
    ));
    lines.extend(all.told.iter().cloned());
    (lines, all, sum_of_f1 / count)
}

/// At least nine tenths found, at most one in twenty wrong.
#[track_caller]
fn assert_good((all, mean): (&Tally, f64)) {
    let (precision, _, _) = all.scores();
    assert!(mean >= 0.90, "mean F1 {mean:.3}");
    assert!(precision >= 0.95, "precision {precision:.3}");
}

#[tokio::test]
async fn finds_links_whatever_stands_around_the_name_of_a_table() {
    let (lines, all, mean) = measure(&endings(), 0).await;
    println!("{}\nmean F1 {mean:.3}", lines.join("\n"));
    assert_good((&all, mean));
}

#[tokio::test]
async fn finds_links_in_any_words_and_with_any_kind_of_key() {
    let (lines, all, mean) = measure(&words_and_values(), 1000).await;
    println!("{}\nmean F1 {mean:.3}", lines.join("\n"));
    assert_good((&all, mean));
}

#[tokio::test]
async fn finds_links_in_dirty_small_large_and_copied_tables() {
    let (lines, all, mean) = measure(&dirt_and_layers(), 2000).await;
    println!("{}\nmean F1 {mean:.3}", lines.join("\n"));
    assert_good((&all, mean));
}

/// These shapes have misled discovery before.
#[tokio::test]
async fn finds_links_in_databases_of_particular_shapes() {
    let mut all = Tally::default();
    let mut sum_of_f1 = 0.0;
    let mut count = 0.0;
    for (shape, seed) in SHAPES.iter().chain(WORDS).chain(CHANCE).zip(3000..) {
        let (script, truth) = build_shape(shape, seed);
        let one = tally_script(shape.label, &script, &truth, ScanSettings::default()).await;
        let (precision, recall, f1) = one.scores();
        println!(
            "{:<40} {precision:>6.3} {recall:>6.3} {f1:>6.3}   {one}",
            shape.label
        );
        assert!(
            f1 >= 0.9,
            "{}: F1 {f1:.3}\n{}",
            shape.label,
            one.told.join("\n")
        );
        sum_of_f1 += f1;
        count += 1.0;
        all.add(one);
    }
    println!("{}", all.told.join("\n"));
    assert_good((&all, sum_of_f1 / count));
}

/// Scans databases of these shapes with several seeds each, and returns the results.
async fn measure_shapes(shapes: &[DatabaseShape], first_seed: u64) -> (Vec<String>, Tally, f64) {
    let mut lines = Vec::new();
    let mut all = Tally::default();
    let (mut sum_of_f1, mut count) = (0.0, 0.0);
    for (shape, seed) in shapes.iter().zip((first_seed..).step_by(10)) {
        let mut sum = Tally::default();
        for seed in seed..seed + 2 {
            let (script, truth) = build_shape(shape, seed);
            sum.add(tally_script(shape.label, &script, &truth, ScanSettings::default()).await);
        }
        let (precision, recall, f1) = sum.scores();
        lines.push(format!(
            "{:<45} {precision:>6.3} {recall:>6.3} {f1:>6.3}   {sum}",
            shape.label
        ));
        sum_of_f1 += f1;
        count += 1.0;
        all.add(sum);
    }
    lines.extend(all.told.iter().cloned());
    (lines, all, sum_of_f1 / count)
}

#[tokio::test]
async fn numbers_from_elsewhere_are_not_taken_for_links() {
    let (lines, all, mean) = measure_shapes(OUTSIDE, 4000).await;
    println!("{}\nmean F1 {mean:.3}", lines.join("\n"));
    assert_good((&all, mean));
}

#[tokio::test]
async fn dense_keys_without_telling_names_give_no_wrong_links() {
    let (lines, all, _) = measure_shapes(NAMELESS, 5000).await;
    println!("{}", lines.join("\n"));
    assert_eq!(all.wrong, 0);
}

#[tokio::test]
async fn finds_links_from_samples_and_probes() {
    let mut settings = ScanSettings {
        whole_table_rows: 100,
        ..ScanSettings::default()
    };
    settings.relationships.profile_sample_rows = 100;
    settings.relationships.validation_budget = ValidationBudget::All;
    let mut all = Tally::default();
    for (style, seed) in styles()
        .iter()
        .zip(200..)
        .filter(|(style, _)| style.orphans == 0)
        .step_by(3)
    {
        let one = tally_with(style, SHOP, seed, settings.clone()).await;
        println!("{:<40} {one}", style.label);
        all.add(one);
    }
    let (precision, recall, f1) = all.scores();
    println!(
        "precision {precision:.3} recall {recall:.3} F1 {f1:.3}\n{}",
        all.told.join("\n")
    );
    assert!(precision >= 0.95, "precision {precision:.3}");
    assert!(f1 >= 0.85, "F1 {f1:.3}");
}

#[tokio::test]
async fn finds_nothing_where_nothing_is() {
    for (style, seed) in styles().iter().zip(50..) {
        let one = tally(style, UNRELATED, seed).await;
        assert_eq!((one.right, one.wrong), (0, 0), "{}", style.label);
    }
}

#[tokio::test]
async fn finds_the_same_links_every_time() {
    let mut texts = Vec::new();
    for _ in 0..2 {
        let database = build(&PLAIN, SCHOOL, 5);
        let world = World::new(Arc::new(Sqlite::new(Keys::Hidden, &database.script)));
        let outcome = scan(world.request(ScanMode::Relationships))
            .await
            .expect("a scan");
        texts.push(outcome.changes);
    }
    assert_eq!(texts[0], texts[1]);
}

/// Time is not quadratic in the schema.
#[tokio::test]
async fn hundreds_of_tables_are_scanned_in_one_go() {
    const LAYERS: &[&str] = &[
        "a1_", "b2_", "c3_", "d4_", "e5_", "f6_", "g7_", "h8_", "i9_", "j10_", "k11_", "l12_",
        "m13_", "n14_", "o15_", "p16_", "q17_", "r18_", "s19_", "t20_",
    ];
    let style = NamingStyle {
        layers: LAYERS,
        ..PLAIN
    };
    let database = build(&style, SHOP, 3);
    let world = World::new(Arc::new(Sqlite::new(Keys::Hidden, &database.script)));
    let started = Instant::now();
    let outcome = scan(world.request(ScanMode::Relationships))
        .await
        .expect("a scan");
    println!("{} tables: {:?}", database.tables, started.elapsed());
    world.project.publish(&outcome);
    let found = accepted(&world.project.json("relationships.json"));
    let truth = sorted(&database.truth);
    let right = found.intersection(&truth).count();
    println!(
        "{right} right of {} true, {} found",
        truth.len(),
        found.len()
    );
    assert_eq!(database.tables, 400);
    assert!(found.len() * 10 <= truth.len() * 15);
}
