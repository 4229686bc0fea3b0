//! An in-memory SQL Server that checks TLS, login and transactions.

use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use serde_json::Value;

use super::wire::{self, TokenEnd};

pub(crate) const AUTHORITY: &str =
    include_str!("../../../../../fixtures/connectors/tls/authority.pem");
const CERTIFICATE: &str = include_str!("../../../../../fixtures/connectors/tls/server.pem");
const KEY: &str = include_str!("../../../../../fixtures/connectors/tls/server.key");

const DESCRIPTOR: u64 = 0x0102_0304_0506_0708;

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum TlsOffer {
    Tls,
    Nothing,
}

pub(crate) struct FakeStatement {
    part: &'static str,
    tokens: Vec<u8>,
    failure: Option<Vec<u8>>,
    endless: Option<Box<dyn Fn() + Send + Sync>>,
}

impl FakeStatement {
    /// Matches statements that contain `part`. Columns: `name` text, `name#` integer, `name?` bit.
    pub(crate) fn new(part: &'static str, columns: &[&'static str], rows: &Value) -> Self {
        let kinds: Vec<(Vec<u8>, &str)> = columns
            .iter()
            .map(|column| match column.chars().last() {
                Some('#') => (wire::bigint(), column.trim_end_matches('#')),
                Some('?') => (wire::bit(), column.trim_end_matches('?')),
                _ => (wire::nvarchar(), *column),
            })
            .collect();
        let mut tokens = wire::metadata(&kinds);
        for row in rows.as_array().unwrap() {
            let cells: Vec<Vec<u8>> = row
                .as_array()
                .unwrap()
                .iter()
                .zip(columns)
                .map(|(cell, column)| match (cell, column.chars().last()) {
                    (Value::Null, Some('#' | '?')) => vec![0],
                    (Value::Number(number), Some('#')) => {
                        wire::sized(&number.as_i64().unwrap().to_le_bytes())
                    }
                    (Value::Bool(value), Some('?')) => wire::sized(&[u8::from(*value)]),
                    (cell, _) => wire::text(cell.as_str()),
                })
                .collect();
            tokens.extend(wire::row(&cells));
        }
        Self::raw(part, tokens)
    }

    /// With an answer in wire format.
    pub(crate) fn raw(part: &'static str, tokens: Vec<u8>) -> Self {
        Self {
            part,
            tokens,
            failure: None,
            endless: None,
        }
    }

    pub(crate) fn fails(mut self, number: u32, message: &str) -> Self {
        self.failure = Some(wire::error(number, message));
        self
    }

    /// The rows never end; calls `asked` when the statement runs.
    pub(crate) fn endless(mut self, asked: impl Fn() + Send + Sync + 'static) -> Self {
        self.endless = Some(Box::new(asked));
        self
    }
}

struct SharedFake {
    offer: TlsOffer,
    statements: Vec<FakeStatement>,
    log: Mutex<Vec<String>>,
}

pub(crate) struct SqlServer {
    port: u16,
    shared: Arc<SharedFake>,
}

impl SqlServer {
    pub(crate) fn start(offer: TlsOffer, statements: Vec<FakeStatement>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let shared = Arc::new(SharedFake {
            offer,
            statements,
            log: Mutex::default(),
        });
        let serving = Arc::clone(&shared);
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let shared = Arc::clone(&serving);
                std::thread::spawn(move || shared.serve(stream.unwrap()));
            }
        });
        Self { port, shared }
    }

    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    pub(crate) fn log(&self) -> String {
        self.shared.log.lock().unwrap().join("\n")
    }
}

impl SharedFake {
    fn note(&self, line: impl Into<String>) {
        self.log.lock().unwrap().push(line.into());
    }

