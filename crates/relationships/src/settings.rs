//! The values of `scan.relationships` after defaults.

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ValidationBudget {
    /// Twice the number of tables, at most 1 000.
    Automatic,
    All,
    Statements(usize),
}

impl ValidationBudget {
    pub fn statements(self, tables: usize) -> usize {
        match self {
            Self::Automatic => tables.saturating_mul(2).min(1000),
            Self::All => usize::MAX,
            Self::Statements(count) => count,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Switch {
    On,
    Off,
}

#[derive(Debug, Clone, PartialEq)]
pub struct RelationshipSettings {
    pub discovery: Switch,
    /// `llmProposals`: whether a model can decide open links.
    pub model: Switch,
    /// `acceptThreshold`, 0 to 1.
    pub accept_threshold: f64,
    /// `reviewThreshold`, 0 to 1.
    pub review_threshold: f64,
    /// `validationRequiredForManifest`: links without confirmation by values stay in review.
    pub validation_required: Switch,
    /// `maxLlmTablesPerBatch`: open links per model call.
    pub max_model_tables: usize,
    pub max_candidates_per_column: usize,
    /// `profileSampleRows`: rows of a large table.
    pub profile_sample_rows: usize,
    pub profile_concurrency: usize,
    pub validation_concurrency: usize,
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
