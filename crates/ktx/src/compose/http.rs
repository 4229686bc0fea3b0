//! Settings of HTTP backends from `ktx.yaml`, references and environment.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use ktx_config::{Endpoint, OpenAiProtocol, Project};
use ktx_diagnostics::{Code, Failure};
use ktx_llm_runtime::{EventSink, Governor, GovernorSettings, GovernorSwitch, Jitter, LlmRuntime};
use ktx_provider_adapters::{
    CacheOverrides, FactsOrigin, GoogleCredentials, HttpRuntime, HttpSettings, PromptCaching,
    Protocol, RateLimit, ReasoningOverrides, Timeouts, VertexSettings,
};
use ktx_secrets::{Secret, SecretRef};
use ktx_usage_ledger::Budget;
use ktx_vocabulary::{Backend, CacheTtl, ModelRole, Provider};

use crate::invocation::{Invocation, ProjectSecrets};
use crate::report::{Outcome, Report as _};

/// Maximum default wait for an account limit; after longer ones the user retries.
const LONGEST_WAIT: Duration = Duration::from_mins(5);

#[derive(Debug)]
pub(super) struct RuntimeStart {
    pub(super) provider: Provider,
    pub(super) refused: Option<(String, Duration)>,
    pub(super) budget: Option<Budget>,
}

pub(super) fn runtime(
    invocation: &Invocation,
    dir: &Path,
    config: &Project,
    events: Arc<dyn EventSink>,
    start: RuntimeStart,
) -> Outcome<Arc<dyn LlmRuntime>> {
    let mut settings = settings(invocation, dir, config, start.provider)?;
    let limits = governor(config);
    let limits = GovernorSettings {
        ends_at: invocation.ends_at.map(tokio::time::Instant::from_std),
        max_wait: limits.max_wait.or(Some(LONGEST_WAIT)),
        ..limits
    };
    let governor = Governor::new(limits, Arc::clone(&events));
    if let Some((window, wait)) = start.refused {
        governor.remember(window, wait);
    }
    settings.rate_limit = RateLimit::Shared(governor);
    if let Some(budget) = start.budget {
        settings.gate = Arc::new(budget);
    }
    Ok(Arc::new(HttpRuntime::new(settings, events)?))
}

fn settings(
    invocation: &Invocation,
    dir: &Path,
    config: &Project,
    provider: Provider,
) -> Outcome<HttpSettings> {
    let secrets = invocation.secrets(dir);
    let endpoint = config
        .llm
        .endpoints
        .get(&provider)
        .cloned()
        .unwrap_or_default();
    let Some(default) = config.model(ModelRole::Default) else {
        return Err(Failure::new(
            Code::ModelMissing,
            format!("backend `{provider}` needs `llm.models.default`"),
        )
        .hint(
            "name a model under `llm.models.default` in ktx.yaml, or with `ktx setup --llm-model`",
        ));
    };
    let key = key(provider, &endpoint, &secrets, invocation)?;
    if let Some(key) = &key {
        invocation.telemetry.hide(key);
    }
    let mut settings = HttpSettings::new(provider, key, default);
    settings.models.extend(config.llm.models.clone());
    settings.base_url = base_url(&endpoint, provider, &secrets)?;
    settings.timeouts = timeouts(config);
    settings.protocol = endpoint.protocol.map(|protocol| match protocol {
        OpenAiProtocol::Chat => Protocol::OpenAiChat,
        OpenAiProtocol::Responses => Protocol::OpenAiResponses,
    });
    let reasoning = match (provider, &config.llm.vertex) {
        (Provider::Vertex, Some(vertex)) => vertex.reasoning.clone(),
        _ => endpoint.reasoning,
    };
    settings.reasoning = ReasoningOverrides::parse(provider, &reasoning.unwrap_or_default())?;
    let written = endpoint.cache.unwrap_or_default();
    settings.cache = CacheOverrides::parse(provider, &written)?;
    settings.caching = caching(config, provider, settings.cache.default_ttl);
    if provider == Provider::Vertex {
        settings.vertex = Some(vertex(invocation, config, &secrets)?);
    }
    Ok(settings)
}

