//! A table of token vectors. The vector of a text is the mean of its tokens' vectors.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use async_trait::async_trait;
use ktx_search::{Vectors, VectorsError};
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use crate::tokens::Vocabulary;

const LONGEST_HEADER: usize = 1 << 20;

#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum TableError {
    #[error("line {line} does not have a word and as many numbers as the other lines")]
    Line { line: usize },
    #[error("it has no table of numbers with a row for each token")]
    NoTensor,
    #[error("its vectors are stored as {0}; ktx reads F16, BF16 and F32")]
    Type(String),
    #[error("it is cut off")]
    CutOff,
    #[error(
        "it holds vectors without their tokens; ktx needs the `tokenizer.json` that belongs to it"
    )]
    NoTokens,
    #[error("its `tokenizer.json` has no vocabulary")]
    BadTokens,
    #[error("it has no vectors")]
    Empty,
}

#[derive(Debug, Clone, Copy)]
enum NumberType {
    Half,
    Brain,
    Single,
}

impl NumberType {
    const fn bytes(self) -> usize {
        match self {
            Self::Half | Self::Brain => 2,
            Self::Single => 4,
        }
    }

    fn read(self, bytes: &[u8]) -> f32 {
        match (self, bytes) {
            (Self::Half, [low, high]) => half_to_f32(u16::from_le_bytes([*low, *high])),
            (Self::Brain, [low, high]) => f32::from_le_bytes([0, 0, *low, *high]),
            (Self::Single, [a, b, c, d]) => f32::from_le_bytes([*a, *b, *c, *d]),
            _ => 0.0,
        }
    }
}

fn half_to_f32(bits: u16) -> f32 {
    let sign = if bits & 0x8000 == 0 { 1.0 } else { -1.0 };
    let exponent = i32::from((bits >> 10) & 0x1F);
    let fraction = f32::from(bits & 0x3FF) / 1024.0;
    match exponent {
        0 => sign * fraction * 2_f32.powi(-14),
        31 => 0.0,
        _ => sign * (1.0 + fraction) * 2_f32.powi(exponent - 15),
    }
}

#[derive(Debug)]
pub struct EmbeddingTable {
    bytes: Vec<u8>,
    start: usize,
    numbers: NumberType,
    dimensions: usize,
    vocabulary: Vocabulary,
    model: String,
}

impl EmbeddingTable {
    /// Parses lines of a word and its numbers, as in `GloVe`, word2vec and fastText, or
    /// a safetensors file with its `tokenizer.json`.
    pub fn parse(bytes: Vec<u8>, tokenizer: Option<&[u8]>) -> Result<Self, TableError> {
        let mut hasher = Sha256::new();
        hasher.update(&bytes);
        hasher.update(tokenizer.unwrap_or_default());
        let digits = hasher.finalize();
        let digits = digits.iter().take(8).map(|byte| format!("{byte:02x}"));
        let model = format!("table {}", digits.collect::<String>());
        match header(&bytes) {
            Some(header) => Self::from_tensors(bytes, &header, tokenizer, model),
            None => Self::from_lines(&bytes, model),
        }
    }

    fn from_tensors(
        bytes: Vec<u8>,
        header: &TableHeader,
        tokenizer: Option<&[u8]>,
        model: String,
    ) -> Result<Self, TableError> {
        let tensor = header.table().ok_or(TableError::NoTensor)?;
        let numbers = match tensor.kind.as_str() {
            "F16" => NumberType::Half,
            "BF16" => NumberType::Brain,
            "F32" => NumberType::Single,
            other => return Err(TableError::Type(other.to_owned())),
        };
        let start = header.length + tensor.start;
        let size = tensor.rows.checked_mul(tensor.dimensions);
        let size = size.and_then(|size| size.checked_mul(numbers.bytes()));
        if size
            .and_then(|size| start.checked_add(size))
            .is_none_or(|end| end > bytes.len())
        {
            return Err(TableError::CutOff);
        }
        let tokenizer = tokenizer.ok_or(TableError::NoTokens)?;
        let vocabulary = Vocabulary::from_tokenizer(tokenizer).ok_or(TableError::BadTokens)?;
        Ok(Self {
            bytes,
            start,
            numbers,
            dimensions: tensor.dimensions,
            vocabulary,
            model,
        })
    }

