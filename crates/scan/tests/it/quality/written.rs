//! Measures links of hand-written databases.

use ktx_scan::ScanSettings;
use ktx_test_support::databases::{QUESTIONED, WRITTEN, truth_of};

use super::{Tally, tally_script};

#[tokio::test]
async fn finds_links_of_databases_written_by_hand() {
    assert_links(WRITTEN).await;
}

#[tokio::test]
async fn finds_links_of_the_databases_of_ordinary_questions() {
    assert_links(QUESTIONED).await;
}

#[expect(
    clippy::print_stdout,
    reason = "a failing test shows the figures of each database"
)]
async fn assert_links(databases: &[(&str, &str)]) {
    let mut all = Tally::default();
    let (mut sum_of_f1, mut count) = (0.0, 0.0);
    for (label, script) in databases {
        let truth = truth_of(script);
        let one = tally_script(label, script, &truth, ScanSettings::default()).await;
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
