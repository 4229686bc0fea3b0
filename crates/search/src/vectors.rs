//! Vectors of texts, compared by brute force.
//!
//! A vector is stored in bytes, scaled so that its largest number is 127; the angle between two
//! vectors
//! does not depend on the scale.

use async_trait::async_trait;

use crate::schema::{DocumentRow, Group, PassageRow};

const BATCH: usize = 256;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Objection {
    /// The same request may succeed later.
    Other,
    /// The same request always fails.
    Texts,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct VectorsError {
    message: String,
    objection: Objection,
}

impl VectorsError {
    /// The provider is unavailable now.
    pub fn new(message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            objection: Objection::Other,
        }
    }

    pub fn refusing_texts(message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            objection: Objection::Texts,
        }
    }

    pub fn refuses_texts(&self) -> bool {
        self.objection == Objection::Texts
    }
}

/// Computes vectors of texts; similar meanings have near vectors.
#[async_trait]
pub trait Vectors: std::fmt::Debug + Send + Sync {
    /// Only vectors with the same model name are comparable.
    fn model(&self) -> &str;

    /// Maximum texts per request. The answer is stored before the next request.
    fn batch(&self) -> usize {
        BATCH
    }

    /// In the order of the texts.
    async fn embed(&self, texts: &[String]) -> Result<Vec<Vec<f32>>, VectorsError>;
}

/// Vectors of another length are ignored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VectorModel {
    pub name: String,
    pub dimensions: Option<usize>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Meaning<'q> {
    Unconfigured,
    Failed,
    /// The vectors of passages must be attached.
    Near(&'q QueryVector),
}

#[derive(Debug, Clone, PartialEq)]
pub struct QueryVector {
    pub model: String,
    pub numbers: Vec<f32>,
}

pub(crate) fn quantized(numbers: &[f32]) -> Vec<i8> {
    let most = numbers
        .iter()
        .fold(0.0_f32, |most, one| most.max(one.abs()));
    if most == 0.0 {
        return vec![0; numbers.len()];
    }
    #[expect(
        clippy::cast_possible_truncation,
        reason = "the bounds are those of the type"
    )]
    let byte = |number: &f32| (number / most * 127.0).round().clamp(-127.0, 127.0) as i8;
    numbers.iter().map(byte).collect()
}

fn product(left: &[i8], right: &[i8]) -> i32 {
    let pairs = left.iter().zip(right);
    pairs
        .map(|(left, right)| i32::from(*left) * i32::from(*right))
        .sum()
}

#[expect(clippy::cast_precision_loss, reason = "a length needs no more digits")]
fn length(vector: &[i8]) -> f32 {
    (product(vector, vector) as f32).sqrt()
}

#[derive(Debug, Default)]
pub(crate) struct Matrix {
    pub(crate) key: String,
    rows: Vec<PassageRow>,
    lengths: Vec<f32>,
    numbers: Vec<i8>,
    dimensions: usize,
}

impl Matrix {
    pub(crate) fn new(key: String, dimensions: usize) -> Self {
        Self {
            key,
            dimensions,
            ..Self::default()
        }
    }

    pub(crate) fn push(&mut self, row: PassageRow, bytes: &[u8]) {
        let start = self.numbers.len();
        self.numbers
            .extend(bytes.iter().map(|byte| byte.cast_signed()));
        let vector = self.numbers.get(start..).unwrap_or_default();
        self.lengths.push(length(vector));
        self.rows.push(row);
    }

    pub(crate) fn compare(&self, query: &[f32], group: Group) -> Vec<(DocumentRow, f64)> {
        let mut best: Vec<(DocumentRow, f64)> = Vec::new();
        if query.len() != self.dimensions || self.dimensions == 0 {
            return best;
        }
        let query = quantized(query);
        let own = length(&query);
        if own == 0.0 {
            return best;
        }
        let vectors = self.numbers.chunks_exact(self.dimensions);
        for ((row, length), vector) in self.rows.iter().zip(&self.lengths).zip(vectors) {
            let document = row.document();
            if *length == 0.0 || Group::of(document.kind()) != group {
                continue;
            }
            #[expect(clippy::cast_precision_loss, reason = "an angle needs no more digits")]
            let cosine = f64::from(product(&query, vector) as f32 / (own * length));
            match best.last_mut() {
                Some((last, most)) if *last == document => *most = most.max(cosine),
                _ => best.push((document, cosine)),
            }
        }
        best
    }
}
