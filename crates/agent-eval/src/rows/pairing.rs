//! Pairs the agent's rows with the reference's.

use std::cmp::Ordering;

use super::coding::{TableCoding, extend_fingerprint};
use super::columns::ColumnMapping;
use super::numeral::Tolerance;
use super::table::{Cell, Table};
use crate::matching::maximum_matching;

/// Limit for a matching, where sorting does not pair all.
const MOST_MATCHED_ROWS: usize = 2_000;

pub(crate) struct Pairing<'a> {
    pub gold: &'a Table,
    pub actual: &'a Table,
    pub coding: &'a TableCoding,
    pub mapping: &'a ColumnMapping,
    pub tolerance: Tolerance,
}

impl Pairing<'_> {
    /// Returns the agent's equal row for each reference row, within blocks.
    pub(crate) fn pairs(&self, gold_blocks: &[u64], actual_blocks: &[u64]) -> Vec<Option<usize>> {
        let mut gold = gold_blocks.to_vec();
        let mut actual = actual_blocks.to_vec();
        for (one, two) in self.mapping.0.iter().enumerate() {
            add(&mut gold, &self.coding.gold.columns[one]);
            add(&mut actual, &self.coding.actual.columns[*two]);
        }
        let sorted = self.sorted_pairs(&gold, &actual);
        let most = gold.len().min(actual.len());
        let is_small = gold.len().max(actual.len()) <= MOST_MATCHED_ROWS;
        if !self.coding.has_chains || !is_small || sorted.iter().flatten().count() == most {
            return sorted;
        }
        let edges: Vec<Vec<usize>> = (0..gold.len())
            .map(|one| {
                (0..actual.len())
                    .filter(|two| gold[one] == actual[*two] && self.are_equal(one, *two))
                    .collect()
            })
            .collect();
        maximum_matching(&edges, actual.len())
    }

    fn sorted_pairs(&self, gold: &[u64], actual: &[u64]) -> Vec<Option<usize>> {
        let identity: Vec<usize> = (0..self.mapping.0.len()).collect();
        let left = self.order(gold, self.gold, &identity);
        let right = self.order(actual, self.actual, &self.mapping.0);
        let mut pairs = vec![None; gold.len()];
        let (mut left, mut right) = (left.into_iter().peekable(), right.into_iter().peekable());
        while let (Some(one), Some(two)) = (left.peek().copied(), right.peek().copied()) {
            let order = gold[one].cmp(&actual[two]);
            if order.is_le() {
                left.next();
            }
            if order.is_ge() {
                right.next();
            }
            if order.is_eq() && (!self.coding.has_chains || self.are_equal(one, two)) {
                pairs[one] = Some(two);
            }
        }
        pairs
    }

    /// Sorts by hash, then by numbers that can differ, then by place.
    fn order(&self, hashes: &[u64], table: &Table, columns: &[usize]) -> Vec<usize> {
        let mut order: Vec<usize> = (0..hashes.len()).collect();
        order.sort_by(|one, two| {
            hashes[*one].cmp(&hashes[*two]).then_with(|| {
                if self.coding.has_chains {
                    by_numbers(&table.rows[*one], &table.rows[*two], columns)
                } else {
                    Ordering::Equal
                }
            })
        });
        order
    }

    fn are_equal(&self, one: usize, two: usize) -> bool {
        let (gold, actual) = (&self.gold.rows[one], &self.actual.rows[two]);
        gold.iter().zip(&self.mapping.0).all(|(left, column)| {
            let right = &actual[*column];
            match (left.numeral(), right.numeral()) {
                (Some(left), Some(right)) => self.tolerance.accepts(left, right),
                _ => left == right,
            }
        })
    }
}

fn add(rows: &mut [u64], column: &[u32]) {
    for (row, code) in rows.iter_mut().zip(column) {
        *row = extend_fingerprint(*row, *code);
    }
}

fn by_numbers(one: &[Cell], two: &[Cell], columns: &[usize]) -> Ordering {
    columns
        .iter()
        .map(
            |column| match (one[*column].numeral(), two[*column].numeral()) {
                (Some(left), Some(right)) => left.order(&right),
                _ => Ordering::Equal,
            },
        )
        .find(|order| order.is_ne())
        .unwrap_or(Ordering::Equal)
}
