//! TLS with servers that imitate the start of each protocol. An encrypted login gets "unknown
//! database", a plain text login "wrong password".

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;

use ktx_config::Driver;
use ktx_warehouse::ErrorKind;
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::support::open;

const AUTHORITY: &str = include_str!("../../../../fixtures/connectors/tls/authority.pem");
const CERTIFICATE: &str = include_str!("../../../../fixtures/connectors/tls/server.pem");
const KEY: &str = include_str!("../../../../fixtures/connectors/tls/server.key");

/// Marked as an authority, as by `openssl req -x509`.
const SELF_SIGNED: &str = include_str!("../../../../fixtures/connectors/tls/self-signed.pem");
const SELF_SIGNED_KEY: &str = include_str!("../../../../fixtures/connectors/tls/self-signed.key");

#[derive(Clone, Copy, PartialEq, Eq)]
enum TlsOffer {
    Tls,
    SelfSigned,
    Nothing,
}

type ServeConnection = fn(TcpStream, TlsOffer) -> std::io::Result<()>;

fn serve(offer: TlsOffer, talk: ServeConnection) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            std::thread::spawn(move || talk(stream.unwrap(), offer));
        }
    });
    port
}

fn encrypted(stream: TcpStream, offer: TlsOffer) -> StreamOwned<ServerConnection, TcpStream> {
    let (certificate, key) = match offer {
        TlsOffer::SelfSigned => (SELF_SIGNED, SELF_SIGNED_KEY),
        TlsOffer::Tls | TlsOffer::Nothing => (CERTIFICATE, KEY),
    };
    let chain = CertificateDer::pem_slice_iter(certificate.as_bytes())
        .map(Result::unwrap)
        .collect();
    let key = PrivateKeyDer::from_pem_slice(key.as_bytes()).unwrap();
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(chain, key)
        .unwrap();
    StreamOwned::new(ServerConnection::new(Arc::new(config)).unwrap(), stream)
}

fn exactly(stream: &mut impl Read, length: usize) -> std::io::Result<Vec<u8>> {
    let mut bytes = vec![0; length];
    stream.read_exact(&mut bytes)?;
    Ok(bytes)
}

fn postgres(mut stream: TcpStream, offer: TlsOffer) -> std::io::Result<()> {
    let first = exactly(&mut stream, 8)?;
    if first != [0, 0, 0, 8, 4, 210, 22, 47] {
        return postgres_refusal(&mut stream, "28P01");
    }
    if offer == TlsOffer::Nothing {
        stream.write_all(b"N")?;
        exactly(&mut stream, 8)?;
        return postgres_refusal(&mut stream, "28P01");
    }
    stream.write_all(b"S")?;
    let mut stream = encrypted(stream, offer);
    let startup = exactly(&mut stream, 8)?;
    assert_eq!(startup.get(4..), Some([0, 3, 0, 0].as_slice()));
    postgres_refusal(&mut stream, "3D000")
}

fn postgres_refusal(stream: &mut impl Write, code: &str) -> std::io::Result<()> {
    let fields = format!("SFATAL\0VFATAL\0C{code}\0Mno\0\0");
    let length = u32::try_from(fields.len() + 4).unwrap().to_be_bytes();
    stream.write_all(&[b"E", length.as_slice(), fields.as_bytes()].concat())?;
    stream.flush()
}

const CLIENT_SSL: u32 = 0x0800;

fn mysql(mut stream: TcpStream, offer: TlsOffer) -> std::io::Result<()> {
    let basic: u32 = 0x0008_8209;
    let offered = match offer {
        TlsOffer::Tls | TlsOffer::SelfSigned => basic | CLIENT_SSL,
        TlsOffer::Nothing => basic,
    };
    let [low0, low1, high0, high1] = offered.to_le_bytes();
    let greeting = [
        b"\x0a8.4.0\0\x07\0\0\0abcdefgh\0".as_slice(),
        &[low0, low1, 45, 2, 0, high0, high1, 21],
        &[0; 10],
        b"ijklmnopqrst\0mysql_native_password\0",
    ]
    .concat();
    packet(&mut stream, 0, &greeting)?;
    let (number, answer) = read_packet(&mut stream)?;
    let wanted = answer
        .first_chunk::<4>()
        .map(|bytes| u32::from_le_bytes(*bytes))
        .unwrap();
    if wanted & CLIENT_SSL == 0 {
        return packet(&mut stream, number + 1, b"\xff\x15\x04#28000no");
    }
    assert_eq!((answer.len(), offer != TlsOffer::Nothing), (32, true));
    let mut stream = encrypted(stream, offer);
    let (number, _) = read_packet(&mut stream)?;
    packet(&mut stream, number + 1, b"\xff\x19\x04#42000no")
}

