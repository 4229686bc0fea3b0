//! Catalog rows of warehouses whose answers are cells.

use ktx_warehouse::Cell;

pub(crate) struct TextCells(std::vec::IntoIter<Cell>);

impl TextCells {
    pub(crate) fn new(row: Vec<Cell>) -> Self {
        Self(row.into_iter())
    }

    /// Empty for NULL and past the end.
    pub(crate) fn text(&mut self) -> String {
        self.optional().unwrap_or_default()
    }

    pub(crate) fn optional(&mut self) -> Option<String> {
        self.0.next().and_then(|cell| cell.to_text())
    }
}
