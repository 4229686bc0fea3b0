//! Checks named schemas.

use ktx_config::Connection;
use ktx_diagnostics::{Code, Failure};
use ktx_warehouse::{SchemaCheck, SchemaReport, SchemaState};
use serde_json::{Value, json};

use crate::compose;
use crate::report::Outcome;

const LISTED: usize = 8;

struct SchemaProblem {
    code: Code,
    message: String,
    short: String,
    hints: Vec<String>,
}

pub(crate) fn judge(connection: &Connection, report: &SchemaReport) -> Outcome<()> {
    let mut problems: Vec<SchemaProblem> = report
        .asked
        .iter()
        .filter_map(|check| problem(connection, check, report))
        .collect();
    let not_found = Code::ConnectionNotFound;
    let code = match problems.iter().find(|problem| problem.code == not_found) {
        Some(problem) => problem.code,
        None => problems.first().map_or(not_found, |problem| problem.code),
    };
    let message = match problems.as_slice() {
        [] => return Ok(()),
        [only] => only.message.clone(),
        several => {
            let short: Vec<&str> = several
                .iter()
                .map(|problem| problem.short.as_str())
                .collect();
            format!(
                "connection `{}` has {}s that cannot be read: {}",
                connection.id,
                noun(connection),
                short.join("; ")
            )
        }
    };
    let mut failure = Failure::new(code, message);
    let mut hints: Vec<String> = Vec::new();
    for problem in &mut problems {
        for hint in problem.hints.drain(..) {
            if !hints.contains(&hint) {
                hints.push(hint);
            }
        }
    }
    for hint in hints {
        failure = failure.hint(hint);
    }
    Err(failure)
}

fn problem(
    connection: &Connection,
    check: &SchemaCheck,
    report: &SchemaReport,
) -> Option<SchemaProblem> {
    let (noun, name, id) = (noun(connection), &check.name, &connection.id);
    let run = |fix: &[String]| -> Vec<String> {
        fix.iter().map(|text| format!("run `{text}`")).collect()
    };
    Some(match &check.state {
        SchemaState::Found => return None,
        SchemaState::NotFound => SchemaProblem {
            code: Code::ConnectionNotFound,
            message: format!("the {noun} `{name}` of connection `{id}` does not exist"),
            short: format!("`{name}` does not exist"),
            hints: vec![suggestion(connection, name, report)],
        },
        SchemaState::NotShown { fix } => SchemaProblem {
            code: Code::ConnectionNotFound,
            message: format!(
                "the {noun} `{name}` of connection `{id}` does not exist, or the login has no right in it"
            ),
            short: format!("`{name}` does not exist, or the login has no right in it"),
            hints: std::iter::once(suggestion(connection, name, report))
                .chain(
                    fix.iter()
                        .map(|text| format!("for the right, run `{text}`")),
                )
                .collect(),
        },
        SchemaState::NotGranted { fix } => SchemaProblem {
            code: Code::ConnectionPermission,
            message: format!(
                "the {noun} `{name}` of connection `{id}` could not be checked: the login may not use it"
            ),
            short: format!("`{name}` could not be checked, the login may not use it"),
            hints: run(fix),
        },
    })
}

fn noun(connection: &Connection) -> &'static str {
    compose::schema_words(connection.driver).map_or("schema", |words| words.noun)
}

fn suggestion(connection: &Connection, name: &str, report: &SchemaReport) -> String {
    let near = nearest(name, report);
    if let Some(near) = near.first() {
        return format!("did you mean `{near}` instead of `{name}`?");
    }
    let key = compose::schema_words(connection.driver).map_or("schemas", |words| words.key);
    let shown: Vec<String> = report
        .shown
        .iter()
        .take(LISTED)
        .map(|name| format!("`{name}`"))
        .collect();
    match report.shown.len() {
        0 => format!("correct `{key}` in ktx.yaml"),
        more if more > LISTED => format!(
            "correct `{key}` in ktx.yaml; there are {} and {} more",
            shown.join(", "),
            more - LISTED
        ),
        1 => format!("correct `{key}` in ktx.yaml; there is {}", shown.join(", ")),
        _ => format!(
            "correct `{key}` in ktx.yaml; there are {}",
            shown.join(", ")
        ),
    }
}

fn nearest<'r>(name: &str, report: &'r SchemaReport) -> Vec<&'r str> {
    ktx_diagnostics::nearest(name, report.shown.iter().map(String::as_str))
}

pub(crate) fn to_json(report: &SchemaReport) -> Value {
    let entry = |check: &SchemaCheck| {
        let (status, fix) = match &check.state {
            SchemaState::Found => return json!({ "name": check.name, "status": "found" }),
            SchemaState::NotFound => ("not_found", [].as_slice()),
            SchemaState::NotShown { fix } => ("not_found_or_not_granted", fix.as_slice()),
            SchemaState::NotGranted { fix } => ("not_granted", fix.as_slice()),
        };
        let near = match &check.state {
            SchemaState::NotGranted { .. } => Vec::new(),
            _ => nearest(&check.name, report),
        };
        json!({ "name": check.name, "status": status, "near": near, "fix": fix })
    };
    report.asked.iter().map(entry).collect()
}
