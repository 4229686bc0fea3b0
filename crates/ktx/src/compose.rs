//! The only place that builds connectors and LLM backends and connects them to ports.

mod accounting;
mod budget;
mod collector;
mod http;
mod limits;
mod prices;
mod signals;
mod tracing;
mod vectors;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use ktx_claude_code_adapter::{
    ClaudeCodeRuntime, ClaudeCodeSettings, Isolation, KnownLimits, Launcher,
};
use ktx_config::{Connection, Project, PromptCaching};
use ktx_diagnostics::{Code, Diagnostics, Failure};
use ktx_llm_runtime::{EventSink, Listeners, LlmRuntime};
use ktx_usage_ledger::{BudgetedRuntime, PriceSource};
use ktx_vocabulary::{Backend, ModelRole};
use ktx_warehouse::Connector;
use tokio_util::future::FutureExt as _;
use tokio_util::sync::CancellationToken;

use crate::invocation::{Invocation, OpenProject};
use crate::report::{Outcome, Report as _};

pub(crate) use accounting::{EventBuffer, LedgerSink, ProbeSink, RecordingSink};
pub(crate) use budget::{BudgetReport, Spending, day_status, limits_of};
pub(crate) use collector::collector;
pub(crate) use http::{location, model_facts};
pub(crate) use limits::known_limit;
pub(crate) use prices::{BackendLocation, list_price, price_file, prices};
pub(crate) use signals::{end_only, was_asked_to_end, was_served};
pub(crate) use vectors::{EmbeddingsOrigin, usable as usable_vectors, vectors};

const CLAUDE_CODE_MODEL: &str = "sonnet";

const LAST_ORDERS: std::time::Duration = std::time::Duration::from_secs(6);

/// Runs async work. Ctrl-C cancels the token and prevents further work; a second Ctrl-C ends
/// without waiting.
pub(crate) fn block_on<T, F>(work: impl FnOnce(CancellationToken) -> F) -> Outcome<T>
where
    F: Future<Output = Outcome<T>>,
{
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .map_err(|error| {
            Failure::from_error(Code::Internal, &error)
                .context("the asynchronous runtime does not start")
        })?;
    let interrupted = || Err(Failure::new(Code::Cancelled, "cancelled"));
    let ending = signals::listen();
    if ending.asked.is_cancelled() {
        return interrupted();
    }
    let working = ending.work();
    let outcome = runtime.block_on(async {
        let work = work(ending.asked.child_token()).with_cancellation_token(&ending.at_once);
        work.await.unwrap_or_else(interrupted)
    });
    // Abandoned statements can cost money at the warehouse.
    runtime.block_on(async {
        let settled = tokio::time::timeout(LAST_ORDERS, ktx_connectors::settle());
        if settled.await.is_err() {
            ::tracing::debug!("a warehouse may still run a statement of this program");
        }
    });
    // A blocking call must not delay the exit.
    runtime.shutdown_timeout(std::time::Duration::from_secs(2));
    drop(working);
    outcome
}

/// Handles Ctrl-C from now on, for commands that restore state.
pub(crate) fn listen() {
    signals::listen();
}

pub(crate) fn connector(
    invocation: &Invocation,
    dir: &Path,
    connection: &Connection,
) -> Outcome<Arc<dyn Connector>> {
    open_connector(
        connection,
        &invocation.secrets(dir),
        unix_seconds(invocation.now),
    )
    .map_err(|error| {
        Failure::from(error).context(format!("connection `{}` cannot be used", connection.id))
    })
}

/// Only commands that use a model fail.
pub(crate) fn usable_settings(config: &Project) -> Outcome<()> {
    if config.llm.problems.is_empty() {
        return Ok(());
    }
    Err(Diagnostics(config.llm.problems.clone()).into())
}

/// `None` for the backend `none`; never substitutes another. Sends nothing during a known limit.
pub(crate) fn llm<S: RecordingSink + 'static>(
    invocation: &Invocation,
    project: &OpenProject,
    sink: &Arc<S>,
    spending: Spending<'_>,
) -> Outcome<Option<Arc<dyn LlmRuntime>>> {
    Builder {
        invocation,
        project,
        spending,
        known: KnownLimits::Believed,
    }
    .build(sink)
}

