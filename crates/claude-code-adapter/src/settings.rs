//! The settings of the adapter.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use ktx_llm_runtime::{GovernorSettings, LlmError, LlmErrorKind, OpenGate, TurnGate};
use ktx_vocabulary::ModelRole;

use crate::environment::{ParentEnvironment, can_be_added};

/// If the owner of children is killed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Launcher {
    /// A child ends after its turn, when it notices its closed input.
    #[default]
    Direct,
    /// Hidden command `internal-guard` calls [`crate::internal_guard`].
    Guarded(PathBuf),
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum KnownLimits {
    #[default]
    Believed,
    /// One call finds out.
    Tried,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Isolation {
    #[default]
    Warn,
    Strict,
}

/// None limits a model that produces output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Timeouts {
    pub probe: Duration,
    /// From the start to the answer to `initialize`.
    pub initialize: Duration,
    /// From the prompt to the execution surface.
    pub surface: Duration,
    /// Between two lines, without running tools or announced waits.
    pub silence: Duration,
    /// Since the last progress.
    pub idle: Duration,
    pub tool: Duration,
    /// From the result to the end of the process.
    pub exit: Duration,
    /// From an interrupt to its result.
    pub interrupt: Duration,
    /// From the signal to the kill.
    pub terminate: Duration,
    /// From the end of the process to that of its output.
    pub drain: Duration,
    /// Doubled each time.
    pub spawn_backoff: Duration,
    /// A single call starts no spare, and a spare must not slow down the prompt.
    pub spare_pause: Duration,
    pub spare_idle: Duration,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self {
            probe: Duration::from_mins(1),
            initialize: Duration::from_mins(1),
            surface: Duration::from_mins(2),
            silence: Duration::from_mins(10),
            idle: Duration::from_mins(30),
            tool: Duration::from_mins(10),
            exit: Duration::from_secs(5),
            interrupt: Duration::from_secs(5),
            terminate: Duration::from_secs(3),
            drain: Duration::from_secs(1),
            spawn_backoff: Duration::from_secs(1),
            spare_pause: Duration::from_millis(250),
            spare_idle: Duration::from_mins(1),
        }
    }
}

#[derive(Debug, Clone)]
pub struct ClaudeCodeSettings {
    /// By default `claude` on `PATH` of [`Self::environment`].
    pub program: Option<PathBuf>,
    /// Working folder of every child (KTX-25).
    pub project_dir: PathBuf,
    /// Unchanged; [`ModelRole::Default`] is required (KTX-04).
    pub models: BTreeMap<ModelRole, String>,
    /// Unfiltered.
    pub environment: BTreeMap<String, String>,
    pub added_variables: Vec<String>,
    pub isolation: Isolation,
    pub launcher: Launcher,
    /// Records of children, for the next start, and account limits.
    pub state_dir: Option<PathBuf>,
    /// Full keys (KTX-81).
    pub ignored_caching_fields: Vec<String>,
    pub version: String,
    pub timeouts: Timeouts,
    /// Uses `governing`, `max_wait`, and attempts and pauses after refusals without an end.
    pub rate_limit: GovernorSettings,
    pub known_limits: KnownLimits,
    /// Asked before a call, after its waits, and before further turns: after an object that does
    /// not match its schema, or a crash.
    pub gate: Arc<dyn TurnGate>,
    /// No wait exceeds it.
    pub ends_at: Option<Instant>,
    /// Default: what fits into memory, at most eight.
    pub max_children: Option<usize>,
    /// At most one per kind of call.
    pub max_spares: usize,
}

impl ClaudeCodeSettings {
    /// One model for every role.
    pub fn new(
        project_dir: PathBuf,
        environment: BTreeMap<String, String>,
        default_model: impl Into<String>,
    ) -> Self {
        Self {
            program: None,
            project_dir,
            models: BTreeMap::from([(ModelRole::Default, default_model.into())]),
            environment,
            added_variables: Vec::new(),
            isolation: Isolation::default(),
            launcher: Launcher::default(),
            state_dir: None,
            ignored_caching_fields: Vec::new(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            timeouts: Timeouts::default(),
            rate_limit: GovernorSettings::default(),
            known_limits: KnownLimits::default(),
            gate: Arc::new(OpenGate),
            ends_at: None,
            max_children: None,
            max_spares: 2,
        }
    }

    pub(crate) fn parent(&self) -> ParentEnvironment<'_> {
        ParentEnvironment {
            variables: &self.environment,
            added: &self.added_variables,
            version: &self.version,
        }
    }

    /// Or the default role's (KTX-04).
    pub(crate) fn model(&self, role: ModelRole) -> Option<&str> {
        self.models
            .get(&role)
            .or_else(|| self.models.get(&ModelRole::Default))
            .map(String::as_str)
    }

    pub(crate) fn checked(self) -> Result<Self, LlmError> {
        let wrong = |message: String| LlmError::new(LlmErrorKind::InvalidRequest, message);
        if !self.models.contains_key(&ModelRole::Default) {
            let message = "the `claude-code` backend has no model for the role `default`";
            return Err(wrong(message.to_owned())
                .hint("set `llm.models.default` to `sonnet`, `opus`, `haiku` or a model id"));
        }
        let plain = |letter: char| letter.is_ascii_alphanumeric() || "-_.:/@[]".contains(letter);
        for (role, model) in &self.models {
            if model.is_empty() || model.starts_with('-') || !model.chars().all(plain) {
                let message = format!("the model `{model}` of the role `{role}` is not a model id");
                return Err(wrong(message)
                    .hint("use an alias (`sonnet`, `opus`, `haiku`) or a full model id"));
            }
        }
        if let Some(name) = self.added_variables.iter().find(|name| !can_be_added(name)) {
            let message = format!(
                "`llm.provider.environment` may not add `{name}`: it changes the account, the provider or the session of `claude`"
            );
            return Err(
                wrong(message).hint("remove it from `llm.provider.environment` in ktx.yaml")
            );
        }
        if !self.project_dir.is_absolute() {
            return Err(wrong(format!(
                "the project directory `{}` is not an absolute path",
                self.project_dir.display()
            )));
        }
        Ok(self)
    }
}
