//! The grammar never answers by a default of the parser's trait.

use std::collections::BTreeSet;
use std::process::Command;

use serde_json::Value;

const GRAMMAR: &str = include_str!("../extended.rs");

#[expect(clippy::disallowed_methods, reason = "asks cargo where a source is")]
fn output(program: &str, arguments: &[&str]) -> String {
    let output = Command::new(program)
        .args(arguments)
        .output()
        .expect("the program starts");
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8(output.stdout).expect("a text")
}

fn parser_source() -> String {
    let compiler = output("rustc", &["-vV"]);
    let host = compiler
        .lines()
        .find_map(|line| line.strip_prefix("host: "))
        .expect("a host");
    let metadata = output(
        env!("CARGO"),
        &[
            "metadata",
            "--format-version=1",
            "--locked",
            "--offline",
            "--filter-platform",
            host,
        ],
    );
    let metadata: Value = serde_json::from_str(&metadata).expect("JSON");
    let packages = metadata["packages"].as_array().expect("packages");
    let parser = packages
        .iter()
        .find(|package| package["name"] == "sqlparser")
        .expect("the parser");
    let manifest = parser["manifest_path"].as_str().expect("a path");
    let source = std::path::Path::new(manifest).with_file_name("src/dialect/mod.rs");
    std::fs::read_to_string(source).expect("the source of the trait")
}

fn functions<'s>(source: &'s str, first_line: &str) -> BTreeSet<&'s str> {
    let (_, item) = source.split_once(first_line).expect("the item");
    let (item, _) = item.split_once("\n}\n").expect("its end");
    item.lines()
        .filter_map(|line| line.strip_prefix("    fn "))
        .filter_map(|signature| signature.split(['(', '<']).next())
        .collect()
}

#[test]
fn every_question_of_the_parser_is_answered_by_the_stock_grammar() {
    let source = parser_source();
    let asked = functions(&source, "\npub trait Dialect: Debug + Any {\n");
    let mut answered = functions(GRAMMAR, "\nimpl ParserDialect for Grammar {\n");
    let (_, switches) = GRAMMAR
        .split_once("    as_in_stock! {\n")
        .expect("the switches");
    let (switches, _) = switches.split_once("    }\n").expect("their end");
    answered.extend(switches.split_whitespace());
    assert!(asked.len() > 150, "the trait is read: {asked:?}");
    let missing: Vec<_> = asked.difference(&answered).collect();
    assert_eq!(missing, Vec::<&&str>::new());
}
