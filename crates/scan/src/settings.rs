//! The values of `scan.*` in `ktx.yaml` after defaults.

use ktx_relationships::settings::{RelationshipSettings, Switch};

use crate::budget::Budget;

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct PastQuery {
    /// In the warehouse's dialect.
    pub text: String,
    pub runs: u64,
}

/// `context.queryHistory` of a connection.
#[derive(Debug, Clone, PartialEq)]
pub struct History {
    /// `enabled`: reads the warehouse's own record.
    pub warehouse: Switch,
    /// `windowDays`.
    pub days: u32,
    /// `minExecutions`; only for the warehouse's record.
    pub least_runs: u64,
    /// Queries from other places, such as a file.
    pub queries: Vec<PastQuery>,
    /// `enabledSchemas`; all if empty or `*`.
    pub schemas: Vec<String>,
    /// `enabledTables`: `name`, `db.name` or `catalog.db.name`; all if empty.
    pub tables: Vec<String>,
    /// `filters.serviceAccounts`.
    pub people: People,
}

#[derive(Debug, Clone, Default)]
pub enum People {
    #[default]
    All,
    Without(regex::RegexSet),
    Only(regex::RegexSet),
}

impl People {
    /// The error names the invalid expression.
    pub fn without(patterns: &[String]) -> Result<Self, String> {
        let set = regex::RegexSet::new(patterns).map_err(|error| error.to_string())?;
        Ok(Self::Without(set))
    }

    /// The error names the invalid expression.
    pub fn only(patterns: &[String]) -> Result<Self, String> {
        let set = regex::RegexSet::new(patterns).map_err(|error| error.to_string())?;
        Ok(Self::Only(set))
    }

    pub(crate) fn count(&self, user: Option<&str>) -> bool {
        match (self, user) {
            (Self::All, _) | (_, None) => true,
            (Self::Without(patterns), Some(user)) => !patterns.is_match(user),
            (Self::Only(patterns), Some(user)) => patterns.is_match(user),
        }
    }
}

impl PartialEq for People {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::All, Self::All) => true,
            (Self::Without(own), Self::Without(other)) | (Self::Only(own), Self::Only(other)) => {
                own.patterns() == other.patterns()
            }
            _ => false,
        }
    }
}

impl Default for History {
    fn default() -> Self {
        Self {
            warehouse: Switch::Off,
            days: 90,
            least_runs: 5,
            queries: Vec::new(),
            schemas: Vec::new(),
            tables: Vec::new(),
            people: People::All,
        }
    }
}

#[derive(Debug, Clone, PartialEq)]
pub struct ScanSettings {
    pub budget: Budget,
    pub history: History,
    pub relationships: RelationshipSettings,
    /// Maximum rows of a table that is read completely.
    pub whole_table_rows: u64,
    /// Maximum distinct values of a text column.
    pub dictionary_max_distinct: usize,
    pub dictionary_max_values: usize,
    /// Omits values that look personal from the dictionary and from prompts.
    pub hide_personal_values: Switch,
    pub description_concurrency: usize,
    pub statement_seconds: u64,
}

impl Default for ScanSettings {
    fn default() -> Self {
        Self {
            budget: Budget::default(),
            history: History::default(),
            relationships: RelationshipSettings::default(),
            whole_table_rows: 50_000,
            dictionary_max_distinct: 200,
            dictionary_max_values: 100,
            hide_personal_values: Switch::On,
            description_concurrency: 4,
            statement_seconds: 60,
        }
    }
}