    fn serve(&self, mut tcp: TcpStream) -> io::Result<()> {
        let (kind, payload) = wire::read_message(&mut tcp)?;
        assert_eq!(kind, wire::PRELOGIN);
        let wanted = encryption(&payload);
        let offered: u8 = if self.offer == TlsOffer::Tls { 1 } else { 2 };
        // Version, encryption, end of list; six bytes and one.
        let list = [0, 0, 11, 0, 6, 1, 0, 17, 0, 1, 0xff];
        let answer = [list.as_slice(), &[16, 0, 0x10, 0x32, 0, 0, offered]].concat();
        wire::write_answer(&mut tcp, &answer, TokenEnd::Last)?;
        if self.offer == TlsOffer::Nothing {
            return self.talk(tcp);
        }
        assert_eq!(wanted, 1, "a client that wants no encryption goes away");
        let mut connection = ServerConnection::new(Arc::new(server_config())).unwrap();
        let mut wrapped = WrappedStream {
            tcp,
            is_wrapping: true,
            read: Vec::new(),
            written: Vec::new(),
        };
        while connection.is_handshaking() {
            connection.complete_io(&mut wrapped)?;
        }
        wrapped.flush()?;
        wrapped.is_wrapping = false;
        self.note("encrypted");
        self.talk(StreamOwned::new(connection, wrapped))
    }

    fn talk(&self, mut stream: impl Read + Write) -> io::Result<()> {
        let (kind, login) = wire::read_message(&mut stream)?;
        assert_eq!(kind, wire::LOGIN);
        let refusal = check_login(&login);
        let answer = refusal.unwrap_or_else(wire::login_accepted);
        wire::write_answer(&mut stream, &answer, TokenEnd::Last)?;
        self.note("login");
        let mut transaction = 0;
        loop {
            let (kind, message) = wire::read_message(&mut stream)?;
            let (headers, body) = message.split_at(22);
            let descriptor = u64::from_le_bytes(headers[10..18].try_into().unwrap());
            assert_eq!(descriptor, transaction, "the transaction of a request");
            match kind {
                wire::BATCH => {
                    let sql = wire::utf16(body);
                    let mut tokens = Vec::new();
                    if sql == "SELECT 1" {
                        tokens = wire::metadata(&[(wire::bit(), "")]);
                        tokens.extend(wire::row(&[wire::sized(&[1])]));
                    } else {
                        assert!(sql.contains("SET LOCK_TIMEOUT 10000"), "{sql}");
                    }
                    tokens.extend(wire::done(0));
                    wire::write_answer(&mut stream, &tokens, TokenEnd::Last)?;
                }
                wire::TRANSACTION => {
                    let answer = match body.first() {
                        Some(5) => {
                            transaction = DESCRIPTOR;
                            self.note("begin");
                            wire::transaction(8, DESCRIPTOR)
                        }
                        Some(8) => {
                            transaction = 0;
                            self.note("rollback");
                            wire::transaction(10, DESCRIPTOR)
                        }
                        other => panic!("the transaction request {other:?}"),
                    };
                    wire::write_answer(&mut stream, &answer, TokenEnd::Last)?;
                }
                wire::RPC => {
                    assert_eq!(transaction, DESCRIPTOR, "statements run in a transaction");
                    self.run(&mut stream, &procedure_text(body))?;
                }
                other => panic!("a message of the kind {other}"),
            }
        }
    }

    fn run(&self, stream: &mut (impl Read + Write), sql: &str) -> io::Result<()> {
        let words: String = sql.split_whitespace().collect::<Vec<_>>().join(" ");
        let Some(found) = self
            .statements
            .iter()
            .find(|statement| words.contains(statement.part))
        else {
            let said = wire::error(50_000, &format!("unexpected statement: {words}"));
            return wire::write_answer(stream, &said, TokenEnd::Last);
        };
        self.note(format!("run {}", found.part));
        if let Some(failure) = &found.failure {
            return wire::write_answer(stream, failure, TokenEnd::Last);
        }
        let Some(asked) = &found.endless else {
            let tokens = [found.tokens.as_slice(), &wire::done_procedure()].concat();
            return wire::write_answer(stream, &tokens, TokenEnd::Last);
        };
        wire::write_answer(stream, &found.tokens, TokenEnd::MoreFollows)?;
        asked();
        let (kind, _) = wire::read_message(stream)?;
        assert_eq!(kind, wire::ATTENTION);
        self.note("attention");
        wire::write_answer(stream, &wire::done(0x20), TokenEnd::Last)
    }
}

