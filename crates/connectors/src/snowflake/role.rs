//! Checks the rights of the role.

use ktx_sql::Dialect;
use ktx_warehouse::{Caps, Cell, ConnectionCheck, QueryResult, RoleCheck, WarehouseError};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::api::SnowflakeApi;
use super::catalog::ColumnPositions;
use super::{CATALOG, CHECK_TIME, Snowflake};
use crate::rows::TextCells;

const READING: [&str; 9] = [
    "USAGE",
    "SELECT",
    "REFERENCES",
    "MONITOR",
    "OPERATE",
    "IMPORTED PRIVILEGES",
    "READ",
    "VIEW LINEAGE",
    "RESOLVE ALL",
];

const SYSTEM: [&str; 4] = ["ACCOUNTADMIN", "ORGADMIN", "SECURITYADMIN", "SYSADMIN"];

pub(super) async fn check(
    connector: &Snowflake,
    cancel: &CancellationToken,
) -> Result<ConnectionCheck, WarehouseError> {
    let caps = Caps {
        timeout: CHECK_TIME,
        ..CATALOG
    };
    let mut login = QueryResult::default();
    let begin = Instant::now();
    let sql = "SELECT CURRENT_VERSION(), CURRENT_ROLE()";
    connector.run(sql, &caps, &mut login, cancel).await?;
    let latency = begin.elapsed();
    let mut row = TextCells::new(login.rows.pop().unwrap_or_default());
    let (version, role) = (row.text(), row.text());
    let mut grants = QueryResult::default();
    let sql = format!("SHOW GRANTS TO ROLE {}", Dialect::Snowflake.quote(&role));
    let role = match connector.run(&sql, &caps, &mut grants, cancel).await {
        Ok(_) => judge(&connector.api, &role, &rights(&grants)),
        Err(error) if cancel.is_cancelled() => return Err(error),
        Err(error) => RoleCheck::Unknown {
            reason: error.message,
        },
    };
    Ok(ConnectionCheck {
        server: format!("Snowflake {version}"),
        latency,
        role,
    })
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct GrantedPrivilege {
    pub(super) privilege: String,
    pub(super) on: String,
    pub(super) name: String,
}

fn rights(grants: &QueryResult) -> Vec<GrantedPrivilege> {
    let named = ColumnPositions::new(&grants.columns);
    let text = |row: &[Cell], name: &str| named.text(row, name).unwrap_or_default();
    grants
        .rows
        .iter()
        .map(|row| GrantedPrivilege {
            privilege: text(row, "privilege"),
            on: text(row, "granted_on"),
            name: text(row, "name"),
        })
        .collect()
}

pub(super) fn judge(api: &SnowflakeApi, role: &str, rights: &[GrantedPrivilege]) -> RoleCheck {
    let can_write = |because: String| RoleCheck::CanWrite {
        because,
        fix: fix(api),
    };
    if SYSTEM.contains(&role) {
        return can_write(format!("the role {role} can do everything"));
    }
    let writes = rights.iter().find(|right| {
        let is_role = right.on == "ROLE" || right.on == "DATABASE_ROLE";
        !READING.contains(&right.privilege.as_str()) && !is_role
    });
    if let Some(right) = writes {
        return can_write(format!(
            "the role {role} has {} on {} {}",
            right.privilege, right.on, right.name
        ));
    }
    let inherited: Vec<&str> = rights
        .iter()
        .filter(|right| right.on == "ROLE" && right.privilege == "USAGE")
        .map(|right| right.name.as_str())
        .collect();
    match inherited.as_slice() {
        [] => RoleCheck::ReadOnly,
        [system, ..] if SYSTEM.contains(system) => {
            can_write(format!("the role {role} has the role {system}"))
        }
        several => RoleCheck::Unknown {
            reason: format!("the role has further rights through {}", several.join(", ")),
        },
    }
}

pub(super) fn reading(api: &SnowflakeApi, role: &str) -> Vec<String> {
    let quote = |name: &str| Dialect::Snowflake.quote(name);
    let database = quote(&api.database);
    let role = quote(role);
    let warehouse = api.warehouse.as_deref().unwrap_or("YOUR_WAREHOUSE");
    vec![
        format!(
            "GRANT USAGE ON WAREHOUSE {} TO ROLE {role}",
            quote(warehouse)
        ),
        format!("GRANT USAGE ON DATABASE {database} TO ROLE {role}"),
        format!("GRANT USAGE ON ALL SCHEMAS IN DATABASE {database} TO ROLE {role}"),
        format!("GRANT SELECT ON ALL TABLES IN DATABASE {database} TO ROLE {role}"),
        format!("GRANT SELECT ON ALL VIEWS IN DATABASE {database} TO ROLE {role}"),
    ]
}

fn fix(api: &SnowflakeApi) -> Vec<String> {
    let mut statements = vec!["CREATE ROLE \"KTX_READER\"".to_owned()];
    statements.extend(reading(api, "KTX_READER"));
    statements
}