    fn from_lines(bytes: &[u8], model: String) -> Result<Self, TableError> {
        let text = String::from_utf8_lossy(bytes);
        let mut numbers: HashMap<String, usize> = HashMap::new();
        let mut kept: Vec<u8> = Vec::new();
        let mut dimensions = 0;
        for (line, number) in text.lines().zip(1..) {
            let mut parts = line.split_whitespace();
            let Some(word) = parts.next() else { continue };
            let values: Vec<f32> = parts.filter_map(|part| part.parse().ok()).collect();
            // word2vec writes the numbers of words and dimensions first.
            if number == 1 && values.len() == 1 {
                continue;
            }
            if dimensions == 0 {
                dimensions = values.len();
            }
            if values.len() != dimensions || dimensions == 0 {
                return Err(TableError::Line { line: number });
            }
            let row = numbers.len();
            if let Entry::Vacant(place) = numbers.entry(word.to_lowercase()) {
                place.insert(row);
                kept.extend(values.iter().flat_map(|value| value.to_le_bytes()));
            }
        }
        if numbers.is_empty() {
            return Err(TableError::Empty);
        }
        Ok(Self {
            bytes: kept,
            start: 0,
            numbers: NumberType::Single,
            dimensions,
            vocabulary: Vocabulary::from_words(numbers),
            model,
        })
    }

    pub const fn dimensions(&self) -> usize {
        self.dimensions
    }

    /// Returns zeros for a text without tokens.
    pub fn vector(&self, text: &str) -> Vec<f32> {
        let mut sum = vec![0.0; self.dimensions];
        let mut count = 0.0_f32;
        let width = self.numbers.bytes();
        let row = self.dimensions * width;
        for number in self.vocabulary.numbers(text) {
            let begin = number
                .checked_mul(row)
                .and_then(|at| at.checked_add(self.start));
            let range = begin.and_then(|at| self.bytes.get(at..at.checked_add(row)?));
            let Some(values) = range else { continue };
            count += 1.0;
            for (total, value) in sum.iter_mut().zip(values.chunks_exact(width)) {
                *total += self.numbers.read(value);
            }
        }
        if count > 0.0 {
            for total in &mut sum {
                *total /= count;
            }
        }
        sum
    }
}

#[async_trait]
impl Vectors for EmbeddingTable {
    fn model(&self) -> &str {
        &self.model
    }

    async fn embed(&self, texts: &[String]) -> Result<Vec<Vec<f32>>, VectorsError> {
        Ok(texts.iter().map(|text| self.vector(text)).collect())
    }
}

struct TableHeader {
    length: usize,
    tensors: Vec<Tensor>,
}

struct Tensor {
    kind: String,
    rows: usize,
    dimensions: usize,
    start: usize,
}

impl TableHeader {
    fn table(&self) -> Option<&Tensor> {
        self.tensors
            .iter()
            .max_by_key(|tensor| tensor.rows.saturating_mul(tensor.dimensions))
    }
}

/// Returns `None` if the file is not a safetensors file.
fn header(bytes: &[u8]) -> Option<TableHeader> {
    let (length, rest) = bytes.split_at_checked(8)?;
    let length = usize::try_from(u64::from_le_bytes(length.try_into().ok()?)).ok()?;
    if length > LONGEST_HEADER {
        return None;
    }
    let entries: Value = serde_json::from_slice(rest.get(..length)?).ok()?;
    let tensors = entries.as_object()?.values().filter_map(|entry| {
        let shape = entry.get("shape")?.as_array()?;
        let [rows, dimensions] = shape.as_slice() else {
            return None;
        };
        Some(Tensor {
            kind: entry.get("dtype")?.as_str()?.to_owned(),
            rows: usize::try_from(rows.as_u64()?).ok()?,
            dimensions: usize::try_from(dimensions.as_u64()?).ok()?,
            start: usize::try_from(entry.get("data_offsets")?.get(0)?.as_u64()?).ok()?,
        })
    });
    Some(TableHeader {
        length: length + 8,
        tensors: tensors.collect(),
    })
}

#[cfg(test)]
mod tests;
