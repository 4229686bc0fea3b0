//! Separates authored nodes of the join graph from inherited ones.

use std::collections::BTreeSet;

use crate::catalog::Catalog;

impl Catalog {
    /// Counts sources and join aliases.
    pub fn written_nodes(&self) -> usize {
        let aliases: BTreeSet<&str> = self
            .sources
            .iter()
            .flat_map(|source| &source.joins)
            .filter_map(|join| join.alias.as_deref())
            .collect();
        self.graph
            .nodes()
            .take_while(|(_, node)| !node.is_alias || aliases.contains(node.name.as_str()))
            .count()
    }
}
