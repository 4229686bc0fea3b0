//! Checks the rights of the login.

use ktx_sql::Dialect;
use ktx_warehouse::{ConnectionCheck, ErrorKind, RoleCheck, WarehouseError};
use tokio::time::Instant;

use super::session::SqlServerSession;
use crate::rows::TextCells;

const READING: [&str; 11] = [
    "CONNECT",
    "CONNECT REPLICATION",
    "SELECT",
    "SHOWPLAN",
    "VIEW ANY COLUMN ENCRYPTION KEY DEFINITION",
    "VIEW ANY COLUMN MASTER KEY DEFINITION",
    "VIEW DATABASE PERFORMANCE STATE",
    "VIEW DATABASE SECURITY STATE",
    "VIEW DATABASE STATE",
    "VIEW DEFINITION",
    "VIEW PERFORMANCE DEFINITION",
];

const READING_BEGIN: [&str; 2] = ["VIEW ", "UNMASK"];

const RIGHTS: &str =
    "SELECT permission_name FROM sys.fn_my_permissions(NULL, 'DATABASE') ORDER BY permission_name";

const WRITABLE: &str = "SELECT TOP 1 s.name, o.name FROM sys.objects AS o \
     JOIN sys.schemas AS s ON s.schema_id = o.schema_id \
     CROSS JOIN (VALUES ('INSERT'), ('UPDATE'), ('DELETE'), ('ALTER')) AS w (word) \
     WHERE o.type IN ('U', 'V') AND o.is_ms_shipped = 0 \
       AND HAS_PERMS_BY_NAME(QUOTENAME(s.name) + '.' + QUOTENAME(o.name), 'OBJECT', w.word) = 1 \
     ORDER BY s.name, o.name";

pub(super) async fn check(
    session: &mut SqlServerSession,
) -> Result<ConnectionCheck, WarehouseError> {
    let begin = Instant::now();
    let login = session
        .rows(
            "SELECT CAST(SERVERPROPERTY('ProductVersion') AS nvarchar(128)), \
             CAST(SERVERPROPERTY('Edition') AS nvarchar(128))",
        )
        .await?;
    let latency = begin.elapsed();
    let mut login = TextCells::new(login.into_iter().next().unwrap_or_default());
    let (version, edition) = (login.text(), login.text());
    let role = match role(session).await {
        Err(error) if error.kind == ErrorKind::Permission || error.kind == ErrorKind::Sql => {
            RoleCheck::Unknown {
                reason: error.message,
            }
        }
        role => role?,
    };
    Ok(ConnectionCheck {
        server: format!("SQL Server {version} ({edition})"),
        latency,
        role,
    })
}

async fn role(session: &mut SqlServerSession) -> Result<RoleCheck, WarehouseError> {
    let rights: Vec<String> = session
        .rows(RIGHTS)
        .await?
        .into_iter()
        .map(|row| TextCells::new(row).text())
        .collect();
    let writable = session.rows(WRITABLE).await?.into_iter().next();
    let place = writable.map(|row| {
        let mut row = TextCells::new(row);
        format!("{}.{}", row.text(), row.text())
    });
    let user = session.target().user.clone();
    Ok(judge(&rights, place.as_deref(), &user))
}

pub(super) fn judge(rights: &[String], writable: Option<&str>, user: &str) -> RoleCheck {
    let writes = rights.iter().find(|right| {
        !READING.contains(&right.as_str())
            && !READING_BEGIN.iter().any(|begin| right.starts_with(begin))
    });
    let because = match (writes, writable) {
        (Some(right), _) => format!("the login `{user}` has {right} in the database"),
        (None, Some(place)) => format!("the login `{user}` may change {place}"),
        (None, None) => return RoleCheck::ReadOnly,
    };
    let reader = Dialect::SqlServer.quote("ktx_reader");
    RoleCheck::CanWrite {
        because,
        fix: vec![
            format!("CREATE LOGIN {reader} WITH PASSWORD = 'choose-a-password'"),
            format!("CREATE USER {reader} FOR LOGIN {reader}"),
            format!("ALTER ROLE db_datareader ADD MEMBER {reader}"),
            format!("GRANT VIEW DEFINITION TO {reader}"),
        ],
    }
}
