//! The settings of relationship discovery: the values of `scan.relationships` after defaults.

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
