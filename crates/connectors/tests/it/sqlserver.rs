//! SQL Server against a TDS fake that checks requests.

mod fake;
mod structure;
mod wire;

use std::sync::Arc;

use ktx_config::Driver;
use ktx_warehouse::{Caps, Connector, ErrorKind, RoleCheck};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::render;
use crate::support::{open, query, query_with};
use fake::{AUTHORITY, FakeStatement, SqlServer, TlsOffer};

fn connector(server: &SqlServer, extra: &Value) -> Arc<dyn Connector> {
    let mut fields = json!({
        "host": "localhost", "port": server.port(), "database": "shop",
        "username": "reader", "password": "tds-secret",
    });
    fields
        .as_object_mut()
        .unwrap()
        .extend(extra.as_object().unwrap().clone());
    open(Driver::SqlServer, fields)
}

fn numbers() -> FakeStatement {
    let rows = json!([[1, "a"], [2, null], [3, "c"]]);
    FakeStatement::new("FROM x", &["n#", "t"], &rows)
}

#[tokio::test]
async fn runs_in_a_transaction_that_is_rolled_back() {
    let server = SqlServer::start(TlsOffer::Tls, vec![numbers()]);
    let connector = connector(&server, &json!({}));
    let expected =
        "n bigint: Int(1) | Int(2) | Int(3)\nt nvarchar: Text(\"a\") | Null | Text(\"c\")";
    for _ in 0..2 {
        let result = query(&*connector, "SELECT n, t FROM x").await;
        assert_eq!(render::columns(&result), expected);
        assert!(!result.truncated);
    }
    assert_eq!(
        server.log(),
        "encrypted\nlogin\nbegin\nrun FROM x\nrollback\nbegin\nrun FROM x\nrollback",
        "the session is kept"
    );
    assert!(!format!("{connector:?}").contains("tds-secret"));
}

#[tokio::test]
async fn reads_and_writes_more_than_one_packet() {
    let rows: Vec<Value> = (0..2000).map(|n| json!([n, "x".repeat(50)])).collect();
    let statement = FakeStatement::new("FROM x", &["n#", "t"], &rows.into());
    let server = SqlServer::start(TlsOffer::Tls, vec![statement]);
    let long = format!("SELECT n, '{}' AS t FROM x", "long ".repeat(4000));
    let caps = Caps {
        rows: 5000,
        ..Caps::default()
    };
    let result = query_with(&*connector(&server, &json!({})), &long, &caps)
        .await
        .unwrap();
    assert_eq!(result.rows.len(), 2000);
}

/// The server is stopped; the session is kept.
#[tokio::test]
async fn keeps_to_the_caps() {
    let server = SqlServer::start(TlsOffer::Tls, vec![numbers().endless(|| {})]);
    let connector = connector(&server, &json!({}));
    let caps = Caps {
        rows: 2,
        ..Caps::default()
    };
    for _ in 0..2 {
        let result = query_with(&*connector, "SELECT n FROM x", &caps)
            .await
            .unwrap();
        assert_eq!((result.rows.len(), result.truncated), (2, true));
    }
    let once = "begin\nrun FROM x\nattention\nrollback";
    assert_eq!(server.log(), format!("encrypted\nlogin\n{once}\n{once}"));
}

#[tokio::test]
async fn stops_the_statement_on_the_server() {
    let cancel = CancellationToken::new();
    let stop = cancel.clone();
    let endless = numbers().endless(move || stop.cancel());
    let server = SqlServer::start(TlsOffer::Tls, vec![endless]);
    let connector = connector(&server, &json!({}));
    let checked = ktx_read_only_sql::check("SELECT n FROM x", connector.dialect()).unwrap();
    let error = ktx_warehouse::collect(&*connector, &checked, &Caps::default(), &cancel)
        .await
        .unwrap_err();
    assert_eq!(error.kind, ErrorKind::Cancelled);
    assert_eq!(
        server.log(),
        "encrypted\nlogin\nbegin\nrun FROM x\nattention\nrollback"
    );
}

