//! The settings of a scan: the values of `scan.*` in `ktx.yaml` after defaults.

use ktx_relationships::settings::{RelationshipSettings, Switch};

use crate::budget::Budget;

/// A query that ran in the past.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct PastQuery {
    /// The text in the warehouse's dialect. Only its column equalities are used.
    pub text: String,
    /// How often it ran.
    pub runs: u64,
}

/// Query history (`context.queryHistory` of a connection).
#[derive(Debug, Clone, PartialEq)]
pub struct History {
    /// `enabled`: whether to read the warehouse's own record, if it keeps one.
    pub warehouse: Switch,
    /// `windowDays`: length of the window in days.
    pub days: u32,
    /// `minExecutions`: minimum runs of a query in the warehouse's record.
    pub least_runs: u64,
    /// Queries from other places, such as a file.
    pub queries: Vec<PastQuery>,
    /// `enabledSchemas`: the schemas whose queries count; all if empty or `*`.
    pub schemas: Vec<String>,
    /// `enabledTables`: the tables whose queries count, as `name`, `db.name` or `catalog.db.name`;
    /// all if empty.
    pub tables: Vec<String>,
    /// `filters.serviceAccounts`: the users whose queries count.
    pub people: People,
}

/// A filter of query users, by patterns that the caller has checked.
#[derive(Debug, Clone, Default)]
pub enum People {
    /// All users.
    #[default]
    All,
    /// Users that match no pattern.
    Without(regex::RegexSet),
    /// Users that match a pattern.
    Only(regex::RegexSet),
}

impl People {
    /// Excludes users that match a pattern. The error names the invalid expression.
    pub fn without(patterns: &[String]) -> Result<Self, String> {
        let set = regex::RegexSet::new(patterns).map_err(|error| error.to_string())?;
        Ok(Self::Without(set))
    }

    /// Includes only users that match a pattern. The error names the invalid expression.
    pub fn only(patterns: &[String]) -> Result<Self, String> {
        let set = regex::RegexSet::new(patterns).map_err(|error| error.to_string())?;
        Ok(Self::Only(set))
    }

    /// Returns whether a user's queries count; always true if the record has no user.
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

/// All settings of a scan.
#[derive(Debug, Clone, PartialEq)]
pub struct ScanSettings {
    /// Limits for one run in the warehouse.
    pub budget: Budget,
    /// The past queries that count as evidence of links.
    pub history: History,
    /// Relationship discovery.
    pub relationships: RelationshipSettings,
    /// Maximum rows of a table that is read completely.
    pub whole_table_rows: u64,
    /// Maximum distinct values of a text column in the dictionary.
    pub dictionary_max_distinct: usize,
    /// Maximum values of one column in the dictionary.
    pub dictionary_max_values: usize,
    /// Whether to omit columns that look personal from the dictionary and from prompts.
    pub hide_personal_values: Switch,
    /// Maximum tables described concurrently.
    pub description_concurrency: usize,
    /// Timeout of one statement, in seconds.
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
