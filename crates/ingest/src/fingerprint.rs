//! What a unit was made from, so that an unchanged one is not asked again.

use std::fmt::Write as _;

use ktx_context_sources::{Snapshot, Unit};
use ktx_vocabulary::ConnectionId;
use sha2::{Digest as _, Sha256};

/// Counts up when a unit means something else to the model, which is then asked again for all of them.
const PROMPTS: u32 = 1;

/// A hash of everything that decides what a unit is asked: its files, those that it depends on, and the
/// warehouse whose sources it may write. Its peers are not part of it: a change of one of them does not ask
/// for all units again.
pub fn fingerprint(unit: &Unit, snapshot: &Snapshot, warehouse: Option<&ConnectionId>) -> String {
    let mut hash = Sha256::new();
    let mut part = |bytes: &[u8]| {
        let length = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
        hash.update(length.to_le_bytes());
        hash.update(bytes);
    };
    part(&PROMPTS.to_le_bytes());
    let warehouse = warehouse.filter(|_| unit.writes_sources);
    part(warehouse.map_or("", |id| id.as_str()).as_bytes());
    part(unit.key.as_bytes());
    if let Some(note) = unit.note {
        part(note.as_bytes());
    }
    for path in unit.files.iter().chain(&unit.dependencies) {
        part(path.as_bytes());
        let text = snapshot.files.get(path);
        part(text.map_or(b"".as_slice(), |text| text.as_bytes()));
    }
    digits(&hash.finalize())
}

/// The hash of these bytes, in hexadecimal digits.
pub(crate) fn digest(bytes: &[u8]) -> String {
    digits(&Sha256::digest(bytes))
}

fn digits(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}
