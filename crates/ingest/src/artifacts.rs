//! What units wrote, as input of the reconciliation.

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Artifacts {
    pub(crate) unit: String,
    pub(crate) wiki: Vec<String>,
    pub(crate) sl: Vec<String>,
    pub(crate) files: Vec<String>,
}
