//! Verdicts as lines of JSON.

use ktx_diagnostics::Code;
use ktx_sql::Dialect;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::gate::check;
use crate::refusal::Refusal;

#[derive(Deserialize)]
struct Request {
    #[serde(default)]
    id: Value,
    dialect: Option<String>,
    sql: String,
}

#[derive(Serialize)]
struct Verdict<'a> {
    id: Value,
    allowed: bool,
    code: Option<Code>,
    reason: Option<&'a str>,
    statement: Option<&'a str>,
}

/// Judges one object `{"id", "dialect", "sql"}` and returns `{"id", "allowed", "code", "reason",
/// "statement"}`; `statement` is the text to send. Invalid lines get the code `invalid_request`.
pub fn verdict_line(json_line: &str, usual: Option<Dialect>) -> String {
    let request: Request = match serde_json::from_str(json_line) {
        Ok(request) => request,
        Err(error) => return line(Value::Null, Err(&invalid_request(error.to_string()))),
    };
    let verdict = dialect_of(&request, usual).and_then(|dialect| check(&request.sql, dialect));
    match verdict {
        Ok(sql) => line(request.id, Ok(sql.as_str())),
        Err(refusal) => line(request.id, Err(&refusal)),
    }
}

fn dialect_of(request: &Request, usual: Option<Dialect>) -> Result<Dialect, Refusal> {
    match &request.dialect {
        Some(name) => Dialect::parse(name)
            .ok_or_else(|| invalid_request(format!("the dialect `{name}` is not known"))),
        None => usual.ok_or_else(|| invalid_request("the line has no `dialect`".to_owned())),
    }
}

fn invalid_request(reason: String) -> Refusal {
    Refusal {
        code: Code::InvalidRequest,
        reason,
        unknown_functions: Vec::new(),
    }
}

fn line(id: Value, outcome: Result<&str, &Refusal>) -> String {
    let verdict = match outcome {
        Ok(statement) => Verdict {
            id,
            allowed: true,
            code: None,
            reason: None,
            statement: Some(statement),
        },
        Err(refusal) => Verdict {
            id,
            allowed: false,
            code: Some(refusal.code),
            reason: Some(&refusal.reason),
            statement: None,
        },
    };
    // A failure is still a refusal.
    serde_json::to_string(&verdict).unwrap_or_else(|_| {
        r#"{"id":null,"allowed":false,"code":"internal","reason":null,"statement":null}"#.to_owned()
    })
}

#[cfg(test)]
mod tests;
