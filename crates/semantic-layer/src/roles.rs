//! Which nodes of the join graph somebody has written down.

use std::collections::BTreeSet;

use crate::catalog::Catalog;

impl Catalog {
    /// The number of nodes that are sources or aliases of joins: the graph numbers these first, and
    /// after them the look-ups that roles take over from their sources.
    pub(crate) fn written_nodes(&self) -> usize {
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
