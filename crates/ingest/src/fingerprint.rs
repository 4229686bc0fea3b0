//! Hashes the inputs of a unit, so that ktx does not ask again for an unchanged one.

use std::fmt::Write as _;

use ktx_context_sources::{Snapshot, Unit, canonical_text};
use ktx_vocabulary::ConnectionId;
use sha2::{Digest as _, Sha256};

/// Increment when the prompts change the meaning of a unit; ktx then asks again for all units.
const PROMPTS: u32 = 1;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Fingerprint {
    /// Hash of the files, their dependencies, and the warehouse. Ignores comments and layout of
    /// YAML. Ignores peers, so that a change to one of them does not repeat all units.
    pub(crate) input: String,
    /// The hash of ktx 0.13, which included comments and layout.
    pub(crate) former_input: String,
    /// Hash of the files' content, independent of their paths and the unit's key.
    pub(crate) content: String,
}

impl Fingerprint {
    pub(crate) fn new(unit: &Unit, snapshot: &Snapshot, warehouse: Option<&ConnectionId>) -> Self {
        let text = |path: &String| snapshot.files.get(path).map_or("", String::as_str);
        let canonical = |path: &String| canonical_text(path, text(path));
        let warehouse = warehouse.filter(|_| unit.writes_sources);
        let warehouse = warehouse.map_or("", |id| id.as_str());
        let note = unit.note.unwrap_or_default();
        let head = || {
            let mut hash = PartHash::default();
            hash.add(&PROMPTS.to_le_bytes());
            hash.add(warehouse.as_bytes());
            hash
        };
        let (mut input, mut former, mut content) = (head(), head(), head());
        for hash in [&mut input, &mut former] {
            hash.add(unit.key.as_bytes());
            if !note.is_empty() {
                hash.add(note.as_bytes());
            }
        }
        content.add(note.as_bytes());
        for path in unit.files.iter().chain(&unit.dependencies) {
            let said = canonical(path);
            for hash in [&mut input, &mut former] {
                hash.add(path.as_bytes());
            }
            input.add(said.as_bytes());
            content.add(said.as_bytes());
            former.add(text(path).as_bytes());
        }
        Self {
            input: input.digits(),
            former_input: former.digits(),
            content: content.digits(),
        }
    }
}

/// Hashes each part with its length.
#[derive(Default)]
struct PartHash(Sha256);

impl PartHash {
    fn add(&mut self, bytes: &[u8]) {
        let length = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
        self.0.update(length.to_le_bytes());
        self.0.update(bytes);
    }

    fn digits(self) -> String {
        digits(&self.0.finalize())
    }
}

/// SHA-256.
pub(crate) fn digest(bytes: &[u8]) -> String {
    digits(&Sha256::digest(bytes))
}

fn digits(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}
