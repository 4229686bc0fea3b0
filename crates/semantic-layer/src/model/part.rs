//! The parts of a source that a finding or a probe is about.

/// The subject of a probe; [`crate::place_of`] finds its position in the files.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Part {
    /// The table or the query of the source.
    Relation,
    /// A column.
    Column(String),
    /// The grain.
    Grain,
    /// A join, by its index in the source's joins.
    Join(usize),
    /// A measure.
    Measure(String),
    /// A segment.
    Segment(String),
}
