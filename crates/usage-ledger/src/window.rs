//! Which facts a report sums, and how it groups them.

/// The grouping of report rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Group {
    /// A single row.
    All,
    /// A row per run.
    Run,
    /// A row per role.
    Role,
    /// A row per stage.
    Stage,
    /// A row per model.
    Model,
    /// A row per connection.
    Connection,
}

impl Group {
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

/// The facts to sum.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Window {
    /// Only this run.
    pub run_id: Option<String>,
    /// Only facts from this UTC time on (RFC 3339).
    pub since: Option<String>,
}