/// Returns the key from `ktx.yaml`, else from the provider's variable. Other addresses need an
/// explicit key.
fn key(
    provider: Provider,
    endpoint: &Endpoint,
    secrets: &ProjectSecrets<'_>,
    invocation: &Invocation,
) -> Outcome<Option<Secret>> {
    if let Some(reference) = &endpoint.api_key {
        return resolve(reference, "api_key", provider, secrets).map(Some);
    }
    let Some(variable) = provider.key_variable() else {
        return Ok(None);
    };
    if endpoint.base_url.is_some() {
        let block = format!("llm.provider.{provider}");
        return Err(Failure::new(
            Code::ApiKeyMissing,
            format!("`{block}` has a `base_url` and no `api_key`"),
        )
        .hint(format!(
            "write `api_key: env:{variable}` next to it in ktx.yaml if that address may have this key"
        ))
        .hint("remove `base_url` to use the provider's own address"));
    }
    Ok(invocation.environment.text(variable).map(Secret::new))
}

/// Identifies an account by address and credentials. Empty for the local session.
pub(super) fn identity(
    invocation: &Invocation,
    dir: &Path,
    config: &Project,
) -> Outcome<Vec<String>> {
    let Backend::Http(provider) = config.llm.backend else {
        return Ok(Vec::new());
    };
    let secrets = invocation.secrets(dir);
    if provider == Provider::Vertex {
        let place = vertex(invocation, config, &secrets)?;
        let login = place.credentials.secrets();
        let login = login.iter().map(|secret| secret.expose().to_owned());
        return Ok([place.location, place.project.unwrap_or_default()]
            .into_iter()
            .chain(login)
            .collect());
    }
    let endpoint = config.llm.endpoints.get(&provider);
    let endpoint = endpoint.cloned().unwrap_or_default();
    let address = base_url(&endpoint, provider, &secrets)?;
    let key = key(provider, &endpoint, &secrets, invocation)?;
    let key = key.map(|key| key.expose().to_owned());
    Ok(vec![address.unwrap_or_default(), key.unwrap_or_default()])
}

fn base_url(
    endpoint: &Endpoint,
    provider: Provider,
    secrets: &ProjectSecrets<'_>,
) -> Outcome<Option<String>> {
    let reference = endpoint.base_url.as_ref();
    reference
        .map(|reference| plain_value(reference, "base_url", provider, secrets))
        .transpose()
}

fn resolve(
    reference: &SecretRef,
    field: &str,
    provider: Provider,
    secrets: &ProjectSecrets<'_>,
) -> Outcome<Secret> {
    reference.resolve(secrets).map_err(|error| {
        Failure::from_error(Code::LlmAuth, &error)
            .context(format!("`llm.provider.{provider}.{field}` has no value"))
            .hint("set it in the shell that runs ktx, or use a `file:` reference")
    })
}

fn plain_value(
    reference: &SecretRef,
    field: &str,
    provider: Provider,
    secrets: &ProjectSecrets<'_>,
) -> Outcome<String> {
    let value = resolve(reference, field, provider, secrets)?;
    Ok(value.expose().to_owned())
}

fn timeouts(config: &Project) -> Timeouts {
    let usual = Timeouts::default();
    let first_byte = Duration::from_secs(config.llm.timeouts.first_byte_seconds);
    let between_bytes = Duration::from_secs(config.llm.timeouts.between_bytes_seconds);
    Timeouts {
        first_byte,
        between_bytes,
        // Waiting for bytes implies waiting for content.
        idle: usual.idle.max(first_byte).max(between_bytes),
        ..usual
    }
}

/// Prefers `llm.promptCaching`, then the provider's block, then defaults.
fn caching(config: &Project, provider: Provider, own_ttl: Option<CacheTtl>) -> PromptCaching {
    let written = &config.llm.prompt_caching;
    if written.enabled == Some(false) {
        return PromptCaching::OFF;
    }
    let ttl = |switch: Option<bool>, ttl: Option<CacheTtl>, default| {
        (switch != Some(false)).then_some(ttl.or(own_ttl).unwrap_or(default))
    };
    let hour = CacheTtl::OneHour;
    let caching = PromptCaching {
        system: ttl(written.cache_system, written.system_ttl, hour),
        tools: ttl(written.cache_tools, written.tools_ttl, hour),
        history: ttl(
            written.cache_history,
            written.history_ttl,
            CacheTtl::FiveMinutes,
        ),
    };
    if provider == Provider::Vertex && written.vertex_fallback_to_5m == Some(true) {
        caching.at_most_five_minutes()
    } else {
        caching
    }
}

