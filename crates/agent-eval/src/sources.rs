//! The evaluator of searches.

use crate::count::share;
use crate::{FailureClass, Grade};

/// Returns the share of `wanted` in `found`. Ignores case and outer parts, such as `main` in
/// `main.orders`.
pub fn grade_sources(found: &[String], wanted: &[String]) -> Grade {
    let is_found = |wanted: &&String| found.iter().any(|found| names(found, wanted));
    let missing: Vec<&String> = wanted.iter().filter(|it| !is_found(it)).collect();
    let score = if wanted.is_empty() {
        1.0
    } else {
        share(wanted.len() - missing.len(), wanted.len())
    };
    let mut grade = Grade::similarity(score).with("found", found.to_vec());
    if !missing.is_empty() {
        let listed: Vec<String> = missing.iter().map(|name| format!("`{name}`")).collect();
        grade.failure = Some(FailureClass::NotFound);
        grade.reason = Some(format!(
            "{} is not among the first {}",
            listed.join(", "),
            found.len()
        ));
    }
    grade
}

fn names(found: &str, wanted: &str) -> bool {
    let (found, wanted) = (found.to_lowercase(), wanted.to_lowercase());
    let outer = found.strip_suffix(&wanted);
    outer.is_some_and(|outer| outer.is_empty() || outer.ends_with('.'))
}
