//! A loopback HTTP/1.1 server with one request per connection. Answers can break off.

use std::collections::BTreeMap;
use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Context as _, bail};

const LIMIT: usize = 64 * 1024 * 1024;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    pub target: String,
    pub headers: BTreeMap<String, String>,
    pub body: Vec<u8>,
}

impl Request {
    /// Null if not JSON.
    pub fn json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.body).unwrap_or_default()
    }
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum End {
    #[default]
    Whole,
    /// Closes the connection after this many body bytes.
    CutAfter(usize),
    /// Sends this many body bytes, then nothing.
    StallAfter(usize),
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Answer {
    pub status: u16,
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
    pub end: End,
}

impl Answer {
    pub fn new(status: u16, content_type: &str, body: impl Into<Vec<u8>>) -> Self {
        Self {
            status,
            headers: vec![("content-type".to_owned(), content_type.to_owned())],
            body: body.into(),
            end: End::Whole,
        }
    }

    pub fn json(status: u16, body: &serde_json::Value) -> Self {
        Self::new(status, "application/json", body.to_string())
    }

    pub fn stream(body: impl Into<Vec<u8>>) -> Self {
        Self::new(200, "text/event-stream", body)
    }

    #[must_use]
    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }
}

pub struct Loopback {
    port: u16,
    seen: Arc<Mutex<Vec<Request>>>,
    over: Arc<AtomicBool>,
}

impl std::fmt::Debug for Loopback {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Loopback")
            .field("port", &self.port)
            .finish_non_exhaustive()
    }
}

impl Loopback {
    /// Uses a free port. `answer` gets the request and its number from 0.
    pub fn start(
        answer: impl Fn(&Request, usize) -> Answer + Send + Sync + 'static,
    ) -> anyhow::Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", 0)).context("no port on loopback")?;
        let port = listener.local_addr()?.port();
        let seen = Arc::new(Mutex::new(Vec::new()));
        let over = Arc::new(AtomicBool::new(false));
        let (requests, ended, answer) = (Arc::clone(&seen), Arc::clone(&over), Arc::new(answer));
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                if ended.load(Ordering::SeqCst) {
                    break;
                }
                let (requests, answer) = (Arc::clone(&requests), Arc::clone(&answer));
                std::thread::spawn(move || serve(stream?, &requests, answer.as_ref()));
            }
        });
        Ok(Self { port, seen, over })
    }

    pub fn address(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    pub fn requests(&self) -> Vec<Request> {
        self.seen
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }
}

impl Drop for Loopback {
    fn drop(&mut self) {
        self.over.store(true, Ordering::SeqCst);
        // Wakes the accepting thread; failure means that it has ended.
        TcpStream::connect(("127.0.0.1", self.port)).ok();
    }
}

fn serve(
    mut stream: TcpStream,
    seen: &Mutex<Vec<Request>>,
    answer: &dyn Fn(&Request, usize) -> Answer,
) -> anyhow::Result<()> {
    let request = read(&mut stream)?;
    let number = {
        let mut seen = seen.lock().unwrap_or_else(PoisonError::into_inner);
        seen.push(request.clone());
        seen.len() - 1
    };
    write(&mut stream, &answer(&request, number))
}

fn read(stream: &mut TcpStream) -> anyhow::Result<Request> {
    let mut bytes = Vec::new();
    let head_end = loop {
        if let Some(at) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
            break at;
        }
        more(stream, &mut bytes)?;
    };
    let mut body = bytes.split_off(head_end + 4);
    let head = String::from_utf8(bytes)?;
    let mut lines = head.trim_end().split("\r\n");
    let first = lines.next().context("an empty request")?;
    let (target, _) = first.rsplit_once(' ').context("no request line")?;
    let headers: BTreeMap<String, String> = lines
        .filter_map(|line| line.split_once(':'))
        .map(|(name, value)| (name.to_ascii_lowercase(), value.trim().to_owned()))
        .collect();
    let length: usize = headers
        .get("content-length")
        .map_or(Ok(0), |text| text.parse())?;
    while body.len() < length {
        more(stream, &mut body)?;
    }
    Ok(Request {
        target: target.to_owned(),
        headers,
        body,
    })
}

fn more(stream: &mut TcpStream, bytes: &mut Vec<u8>) -> anyhow::Result<()> {
    let mut piece = [0; 16 * 1024];
    let count = stream.read(&mut piece)?;
    if count == 0 || bytes.len() > LIMIT {
        bail!("the request does not end well");
    }
    bytes.extend(piece.iter().take(count));
    Ok(())
}

fn write(stream: &mut TcpStream, answer: &Answer) -> anyhow::Result<()> {
    let mut head = format!(
        "HTTP/1.1 {} Answer\r\ncontent-length: {}\r\nconnection: close\r\n",
        answer.status,
        answer.body.len()
    );
    for (name, value) in &answer.headers {
        head.extend([name.as_str(), ": ", value, "\r\n"]);
    }
    head.push_str("\r\n");
    let sent = match answer.end {
        End::Whole => answer.body.len(),
        End::CutAfter(bytes) | End::StallAfter(bytes) => bytes.min(answer.body.len()),
    };
    // One write: a second would wait for an acknowledgment.
    let mut bytes = head.into_bytes();
    bytes.extend_from_slice(answer.body.get(..sent).unwrap_or_default());
    stream.write_all(&bytes)?;
    stream.flush()?;
    if matches!(answer.end, End::StallAfter(_)) {
        std::io::copy(stream, &mut std::io::sink())?;
    }
    stream.shutdown(std::net::Shutdown::Write)?;
    Ok(())
}
