//! Maps Snowflake errors.

use ktx_warehouse::{ErrorKind, WarehouseError};

use super::api::SnowflakeApi;
use crate::rest;

pub(super) fn from_answer(api: &SnowflakeApi, answer: &rest::JsonResponse) -> WarehouseError {
    let rest = api.rest();
    let Some(message) = rest::text(&answer.body, "/message") else {
        return without_words(api, answer.status);
    };
    let code = rest::text(&answer.body, "/code").unwrap_or_default();
    let sentence = message.split_whitespace().collect::<Vec<_>>().join(" ");
    let sentence = sentence.trim_end_matches('.');
    let make = |kind: ErrorKind| rest.error(kind, sentence);
    match code.trim_start_matches('0') {
        "390189" => make(ErrorKind::Permission)
            .hint("check `role`, and that the role is granted to the user"),
        "390432" | "390422" => {
            make(ErrorKind::Authentication).hint("a network policy blocks this machine")
        }
        login if login.starts_with("390") && login.len() == 6 => {
            make(ErrorKind::Authentication).hint(api.login().hint())
        }
        "3001" | "3540" => make(ErrorKind::Permission).hint(grants(api)),
        "606" | "2043" if sentence.to_lowercase().contains("warehouse") => no_warehouse(&make),
        "606" | "57014" => no_warehouse(&make),
        "90073" | "90109" => make(ErrorKind::Limit).hint(
            "the resource monitor of the warehouse has reached its quota: use another `warehouse`",
        ),
        "630" | "604" => make(ErrorKind::Timeout),
        "2003" | "2043" => missing(api, &make, sentence),
        _ => match answer.status {
            401 => make(ErrorKind::Authentication).hint(api.login().hint()),
            403 => make(ErrorKind::Permission).hint(grants(api)),
            404 => make(ErrorKind::NotFound).hint("check `account`"),
            408 => make(ErrorKind::Timeout),
            429 => make(ErrorKind::Limit).hint("wait a minute and run the command again"),
            500.. => make(ErrorKind::Other).hint("run the command again in a minute"),
            _ => make(ErrorKind::Sql),
        },
    }
}

/// Snowflake answers with HTML if the account does not exist.
fn without_words(api: &SnowflakeApi, status: u16) -> WarehouseError {
    let url = api.rest().endpoint().as_str();
    let make = |kind: ErrorKind, text: &str| api.rest().error(kind, text);
    match status {
        401 => make(
            ErrorKind::Authentication,
            "Snowflake refused the login (HTTP 401)",
        )
        .hint(api.login().hint()),
        403 | 404 => make(
            ErrorKind::NotFound,
            &format!("there is no Snowflake account at {url} (HTTP {status})"),
        )
        .hint("check `account`: `SELECT CURRENT_ORGANIZATION_NAME() || '-' || CURRENT_ACCOUNT_NAME()` shows it"),
        429 => make(ErrorKind::Limit, "Snowflake accepts no more requests now (HTTP 429)")
            .hint("wait a minute and run the command again"),
        _ => make(
            ErrorKind::Other,
            &format!("{url} does not answer like Snowflake (HTTP {status})"),
        )
        .hint("check `account`, and whether a proxy is in between"),
    }
}

fn no_warehouse(make: &impl Fn(ErrorKind) -> WarehouseError) -> WarehouseError {
    make(ErrorKind::NotFound)
        .hint("set `warehouse` to a warehouse that the role may use (`GRANT USAGE ON WAREHOUSE`)")
}

/// "Does not exist or not authorized": Snowflake does not distinguish.
fn missing(
    api: &SnowflakeApi,
    make: &impl Fn(ErrorKind) -> WarehouseError,
    sentence: &str,
) -> WarehouseError {
    let lower = sentence.to_lowercase();
    if lower.contains("database '") || lower.contains("schema '") {
        return make(ErrorKind::NotFound).hint(format!(
            "check `database` and `schema_names`; {}",
            grants(api)
        ));
    }
    make(ErrorKind::Sql).hint(grants(api))
}

fn grants(api: &SnowflakeApi) -> String {
    let role = api.role.as_deref().unwrap_or("YOUR_ROLE");
    let statements = super::role::reading(api, role);
    format!("if the right is missing: {}", statements.join("; "))
}
