//! The settings of a scan: the values of `scan.*` in `ktx.yaml` after defaults.

use crate::spending::Budget;

/// How many statements may be spent on checking links in the warehouse.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ValidationBudget {
    /// Twice the number of tables, at most 1 000.
    Automatic,
    /// As many as there are links to check.
    All,
    /// At most this many.
    Statements(usize),
}

impl ValidationBudget {
    /// The number of statements allowed for a schema of so many tables.
    pub fn statements(self, tables: usize) -> usize {
        match self {
            Self::Automatic => tables.saturating_mul(2).min(1000),
            Self::All => usize::MAX,
            Self::Statements(count) => count,
        }
    }
}

/// Whether something optional is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Switch {
    /// It is done.
    On,
    /// It is left out.
    Off,
}

/// Settings of relationship discovery (`scan.relationships`).
#[derive(Debug, Clone, PartialEq)]
pub struct RelationshipSettings {
    /// `enabled`: whether links are looked for at all.
    pub discovery: Switch,
    /// `llmProposals`: whether a model may decide undecided links, when there is a model.
    pub model: Switch,
    /// `acceptThreshold`: score from which a link is accepted, 0 to 1.
    pub accept_threshold: f64,
    /// `reviewThreshold`: score from which a link is kept for review, 0 to 1.
    pub review_threshold: f64,
    /// `validationRequiredForManifest`: whether links that no values could confirm stay in review.
    pub validation_required: Switch,
    /// `maxLlmTablesPerBatch`: caps the undecided links shown to a model in one call.
    pub max_model_tables: usize,
    /// `maxCandidatesPerColumn`: parents looked at for one column at most.
    pub max_candidates_per_column: usize,
    /// `profileSampleRows`: rows that are read of a large table.
    pub profile_sample_rows: usize,
    /// `profileConcurrency`: statements in flight while profiling.
    pub profile_concurrency: usize,
    /// `validationConcurrency`: statements in flight while checking links.
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

/// A query that somebody ran before.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct PastQuery {
    /// Its text, in the warehouse's dialect. Only the columns that it sets equal are looked at.
    pub text: String,
    /// How often it ran.
    pub runs: u64,
}

/// Query history (`context.queryHistory` of a connection).
#[derive(Debug, Clone, PartialEq)]
pub struct History {
    /// `enabled`: whether the warehouse's own record is read, where it keeps one.
    pub warehouse: Switch,
    /// `windowDays`: how many days back.
    pub days: u32,
    /// `minExecutions`: how often a query of the warehouse's record must have run.
    pub least_runs: u64,
    /// Queries from elsewhere, such as a file.
    pub queries: Vec<PastQuery>,
    /// `enabledSchemas`: the schemas whose queries count; all when empty or `*`.
    pub schemas: Vec<String>,
    /// `enabledTables`: the tables whose queries count, as `name`, `db.name` or `catalog.db.name`;
    /// all when empty.
    pub tables: Vec<String>,
    /// `filters.serviceAccounts`: whose queries count.
    pub people: People,
}

/// Whose queries count, by patterns of user names that the caller has checked.
#[derive(Debug, Clone, Default)]
pub enum People {
    /// Everybody's.
    #[default]
    All,
    /// Those of users that no pattern matches.
    Without(regex::RegexSet),
    /// Those of users that a pattern matches.
    Only(regex::RegexSet),
}

impl People {
    /// Everybody but the users that a pattern matches; the error says which one is no expression.
    pub fn without(patterns: &[String]) -> Result<Self, String> {
        let set = regex::RegexSet::new(patterns).map_err(|error| error.to_string())?;
        Ok(Self::Without(set))
    }

    /// The users that a pattern matches; the error says which one is no expression.
    pub fn only(patterns: &[String]) -> Result<Self, String> {
        let set = regex::RegexSet::new(patterns).map_err(|error| error.to_string())?;
        Ok(Self::Only(set))
    }

    /// Whether the queries of a user count. Where the record tells no user they do.
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
    /// What one run may spend in the warehouse.
    pub budget: Budget,
    /// Which past queries count as evidence of links.
    pub history: History,
    /// Relationship discovery.
    pub relationships: RelationshipSettings,
    /// Tables of up to this many rows are read whole.
    pub whole_table_rows: u64,
    /// Distinct values up to which a text column gets a value list in the dictionary.
    pub dictionary_max_distinct: usize,
    /// Values kept of one column in the dictionary.
    pub dictionary_max_values: usize,
    /// Whether columns that look personal are left out of the dictionary and of prompts.
    pub hide_personal_values: Switch,
    /// Tables described at the same time.
    pub description_concurrency: usize,
    /// Time that one statement may take, in seconds.
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
