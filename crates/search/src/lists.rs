//! Lists of the passages with a stem, in bytes.
//!
//! Each entry has the distance from the passage before it, the number of words of its passage, the
//! number of bytes of its places, and the distances between its places. All are numbers of variable
//! length. A place is a position in a column, times eight, plus the number of the column.

use rusqlite::types::Type;

use crate::schema::{PassageRow, Segment};

/// Weights of words by column: name, display, description, comment, expression, sample values,
/// heading, body.
const WEIGHTS: [f64; 8] = [6.0, 6.0, 4.0, 3.0, 2.0, 3.0, 4.0, 1.0];

const COLUMN_BITS: u32 = 3;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Column {
    Name,
    Display,
    Description,
    Comment,
    Expr,
    SampleValue,
    Heading,
    Body,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Place(pub(crate) u32);

impl Place {
    /// Also the distance between adjacent words.
    pub(crate) const STEP: u32 = 1 << COLUMN_BITS;

    /// Places beyond the maximum are the same, which affects phrases in huge texts only.
    pub(crate) fn of(column: Column, position: usize) -> Self {
        let most = u32::MAX >> (COLUMN_BITS + 1);
        let position = u32::try_from(position).unwrap_or(most).min(most);
        Self(position * Self::STEP + column as u32)
    }

    pub(crate) fn is_of_values(self) -> bool {
        self.column() == Column::SampleValue as usize
    }

    pub(crate) fn weight(self) -> f64 {
        WEIGHTS.get(self.column()).copied().unwrap_or_default()
    }

    const fn column(self) -> usize {
        (self.0 % Self::STEP) as usize
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Entry<'b> {
    pub(crate) passage: PassageRow,
    /// Words of the whole passage.
    pub(crate) words: u32,
    places: &'b [u8],
}

impl Entry<'_> {
    pub(crate) fn places(&self) -> impl Iterator<Item = Place> {
        let mut bytes = self.places;
        let mut last = 0_u32;
        std::iter::from_fn(move || {
            let distance = number(&mut bytes)?;
            last = last.wrapping_add(u32::try_from(distance).ok()?);
            Some(Place(last))
        })
    }
}

#[derive(Debug)]
pub(crate) struct ListWriter {
    last: i64,
    bytes: Vec<u8>,
}

impl ListWriter {
    pub(crate) const fn new(segment: Segment) -> Self {
        Self {
            last: segment.first().0,
            bytes: Vec::new(),
        }
    }

    /// Passages must ascend. Returns the number of written bytes.
    pub(crate) fn push(&mut self, passage: PassageRow, words: u32, places: &[Place]) -> usize {
        let before = self.bytes.len();
        let mut length = 0;
        let mut last = 0;
        for place in places {
            length += width(u64::from(place.0 - last));
            last = place.0;
        }
        self.begin(passage, words, length);
        let mut last = 0;
        for place in places {
            push_number(&mut self.bytes, u64::from(place.0 - last));
            last = place.0;
        }
        self.bytes.len() - before
    }

    pub(crate) fn copy(&mut self, entry: &Entry<'_>) {
        self.begin(entry.passage, entry.words, entry.places.len());
        self.bytes.extend_from_slice(entry.places);
    }

    fn begin(&mut self, passage: PassageRow, words: u32, length: usize) {
        let distance = passage.0.abs_diff(self.last);
        self.last = passage.0;
        push_number(&mut self.bytes, distance);
        push_number(&mut self.bytes, u64::from(words));
        push_number(&mut self.bytes, u64::try_from(length).unwrap_or_default());
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }
}

/// Calls `found` with each entry. Fails if the bytes are not those of a list.
pub(crate) fn read_list<'b>(
    segment: Segment,
    bytes: &'b [u8],
    found: &mut dyn FnMut(Entry<'b>),
) -> Result<(), rusqlite::Error> {
    let mut rest = bytes;
    let mut last = segment.first().0;
    while !rest.is_empty() {
        let Some(entry) = entry(&mut rest, &mut last) else {
            let reason = "a list of passages is damaged".into();
            return Err(rusqlite::Error::FromSqlConversionFailure(
                0,
                Type::Blob,
                reason,
            ));
        };
        found(entry);
    }
    Ok(())
}

fn entry<'b>(rest: &mut &'b [u8], last: &mut i64) -> Option<Entry<'b>> {
    let distance = i64::try_from(number(rest)?).ok()?;
    *last = last.checked_add(distance)?;
    let words = u32::try_from(number(rest)?).ok()?;
    let length = usize::try_from(number(rest)?).ok()?;
    let (places, after) = rest.split_at_checked(length)?;
    *rest = after;
    Some(Entry {
        passage: PassageRow(*last),
        words,
        places,
    })
}

const fn width(number: u64) -> usize {
    let bits = 64 - (number | 1).leading_zeros() as usize;
    bits.div_ceil(7)
}

#[expect(clippy::cast_possible_truncation, reason = "seven bits at a time")]
fn push_number(bytes: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

fn number(bytes: &mut &[u8]) -> Option<u64> {
    let mut number = 0_u64;
    let mut shift = 0_u32;
    loop {
        let (byte, rest) = bytes.split_first()?;
        *bytes = rest;
        number |= u64::from(byte & 0x7f).checked_shl(shift)?;
        if *byte < 0x80 {
            return Some(number);
        }
        shift += 7;
    }
}

#[cfg(test)]
mod tests;