fn packet(stream: &mut impl Write, number: u8, payload: &[u8]) -> std::io::Result<()> {
    let [first, second, third, _] = u32::try_from(payload.len()).unwrap().to_le_bytes();
    stream.write_all(&[&[first, second, third, number], payload].concat())?;
    stream.flush()
}

fn read_packet(stream: &mut impl Read) -> std::io::Result<(u8, Vec<u8>)> {
    let head = exactly(stream, 4)?;
    let [first, second, third, number] = head.try_into().unwrap();
    let length = u32::from_le_bytes([first, second, third, 0]);
    Ok((number, exactly(stream, length.try_into().unwrap())?))
}

const ENCRYPTED: ErrorKind = ErrorKind::NotFound;
const PLAIN: ErrorKind = ErrorKind::Authentication;

async fn check(offer: TlsOffer, host: &str, extra: Value, expected: ErrorKind) {
    let servers: [(Driver, ServeConnection); 2] =
        [(Driver::Postgres, postgres), (Driver::MySql, mysql)];
    for (driver, talk) in servers {
        let port = serve(offer, talk);
        let mut fields =
            json!({"host": host, "port": port, "username": "u", "password": "pw", "database": "d"});
        fields
            .as_object_mut()
            .unwrap()
            .extend(extra.as_object().unwrap().clone());
        let error = open(driver, fields)
            .check(&CancellationToken::new())
            .await
            .unwrap_err();
        assert_eq!(error.kind, expected, "{driver} {extra}: {error:?}");
    }
}

#[tokio::test]
async fn a_certificate_of_an_unknown_authority_is_refused() {
    check(
        TlsOffer::Tls,
        "localhost",
        json!({"sslmode": "require"}),
        ErrorKind::Tls,
    )
    .await;
    check(
        TlsOffer::Tls,
        "localhost",
        json!({"ssl": true}),
        ErrorKind::Tls,
    )
    .await;
}

#[tokio::test]
async fn a_certificate_of_the_given_authority_is_believed_for_its_host_only() {
    let own = || json!({"sslmode": "verify-full", "sslrootcert": AUTHORITY});
    check(TlsOffer::Tls, "localhost", own(), ENCRYPTED).await;
    check(TlsOffer::Tls, "127.0.0.1", own(), ErrorKind::Tls).await;
}

#[tokio::test]
async fn checking_can_be_switched_off_without_losing_encryption() {
    check(
        TlsOffer::Tls,
        "localhost",
        json!({"rejectUnauthorized": false}),
        ENCRYPTED,
    )
    .await;
    check(
        TlsOffer::Tls,
        "127.0.0.1",
        json!({"ssl": {"rejectUnauthorized": false}}),
        ENCRYPTED,
    )
    .await;
    check(
        TlsOffer::Nothing,
        "127.0.0.1",
        json!({"rejectUnauthorized": false}),
        ErrorKind::Tls,
    )
    .await;
}

#[tokio::test]
async fn requested_encryption_is_always_used() {
    check(
        TlsOffer::Nothing,
        "localhost",
        json!({"sslmode": "require"}),
        ErrorKind::Tls,
    )
    .await;
    check(
        TlsOffer::Nothing,
        "localhost",
        json!({"ssl": true}),
        ErrorKind::Tls,
    )
    .await;
}

#[tokio::test]
async fn on_this_machine_the_server_decides() {
    check(TlsOffer::Tls, "localhost", json!({}), ENCRYPTED).await;
    check(TlsOffer::Nothing, "localhost", json!({}), PLAIN).await;
    check(
        TlsOffer::Tls,
        "localhost",
        json!({"sslmode": "disable"}),
        PLAIN,
    )
    .await;
}

