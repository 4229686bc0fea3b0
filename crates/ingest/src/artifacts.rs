//! What units wrote, for the reconciliation.

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Artifacts {
    pub(crate) unit: String,
    pub(crate) wiki: Vec<String>,
    pub(crate) sl: Vec<String>,
    /// Files of the unit that were removed.
    pub(crate) files: Vec<String>,
}
