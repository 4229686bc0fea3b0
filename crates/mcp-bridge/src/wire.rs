//! Reads one JSON-RPC message per line; an invalid line gets an answer.

use std::sync::Arc;
use std::time::Duration;

use rmcp::model::ErrorCode;
use rmcp::service::{RoleServer, RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncRead, AsyncWrite, AsyncWriteExt as _, BufReader};
use tokio::sync::{Mutex, mpsc};
use tokio_util::future::FutureExt as _;
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

/// In bytes: an endless line must not fill the memory.
const LONGEST: usize = 16 * 1024 * 1024;

/// Read ahead of the session.
const WAITING: usize = 16;

/// A script closes its side right after its last question.
const LAST_ANSWERS: Duration = Duration::from_secs(1);

type Message = RxJsonRpcMessage<RoleServer>;

#[derive(Clone)]
struct Writer {
    open: Arc<Mutex<Option<Box<dyn AsyncWrite + Send + Unpin>>>>,
    /// Ends a blocked write at the end of the session.
    closed: CancellationToken,
}

pub(crate) struct Wire {
    messages: mpsc::Receiver<Message>,
    writer: Writer,
    /// In its own task, so that an answer to a wrong line is written whole.
    _reader: AbortOnDropHandle<()>,
}

impl Wire {
    /// `left` is canceled some time after the client has closed its side. Needs a running runtime.
    pub(crate) fn new(
        reader: Box<dyn AsyncRead + Send + Unpin>,
        writer: Box<dyn AsyncWrite + Send + Unpin>,
        left: CancellationToken,
    ) -> Self {
        let writer = Writer {
            open: Arc::new(Mutex::new(Some(writer))),
            closed: CancellationToken::new(),
        };
        let (sender, messages) = mpsc::channel(WAITING);
        let reading = read(BufReader::new(reader), sender, writer.clone());
        let reading = async move {
            reading.await;
            tokio::time::sleep(LAST_ANSWERS).await;
            left.cancel();
        };
        Self {
            messages,
            writer,
            _reader: AbortOnDropHandle::new(tokio::spawn(reading)),
        }
    }
}

impl Transport<RoleServer> for Wire {
    type Error = std::io::Error;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        let writer = self.writer.clone();
        async move { writer.line(serde_json::to_vec(&item)?).await }
    }

    async fn receive(&mut self) -> Option<Message> {
        self.messages.recv().await
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        self.writer.closed.cancel();
        drop(self.writer.open.lock().await.take());
        Ok(())
    }
}

/// Until the client leaves, the session ends or writing fails.
async fn read(
    mut reader: BufReader<Box<dyn AsyncRead + Send + Unpin>>,
    session: mpsc::Sender<Message>,
    writer: Writer,
) {
    let mut line = Vec::new();
    while let Ok(read) = next_line(&mut reader, &mut line).await {
        let found = match read {
            Read::End => return,
            Read::TooLong => Found::Wrong(refusal(
                ErrorCode::INVALID_REQUEST,
                &format!("Invalid request: a line is longer than {LONGEST} bytes"),
                &Value::Null,
            )),
            Read::Line => examine(&line),
        };
        let goes_on = match found {
            Found::Nothing => true,
            Found::Message(message) => session.send(*message).await.is_ok(),
            Found::Wrong(answer) => writer.line(answer.to_string().into_bytes()).await.is_ok(),
        };
        if !goes_on {
            return;
        }
    }
}

enum Read {
    Line,
    TooLong,
    End,
}

async fn next_line(
    reader: &mut BufReader<Box<dyn AsyncRead + Send + Unpin>>,
    line: &mut Vec<u8>,
) -> std::io::Result<Read> {
    line.clear();
    let mut too_long = false;
    loop {
        let available = reader.fill_buf().await?;
        if available.is_empty() {
            return Ok(match (too_long, line.is_empty()) {
                (true, _) => Read::TooLong,
                (false, true) => Read::End,
                (false, false) => Read::Line,
            });
        }
        let end = available.iter().position(|byte| *byte == b'\n');
        let taken = end.map_or(available.len(), |end| end + 1);
        too_long |= line.len() + taken > LONGEST;
        if too_long {
            line.clear();
        } else {
            line.extend(available.iter().take(taken));
        }
        reader.consume(taken);
        if end.is_some() {
            return Ok(if too_long { Read::TooLong } else { Read::Line });
        }
    }
}

enum Found {
    Nothing,
    Message(Box<Message>),
    Wrong(Value),
}

fn examine(line: &[u8]) -> Found {
    let line = line.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(line);
    let line = line.trim_ascii();
    if line.is_empty() {
        return Found::Nothing;
    }
    let value: Value = match serde_json::from_slice(line) {
        Ok(value) => value,
        Err(error) => {
            let text = format!("Parse error: {error}");
            return Found::Wrong(refusal(ErrorCode::PARSE_ERROR, &text, &Value::Null));
        }
    };
    let id = value.get("id").cloned();
    let is_answer = value.get("method").is_none()
        && (value.get("result").is_some() || value.get("error").is_some());
    if let Some(reason) = wrong_shape(&value)
        && !is_answer
    {
        let text = format!("Invalid request: {reason}");
        let id = id.filter(is_id).unwrap_or(Value::Null);
        return Found::Wrong(refusal(ErrorCode::INVALID_REQUEST, &text, &id));
    }
    let method = value
        .get("method")
        .and_then(Value::as_str)
        .unwrap_or_default()
        .to_owned();
    match (serde_json::from_value(value), id) {
        (Ok(message), _) => Found::Message(Box::new(message)),
        (Err(_), _) if is_answer => Found::Nothing,
        (Err(_), None) => Found::Nothing,
        (Err(_), Some(id)) => {
            let text = format!("the parameters of `{method}` have the wrong shape");
            Found::Wrong(refusal(ErrorCode::INVALID_PARAMS, &text, &id))
        }
    }
}

/// `None` for a request or a notification.
fn wrong_shape(value: &Value) -> Option<&'static str> {
    if value.is_array() {
        return Some("batches are not supported, send one message a line");
    }
    if !value.is_object() {
        return Some("a message is an object");
    }
    if value.get("jsonrpc").and_then(Value::as_str) != Some("2.0") {
        return Some("`jsonrpc` must be \"2.0\"");
    }
    if !value.get("method").is_some_and(Value::is_string) {
        return Some("`method` must be a text");
    }
    match value.get("id") {
        Some(id) if !is_id(id) => Some("`id` must be a text or a whole number"),
        _ => None,
    }
}

fn is_id(id: &Value) -> bool {
    id.is_string() || id.is_i64() || id.is_u64()
}

fn refusal(code: ErrorCode, text: &str, id: &Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "error": { "code": code.0, "message": text } })
}

impl Writer {
    async fn line(&self, mut line: Vec<u8>) -> std::io::Result<()> {
        line.push(b'\n');
        let not_connected = || std::io::Error::from(std::io::ErrorKind::NotConnected);
        let work = async {
            let mut writer = self.open.lock().await;
            let open = writer.as_mut().ok_or_else(not_connected)?;
            open.write_all(&line).await?;
            open.flush().await
        };
        let written = work.with_cancellation_token(&self.closed).await;
        written.unwrap_or_else(|| Err(not_connected()))
    }
}
