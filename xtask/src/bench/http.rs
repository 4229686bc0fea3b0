//! Measures calls of `ktx mcp start` tools on an open connection.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::Instant;

use anyhow::{Context as _, Result, bail};

use super::measure::{median, program};
use super::start::{ktx, project};
use super::{Bench, Outcome};
use crate::process;

const CALLS: usize = 301;

/// Maximum multiple of a bare exchange of the same size, which takes about 25 microseconds on
/// loopback; the promise is a millisecond.
const BOUND: f64 = 40.0;

/// Prints its port first.
const ECHO: &str = r#"
use std::io::{Read, Write};
fn main() {
    let listener = std::net::TcpListener::bind(("127.0.0.1", 0)).expect("a port");
    println!("{}", listener.local_addr().expect("an address").port());
    let (mut stream, _) = listener.accept().expect("a connection");
    stream.set_nodelay(true).expect("an option");
    let mut buffer = [0; 65536];
    while let Ok(count @ 1..) = stream.read(&mut buffer) {
        stream.write_all(&buffer[..count]).expect("a reader");
    }
}
"#;

pub(super) const INITIALIZE: &str = concat!(
    r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","#,
    r#""capabilities":{},"clientInfo":{"name":"bench","version":"1"}}}"#,
);
pub(super) const INITIALIZED: &str = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
const CALL: &str = concat!(
    r#"{"jsonrpc":"2.0","id":2,"method":"tools/call","#,
    r#""params":{"name":"connection_list","arguments":{}}}"#,
);

/// Compares median `connection_list` calls with bare exchanges of the same size.
pub(crate) fn kept_connection(bench: &Bench<'_>) -> Result<Vec<Outcome>> {
    let project = project(bench, "mcp-http")?;
    process::output(&mut ktx(bench, &project, &["mcp", "start", "--port", "0"]))?;
    let measured = calls(bench, &project);
    process::output(&mut ktx(bench, &project, &["mcp", "stop"]))?;
    let Calls {
        milliseconds,
        bytes,
    } = measured?;
    Ok(vec![Outcome {
        name: "connection_list over HTTP on a kept connection, p50".to_owned(),
        unit: "ms",
        measured: median(milliseconds),
        yardstick: median(exchanges(bench, bytes)?),
        bound: BOUND,
    }])
}

struct Calls {
    milliseconds: Vec<f64>,
    bytes: usize,
}

fn calls(bench: &Bench<'_>, project: &Path) -> Result<Calls> {
    let mut client = Client::connect(&Place::of(bench, project)?)?;
    client.exchange(INITIALIZE)?;
    client.exchange(INITIALIZED)?;
    let mut milliseconds = Vec::new();
    let mut bytes = 0;
    for _ in 0..CALLS {
        let started = Instant::now();
        let answer = client.exchange(CALL)?;
        milliseconds.push(started.elapsed().as_secs_f64() * 1000.0);
        if !answer.contains("warehouse") {
            bail!("`connection_list` answered `{}`", answer.trim());
        }
        bytes = CALL.len() + answer.len();
    }
    Ok(Calls {
        milliseconds,
        bytes,
    })
}

/// Half of `bytes` in each direction.
fn exchanges(bench: &Bench<'_>, bytes: usize) -> Result<Vec<f64>> {
    let echo = program(bench.repository, bench.folder, ("echo-server", ECHO))?;
    let mut server = Server(
        process::command(bench.repository, echo)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .context("the echo server could not be started")?,
    );
    let printed = server.0.stdout.take().context("the echo server is mute")?;
    let mut port = String::new();
    BufReader::new(printed).read_line(&mut port)?;
    let port: u16 = port
        .trim()
        .parse()
        .context("the echo server printed no port")?;
    let mut stream = TcpStream::connect(("127.0.0.1", port))?;
    stream.set_nodelay(true)?;
    let sent = vec![b'x'; (bytes / 2).max(1)];
    let mut received = vec![0; sent.len()];
    let mut milliseconds = Vec::new();
    for _ in 0..CALLS {
        let started = Instant::now();
        stream.write_all(&sent)?;
        stream.read_exact(&mut received)?;
        milliseconds.push(started.elapsed().as_secs_f64() * 1000.0);
    }
    Ok(milliseconds)
}