fn encryption(payload: &[u8]) -> u8 {
    let mut options = payload.chunks_exact(5);
    let option = options.find(|option| option.first() == Some(&1)).unwrap();
    let offset = usize::from(u16::from_be_bytes(option[1..3].try_into().unwrap()));
    payload[offset]
}

fn server_config() -> ServerConfig {
    let chain = CertificateDer::pem_slice_iter(CERTIFICATE.as_bytes())
        .map(Result::unwrap)
        .collect();
    let key = PrivateKeyDer::from_pem_slice(KEY.as_bytes()).unwrap();
    // Servers use TLS 1.2 inside TDS.
    ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_protocol_versions(&[&rustls::version::TLS12])
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(chain, key)
        .unwrap()
}

fn check_login(login: &[u8]) -> Option<Vec<u8>> {
    let field = |at: usize| {
        let number =
            |at: usize| usize::from(u16::from_le_bytes(login[at..at + 2].try_into().unwrap()));
        let from = number(at);
        login[from..from + 2 * number(at + 2)].to_vec()
    };
    let user = wire::utf16(&field(40));
    let hidden = field(44);
    let password: Vec<u8> = hidden
        .into_iter()
        .map(|byte| (byte ^ 0xa5).rotate_left(4))
        .collect();
    let (password, database) = (wire::utf16(&password), wire::utf16(&field(68)));
    assert_eq!(wire::utf16(&field(48)), "ktx");
    let read_only_intent = login[26] & 0x20;
    assert_ne!(read_only_intent, 0, "the session says that it only reads");
    if (user.as_str(), password.as_str()) != ("reader", "tds-secret") {
        let said = format!("Login failed for user '{user}'. ({password})");
        return Some(wire::error(18456, &said));
    }
    (database != "shop").then(|| {
        let said = format!("Cannot open database \"{database}\" requested by the login.");
        wire::error(4060, &said)
    })
}

fn procedure_text(body: &[u8]) -> String {
    let (head, rest) = body.split_at(6);
    assert_eq!(head.get(..4), Some([0xff, 0xff, 10, 0].as_slice()));
    let (name, rest) = rest.split_at(1 + 2 * usize::from(*rest.first().unwrap()));
    assert!(name.len() == 1 || wire::utf16(&name[1..]) == "stmt");
    let (kind, rest) = rest.split_at(9);
    assert_eq!(kind.get(1), Some(&0xe7));
    let most = u16::from_le_bytes(kind[2..4].try_into().unwrap());
    if most == 0xffff {
        let (_, mut rest) = rest.split_at(8);
        let mut text = Vec::new();
        loop {
            let (length, after) = rest.split_at(4);
            let length = u32::from_le_bytes(length.try_into().unwrap());
            let (chunk, after) = after.split_at(usize::try_from(length).unwrap());
            if chunk.is_empty() {
                return wire::utf16(&text);
            }
            text.extend_from_slice(chunk);
            rest = after;
        }
    }
    let (length, rest) = rest.split_at(2);
    let length = usize::from(u16::from_le_bytes(length.try_into().unwrap()));
    wire::utf16(&rest[..length])
}

struct WrappedStream {
    tcp: TcpStream,
    is_wrapping: bool,
    read: Vec<u8>,
    written: Vec<u8>,
}

impl Read for WrappedStream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if !self.is_wrapping && self.read.is_empty() {
            return self.tcp.read(buffer);
        }
        self.flush()?;
        if self.read.is_empty() {
            let (kind, payload) = wire::read_message(&mut self.tcp)?;
            assert_eq!(kind, wire::PRELOGIN);
            self.read = payload;
        }
        let count = self.read.len().min(buffer.len());
        let rest = self.read.split_off(count);
        buffer[..count].copy_from_slice(&self.read);
        self.read = rest;
        Ok(count)
    }
}

impl Write for WrappedStream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if !self.is_wrapping {
            return self.tcp.write(bytes);
        }
        self.written.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        let written = std::mem::take(&mut self.written);
        if !written.is_empty() {
            self.tcp
                .write_all(&wire::packet(wire::PRELOGIN, 1, &written))?;
        }
        self.tcp.flush()
    }
}
