//! Server side of TDS.

use std::io::{self, Read, Write};

pub(super) const PRELOGIN: u8 = 0x12;
pub(super) const LOGIN: u8 = 0x10;
pub(super) const BATCH: u8 = 0x01;
pub(super) const RPC: u8 = 0x03;
pub(super) const TRANSACTION: u8 = 0x0e;
pub(super) const ATTENTION: u8 = 0x06;
const ANSWER: u8 = 0x04;

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum TokenEnd {
    Last,
    MoreFollows,
}

pub(super) fn read_message(stream: &mut impl Read) -> io::Result<(u8, Vec<u8>)> {
    let mut payload = Vec::new();
    loop {
        let mut header = [0; 8];
        stream.read_exact(&mut header)?;
        let [kind, status, high, low, ..] = header;
        let mut body = vec![0; usize::from(u16::from_be_bytes([high, low])) - 8];
        stream.read_exact(&mut body)?;
        payload.extend(body);
        if status & 1 == 1 {
            return Ok((kind, payload));
        }
    }
}

pub(super) fn write_answer(
    stream: &mut impl Write,
    tokens: &[u8],
    end: TokenEnd,
) -> io::Result<()> {
    let mut pieces = tokens.chunks(4000).peekable();
    while let Some(piece) = pieces.next() {
        let is_last = end == TokenEnd::Last && pieces.peek().is_none();
        stream.write_all(&packet(ANSWER, u8::from(is_last), piece))?;
    }
    stream.flush()
}

pub(super) fn packet(kind: u8, status: u8, payload: &[u8]) -> Vec<u8> {
    let [high, low] = u16::try_from(payload.len() + 8).unwrap().to_be_bytes();
    [&[kind, status, high, low, 0, 0, 1, 0], payload].concat()
}

/// A one-byte length in UTF-16 units precedes the text.
fn short_text(text: &str) -> Vec<u8> {
    let units: Vec<u16> = text.encode_utf16().collect();
    let mut bytes = vec![u8::try_from(units.len()).unwrap()];
    bytes.extend(units.into_iter().flat_map(u16::to_le_bytes));
    bytes
}

/// A two-byte length in UTF-16 units precedes the text.
fn long_text(text: &str) -> Vec<u8> {
    let units: Vec<u16> = text.encode_utf16().collect();
    let mut bytes = u16::try_from(units.len()).unwrap().to_le_bytes().to_vec();
    bytes.extend(units.into_iter().flat_map(u16::to_le_bytes));
    bytes
}

pub(super) fn utf16(bytes: &[u8]) -> String {
    let units = bytes
        .chunks_exact(2)
        .map(|pair| u16::from_le_bytes(pair.try_into().unwrap()));
    char::decode_utf16(units).map(Result::unwrap).collect()
}

/// `DONE` status: 0 success, 2 error, 0x20 attention.
pub(super) fn done(status: u16) -> Vec<u8> {
    [[0xfd].as_slice(), &status.to_le_bytes(), &[0; 10]].concat()
}

pub(super) fn done_procedure() -> Vec<u8> {
    let in_procedure = [0xff, 0x11, 0, 0xc1, 0, 1, 0, 0, 0, 0, 0, 0, 0];
    let status = [0x79, 0, 0, 0, 0];
    let end = [[0xfe].as_slice(), &[0; 12]].concat();
    [in_procedure.as_slice(), &status, &end].concat()
}

pub(super) fn error(number: u32, message: &str) -> Vec<u8> {
    let body = [
        number.to_le_bytes().as_slice(),
        &[1, 14],
        &long_text(message),
        &short_text("FAKE"),
        &short_text(""),
        &1_u32.to_le_bytes(),
    ]
    .concat();
    let length = u16::try_from(body.len()).unwrap().to_le_bytes();
    [&[0xaa], length.as_slice(), &body, &done(2)].concat()
}

pub(super) fn login_accepted() -> Vec<u8> {
    let body = [
        [1, 0x74, 0, 0, 4].as_slice(),
        &short_text("Microsoft SQL Server"),
        &[16, 0, 0x10, 0x32],
    ]
    .concat();
    let length = u16::try_from(body.len()).unwrap().to_le_bytes();
    [&[0xad], length.as_slice(), &body, &done(0)].concat()
}

/// 8: begin, 10: rollback.
pub(super) fn transaction(kind: u8, descriptor: u64) -> Vec<u8> {
    let descriptor = descriptor.to_le_bytes();
    let body = match kind {
        8 => [[8, 8].as_slice(), &descriptor, &[0]].concat(),
        _ => [[kind, 0, 8].as_slice(), &descriptor].concat(),
    };
    let length = u16::try_from(body.len()).unwrap().to_le_bytes();
    [&[0xe3], length.as_slice(), &body, &done(0)].concat()
}

pub(super) fn metadata(columns: &[(Vec<u8>, &str)]) -> Vec<u8> {
    let mut bytes = vec![0x81];
    bytes.extend(u16::try_from(columns.len()).unwrap().to_le_bytes());
    for (kind, name) in columns {
        bytes.extend([0, 0, 0, 0, 9, 0]);
        bytes.extend(kind);
        bytes.extend(short_text(name));
    }
    bytes
}

pub(super) fn row(values: &[Vec<u8>]) -> Vec<u8> {
    [[0xd1].as_slice(), &values.concat()].concat()
}

pub(super) fn nvarchar() -> Vec<u8> {
    vec![0xe7, 0x40, 0x1f, 9, 4, 0xd0, 0, 0x34]
}

pub(super) fn text(value: Option<&str>) -> Vec<u8> {
    let Some(value) = value else {
        return vec![0xff, 0xff];
    };
    let bytes: Vec<u8> = value.encode_utf16().flat_map(u16::to_le_bytes).collect();
    let length = u16::try_from(bytes.len()).unwrap().to_le_bytes();
    [length.as_slice(), &bytes].concat()
}

pub(super) fn bigint() -> Vec<u8> {
    vec![0x26, 8]
}

pub(super) fn bit() -> Vec<u8> {
    vec![0x68, 1]
}

/// A one-byte length precedes the value.
pub(super) fn sized(bytes: &[u8]) -> Vec<u8> {
    [&[u8::try_from(bytes.len()).unwrap()], bytes].concat()
}

pub(super) fn chunked(value: &str) -> Vec<u8> {
    let bytes: Vec<u8> = value.encode_utf16().flat_map(u16::to_le_bytes).collect();
    let length = u32::try_from(bytes.len()).unwrap();
    [
        u64::from(length).to_le_bytes().as_slice(),
        &length.to_le_bytes(),
        &bytes,
        &[0; 4],
    ]
    .concat()
}