#[tokio::test]
async fn reads_values_by_their_type() {
    let decimal = |places: u8, value: u64| {
        let bytes = [[1].as_slice(), &value.to_le_bytes()].concat();
        (vec![0x6a, 9, 18, places], wire::sized(&bytes))
    };
    let ten = 36_000_u64 * 10_000_000 + 5_000_000; // 10:00:00.5 in units of 100 ns.
    let ten = ten.to_le_bytes()[..5].to_vec();
    let day = 738_944_u32.to_le_bytes()[..3].to_vec(); // 2024-02-29.
    let columns: Vec<(Vec<u8>, Vec<u8>, &str)> = vec![
        (wire::bit(), wire::sized(&[1]), "bit"),
        (vec![0x30], vec![255], "tinyint"),
        (vec![0x34], (-2_i16).to_le_bytes().to_vec(), "smallint"),
        (vec![0x38], (-3_i32).to_le_bytes().to_vec(), "int"),
        (vec![0x7f], i64::MIN.to_le_bytes().to_vec(), "bigint"),
        (vec![0x3b], 0.1_f32.to_le_bytes().to_vec(), "real"),
        (vec![0x6d, 8], wire::sized(&1.5_f64.to_le_bytes()), "float"),
        (decimal(2, 1250).0, decimal(2, 1250).1, "decimal"),
        (
            vec![0x6e, 8],
            wire::sized(&[0, 0, 0, 0, 0x39, 0x30, 0, 0]),
            "money",
        ),
        (vec![0x28], wire::sized(&day), "date"),
        (vec![0x29, 7], wire::sized(&ten), "time"),
        (
            vec![0x2a, 7],
            wire::sized(&[ten.clone(), day.clone()].concat()),
            "datetime2",
        ),
        (
            vec![0x2b, 7],
            wire::sized(&[ten, day, (-210_i16).to_le_bytes().to_vec()].concat()),
            "datetimeoffset",
        ),
        (
            vec![0x6f, 8],
            wire::sized(&[45_349_i32.to_le_bytes(), 10_800_001_u32.to_le_bytes()].concat()),
            "datetime",
        ),
        (
            vec![0x6f, 4],
            wire::sized(&[45_349_u16.to_le_bytes(), 601_u16.to_le_bytes()].concat()),
            "smalldatetime",
        ),
        (
            vec![0x24, 16],
            wire::sized(&[
                0x99, 0xbc, 0xee, 0xa0, 0x0b, 0x9c, 0xf8, 0x4e, 0xbb, 0x6d, 0x6b, 0xb9, 0xbd, 0x38,
                0x0a, 0x11,
            ]),
            "uniqueidentifier",
        ),
        (vec![0xa5, 0x40, 0x1f], vec![2, 0, 0, 255], "varbinary"),
        (vec![0xf1, 0], wire::chunked("<a>ü</a>"), "xml"),
        (wire::nvarchar(), wire::text(Some("größe")), "nvarchar"),
        (
            vec![0xa7, 20, 0, 9, 4, 0xd0, 0, 0x34],
            vec![2, 0, b'o', b'k'],
            "varchar",
        ),
        (wire::bigint(), vec![0], "null"),
    ];
    let kinds: Vec<(Vec<u8>, &str)> = columns
        .iter()
        .map(|(kind, _, name)| (kind.clone(), *name))
        .collect();
    let values: Vec<Vec<u8>> = columns.iter().map(|(_, value, _)| value.clone()).collect();
    let tokens = [wire::metadata(&kinds), wire::row(&values)].concat();
    let server = SqlServer::start(TlsOffer::Tls, vec![FakeStatement::raw("FROM x", tokens)]);
    let result = query(&*connector(&server, &json!({})), "SELECT * FROM x").await;
    assert_eq!(
        render::columns(&result),
        "bit bit: Bool(true)
tinyint tinyint: Int(255)
smallint smallint: Int(-2)
int int: Int(-3)
bigint bigint: Int(-9223372036854775808)
real real: Float(0.1)
float float: Float(1.5)
decimal decimal: Decimal(\"12.50\")
money money: Decimal(\"1.2345\")
date date: Date(\"2024-02-29\")
time time: Time(\"10:00:00.5\")
datetime2 datetime2: Timestamp(\"2024-02-29 10:00:00.5\")
datetimeoffset datetimeoffset: Timestamp(\"2024-02-29 06:30:00.5-03:30\")
datetime datetime: Timestamp(\"2024-02-29 10:00:00.003\")
smalldatetime datetime: Timestamp(\"2024-02-29 10:01:00\")
uniqueidentifier uniqueidentifier: Text(\"A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11\")
varbinary varbinary: Bytes([0, 255])
xml xml: Text(\"<a>ü</a>\")
nvarchar nvarchar: Text(\"größe\")
varchar varchar: Text(\"ok\")
null bigint: Null"
    );
}

#[tokio::test]
async fn errors_have_a_message_and_a_hint() {
    for (number, said, expected) in [
        (
            208,
            "Invalid object name 'x'.",
            "query_failed\nInvalid object name 'x'\n-",
        ),
        (
            229,
            "The SELECT permission was denied on the object 'x', database 'shop', schema 'dbo'.",
            "connection_permission\nThe SELECT permission was denied on the object 'x', database \
             'shop', schema 'dbo'\n`GRANT SELECT ON SCHEMA::dbo TO [reader]`, or `ALTER ROLE \
             db_datareader ADD MEMBER [reader]`",
        ),
        (
            1222,
            "Lock request time out period exceeded.",
            "query_timeout\nLock request time out period exceeded\nanother session holds a lock on \
             the data; try again later",
        ),
        (
            40501,
            "The service is currently busy.",
            "query_limit\nThe service is currently busy\nthe server is at its limits; try again later",
        ),
    ] {
        let server = SqlServer::start(TlsOffer::Tls, vec![numbers().fails(number, said)]);
        let error = query_with(
            &*connector(&server, &json!({})),
            "SELECT n FROM x",
            &Caps::default(),
        )
        .await
        .unwrap_err();
        assert_eq!(render::error(&error), expected);
        assert!(server.log().ends_with("run FROM x\nrollback"));
    }
}

#[tokio::test]
async fn reports_failed_logins() {
    let cancel = CancellationToken::new();
    let server = SqlServer::start(TlsOffer::Tls, Vec::new());
    for (extra, expected) in [
        (
            json!({"password": "wrong-word"}),
            "connection_authentication\nthe server refused the login of `reader`\ncheck `username` \
             and `password`, and that the server accepts its own logins (mixed mode)",
        ),
        (
            json!({"database": "nope"}),
            "connection_not_found\nthe database `nope` does not exist, or `reader` may not open \
             it\ncheck `database`, and that the login has a user in it",
        ),
    ] {
        let error = connector(&server, &extra).check(&cancel).await.unwrap_err();
        assert_eq!(render::error(&error), expected);
    }
    let dead = connector(&server, &json!({"port": 1}));
    let error = dead.check(&cancel).await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::Unreachable);
}

async fn check_channel(
    offer: TlsOffer,
    host: &str,
    extra: Value,
    expected: Result<bool, ErrorKind>,
) {
    let server = SqlServer::start(offer, vec![numbers()]);
    let mut fields = json!({"host": host});
    fields
        .as_object_mut()
        .unwrap()
        .extend(extra.as_object().unwrap().clone());
    let connector = connector(&server, &fields);
    let result = query_with(&*connector, "SELECT n FROM x", &Caps::default()).await;
    let found = result
        .map(|_| server.log().starts_with("encrypted"))
        .map_err(|error| error.kind);
    assert_eq!(found, expected, "{host} {extra}");
}

#[tokio::test]
async fn encrypts_and_checks_the_certificate() {
    let own = || json!({"sslmode": "require", "sslrootcert": AUTHORITY});
    check_channel(TlsOffer::Tls, "localhost", own(), Ok(true)).await;
    check_channel(TlsOffer::Tls, "127.0.0.1", own(), Err(ErrorKind::Tls)).await;
    for strict in [json!({"sslmode": "require"}), json!({"ssl": true})] {
        check_channel(
            TlsOffer::Tls,
            "localhost",
            strict.clone(),
            Err(ErrorKind::Tls),
        )
        .await;
        check_channel(TlsOffer::Nothing, "localhost", strict, Err(ErrorKind::Tls)).await;
    }
}

#[tokio::test]
async fn trusts_any_certificate_if_configured() {
    let trust = || json!({"trustServerCertificate": true, "sslmode": "require"});
    check_channel(TlsOffer::Tls, "127.0.0.1", trust(), Ok(true)).await;
    check_channel(TlsOffer::Nothing, "127.0.0.1", trust(), Err(ErrorKind::Tls)).await;
    let refused = json!({"trustServerCertificate": false, "sslmode": "require"});
    check_channel(TlsOffer::Tls, "127.0.0.1", refused, Err(ErrorKind::Tls)).await;
}

#[tokio::test]
async fn on_this_machine_the_server_decides() {
    check_channel(TlsOffer::Tls, "localhost", json!({}), Ok(true)).await;
    check_channel(TlsOffer::Nothing, "localhost", json!({}), Ok(false)).await;
    let off = json!({"sslmode": "disable"});
    check_channel(TlsOffer::Nothing, "localhost", off, Ok(false)).await;
}

fn who(rights: &Value, writable: &Value) -> Vec<FakeStatement> {
    vec![
        FakeStatement::new(
            "SERVERPROPERTY('ProductVersion')",
            &["v", "e"],
            &json!([["16.0.4135.4", "Developer Edition (64-bit)"]]),
        ),
        FakeStatement::new("sys.fn_my_permissions", &["p"], rights),
        FakeStatement::new("HAS_PERMS_BY_NAME", &["s", "o"], writable),
    ]
}

#[tokio::test]
async fn reports_the_server_and_the_rights_of_the_login() {
    let can_write = |because: &str| RoleCheck::CanWrite {
        because: because.to_owned(),
        fix: vec![
            "CREATE LOGIN [ktx_reader] WITH PASSWORD = 'choose-a-password'".to_owned(),
            "CREATE USER [ktx_reader] FOR LOGIN [ktx_reader]".to_owned(),
            "ALTER ROLE db_datareader ADD MEMBER [ktx_reader]".to_owned(),
            "GRANT VIEW DEFINITION TO [ktx_reader]".to_owned(),
        ],
    };
    let reading = json!([["CONNECT"], ["SELECT"], ["VIEW DEFINITION"]]);
    for (rights, writable, expected) in [
        (reading.clone(), json!([]), RoleCheck::ReadOnly),
        (
            json!([["CONNECT"], ["INSERT"], ["SELECT"]]),
            json!([["dbo", "orders"]]),
            can_write("the login `reader` has INSERT in the database"),
        ),
        (
            reading,
            json!([["dbo", "orders"]]),
            can_write("the login `reader` may change dbo.orders"),
        ),
    ] {
        let server = SqlServer::start(TlsOffer::Tls, who(&rights, &writable));
        let check = connector(&server, &json!({}))
            .check(&CancellationToken::new())
            .await
            .unwrap();
        assert_eq!(
            (check.server.as_str(), check.role),
            (
                "SQL Server 16.0.4135.4 (Developer Edition (64-bit))",
                expected
            )
        );
    }
}
