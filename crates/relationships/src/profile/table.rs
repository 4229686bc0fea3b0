//! Statistics of one table, and column groups that identify its rows.

use std::collections::HashSet;

use ktx_warehouse::{Cell, ColumnHeader, Flow, RowSink};
use serde::{Deserialize, Serialize};

use crate::profile::column::{ColumnCollector, ColumnProfile, clipped};
use crate::profile::sketch::ratio;
use crate::profile::value::join_hashes;
use crate::types::TypeFamily;

const EXAMPLES: usize = 5;
const EXAMPLE_LENGTH: usize = 80;
/// Maximum hashes: 50 000 rows of 16 columns.
const GROUP_CELLS: usize = 800_000;
const GROUP_WIDTH: usize = 4;
/// The search stops after this many unique groups.
const UNIQUE_GROUPS: usize = 60;
/// Logarithm of the combinations per row from which a group can be unique by chance.
const LOOSE: f64 = 3.0;
/// Maximum rows visited per table.
const LOOKED_AT: usize = 1_500_000;
const GROUP_COLUMNS: usize = 10;
const GROUPS: usize = 6;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Extent {
    Whole,
    Sample,
}

/// As stored in stage rows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TableProfile {
    /// Counted or estimated by the catalog.
    pub rows: Option<u64>,
    pub rows_read: u64,
    pub extent: Extent,
    pub columns: Vec<ColumnProfile>,
    /// Minimal unique groups of two to four columns, by index.
    pub groups: Vec<Vec<usize>>,
    pub statements: usize,
    /// Truncated; NULL is absent.
    pub examples: Vec<Vec<Option<String>>>,
}

impl TableProfile {
    pub fn column(&self, name: &str) -> Option<&ColumnProfile> {
        self.columns.iter().find(|column| column.name == name)
    }

    pub fn widen(&mut self, other: Self) {
        if other.extent == Extent::Sample {
            self.extent = Extent::Sample;
        }
        self.statements += other.statements;
        self.columns.extend(other.columns);
        for (row, more) in self.examples.iter_mut().zip(other.examples) {
            row.extend(more);
        }
    }
}

#[derive(Debug)]
pub struct TableCollector {
    columns: Vec<ColumnCollector>,
    families: Vec<TypeFamily>,
    rows: u64,
    examples: Vec<Vec<Option<String>>>,
    /// Row by row, 0 for NULL.
    hashes: Option<Vec<u64>>,
}

impl TableCollector {
    pub fn new(columns: &[(String, TypeFamily)]) -> Self {
        Self {
            families: columns.iter().map(|(_, family)| *family).collect(),
            columns: columns
                .iter()
                .map(|(name, family)| ColumnCollector::new(name, *family))
                .collect(),
            rows: 0,
            examples: Vec::new(),
            hashes: Some(Vec::new()),
        }
    }

    pub fn rows(&self) -> u64 {
        self.rows
    }

    pub fn finish(self, extent: Extent, rows: Option<u64>) -> TableProfile {
        let whole = extent == Extent::Whole;
        let mut columns: Vec<ColumnProfile> = self
            .columns
            .into_iter()
            .map(|column| column.finish(whole))
            .collect();
        for column in &mut columns {
            let unique = column.uniqueness() >= 0.98 && column.values > 1;
            if let Some(rows) = rows.filter(|rows| !whole && unique && *rows > column.distinct) {
                column.population = rows;
            }
        }
        let groups = self
            .hashes
            .map(|hashes| minimal_groups(&columns, &self.families, &hashes))
            .unwrap_or_default();
        TableProfile {
            rows,
            rows_read: self.rows,
            extent,
            columns,
            groups,
            statements: 0,
            examples: self.examples,
        }
    }
}

impl RowSink for TableCollector {
    fn header(&mut self, _: &[ColumnHeader]) {}

    fn row(&mut self, cells: Vec<Cell>) -> Flow {
        self.rows += 1;
        if self.examples.len() < EXAMPLES {
            let shown = |cell: &Cell| cell.to_text().map(|text| clipped(&text, EXAMPLE_LENGTH));
            self.examples.push(cells.iter().map(shown).collect());
        }
        let too_many = self
            .hashes
            .as_ref()
            .is_some_and(|hashes| hashes.len() + cells.len() > GROUP_CELLS);
        if too_many {
            self.hashes = None;
        }
        for (column, cell) in self.columns.iter_mut().zip(cells) {
            let hash = column.push(cell);
            if let Some(hashes) = &mut self.hashes {
                hashes.push(hash.unwrap_or(0));
            }
        }
        Flow::Continue
    }
}

fn minimal_groups(
    columns: &[ColumnProfile],
    families: &[TypeFamily],
    hashes: &[u64],
) -> Vec<Vec<usize>> {
    let width = columns.len();
    if width < 2 || hashes.len() / width < 3 {
        return Vec::new();
    }
    let mut usable: Vec<usize> = (0..width)
        .filter(|at| {
            let family = families.get(*at).copied().unwrap_or(TypeFamily::Opaque);
            columns.get(*at).is_some_and(|column| {
                let short = column.lengths.is_none_or(|(_, long)| long <= 64);
                family.can_be_key()
                    && short
                    && column.nulls == 0
                    && column.distinct > 1
                    && column.uniqueness() < 0.98
            })
        })
        .collect();
    usable.truncate(GROUP_COLUMNS);
    let rows = ratio((hashes.len() / width) as u64, 1);
    let mut looked_at = 0;
    let mut groups: Vec<Vec<usize>> = Vec::new();
    let mut partial: Vec<Vec<usize>> = usable.iter().map(|at| vec![*at]).collect();
    for _ in 2..=GROUP_WIDTH {
        let mut next = Vec::new();
        for group in &partial {
            let last = group.last().copied().unwrap_or(0);
            for at in usable.iter().copied().filter(|at| *at > last) {
                let mut wider = group.clone();
                wider.push(at);
                let covered = groups
                    .iter()
                    .any(|known| known.iter().all(|part| wider.contains(part)));
                if covered {
                    continue;
                }
                if groups.len() < UNIQUE_GROUPS && is_unique(&wider, width, hashes, &mut looked_at)
                {
                    groups.push(wider);
                } else {
                    next.push(wider);
                }
            }
        }
        if groups.iter().any(|group| is_tight(columns, group, rows)) {
            break;
        }
        partial = next;
    }
    groups.sort_by(|left, right| {
        combinations(columns, left).total_cmp(&combinations(columns, right))
    });
    groups.truncate(GROUPS);
    groups
}

fn combinations(columns: &[ColumnProfile], group: &[usize]) -> f64 {
    let distinct = group.iter().filter_map(|at| columns.get(*at));
    distinct.map(|column| ratio(column.distinct, 1).ln()).sum()
}

/// Any two columns with many values are unique by chance.
fn is_tight(columns: &[ColumnProfile], group: &[usize], rows: f64) -> bool {
    combinations(columns, group) <= rows.ln() + LOOSE
}

fn is_unique(group: &[usize], width: usize, hashes: &[u64], looked_at: &mut usize) -> bool {
    if *looked_at > LOOKED_AT {
        return false;
    }
    let mut seen = HashSet::new();
    hashes.chunks_exact(width).all(|row| {
        *looked_at += 1;
        let tuple = group
            .iter()
            .filter_map(|at| row.get(*at))
            .fold(0_u64, |tuple, hash| join_hashes(tuple, *hash));
        seen.insert(tuple)
    })
}
