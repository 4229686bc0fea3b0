//! The links that the warehouse declares.

use std::collections::{BTreeMap, BTreeSet};

use ktx_vocabulary::TableRef;
use ktx_warehouse::Table;

use crate::links::link::{Cardinality, Check, Endpoint, Evidence, Link, Origin, Status, link_id};

/// A composite key is one link.
pub fn formal_links(tables: &[Table]) -> Vec<Link> {
    let known: BTreeMap<&TableRef, &Table> =
        tables.iter().map(|table| (&table.table, table)).collect();
    let mut seen: BTreeSet<String> = BTreeSet::new();
    let mut links = Vec::new();
    for table in tables {
        for key in &table.foreign_keys {
            let from = Endpoint {
                table: table.table.clone(),
                columns: key.from_columns.clone(),
            };
            let to = Endpoint {
                table: key.to_table.clone(),
                columns: key.to_columns.clone(),
            };
            let target = known.get(&key.to_table);
            let exists = target.is_some_and(|target| {
                key.to_columns
                    .iter()
                    .all(|column| target.columns.iter().any(|known| known.name == *column))
            });
            let new = seen.insert(link_id(&from, &to));
            let (status, reason) = match (new, exists) {
                (true, true) => (Status::Accepted, "declared by the warehouse"),
                (true, false) => (Status::Skipped, "formal_metadata_endpoint_not_found"),
                (false, _) => (Status::Skipped, "formal_metadata_duplicate"),
            };
            let own: BTreeSet<&String> = key.from_columns.iter().collect();
            let whole_key = !table.primary_key.is_empty()
                && table.primary_key.iter().all(|column| own.contains(column));
            links.push(Link {
                from,
                to,
                status,
                origin: Origin::Formal,
                cardinality: if whole_key {
                    Cardinality::OneToOne
                } else {
                    Cardinality::ManyToOne
                },
                score: 1.0,
                key_score: 1.0,
                evidence: Evidence::default(),
                check: Check::None,
                reasons: vec![reason.to_owned()],
            });
        }
    }
    links
}
