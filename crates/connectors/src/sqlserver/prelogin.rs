//! The TDS prelogin, which negotiates encryption.

use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};

pub(super) const HEADER: usize = 8;

/// Maximum bytes of a packet before login.
pub(super) const PACKET: usize = 4096;

pub(super) const PRELOGIN: u8 = 0x12;

const LAST: u8 = 1;

const VERSION: u8 = 0;
const ENCRYPTION: u8 = 1;
const END: u8 = 0xff;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Encryption {
    /// Encrypts only the login.
    LoginOnly,
    On,
    NotSupported,
    Required,
}

impl Encryption {
    const fn byte(self) -> u8 {
        match self {
            Self::LoginOnly => 0,
            Self::On => 1,
            Self::NotSupported => 2,
            Self::Required => 3,
        }
    }

    fn read(byte: u8) -> Option<Self> {
        [
            Self::LoginOnly,
            Self::On,
            Self::NotSupported,
            Self::Required,
        ]
        .into_iter()
        .find(|level| level.byte() == byte)
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PreloginReply {
    pub(super) raw: Vec<u8>,
    pub(super) encryption: Encryption,
}

pub(super) async fn negotiate(
    stream: &mut (impl AsyncRead + AsyncWrite + Unpin),
    wanted: Encryption,
) -> std::io::Result<PreloginReply> {
    let mut packet = Vec::new();
    frame(&mut packet, &message(wanted));
    stream.write_all(&packet).await?;
    stream.flush().await?;
    let mut raw = Vec::new();
    let mut payload = Vec::new();
    loop {
        let mut header = [0; HEADER];
        stream.read_exact(&mut header).await?;
        let [_, status, high, low, ..] = header;
        let length = usize::from(u16::from_be_bytes([high, low]));
        let body = length.checked_sub(HEADER).ok_or_else(not_tds)?;
        let mut bytes = vec![0; body];
        stream.read_exact(&mut bytes).await?;
        raw.extend_from_slice(&header);
        raw.extend_from_slice(&bytes);
        payload.extend_from_slice(&bytes);
        if payload.len() > PACKET {
            return Err(not_tds());
        }
        if status & LAST != 0 {
            break;
        }
    }
    let encryption = option(&payload, ENCRYPTION)
        .and_then(|data| Encryption::read(*data.first()?))
        .ok_or_else(not_tds)?;
    Ok(PreloginReply { raw, encryption })
}

pub(super) fn frame(out: &mut Vec<u8>, payload: &[u8]) {
    let mut pieces = payload.chunks(PACKET - HEADER).peekable();
    while let Some(piece) = pieces.next() {
        let status = if pieces.peek().is_none() { LAST } else { 0 };
        let length = u16::try_from(piece.len() + HEADER).unwrap_or(u16::MAX);
        let [high, low] = length.to_be_bytes();
        out.extend_from_slice(&[PRELOGIN, status, high, low, 0, 0, 0, 0]);
        out.extend_from_slice(piece);
    }
}

fn message(wanted: Encryption) -> Vec<u8> {
    let data = [[0, 1, 0, 0, 0, 0].as_slice(), &[wanted.byte()]];
    let mut offset = 2 * 5 + 1;
    let mut options = Vec::new();
    for (token, data) in [VERSION, ENCRYPTION].into_iter().zip(data) {
        options.extend_from_slice(&[token, 0, offset, 0]);
        let length = u8::try_from(data.len()).unwrap_or_default(); // At most six.
        options.push(length);
        offset += length;
    }
    options.push(END);
    for data in data {
        options.extend_from_slice(data);
    }
    options
}

fn option(payload: &[u8], wanted: u8) -> Option<&[u8]> {
    let mut rest = payload;
    loop {
        let (head, after) = rest.split_at_checked(5)?;
        let [token, offset_high, offset_low, length_high, length_low] = head else {
            return None;
        };
        if *token == wanted {
            let offset = usize::from(u16::from_be_bytes([*offset_high, *offset_low]));
            let length = usize::from(u16::from_be_bytes([*length_high, *length_low]));
            return payload.get(offset..offset.checked_add(length)?);
        }
        if *token == END {
            return None;
        }
        rest = after;
    }
}

fn not_tds() -> std::io::Error {
    std::io::Error::new(
        std::io::ErrorKind::InvalidData,
        "the server does not answer like SQL Server",
    )
}
