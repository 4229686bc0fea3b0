//! Finds documents by meaning alone.

use rusqlite::OptionalExtension as _;

use super::Index;
use crate::document::Kind;
use crate::error::SearchError;
use crate::near::FLOOR;
use crate::schema::Group;
use crate::vectors::QueryVector;

#[derive(Debug, Clone, PartialEq)]
pub struct NearDocument {
    pub payload: String,
    /// The cosine of the angle to the query, up to 1.
    pub cosine: f64,
}

impl Index {
    /// Nearest first. The vectors must be attached.
    pub fn nearest(
        &self,
        vector: &QueryVector,
        kind: Kind,
    ) -> Result<Vec<NearDocument>, SearchError> {
        let matrix = self.matrix(vector).map_err(SearchError::vectors)?;
        let mut compared = matrix.compare(&vector.numbers, Group::of(kind));
        compared.retain(|(row, cosine)| row.kind() == kind && *cosine >= FLOOR);
        compared.sort_by(|left, right| right.1.total_cmp(&left.1));
        let mut payload = self
            .db
            .prepare_cached("SELECT payload FROM documents WHERE rowid = ?1")?;
        let mut near = Vec::new();
        for (row, cosine) in compared {
            let found = payload.query_row([row.0], |row| row.get(0)).optional()?;
            near.extend(found.map(|payload| NearDocument { payload, cosine }));
        }
        Ok(near)
    }
}
