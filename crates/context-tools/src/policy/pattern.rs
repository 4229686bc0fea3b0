//! Case-insensitive names in policies, with `*` for any letters.

use ktx_vocabulary::TableRef;

/// Fits every name that ends in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Pattern {
    parts: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ColumnPattern {
    pub(super) table: Pattern,
    pub(super) column: String,
}

impl Pattern {
    pub(super) fn of(name: &str) -> Self {
        let plain = name.trim().replace(['"', '`', '[', ']'], "").to_lowercase();
        Self {
            parts: plain.split('.').map(str::to_owned).collect(),
        }
    }

    pub(super) fn of_name(name: &str) -> Self {
        Self {
            parts: vec![name.to_lowercase()],
        }
    }

    pub(super) fn fits<'a>(&self, name: impl Iterator<Item = &'a str>) -> bool {
        let name: Vec<String> = name.map(str::to_lowercase).collect();
        let Some(skipped) = name.len().checked_sub(self.parts.len()) else {
            return false;
        };
        let end = name.iter().skip(skipped);
        self.parts
            .iter()
            .zip(end)
            .all(|(part, text)| matches(part, text))
    }
}

impl ColumnPattern {
    /// Parses `table.column`; `None` without a table.
    pub(super) fn of(name: &str) -> Option<Self> {
        let (table, column) = name.trim().rsplit_once('.')?;
        Some(Self {
            table: Pattern::of(table),
            column: column.replace(['"', '`', '[', ']'], "").to_lowercase(),
        })
    }

    pub(super) fn is_of(&self, table: &TableRef) -> bool {
        self.table.fits(table.parts())
    }

    pub(super) fn fits(&self, table: &TableRef, column: &str) -> bool {
        self.is_of(table) && matches(&self.column, &column.to_lowercase())
    }
}

fn matches(pattern: &str, text: &str) -> bool {
    let mut pieces = pattern.split('*');
    let first = pieces.next().unwrap_or_default();
    let Some(mut rest) = text.strip_prefix(first) else {
        return false;
    };
    let mut pieces: Vec<&str> = pieces.collect();
    let Some(last) = pieces.pop() else {
        return rest.is_empty();
    };
    for piece in pieces {
        let Some(at) = rest.find(piece) else {
            return false;
        };
        rest = rest.get(at + piece.len()..).unwrap_or_default();
    }
    rest.ends_with(last)
}
