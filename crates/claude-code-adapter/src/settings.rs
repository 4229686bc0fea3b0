//! The settings of the adapter: paths, login, models and deadlines.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use ktx_llm_runtime::{GovernorSettings, LlmError, LlmErrorKind, OpenGate, TurnGate};
use ktx_vocabulary::ModelRole;

use crate::environment::{Parent, may_be_added};

/// How children end if their owner is killed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Launcher {
    /// No measure: a child notices its closed input when its turn is over.
    #[default]
    Direct,
    /// This executable, whose hidden command `internal-guard` calls [`crate::internal_guard`], runs
    /// once for all children and kills them.
    Guarded(PathBuf),
}

/// How limits that other runs stored are used.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum KnownLimits {
    /// No call is made before they reset.
    #[default]
    Believed,
    /// One call finds out whether they still apply. If it is served, they are deleted.
    Tried,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Isolation {
    #[default]
    Warn,
    Strict,
}

/// The deadlines of one child. None of them limits a model that keeps producing output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Timeouts {
    /// Total time.
    pub probe: Duration,
    /// Time from the start to the answer to `initialize`.
    pub initialize: Duration,
    /// Time from the prompt to the description of the execution surface.
    pub surface: Duration,
    /// Time between two lines, while no tool of ours runs and no wait was announced.
    pub silence: Duration,
    /// Time from the last progress to the end of the call, even if keep-alives arrive.
    pub idle: Duration,
    /// Maximum duration of one tool of ours.
    pub tool: Duration,
    /// Time from the result to the end of the process.
    pub exit: Duration,
    /// Time from an interrupt to the result that answers it.
    pub interrupt: Duration,
    /// Time from the termination signal to the kill.
    pub terminate: Duration,
    /// Time from the end of the process to the end of its output.
    pub drain: Duration,
    /// Delay before the second start if the system had no room for a child; doubled each time.
    pub spawn_backoff: Duration,
    /// Delay from the end of a first call to the start of a spare, so that a single call starts
    /// none; for later calls from their prompt, so that starting the spare does not slow them down.
    pub spare_pause: Duration,
    /// How long a spare waits for its call.
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
    /// The executable; by default `claude` on the `PATH` of [`Self::environment`].
    pub program: Option<PathBuf>,
    /// The working directory of every child (KTX-25).
    pub project_dir: PathBuf,
    /// Model per role, passed through as written; [`ModelRole::Default`] is required (KTX-04).
    pub models: BTreeMap<ModelRole, String>,
    /// The parent's, unfiltered; the adapter passes on what the child needs.
    pub environment: BTreeMap<String, String>,
    /// Further variables that reach the child.
    pub added_variables: Vec<String>,
    pub isolation: Isolation,
    pub launcher: Launcher,
    /// Folder for the records of running children, which let the next start end orphans, and for
    /// account limits, so that the next run sends nothing before they reset.
    pub state_dir: Option<PathBuf>,
    /// Configured caching fields that this backend ignores, as full keys (KTX-81).
    pub ignored_caching_fields: Vec<String>,
    /// The version of ktx, sent to the child and to the tool client.
    pub version: String,
    pub timeouts: Timeouts,
    /// How calls wait for account limits: `governing`, `max_wait`, and the attempts and pauses
    /// after a refusal without an end. The provider or the child decides the rest.
    pub rate_limit: GovernorSettings,
    pub known_limits: KnownLimits,
    /// Called after a call has waited for limits and its place, and before further turns that
    /// `claude` makes by itself: after an object that does not match its schema, and before a
    /// crashed call is repeated. The caller admits a call as a whole.
    pub gate: Arc<dyn TurnGate>,
    /// The end of the caller's time; no wait exceeds it.
    pub ends_at: Option<Instant>,
    /// Maximum number of children; by default as many as fit into memory, at most eight.
    pub max_children: Option<usize>,
    /// How many of these children may be spares: initialized children that wait for another call
    /// like the last ones, at most one per kind of call. With 0, every call starts its own child.
    pub max_spares: usize,
}

impl ClaudeCodeSettings {
    /// The same model for every role, and defaults for the rest.
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

    pub(crate) fn parent(&self) -> Parent<'_> {
        Parent {
            variables: &self.environment,
            added: &self.added_variables,
            version: &self.version,
        }
    }

    /// The model of a role, else that of the default role (KTX-04).
    pub(crate) fn model(&self, role: ModelRole) -> Option<&str> {
        self.models
            .get(&role)
            .or_else(|| self.models.get(&ModelRole::Default))
            .map(String::as_str)
    }

    /// Fails if no child can be started with these settings.
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
        if let Some(name) = self.added_variables.iter().find(|name| !may_be_added(name)) {
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
