//! What units wrote, for the reconciliation.

/// What a unit wrote.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Artifacts {
    /// The unit.
    pub(crate) unit: String,
    /// Keys of its pages.
    pub(crate) wiki: Vec<String>,
    /// Names of its semantic sources.
    pub(crate) sl: Vec<String>,
    /// Files of the unit that were removed.
    pub(crate) files: Vec<String>,
}
