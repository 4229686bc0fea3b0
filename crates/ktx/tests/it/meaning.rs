//! Search by meaning with token vectors.

use crate::support::{json, project, run, shop, write};

/// `clawback` has no synonyms.
const TABLE: &str = "refund 1 0\nclawback 1 0.1\ntax 0 1\n";

fn pages(config: &str) -> ktx_test_support::sandbox::Sandbox {
    let sandbox = project();
    let text = sandbox.read("ktx.yaml").expect("ktx.yaml");
    write(&sandbox, "ktx.yaml", &format!("{text}\n{config}"));
    write(&sandbox, "vectors.txt", TABLE);
    write(
        &sandbox,
        "wiki/global/money-back.md",
        "---\nsummary: Money back\n---\n\nWe refund within a week.\n",
    );
    write(
        &sandbox,
        "wiki/global/taxes.md",
        "---\nsummary: Taxes\n---\n\nThe tax is due in May.\n",
    );
    sandbox
}

/// KTX-08: independent of the model's provider.
#[test]
fn a_table_in_a_file_finds_pages_without_the_words_of_the_query() {
    let sandbox = pages("ingest: {embeddings: {backend: table, table: {path: vectors.txt}}}\n");
    check!(&sandbox, "wiki search clawback", @"
    exit 0
    score=1	GLOBAL	money-back	Money back
    --- stderr
    Project: [SANDBOX]/work
    no page contains most of the words: these are near in meaning, or contain a few of them
    ");
    let found = json(&sandbox, "wiki search clawback --json");
    assert_eq!(
        found["data"]["items"][0]["matchReasons"],
        serde_json::json!(["semantic"])
    );
    check!(&sandbox, "wiki search weather", @"
    exit 0
    --- stderr
    Project: [SANDBOX]/work
    nothing found for `weather`; run `ktx wiki` for all pages
    ");
    check!(&sandbox, "admin reindex", @"
    exit 0
    wiki global	scanned=2	updated=0	deleted=0
    --- stderr
    Project: [SANDBOX]/work
    ");
}

/// Full text still answers.
#[test]
fn a_missing_table_is_a_warning() {
    let sandbox = pages("ingest: {embeddings: {backend: table, table: {path: missing.txt}}}\n");
    check!(&sandbox, "wiki search refund", @"
    exit 0
    score=1	GLOBAL	money-back	Money back
    --- stderr
    Project: [SANDBOX]/work
    warning: meanings were not compared, only words: `[SANDBOX]/work/missing.txt` cannot be read: No such file or directory (os error 2)
    ");
}

/// With `--fast`, reads no vectors.
#[test]
fn status_tells_of_the_provider() {
    let sandbox = shop();
    let shop = sandbox.read("ktx.yaml").expect("ktx.yaml");
    write(&sandbox, "vectors.txt", TABLE);
    let status = |path: &str, words: &str| {
        let provider =
            format!("ingest: {{embeddings: {{backend: table, table: {{path: {path}}}}}}}\n");
        write(&sandbox, "ktx.yaml", &format!("{shop}\n{provider}"));
        run(&sandbox, words).to_string()
    };
    let usable = status("vectors.txt", "status");
    assert!(usable.contains("Verdict      ready "), "{usable}");
    let line = "Embeddings   ✓ search compares meanings with table ";
    assert!(usable.contains(line), "{usable}");
    let broken = status("missing.txt", "status");
    assert!(
        broken.contains("Verdict      partial (search compares no meanings)"),
        "{broken}"
    );
    let line =
        "Embeddings   ! search is full-text only: `[SANDBOX]/work/missing.txt` cannot be read";
    assert!(broken.contains(line), "{broken}");
    let fast = status("missing.txt", "status --fast");
    assert!(fast.contains("Verdict      ready "), "{fast}");
    assert!(
        fast.contains("Embeddings   · not looked at (--fast)"),
        "{fast}"
    );
    assert!(fast.contains(" · embeddings (`ktx status`)"), "{fast}");
}
