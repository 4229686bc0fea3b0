//! Reads the column tests that establish facts.

use serde_yaml::{Mapping, Value};

use crate::yaml::plain;

pub(super) const SETTINGS: [&str; 5] = ["severity", "enabled", "where", "error_if", "fail_calc"];

/// Returns pairs of a test name without its package and the arguments.
pub(super) fn of(column: &Mapping) -> Vec<(String, Option<&Mapping>)> {
    let lists = ["data_tests", "tests"].into_iter();
    let lists = lists.filter_map(|key| column.get(key)?.as_sequence());
    let named = |test: &Value| plain(test).map(|name| name.trim_start_matches("dbt.").to_owned());
    let tests = lists.flatten().filter_map(|test| match test {
        Value::Mapping(test) => {
            let (name, arguments) = test.iter().next()?;
            Some((named(name)?, arguments.as_mapping()))
        }
        test => Some((named(test)?, None)),
    });
    tests.collect()
}

/// Returns whether a test covers all rows and fails the build on every violation. Its settings
/// override those of the project.
pub(super) fn is_fact(arguments: Option<&Mapping>, defaults: &Mapping) -> bool {
    let none = Mapping::new();
    let arguments = arguments.unwrap_or(&none);
    let config = arguments.get("config").and_then(Value::as_mapping);
    SETTINGS.into_iter().all(|key| {
        let own = config.and_then(|config| config.get(key));
        let set = own.or_else(|| arguments.get(key));
        match (key, set.or_else(|| defaults.get(key))) {
            (_, None | Some(Value::Null)) => true,
            ("severity", Some(level)) => {
                plain(level).is_some_and(|level| level.eq_ignore_ascii_case("error"))
            }
            ("enabled", Some(is_on)) => *is_on == Value::Bool(true),
            _ => false,
        }
    })
}

/// Skips nulls, because a null always passes the test.
pub(super) fn accepted(arguments: &Mapping) -> Option<Vec<String>> {
    let inner = arguments.get("arguments").and_then(Value::as_mapping);
    let values = inner.and_then(|inner| inner.get("values"));
    let values = values.or_else(|| arguments.get("values"))?.as_sequence()?;
    let values = values.iter().filter(|value| !value.is_null());
    values.map(plain).collect()
}