/// Ignores and deletes known limits, to test the current state.
pub(crate) fn llm_to_try<S: RecordingSink + 'static>(
    invocation: &Invocation,
    project: &OpenProject,
    sink: &Arc<S>,
) -> Outcome<Option<Arc<dyn LlmRuntime>>> {
    limits::forget_refusal(invocation, project);
    Builder {
        invocation,
        project,
        spending: Spending::PROBE,
        known: KnownLimits::Tried,
    }
    .build(sink)
}

struct Builder<'a> {
    invocation: &'a Invocation,
    project: &'a OpenProject,
    spending: Spending<'a>,
    known: KnownLimits,
}

impl Builder<'_> {
    fn build<S: RecordingSink + 'static>(
        self,
        sink: &Arc<S>,
    ) -> Outcome<Option<Arc<dyn LlmRuntime>>> {
        let (invocation, project) = (self.invocation, self.project);
        let config = &project.config;
        usable_settings(config)?;
        let events: Arc<dyn EventSink> = Arc::clone(sink) as _;
        let events = tracing::traced_events(prices::price_source(project), events);
        let listeners = Listeners::before(events);
        let events: Arc<dyn EventSink> = Arc::new(listeners.clone());
        let budget = || budget::budget(invocation, project, sink.as_ref(), self.spending);
        let runtime: Arc<dyn LlmRuntime> = match config.llm.backend {
            Backend::None => return Ok(None),
            Backend::ClaudeCode => {
                let mut settings = claude_code(invocation, &project.dir, config)?;
                settings.state_dir = Some(claude_state(project));
                settings.known_limits = self.known;
                let budget = budget()?;
                if let Some(budget) = &budget {
                    settings.gate = Arc::new(budget.clone());
                }
                let runtime = Arc::new(ClaudeCodeRuntime::new(settings, events)?);
                match budget {
                    Some(budget) => Arc::new(BudgetedRuntime::new(runtime, budget)),
                    None => runtime,
                }
            }
            Backend::Http(provider) => {
                let refused = match self.known {
                    KnownLimits::Believed => limits::refused_for(invocation, project),
                    KnownLimits::Tried => None,
                };
                let start = http::RuntimeStart {
                    provider,
                    refused,
                    budget: budget()?,
                };
                http::runtime(invocation, &project.dir, config, events, start)?
            }
        };
        Ok(Some(tracing::traced(
            listeners.of(runtime),
            invocation,
            config,
        )))
    }
}

/// Builds a backend with default settings, to test it.
pub(crate) fn llm_for(
    invocation: &Invocation,
    dir: &Path,
    backend: Backend,
    events: Arc<dyn EventSink>,
) -> Outcome<Arc<dyn LlmRuntime>> {
    let mut config = Project::defaults();
    config.llm.backend = backend;
    let events = tracing::traced_events(PriceSource::default(), events);
    let runtime: Arc<dyn LlmRuntime> = match backend {
        Backend::ClaudeCode => {
            let settings = claude_code(invocation, dir, &config)?;
            Arc::new(ClaudeCodeRuntime::new(settings, events)?)
        }
        Backend::Http(provider) => {
            let start = http::RuntimeStart {
                provider,
                refused: None,
                budget: None,
            };
            http::runtime(invocation, dir, &config, events, start)?
        }
        Backend::None => {
            return Err(Failure::new(
                Code::BackendNotBuilt,
                "backend `none` runs no model",
            ));
        }
    };
    Ok(tracing::traced(runtime, invocation, &config))
}

pub(crate) fn named_backend(name: &str) -> Outcome<Backend> {
    match Backend::parse(name) {
        Some(Backend::None) | None => {
            let names: Vec<&str> = Backend::all()
                .filter(|backend| *backend != Backend::None)
                .map(Backend::as_str)
                .collect();
            Err(
                Failure::new(Code::UnknownBackend, format!("unknown backend `{name}`"))
                    .hint(format!("use one of {}", names.join(", "))),
            )
        }
        Some(backend) => Ok(backend),
    }
}

/// A local session uses a few hundred megabytes.
pub(crate) const fn usual_conversations(config: &Project) -> usize {
    match config.llm.backend {
        Backend::ClaudeCode => 1,
        Backend::None | Backend::Http(_) => 4,
    }
}

pub(crate) fn no_model(what: &str) -> Failure {
    Failure::new(
        Code::ModelRequired,
        format!("{what} and `llm.provider.backend` is `none`"),
    )
    .hint("set `llm.provider.backend: claude-code` to use your own local Claude Code session")
}

