//! Tests that every case of the case files gets the expected verdict.

use ktx_sql::Dialect;
use serde_json::Value;

pub(crate) struct Case {
    pub(crate) id: String,
    pub(crate) dialect: Dialect,
    pub(crate) allow: bool,
    pub(crate) sql: String,
}

pub(crate) const SHARED: &str = include_str!("../../../../fixtures/readonly-sql/cases.jsonl");
pub(crate) const OWN: &str = include_str!("../../../../fixtures/readonly-sql/own.jsonl");

pub(crate) const FRESH: &str = include_str!("../../../../fixtures/readonly-sql/fresh.jsonl");

pub(crate) fn cases(file: &str) -> Vec<Case> {
    file.lines()
        .map(|line| {
            let value: Value = serde_json::from_str(line).expect("a case is JSON");
            let text = |key: &str| {
                value[key]
                    .as_str()
                    .expect("a case has all texts")
                    .to_owned()
            };
            let name = text("dialect");
            Case {
                id: text("id"),
                dialect: Dialect::parse(&name).expect("a case has a known dialect"),
                allow: text("expect") == "allow",
                sql: text("sql"),
            }
        })
        .collect()
}

fn wrong_verdicts(file: &str) -> Vec<String> {
    cases(file)
        .into_iter()
        .filter_map(|case| {
            let verdict = ktx_read_only_sql::check(&case.sql, case.dialect);
            (verdict.is_ok() != case.allow)
                .then(|| format!("{} {:?}\n    {verdict:?}", case.id, case.sql))
        })
        .collect()
}

#[test]
fn the_shared_sample_is_judged_as_expected() {
    assert_eq!(wrong_verdicts(SHARED), Vec::<String>::new());
}

#[test]
fn our_cases_are_judged_as_expected() {
    let wrong = wrong_verdicts(OWN);
    assert!(
        wrong.is_empty(),
        "{} wrong:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}

/// At most one in fifty of the harmless texts can be refused.
#[test]
fn of_fresh_texts_no_attack_passes_and_hardly_an_honest_one_is_refused() {
    let fresh = cases(FRESH);
    let honest = fresh.iter().filter(|case| case.allow).count();
    let passes = |case: &&Case| ktx_read_only_sql::check(&case.sql, case.dialect).is_ok();
    let ids = |cases: Vec<&Case>| -> Vec<String> {
        cases.into_iter().map(|case| case.id.clone()).collect()
    };
    let attacks = ids(fresh
        .iter()
        .filter(|case| !case.allow)
        .filter(passes)
        .collect());
    let (_, refused): (Vec<&Case>, Vec<&Case>) =
        fresh.iter().filter(|case| case.allow).partition(passes);
    let refused = ids(refused);
    println!(
        "{} of {honest} honest texts are refused: {refused:?}",
        refused.len()
    );
    assert_eq!(attacks, Vec::<String>::new());
    assert!(
        refused.len() * 50 <= honest,
        "{} of {honest} are refused: {refused:?}",
        refused.len()
    );
}
