//! The settings of a scan: the values of `scan.*` in `ktx.yaml` after defaults.

use crate::budget::Budget;

/// The maximum number of statements for checking links in the warehouse.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ValidationBudget {
    /// Twice the number of tables, at most 1 000.
    Automatic,
    /// One for each link to check.
    All,
    /// At most this many.
    Statements(usize),
}

impl ValidationBudget {
    /// Returns the statement limit for a schema with this many tables.
    pub fn statements(self, tables: usize) -> usize {
        match self {
            Self::Automatic => tables.saturating_mul(2).min(1000),
            Self::All => usize::MAX,
            Self::Statements(count) => count,
        }
    }
}

/// Whether an optional step runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Switch {
    /// The step runs.
    On,
    /// The step is skipped.
    Off,
}

/// Settings of relationship discovery (`scan.relationships`).
#[derive(Debug, Clone, PartialEq)]
pub struct RelationshipSettings {
    /// `enabled`: whether to look for links.
    pub discovery: Switch,
    /// `llmProposals`: whether a model may decide open links, if there is a model.
    pub model: Switch,
    /// `acceptThreshold`: minimum score of an accepted link, 0 to 1.
    pub accept_threshold: f64,
    /// `reviewThreshold`: minimum score of a link for review, 0 to 1.
    pub review_threshold: f64,
    /// `validationRequiredForManifest`: whether links without confirmation by values stay in
    /// review.
    pub validation_required: Switch,
    /// `maxLlmTablesPerBatch`: maximum open links shown to a model in one call.
    pub max_model_tables: usize,
    /// `maxCandidatesPerColumn`: maximum parents considered for one column.
    pub max_candidates_per_column: usize,
    /// `profileSampleRows`: sample size of a large table, in rows.
    pub profile_sample_rows: usize,
    /// `profileConcurrency`: concurrent statements while profiling.
    pub profile_concurrency: usize,
    /// `validationConcurrency`: concurrent statements while checking links.
    pub validation_concurrency: usize,
    /// `validationBudget`.
    pub validation_budget: ValidationBudget,
}

impl Default for RelationshipSettings {
    fn default() -> Self {
        Self {
            discovery: Switch::On,
            model: Switch::On,
            accept_threshold: 0.85,
            review_threshold: 0.55,
            validation_required: Switch::On,
            max_model_tables: 40,
            max_candidates_per_column: 25,
            profile_sample_rows: 10_000,
            profile_concurrency: 4,
            validation_concurrency: 4,
            validation_budget: ValidationBudget::Automatic,
        }
    }
}

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
