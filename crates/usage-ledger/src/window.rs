//! Which facts a report sums, and how it groups them.

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReportGroup {
    All,
    Run,
    Role,
    Stage,
    Model,
    Connection,
}

impl ReportGroup {
    pub(crate) const fn column(self) -> &'static str {
        match self {
            Self::All => "''",
            Self::Run => "run_id",
            Self::Role => "role",
            Self::Stage => "stage",
            Self::Model => "model",
            Self::Connection => "coalesce(connection_id, '')",
        }
    }
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ReportWindow {
    pub run_id: Option<String>,
    /// UTC time (RFC 3339), inclusive.
    pub since: Option<String>,
}