pub(super) fn governor(config: &Project) -> GovernorSettings {
    let limit = &config.ingest.rate_limit;
    let count = |value: u64| u32::try_from(value).unwrap_or(u32::MAX);
    GovernorSettings {
        governing: if limit.enabled {
            GovernorSwitch::On
        } else {
            GovernorSwitch::Off
        },
        throttle_threshold: limit.throttle_threshold,
        min_concurrency_under_pressure: usize::try_from(limit.min_concurrency_under_pressure)
            .unwrap_or(usize::MAX),
        max_wait: limit.max_wait_ms.map(Duration::from_millis),
        max_attempts: count(limit.max_attempts),
        base_delay: Duration::from_millis(limit.base_delay_ms),
        max_delay: Duration::from_millis(limit.max_delay_ms),
        jitter: if limit.jitter {
            Jitter::On
        } else {
            Jitter::Off
        },
        ..GovernorSettings::default()
    }
}

fn vertex_location(
    invocation: &Invocation,
    config: &Project,
    secrets: &ProjectSecrets<'_>,
) -> Outcome<String> {
    match &config.llm.vertex {
        Some(block) => plain_value(&block.location, "location", Provider::Vertex, secrets),
        None => Ok(invocation
            .environment
            .text("GOOGLE_VERTEX_LOCATION")
            .unwrap_or("global")
            .to_owned()),
    }
}

/// Only for backends with regional prices.
pub(crate) fn location(
    invocation: &Invocation,
    dir: &Path,
    config: &Project,
) -> Outcome<Option<String>> {
    match config.llm.backend {
        Backend::Http(Provider::Vertex) => {
            vertex_location(invocation, config, &invocation.secrets(dir)).map(Some)
        }
        _ => Ok(None),
    }
}

/// Reads the credentials file of Google's tools.
fn vertex(
    invocation: &Invocation,
    config: &Project,
    secrets: &ProjectSecrets<'_>,
) -> Outcome<VertexSettings> {
    let environment = &invocation.environment;
    let block = config.llm.vertex.as_ref();
    let location = vertex_location(invocation, config, secrets)?;
    let project = match block.and_then(|block| block.project.as_ref()) {
        Some(project) => Some(plain_value(project, "project", Provider::Vertex, secrets)?),
        None => environment.text("GOOGLE_VERTEX_PROJECT").map(str::to_owned),
    };
    let file = environment
        .text("GOOGLE_APPLICATION_CREDENTIALS")
        .map(Into::into)
        .or_else(|| {
            let home = environment.home()?;
            Some(home.join(".config/gcloud/application_default_credentials.json"))
        });
    let credentials = match file.filter(|file: &std::path::PathBuf| file.is_file()) {
        Some(file) => {
            let text = std::fs::read_to_string(&file).map_err(|error| {
                Failure::from_error(Code::LlmAuth, &error)
                    .context(format!("`{}` cannot be read", file.display()))
            })?;
            let credentials = GoogleCredentials::from_json(&text)?;
            for secret in credentials.secrets() {
                invocation.telemetry.hide(secret);
            }
            credentials
        }
        None => {
            return Err(
                Failure::new(Code::LlmAuth, "there are no Google credentials")
                    .hint("run `gcloud auth application-default login`")
                    .hint("or set GOOGLE_APPLICATION_CREDENTIALS to a service account's key file"),
            );
        }
    };
    Ok(VertexSettings {
        project,
        location,
        credentials,
    })
}

pub(crate) struct Facts {
    pub(crate) id: String,
    /// Unknown ids work too, if the backend accepts them.
    pub(crate) known: bool,
    pub(crate) context_window: Option<u64>,
}

fn catalogue(backend: Backend) -> Option<Provider> {
    match backend {
        Backend::None => None,
        Backend::ClaudeCode => Some(Provider::Anthropic),
        Backend::Http(provider) => Some(provider),
    }
}

pub(crate) fn model_facts(backend: Backend, model: &str) -> Facts {
    match catalogue(backend) {
        Some(provider) => {
            let facts = ktx_provider_adapters::model_facts(provider, model);
            Facts {
                known: facts.listing == FactsOrigin::Listed,
                context_window: facts.max_input,
                id: facts.id,
            }
        }
        None => Facts {
            id: model.to_owned(),
            known: false,
            context_window: None,
        },
    }
}

#[cfg(test)]
mod tests;