fn claude_code(
    invocation: &Invocation,
    dir: &Path,
    config: &Project,
) -> Outcome<ClaudeCodeSettings> {
    let default = config
        .model(ModelRole::Default)
        .unwrap_or(CLAUDE_CODE_MODEL);
    let environment: BTreeMap<String, String> = invocation
        .environment
        .all()
        .iter()
        .filter_map(|(name, value)| Some((name.to_str()?.to_owned(), value.to_str()?.to_owned())))
        .collect();
    let dir = dir.canonicalize().map_err(|error| {
        Failure::from_error(Code::ProjectFolder, &error)
            .context(format!("`{}` cannot be resolved", dir.display()))
    })?;
    let mut settings = ClaudeCodeSettings::new(dir, environment, default);
    for role in ModelRole::ALL {
        if let Some(model) = config.llm.models.get(&role) {
            settings.models.insert(role, model.clone());
        }
    }
    settings.program = invocation
        .environment
        .text("KTX_CLAUDE_PATH")
        .map(Into::into);
    settings
        .added_variables
        .clone_from(&config.llm.added_variables);
    settings.isolation = match config.llm.isolation {
        ktx_config::Isolation::Warn => Isolation::Warn,
        ktx_config::Isolation::Strict => Isolation::Strict,
    };
    settings.ignored_caching_fields = ignored_caching(config.llm.prompt_caching);
    settings.rate_limit = http::governor(config);
    settings.ends_at = invocation.ends_at;
    if let Some(program) = invocation.program.clone() {
        settings.launcher = Launcher::Guarded(program);
    }
    Ok(settings)
}

/// Describes caching fields that the backend ignores (KTX-81).
pub(crate) fn ignored_caching_text(config: &Project) -> Option<String> {
    if config.llm.backend != Backend::ClaudeCode {
        return None;
    }
    let ignored = ignored_caching(config.llm.prompt_caching);
    (!ignored.is_empty()).then(|| {
        format!(
            "the local Claude Code session decides on caching itself; ignored: {}",
            ignored.join(", ")
        )
    })
}

/// Full keys that `claude-code` ignores (KTX-81).
fn ignored_caching(caching: PromptCaching) -> Vec<String> {
    let fields = caching.changed().into_iter();
    fields
        .map(|field| format!("llm.promptCaching.{field}"))
        .collect()
}

pub(crate) fn ledger_path(project: &OpenProject) -> std::path::PathBuf {
    project.store.layout().state().join("usage.sqlite")
}

fn claude_state(project: &OpenProject) -> std::path::PathBuf {
    project.store.layout().state().join("claude-code")
}

/// Ends children that a killed `ktx` left in this project.
pub(crate) fn end_left_over(project: &OpenProject) {
    ktx_claude_code_adapter::sweep(&claude_state(project));
}

/// Runs `ktx internal-guard`, which ends the children of a killed `ktx`.
pub(crate) fn internal_guard() {
    ktx_claude_code_adapter::internal_guard();
}

/// `None` for context sources.
pub(crate) fn dialect(driver: ktx_config::Driver) -> Option<ktx_sql::Dialect> {
    ktx_connectors::dialect(driver)
}

pub(crate) fn schema_words(driver: ktx_config::Driver) -> Option<ktx_connectors::SchemaWords> {
    ktx_connectors::schema_words(driver)
}

pub(crate) fn supports(driver: ktx_config::Driver) -> bool {
    ktx_connectors::supported().any(|known| known == driver)
}

/// Zero before 1970.
pub(crate) fn unix_seconds(time: jiff::Timestamp) -> u64 {
    u64::try_from(time.as_second()).unwrap_or_default()
}

/// `unix_now` is for signed logins.
pub(crate) fn open_connector(
    connection: &Connection,
    secrets: &dyn ktx_secrets::SecretSource,
    unix_now: u64,
) -> Result<Arc<dyn Connector>, ktx_warehouse::WarehouseError> {
    ktx_connectors::open(connection, secrets, unix_now)
}

pub(crate) fn look_at_file(
    connection: &Connection,
    secrets: &dyn ktx_secrets::SecretSource,
) -> Result<Option<std::path::PathBuf>, ktx_warehouse::WarehouseError> {
    ktx_connectors::look_at_file(connection, secrets)
}

pub(crate) fn scope(connection: &Connection) -> ktx_warehouse::Scope {
    ktx_connectors::scope(connection)
}
