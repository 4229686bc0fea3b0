//! Minimal HTTP/1.1: one request per connection.

use std::collections::BTreeMap;

use anyhow::{Context as _, bail};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};

/// Maximum request bytes, more than any prompt.
const LIMIT: usize = 64 * 1024 * 1024;

pub(super) struct RawRequest {
    pub(super) method: String,
    pub(super) path: String,
    pub(super) headers: BTreeMap<String, String>,
    pub(super) body: Vec<u8>,
}

pub(super) async fn read(stream: &mut (impl AsyncRead + Unpin)) -> anyhow::Result<RawRequest> {
    let mut bytes = Vec::new();
    let head_end = loop {
        if let Some(at) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
            break at;
        }
        more(stream, &mut bytes).await?;
    };
    let head = String::from_utf8(bytes.iter().take(head_end).copied().collect())?;
    let mut lines = head.split("\r\n");
    let mut first = lines.next().context("an empty request")?.split(' ');
    let method = first
        .next()
        .context("a request without a method")?
        .to_owned();
    let path = first.next().context("a request without a path")?.to_owned();
    let headers: BTreeMap<String, String> = lines
        .filter_map(|line| line.split_once(':'))
        .map(|(name, value)| (name.to_ascii_lowercase(), value.trim().to_owned()))
        .collect();
    if headers.contains_key("transfer-encoding") {
        bail!("a body without a length");
    }
    let length: usize = headers
        .get("content-length")
        .map_or(Ok(0), |text| text.parse())?;
    let mut body = bytes.split_off(head_end + 4);
    while body.len() < length {
        more(stream, &mut body).await?;
    }
    Ok(RawRequest {
        method,
        path,
        headers,
        body,
    })
}

async fn more(stream: &mut (impl AsyncRead + Unpin), bytes: &mut Vec<u8>) -> anyhow::Result<()> {
    let count = stream.read_buf(bytes).await?;
    if count == 0 || bytes.len() > LIMIT {
        bail!("the request does not end well");
    }
    Ok(())
}

pub(super) async fn established(stream: &mut (impl AsyncWrite + Unpin)) -> anyhow::Result<()> {
    stream
        .write_all(b"HTTP/1.1 200 Connection established\r\n\r\n")
        .await?;
    Ok(stream.flush().await?)
}

pub(super) async fn write(
    stream: &mut (impl AsyncWrite + Unpin),
    status: u16,
    headers: &[(String, String)],
    body: &[u8],
) -> anyhow::Result<()> {
    let head = head(status, headers, body.len());
    stream.write_all(head.as_bytes()).await?;
    stream.write_all(body).await?;
    stream.flush().await?;
    Ok(stream.shutdown().await?)
}

pub(super) async fn write_part(
    stream: &mut (impl AsyncWrite + Unpin),
    status: u16,
    headers: &[(String, String)],
    part: &[u8],
) -> anyhow::Result<()> {
    if part.is_empty() {
        return Ok(());
    }
    let head = head(status, headers, 1 << 30);
    stream.write_all(head.as_bytes()).await?;
    stream.write_all(part).await?;
    Ok(stream.flush().await?)
}

fn head(status: u16, headers: &[(String, String)], length: usize) -> String {
    let mut head =
        format!("HTTP/1.1 {status} Answer\r\ncontent-length: {length}\r\nconnection: close\r\n");
    for (name, value) in headers {
        head.extend([name, ": ", value, "\r\n"]);
    }
    head.push_str("request-id: req_fake\r\n\r\n");
    head
}
