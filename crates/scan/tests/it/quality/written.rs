//! Measures links of databases written by hand: few rows, roles without key words, short names,
//! several languages, no declared keys. Each script lists its true links.

use std::collections::BTreeSet;
use std::path::Path;

use ktx_scan::ScanSettings;

use super::{Tally, tally_script};
use crate::generator::Truth;

/// Parses the lines `-- link: child.column+column -> parent.column+column`.
fn truth_of(script: &str) -> BTreeSet<Truth> {
    let side = |text: &str| -> (String, Vec<String>) {
        let (table, columns) = text.split_once('.').expect("a table and columns");
        (
            table.to_owned(),
            columns.split('+').map(str::to_owned).collect(),
        )
    };
    let links = script
        .lines()
        .filter_map(|line| line.strip_prefix("-- link: "));
    links
        .map(|link| {
            let (from, to) = link.split_once(" -> ").expect("two sides");
            let ((from, own), (to, other)) = (side(from), side(to));
            (from, own, to, other)
        })
        .collect()
}

#[tokio::test]
async fn finds_links_of_databases_written_by_hand() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/written");
    let mut scripts: Vec<_> = std::fs::read_dir(&folder)
        .expect("a folder")
        .map(|entry| entry.expect("an entry").path())
        .collect();
    scripts.sort();
    let mut all = Tally::default();
    let (mut sum_of_f1, mut count) = (0.0, 0.0);
    for path in scripts {
        let label = path.file_stem().expect("a name").to_string_lossy();
        let script = std::fs::read_to_string(&path).expect("a script");
        let truth = truth_of(&script);
        let one = tally_script(&label, &script, &truth, ScanSettings::default()).await;
        let (precision, recall, f1) = one.scores();
        println!("{label:<20} {precision:>6.3} {recall:>6.3} {f1:>6.3}   {one}");
        sum_of_f1 += f1;
        count += 1.0;
        all.add(one);
    }
    let (precision, recall, _) = all.scores();
    let mean = sum_of_f1 / count;
    println!("{}", all.told.join("\n"));
    println!("precision {precision:.3} recall {recall:.3} mean F1 {mean:.3}");
    assert!(mean >= 0.95, "mean F1 {mean:.3}");
    assert!(precision >= 0.97, "precision {precision:.3}");
}
