//! Catalog rows of warehouses whose answers are cells.

use ktx_warehouse::Cell;

/// Reads the cells of one row from left to right, as text.
pub(crate) struct Texts(std::vec::IntoIter<Cell>);

impl Texts {
    pub(crate) fn new(row: Vec<Cell>) -> Self {
        Self(row.into_iter())
    }

    /// Returns the next cell; empty for NULL and past the end.
    pub(crate) fn text(&mut self) -> String {
        self.optional().unwrap_or_default()
    }

    pub(crate) fn optional(&mut self) -> Option<String> {
        self.0.next().and_then(|cell| cell.to_text())
    }
}
