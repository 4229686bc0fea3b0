//! Scores from cargo-mutants lists.

use super::*;

#[test]
fn each_crate_has_a_score_beside_the_bar() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    assert_eq!(Outcomes::read(folder.path()).unwrap(), Outcomes::default());
    let caught = "crates/wiki/src/key.rs:3:5: replace + with -\n".repeat(16);
    write(
        "caught.txt",
        &format!("{caught}crates/secrets/src/place.rs:1:1: a\n"),
    );
    write(
        "timeout.txt",
        "crates/wiki/src/key.rs:9:5: replace < with <=\n",
    );
    write(
        "missed.txt",
        "crates/wiki/src/key.rs:1:1: a\ncrates/wiki/src/key.rs:2:1: b\ncrates/wiki/src/key.rs:3:1: c\ncrates/secrets/src/place.rs:2:1: d\n",
    );
    let outcomes = Outcomes::read(folder.path()).unwrap();
    let scores = outcomes.scores(&["wiki", "secrets", "config"]);
    assert_eq!(
        table(&scores),
        "crate             noticed  missed    score   bar 85 %
config                  0       0        -
secrets                 1       1   50.0 %   under
wiki                   17       3   85.0 %"
    );
}

#[test]
fn only_crates_with_a_bar_can_be_chosen() {
    let told = |crates: &[&str]| {
        let chosen = chosen(crates).map(|chosen| chosen.len());
        chosen.map_err(|error| error.to_string())
    };
    assert_eq!(
        [told(&[]), told(&["wiki", "config"]), told(&["wiki", "scan"])],
        [
            Ok(6),
            Ok(2),
            Err(
                "`scan` is not one of config, llm-runtime, secrets, tool-descriptors, usage-ledger, wiki"
                    .to_owned()
            ),
        ]
    );
}
