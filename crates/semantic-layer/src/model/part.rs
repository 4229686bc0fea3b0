//! The parts of a source that a finding or a probe is about.

/// See [`crate::place_of`] for its position in the files.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Part {
    Relation,
    Column(String),
    Grain,
    /// An index into the source's joins.
    Join(usize),
    Measure(String),
    Segment(String),
}
