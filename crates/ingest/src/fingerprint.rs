//! Fingerprints the inputs of a unit, so that ktx does not ask again for an unchanged one.

use std::fmt::Write as _;

use ktx_context_sources::{Snapshot, Unit};
use ktx_vocabulary::ConnectionId;
use sha2::{Digest as _, Sha256};

/// Increment when a unit means something else to the model; ktx then asks again for all units.
const PROMPTS: u32 = 1;

/// Hashes everything that determines the prompt of a unit: its files, their dependencies, and the
/// warehouse whose sources it may write. Peers are excluded, so that a change to one of them does
/// not repeat all units.
pub(crate) fn fingerprint(
    unit: &Unit,
    snapshot: &Snapshot,
    warehouse: Option<&ConnectionId>,
) -> String {
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

/// Returns the SHA-256 hash of these bytes in hexadecimal digits.
pub(crate) fn digest(bytes: &[u8]) -> String {
    digits(&Sha256::digest(bytes))
}

fn digits(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}
