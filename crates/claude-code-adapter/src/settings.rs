//! What the adapter is told once: where, as whom, with which models and within which deadlines.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use ktx_llm_runtime::{GovernorSettings, LlmError, LlmErrorKind, OpenGate, TurnGate};
use ktx_vocabulary::ModelRole;

use crate::environment::may_be_added;

/// What becomes of the children when their owner is killed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Launcher {
    /// Nothing is done: a child notices its closed input when its turn is over.
    #[default]
    Direct,
    /// This executable, whose hidden command `internal-guard` calls [`crate::internal_guard`], runs
    /// once beside all children and ends them.
    Guarded(PathBuf),
}

/// What is made of the limits that other runs were told.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum KnownLimits {
    /// No call is made before they reset.
    #[default]
    Believed,
    /// One call finds out whether they still hold. When it is served, they are forgotten.
    Tried,
}

/// What becomes of a call into which the machine's own settings of Claude Code put a hook.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Isolation {
    /// It goes on, with a warning.
    #[default]
    Warn,
    /// It fails.
    Strict,
}

/// The deadlines of one child. None of them limits a model that keeps talking.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Timeouts {
    /// From the begin of a probe to its end.
    pub probe: Duration,
    /// From the start to the answer to `initialize`.
    pub initialize: Duration,
    /// From the prompt to the description of the execution surface.
    pub surface: Duration,
    /// Between two lines, while neither a tool of ours runs nor a wait was announced.
    pub silence: Duration,
    /// From the last piece of work to the end, though signs of life go on to come.
    pub idle: Duration,
    /// How long one tool of ours may run.
    pub tool: Duration,
    /// From the result to the end of the process.
    pub exit: Duration,
    /// From an interrupt to the result that answers it.
    pub interrupt: Duration,
    /// From the termination signal to the kill.
    pub terminate: Duration,
    /// From the end of the process to the end of its output.
    pub drain: Duration,
    /// Before the second start when the system had no room for a child; doubled each time.
    pub spawn_backoff: Duration,
    /// From the end of a first call to the start of a spare for the next one, so that a call that
    /// stays alone starts none; and from the prompt of a later one, so that the start of the spare does
    /// not hold it up.
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

/// The settings of the `claude-code` backend.
#[derive(Debug, Clone)]
pub struct ClaudeCodeSettings {
    /// The executable; without it `claude` is searched on the `PATH` of [`Self::environment`].
    pub program: Option<PathBuf>,
    /// The project directory: the working directory of every child (KTX-25).
    pub project_dir: PathBuf,
    /// Model per role, passed through as written; [`ModelRole::Default`] is required (KTX-04).
    pub models: BTreeMap<ModelRole, String>,
    /// The parent's environment, as it is; the adapter hands on what the child needs.
    pub environment: BTreeMap<String, String>,
    /// Names of further variables of it that reach the child.
    pub added_variables: Vec<String>,
    /// What becomes of a call with a hook that is not ktx's.
    pub isolation: Isolation,
    /// What becomes of the children when their owner is killed.
    pub launcher: Launcher,
    /// Where running children are written down, so that the next start can end lost ones, and limits
    /// of the account, so that the next run asks nothing before they reset.
    pub state_dir: Option<PathBuf>,
    /// Configured caching fields that this backend ignores, by full key (KTX-81).
    pub ignored_caching_fields: Vec<String>,
    /// Our version, named to the child and to the tool client.
    pub version: String,
    /// The deadlines.
    pub timeouts: Timeouts,
    /// How calls wait for limits of the account: `governing`, `max_wait`, and the tries and pauses
    /// of a refusal that names no end. The rest is the provider's or the child's own business.
    pub rate_limit: GovernorSettings,
    /// What is made of the limits that earlier runs have left in the state folder.
    pub known_limits: KnownLimits,
    /// Asked when a call has waited for limits and for its place, and before the further turns that
    /// `claude` makes by itself: after an object that does not match its schema, and before a crashed
    /// call is made again. Whoever makes a call admits it as a whole.
    pub gate: Arc<dyn TurnGate>,
    /// When the caller's time is over: no wait goes beyond it.
    pub ends_at: Option<Instant>,
    /// Children at the same time; without it as many as the memory allows, at most eight.
    pub max_children: Option<usize>,
    /// Of those, children that wait, initialised, for another call like the last ones; one for each
    /// kind of call at most. With 0 every call starts its own.
    pub max_spares: usize,
}

impl ClaudeCodeSettings {
    /// Settings with the same model for every role and defaults for the rest.
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

    /// The model of a role, falling back to the default role (KTX-04).
    pub(crate) fn model(&self, role: ModelRole) -> Option<&str> {
        self.models
            .get(&role)
            .or_else(|| self.models.get(&ModelRole::Default))
            .map(String::as_str)
    }

    /// Refuses what no child could be started with.
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
                wrong(message).hint("take it out of `llm.provider.environment` in ktx.yaml")
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
