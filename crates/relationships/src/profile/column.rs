//! Statistics of one column.

use std::collections::{BTreeMap, HashMap};

use ktx_warehouse::Cell;
use serde::{Deserialize, Serialize};

use crate::profile::shape::{Shape, ShapeCounts, looks_like_date};
use crate::profile::sketch::{SKETCH_SIZE, Sketch, ratio};
use crate::profile::spelling::Spellings;
use crate::profile::value::{canonical, day_number, day_of_midnight, hash, is_time, range_number};
use crate::types::TypeFamily;
use crate::weights as w;

/// Maximum distinct values whose text is kept while reading.
const TEXTS: usize = 512;
const TEXT_LENGTH: usize = 120;
const FREQUENT: usize = 200;

/// As stored in stage rows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ColumnProfile {
    pub name: String,
    pub family: TypeFamily,
    pub nulls: u64,
    pub values: u64,
    pub distinct: u64,
    /// Estimated for the whole column.
    pub population: u64,
    /// For all rows; set if the warehouse reports repeats that the sample lacks.
    pub whole_uniqueness: Option<f64>,
    /// `None` unless every value is an integer.
    pub range: Option<(i64, i64)>,
    /// 12th and 88th percentile.
    pub middle: Option<(i64, i64)>,
    pub extremes: Option<(String, String)>,
    /// In characters.
    pub lengths: Option<(u64, u64)>,
    /// With counts, most frequent first.
    pub frequent: Vec<(String, u64)>,
    pub listed_all: bool,
    pub shape: Shape,
    pub sketch: Sketch,
    /// First and last day since 1970, if every value is a day.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub days: Option<(i64, i64)>,
    /// True if every value is the text of a day or a moment.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub holds_times: bool,
    /// Set if trailing spaces differ.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub written: Option<Sketch>,
    /// Without case and padding; set if different.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub folded: Option<Sketch>,
}

impl ColumnProfile {
    pub fn uniqueness(&self) -> f64 {
        let read = ratio(self.distinct, self.values);
        self.whole_uniqueness.map_or(read, |whole| read.min(whole))
    }

    pub fn null_rate(&self) -> f64 {
        ratio(self.nulls, self.nulls + self.values)
    }

    /// Containment in nearly consecutive numbers from 0 or 1 is hardly evidence.
    pub fn is_dense_from_one(&self) -> bool {
        let sampled = self.population > self.distinct;
        self.is_dense()
            && self.range.is_some_and(|(low, high)| {
                (0..=1).contains(&low)
                    || (sampled && low >= 0 && low.saturating_mul(w::DENSE_START.signed()) <= high)
            })
    }

    /// Judges by the first and the last text.
    pub fn holds_dates(&self) -> bool {
        self.family == TypeFamily::Text
            && self
                .extremes
                .as_ref()
                .is_some_and(|(first, last)| looks_like_date(first) && looks_like_date(last))
    }

    pub fn is_dense(&self) -> bool {
        self.range.is_some_and(|(low, high)| {
            let span = high.saturating_sub(low).saturating_add(1).unsigned_abs();
            ratio(self.population, span) >= w::DENSE.get()
        })
    }

    pub fn exact(&self) -> &Sketch {
        self.written.as_ref().unwrap_or(&self.sketch)
    }

    pub fn loose(&self) -> &Sketch {
        self.folded.as_ref().unwrap_or(&self.sketch)
    }

    /// For a sample, derives the end from the number of values.
    pub fn key_range(&self) -> Option<(i64, i64)> {
        let (low, high) = self.range?;
        if self.population > self.distinct && self.is_dense_from_one() {
            let size = i64::try_from(self.population).unwrap_or(i64::MAX);
            return Some((low.min(1), high.max(size)));
        }
        Some((low, high))
    }
}

