//! Value tests of the environment.

use std::collections::BTreeSet;

use super::*;

#[test]
fn typed_values_are_those_of_the_table() {
    let environment = Environment::from_pairs([
        ("HOME", "/home/ada"),
        ("KTX_OUTPUT", " json "),
        ("CI", "false"),
        ("KTX_PROJECT_DIR", " "),
    ]);
    assert_eq!(environment.home(), Some(Path::new("/home/ada")));
    assert_eq!(environment.output(), Ok(Some(OutputMode::Json)));
    assert!(!environment.ci());
    assert_eq!(environment.project_dir(), Some(" "));
    assert_eq!(environment.log_filter(), None);
}

#[test]
fn another_output_is_an_error_that_lists_the_values() {
    let found = Environment::from_pairs([("KTX_OUTPUT", "yaml")]).output();
    assert_eq!(
        found.map_err(|error| error.to_string()),
        Err("environment variable `KTX_OUTPUT` must be one of `pretty`, `plain`, `json`, not `yaml`".to_owned())
    );
}

#[test]
fn values_do_not_print() {
    let environment = Environment::from_pairs([("TOKEN", "hunter2")]);
    assert_eq!(format!("{environment:?}"), r#"{"TOKEN"}"#);
}

#[test]
fn the_table_lists_each_variable_once_and_groups_stay_together() {
    let names: BTreeSet<&str> = VARIABLES.iter().map(|variable| variable.name).collect();
    assert_eq!(names.len(), VARIABLES.len());
    let mut groups: Vec<&str> = VARIABLES.iter().map(|variable| variable.group).collect();
    groups.dedup();
    let distinct: BTreeSet<&str> = groups.iter().copied().collect();
    assert_eq!(groups.len(), distinct.len());
    let page = reference_markdown();
    assert!(
        page.contains("\n| `CI` | No questions and no animation. |  |\n"),
        "{page}"
    );
}
