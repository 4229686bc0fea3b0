//! Checks the rights of the login.

use ktx_sql::Dialect;
use ktx_warehouse::{ConnectionCheck, RoleCheck, WarehouseError};
use tokio::time::Instant;

use super::introspect::CatalogRow;
use super::session::MySqlSession;

const READING: [&str; 11] = [
    "USAGE",
    "SELECT",
    "SHOW VIEW",
    "SHOW DATABASES",
    "PROCESS",
    "REPLICATION CLIENT",
    "REPLICATION SLAVE",
    "BINLOG MONITOR",
    "SLAVE MONITOR",
    "REPLICA MONITOR",
    "SHOW CREATE ROUTINE",
];

/// MariaDB's default grants to all users.
const SANDBOXES: [&str; 2] = [r" ON `test`.* TO PUBLIC", r" ON `test\_%`.* TO PUBLIC"];

pub(super) async fn check(session: &mut MySqlSession) -> Result<ConnectionCheck, WarehouseError> {
    let begin = Instant::now();
    session.rows("SELECT 1".to_owned()).await?;
    let latency = begin.elapsed();
    let rows = session.rows("SHOW GRANTS".to_owned()).await?;
    let grants = rows
        .into_iter()
        .map(|row| CatalogRow::new(row).text())
        .collect::<Result<Vec<_>, _>>()?;
    let server = session.server();
    let name = match server.dialect {
        Dialect::MariaDb => "MariaDB",
        _ => "MySQL",
    };
    let version = server.version.split('-').next().unwrap_or_default();
    Ok(ConnectionCheck {
        server: format!("{name} {version}"),
        latency,
        role: judge(&grants, session.pool().target.database.as_deref()),
    })
}

/// Judges lines of `SHOW GRANTS`, such as ``GRANT SELECT, INSERT ON `shop`.* TO `u`@`%` ``.
pub(super) fn judge(grants: &[String], database: Option<&str>) -> RoleCheck {
    let mut roles = Vec::new();
    for line in grants {
        let Some(rest) = line.strip_prefix("GRANT ") else {
            continue;
        };
        if SANDBOXES.iter().any(|place| rest.contains(place)) {
            continue;
        }
        let Some((rights, place)) = rest.split_once(" ON ") else {
            roles.extend(rest.split_once(" TO ").map(|(role, _)| role.to_owned()));
            continue;
        };
        let place = place.split(" TO ").next().unwrap_or_default();
        let writing: Vec<&str> = split_rights(rights)
            .into_iter()
            .filter(|right| !READING.contains(right) && *right != "PROXY")
            .collect();
        if !writing.is_empty() {
            let because = format!("the login has {} on {place}", writing.join(", "));
            return RoleCheck::CanWrite {
                because,
                fix: fix(database),
            };
        }
    }
    if roles.is_empty() {
        return RoleCheck::ReadOnly;
    }
    RoleCheck::Unknown {
        reason: format!("the login has further rights through {}", roles.join(", ")),
    }
}

fn split_rights(rights: &str) -> Vec<&str> {
    let mut depth = 0_usize;
    let pieces = rights.split(move |letter: char| {
        match letter {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        letter == ',' && depth == 0
    });
    pieces
        .map(|right| right.split('(').next().unwrap_or_default().trim())
        .filter(|right| !right.is_empty())
        .collect()
}

fn fix(database: Option<&str>) -> Vec<String> {
    let place = database.map_or_else(
        || "*.*".to_owned(),
        |name| format!("{}.*", Dialect::MySql.quote(name)),
    );
    vec![
        "CREATE USER 'ktx_reader'@'%' IDENTIFIED BY 'choose-a-password'".to_owned(),
        format!("GRANT SELECT, SHOW VIEW ON {place} TO 'ktx_reader'@'%'"),
    ]
}