#[derive(Debug)]
pub struct ColumnCollector {
    name: String,
    family: TypeFamily,
    nulls: u64,
    values: u64,
    counts: HashMap<u64, u32>,
    texts: BTreeMap<u64, String>,
    texts_full: bool,
    whole_numbers: bool,
    range: Option<(i64, i64)>,
    numbers: Thinned,
    extremes: Option<(Cell, Cell)>,
    lengths: Option<(u64, u64)>,
    shape: ShapeCounts,
    spellings: Spellings,
    all_days: bool,
    days: Option<(i64, i64)>,
    times: TimeTexts,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TimeTexts {
    None,
    All,
    NotAll,
}

/// Evenly spaced rows, at most a few thousand.
#[derive(Debug, Default)]
struct Thinned {
    kept: Vec<i64>,
    every: usize,
    seen: usize,
}

impl Thinned {
    const SIZE: usize = 4096;

    fn push(&mut self, number: i64) {
        let every = self.every.max(1);
        if self.seen.is_multiple_of(every) {
            self.kept.push(number);
        }
        self.seen += 1;
        if self.kept.len() > Self::SIZE {
            let mut at = 0;
            self.kept.retain(|_| {
                at += 1;
                at % 2 == 1
            });
            self.every = every * 2;
        }
    }

    fn middle(mut self) -> Option<(i64, i64)> {
        self.kept.sort_unstable();
        let at = |percent: usize| self.kept.get(self.kept.len() * percent / 100).copied();
        Some((at(12)?, at(88)?))
    }
}

impl ColumnCollector {
    pub fn new(name: &str, family: TypeFamily) -> Self {
        Self {
            name: name.to_owned(),
            family,
            nulls: 0,
            values: 0,
            counts: HashMap::new(),
            texts: BTreeMap::new(),
            texts_full: false,
            whole_numbers: true,
            range: None,
            numbers: Thinned::default(),
            extremes: None,
            lengths: None,
            shape: ShapeCounts::default(),
            spellings: Spellings::default(),
            all_days: true,
            days: None,
            times: TimeTexts::None,
        }
    }

    /// Returns the hash; `None` for NULL and values that are never compared.
    pub fn push(&mut self, cell: Cell) -> Option<u64> {
        if matches!(cell, Cell::Null) {
            self.nulls += 1;
            return None;
        }
        self.values += 1;
        if self.family == TypeFamily::Opaque {
            return None;
        }
        let text = canonical(&cell)?;
        let text = match cell {
            Cell::Timestamp(_) => day_of_midnight(text),
            _ => text,
        };
        let hash = hash(&text);
        if let (Cell::Text(written), TypeFamily::Text) = (&cell, self.family) {
            self.spellings.push(written, (&text, hash), &self.counts);
            self.note_time(written);
        }
        *self.counts.entry(hash).or_insert(0) += 1;
        self.note_range(&text);
        self.note_day(&text);
        if matches!(cell, Cell::Text(_)) {
            self.note_text(&text);
        }
        self.note_extremes(cell);
        if !self.texts.contains_key(&hash) {
            if self.texts.len() < TEXTS {
                self.texts.insert(hash, clipped(&text, TEXT_LENGTH));
            } else {
                self.texts_full = true;
            }
        }
        Some(hash)
    }

    fn note_range(&mut self, text: &str) {
        if !self.whole_numbers {
            return;
        }
        match range_number(text) {
            Some(number) => {
                let (low, high) = self.range.unwrap_or((number, number));
                self.range = Some((low.min(number), high.max(number)));
                self.numbers.push(number);
            }
            None => self.whole_numbers = false,
        }
    }

    fn note_day(&mut self, text: &str) {
        let no_day = ["", "0", "-1", "9999-12-31", "99991231"];
        if !self.all_days || no_day.contains(&text) {
            return;
        }
        match day_number(text) {
            Some(day) => {
                let (first, last) = self.days.unwrap_or((day, day));
                self.days = Some((first.min(day), last.max(day)));
            }
            None => self.all_days = false,
        }
    }

