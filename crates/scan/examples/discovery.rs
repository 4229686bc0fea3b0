//! Measures the cost of discovery over four hundred tables; prints one line of JSON.
#![expect(
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a measuring program ends where something fails, and prints its figures"
)]

#[expect(dead_code, reason = "shared with the tests, which use all of it")]
#[path = "../tests/it/memory.rs"]
mod memory;
#[expect(dead_code, reason = "shared with the tests, which use all of it")]
#[path = "../tests/it/sqlite.rs"]
mod sqlite;

use std::sync::Arc;
use std::time::Instant;

use ktx_scan::{ScanMode, scan};
use ktx_test_support::databases::generator::{NamingStyle, build};
use ktx_test_support::databases::schemas::SHOP;
use ktx_test_support::databases::styles::PLAIN;
use serde_json::json;

use crate::memory::World;
use crate::sqlite::{Keys, Sqlite};

const LAYERS: &[&str] = &[
    "a1_", "b2_", "c3_", "d4_", "e5_", "f6_", "g7_", "h8_", "i9_", "j10_", "k11_", "l12_", "m13_",
    "n14_", "o15_", "p16_", "q17_", "r18_", "s19_", "t20_",
];

/// All threads together; the kernel counts hundredths of a second.
fn processor_seconds() -> f64 {
    let text = std::fs::read_to_string("/proc/self/stat").expect("Linux");
    let after = text.rsplit(')').next().expect("a name in brackets");
    let fields: Vec<&str> = after.split_whitespace().collect();
    let ticks = |at: usize| {
        fields
            .get(at)
            .expect("a field")
            .parse::<f64>()
            .expect("ticks")
    };
    (ticks(11) + ticks(12)) / 100.0
}

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let style = NamingStyle {
        layers: LAYERS,
        ..PLAIN
    };
    let database = build(&style, SHOP, 3);
    let world = World::new(Arc::new(Sqlite::new(Keys::Hidden, &database.script)));
    let mut seconds = Vec::new();
    let mut accepted = 0;
    for _ in 0..2 {
        let (began, before) = (Instant::now(), processor_seconds());
        let outcome = scan(world.request(ScanMode::Relationships))
            .await
            .expect("a scan");
        accepted = outcome.report.relationships.accepted;
        seconds.push((began.elapsed().as_secs_f64(), processor_seconds() - before));
    }
    let (first, second) = (seconds[0], seconds[1]);
    println!(
        "{}",
        json!({
            "style": style.label,
            "tables": database.tables,
            "trueLinks": database.truth.len(),
            "acceptedLinks": accepted,
            "scanSeconds": first.1,
            "discoverySeconds": second.1,
            "scanWallSeconds": first.0,
        })
    );
}
