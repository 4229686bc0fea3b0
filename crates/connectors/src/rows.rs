//! Catalog rows of warehouses whose answers are cells.

use ktx_warehouse::Cell;

/// Takes the cells of one row from left to right, as text.
pub(crate) struct Texts(std::vec::IntoIter<Cell>);

impl Texts {
    pub(crate) fn new(row: Vec<Cell>) -> Self {
        Self(row.into_iter())
    }

    /// The next cell; NULL and nothing are an empty text.
    pub(crate) fn text(&mut self) -> String {
        self.optional().unwrap_or_default()
    }

    /// The next cell.
    pub(crate) fn optional(&mut self) -> Option<String> {
        self.0.next().and_then(|cell| cell.to_text())
    }
}