fn clickhouse(stream: TcpStream, offer: TlsOffer) -> std::io::Result<()> {
    let mut stream = encrypted(stream, offer);
    exactly(&mut stream, 4)?;
    let body = "Code: 81. DB::Exception: Database d does not exist. (UNKNOWN_DATABASE) (version 1)";
    let length = body.len();
    write!(
        stream,
        "HTTP/1.1 404 Not Found\r\nContent-Length: {length}\r\n\r\n{body}"
    )?;
    stream.flush()
}

#[tokio::test]
async fn https_checks_the_certificate_too() {
    for (extra, expected) in [
        (json!({}), ErrorKind::Tls),
        (json!({"sslrootcert": AUTHORITY}), ENCRYPTED),
        (json!({"rejectUnauthorized": false}), ENCRYPTED),
    ] {
        let port = serve(TlsOffer::Tls, clickhouse);
        let mut fields = json!({"url": format!("https://u:pw@localhost:{port}/d")});
        fields
            .as_object_mut()
            .unwrap()
            .extend(extra.as_object().unwrap().clone());
        let connector = open(Driver::ClickHouse, fields);
        let error = connector
            .check(&CancellationToken::new())
            .await
            .unwrap_err();
        assert_eq!(error.kind, expected, "{extra}: {error:?}");
    }
}

#[tokio::test]
async fn a_certificate_that_signs_itself_is_believed_when_it_is_given() {
    let error = |host: &str, given: &str| {
        let port = serve(TlsOffer::SelfSigned, postgres);
        let fields = json!({
            "host": host, "port": port, "username": "u", "password": "pw", "database": "d",
            "sslmode": "verify-full", "sslrootcert": given,
        });
        let connector = open(Driver::Postgres, fields);
        async move {
            connector
                .check(&CancellationToken::new())
                .await
                .unwrap_err()
        }
    };
    assert_eq!(error("localhost", SELF_SIGNED).await.kind, ENCRYPTED);
    assert_eq!(error("127.0.0.1", SELF_SIGNED).await.kind, ErrorKind::Tls);
    assert_eq!(error("localhost", AUTHORITY).await.kind, ErrorKind::Tls);
    let port = serve(TlsOffer::SelfSigned, clickhouse);
    let fields = json!({
        "url": format!("https://u:pw@localhost:{port}/d"), "sslrootcert": SELF_SIGNED,
    });
    let error = open(Driver::ClickHouse, fields)
        .check(&CancellationToken::new())
        .await
        .unwrap_err();
    assert_eq!(error.kind, ENCRYPTED);
}

/// MySQL's driver does not let ktx verify certificates.
#[tokio::test]
async fn an_untrusted_certificate_of_mysql_is_reported_with_a_hint() {
    let port = serve(TlsOffer::SelfSigned, mysql);
    let fields = json!({
        "host": "localhost", "port": port, "username": "u", "password": "pw", "database": "d",
        "ssl": true, "sslrootcert": SELF_SIGNED,
    });
    let error = open(Driver::MySql, fields)
        .check(&CancellationToken::new())
        .await
        .unwrap_err();
    assert_eq!(error.kind, ErrorKind::Tls);
    let hint = error.hint.unwrap_or_default();
    assert!(hint.contains("basicConstraints=CA:FALSE"), "{hint}");
}

#[tokio::test]
async fn a_certificate_file_that_is_missing_is_named() {
    let fields = json!({
        "host": "localhost", "username": "u", "sslrootcert": "/nowhere/authority.pem",
    });
    let error = crate::support::open_failing(Driver::Postgres, fields);
    assert_eq!(error.kind, ErrorKind::Config);
    assert_eq!(
        error.message,
        "connection `warehouse` has the certificate file `/nowhere/authority.pem` in `sslrootcert`, which cannot \
         be read: No such file or directory (os error 2)"
    );
}

#[tokio::test]
async fn an_authority_that_is_not_a_certificate_is_reported() {
    check(
        TlsOffer::Tls,
        "localhost",
        json!({"ssl": true, "sslrootcert": "-----BEGIN nothing"}),
        ErrorKind::Tls,
    )
    .await;
}