pub(super) struct Place {
    address: String,
    token: String,
    pub(super) process: u32,
}

impl Place {
    pub(super) fn of(bench: &Bench<'_>, project: &Path) -> Result<Self> {
        let status = process::output(&mut ktx(bench, project, &["mcp", "status"]))?;
        let address = status
            .lines()
            .find_map(|line| line.strip_prefix("running: http://")?.strip_suffix("/mcp"))
            .context("`ktx mcp status` names no address")?
            .to_owned();
        let process = status
            .lines()
            .find_map(|line| line.strip_prefix("process: ")?.split(',').next())
            .and_then(|process| process.parse().ok())
            .context("`ktx mcp status` names no process")?;
        let token = std::fs::read_to_string(project.join(".ktx/state/mcp.token"))
            .context("the server has no token")?;
        Ok(Self {
            address,
            token: token.trim().to_owned(),
            process,
        })
    }
}

/// Kills its child on drop.
pub(super) struct Server(pub(super) Child);

impl Drop for Server {
    fn drop(&mut self) {
        // The child can have ended.
        self.0.kill().ok();
        self.0.wait().ok();
    }
}

pub(super) struct Client {
    stream: BufReader<TcpStream>,
    address: String,
    token: String,
    session: Option<String>,
}

impl Client {
    pub(super) fn connect(place: &Place) -> Result<Self> {
        let stream = TcpStream::connect(&place.address).context("the server does not listen")?;
        stream.set_nodelay(true)?;
        Ok(Self {
            stream: BufReader::new(stream),
            address: place.address.clone(),
            token: place.token.clone(),
            session: None,
        })
    }

    /// The next message starts a session.
    pub(super) fn forget_session(&mut self) {
        self.session = None;
    }

    pub(super) fn exchange(&mut self, body: &str) -> Result<String> {
        let session = self
            .session
            .as_ref()
            .map_or_else(String::new, |id| format!("Mcp-Session-Id: {id}\r\n"));
        let request = format!(
            "POST /mcp HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {}\r\n{session}\
             Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\n\
             Content-Length: {}\r\n\r\n{body}",
            self.address,
            self.token,
            body.len()
        );
        self.stream.get_mut().write_all(request.as_bytes())?;
        let status = self.line()?;
        let mut length = Length::Bytes(0);
        loop {
            let line = self.line()?;
            let Some((name, value)) = line.split_once(':') else {
                break;
            };
            match name.to_ascii_lowercase().as_str() {
                "content-length" => length = Length::Bytes(value.trim().parse()?),
                "transfer-encoding" => length = Length::Chunks,
                "mcp-session-id" => self.session = Some(value.trim().to_owned()),
                _ => {}
            }
        }
        let answer = match length {
            Length::Bytes(count) => self.bytes(count)?,
            Length::Chunks => self.chunks()?,
        };
        if !status.contains(" 200 ") && !status.contains(" 202 ") {
            bail!("the server answered `{}`: {}", status.trim(), answer.trim());
        }
        Ok(answer)
    }

    fn chunks(&mut self) -> Result<String> {
        let mut text = String::new();
        loop {
            let size = usize::from_str_radix(self.line()?.trim(), 16)
                .context("a chunk without its size")?;
            text += &self.bytes(size)?;
            self.line()?;
            if size == 0 {
                return Ok(text);
            }
        }
    }

    fn bytes(&mut self, count: usize) -> Result<String> {
        let mut bytes = vec![0; count];
        self.stream.read_exact(&mut bytes)?;
        String::from_utf8(bytes).context("the server does not answer in UTF-8")
    }

    fn line(&mut self) -> Result<String> {
        let mut line = String::new();
        if self.stream.read_line(&mut line)? == 0 {
            bail!("the server closed the connection");
        }
        Ok(line)
    }
}

enum Length {
    Bytes(usize),
    Chunks,
}

#[cfg(test)]
mod tests;