    fn note_time(&mut self, text: &str) {
        if self.times != TimeTexts::NotAll && !text.is_empty() {
            self.times = if is_time(text) {
                TimeTexts::All
            } else {
                TimeTexts::NotAll
            };
        }
    }

    fn note_extremes(&mut self, cell: Cell) {
        match &mut self.extremes {
            None => self.extremes = Some((cell.clone(), cell)),
            Some((low, high)) => {
                if less(&cell, low) {
                    *low = cell;
                } else if less(high, &cell) {
                    *high = cell;
                }
            }
        }
    }

    fn note_text(&mut self, text: &str) {
        let length = text.chars().count() as u64;
        let (short, long) = self.lengths.unwrap_or((length, length));
        self.lengths = Some((short.min(length), long.max(length)));
        self.shape.push(text, length);
    }

    pub fn finish(self, whole: bool) -> ColumnProfile {
        let distinct = self.counts.len() as u64;
        let days = self.days.filter(|_| self.all_days);
        let dated = self.family == TypeFamily::Time && days.is_some();
        let may_be_key =
            (self.family.can_be_key() || dated) && ratio(distinct, self.values) >= 0.95;
        let limit = if may_be_key { usize::MAX } else { SKETCH_SIZE };
        // Export tools write integers as floats beside NULLs.
        let whole_floats = self.family == TypeFamily::Float && self.whole_numbers;
        let comparable = self.family.can_be_key() || whole_floats || dated;
        let (written, folded) = self.spellings.sketches(limit, whole);
        let sketch = if comparable {
            Sketch::of(&self.counts, limit, whole)
        } else {
            Sketch::default()
        };
        let mut frequent: Vec<(String, u64)> = self
            .texts
            .iter()
            .map(|(hash, text)| {
                (
                    text.clone(),
                    u64::from(self.counts.get(hash).copied().unwrap_or(1)),
                )
            })
            .collect();
        frequent.sort_by(|left, right| right.1.cmp(&left.1).then_with(|| left.0.cmp(&right.0)));
        let listed_all = !self.texts_full && frequent.len() <= FREQUENT;
        frequent.truncate(FREQUENT);
        ColumnProfile {
            shape: self.shape.shares(self.values),
            name: self.name,
            family: self.family,
            nulls: self.nulls,
            values: self.values,
            distinct,
            population: distinct,
            whole_uniqueness: None,
            range: self.range.filter(|_| self.whole_numbers),
            middle: self
                .range
                .filter(|_| self.whole_numbers)
                .and_then(|_| self.numbers.middle()),
            extremes: self.extremes.map(|(low, high)| (shown(&low), shown(&high))),
            lengths: self.lengths,
            frequent,
            listed_all,
            sketch,
            days,
            holds_times: self.times == TimeTexts::All,
            written,
            folded,
        }
    }
}

fn shown(cell: &Cell) -> String {
    clipped(&canonical(cell).unwrap_or_default(), TEXT_LENGTH)
}

/// Marks a text that was cut.
pub fn clipped(text: &str, length: usize) -> String {
    if text.chars().count() <= length {
        return text.to_owned();
    }
    text.chars()
        .take(length.saturating_sub(1))
        .chain(['…'])
        .collect()
}

#[expect(clippy::cast_precision_loss, reason = "only an order for people")]
fn less(left: &Cell, right: &Cell) -> bool {
    let number = |cell: &Cell| match cell {
        Cell::Int(value) => Some(*value as f64),
        Cell::UInt(value) => Some(*value as f64),
        Cell::Float(value) => Some(*value),
        // Not a number: compared as text.
        Cell::Decimal(text) => text.parse::<f64>().ok(),
        _ => None,
    };
    match (number(left), number(right)) {
        (Some(left), Some(right)) => left < right,
        _ => canonical(left) < canonical(right),
    }
}
