//! The runtime port over HTTP.

mod abilities;
mod account;
mod agent;
mod names;
mod object;
pub(crate) mod role_model;
#[cfg(test)]
mod tests;
mod tool_calls;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Instant;

use async_trait::async_trait;
use ktx_llm_runtime::{
    Abilities, BackendInfo, CallLabel, CallMetrics, CallSettings, ContentBlock, Deltas, EventSink,
    Governor, LlmError, LlmErrorKind, LlmRuntime, LoopOutcome, LoopRequest, Message, MessageRole,
    ObjectOutcome, ObjectRequest, Patience, ProbeReport, ProbeRequest, ReportedCost, RunEvent,
    RunHandle, RunRequest, RunWriter, RuntimeEvent, SourceSystem, TextOutcome, TextRequest,
    UsageFact, run_channel,
};
use ktx_secrets::Redactor;
use ktx_vocabulary::{ModelRole, Provider};
use tokio_util::sync::CancellationToken;
use tracing::Instrument as _;

use crate::caching::PromptCaching;
use crate::catalogue::FactsOrigin;
use crate::clients::HttpClients;
use crate::google_tokens::GoogleTokens;
use crate::http::{Authorization, Endpoint, HttpCall, HttpCallAnswer, OldReasoning};
use crate::preset;
use crate::settings::{HttpSettings, RateLimit, Timeouts};
use crate::wire::failure::{LARGER_WINDOW, LOOK_INSIDE};
use crate::wire::request::{CanonicalRequest, DeliveryMode};
use crate::wire::response::{Response, ResponseEnd};
use account::UsageAccount;
use names::MessageNames;
use role_model::RoleModel;

/// In tokens.
const PROBE_TOKENS: u64 = 64;

/// Clones share limits and tokens.
#[derive(Clone)]
pub struct HttpRuntime {
    inner: Arc<RuntimeState>,
}

struct RuntimeState {
    provider: Provider,
    endpoint: Endpoint,
    role_models: BTreeMap<ModelRole, RoleModel>,
    caching: PromptCaching,
    timeouts: Timeouts,
    ignored_fields: Vec<String>,
    events: Arc<dyn EventSink>,
    /// For missing and repeated ids.
    names: Mutex<MessageNames>,
    refused_forms: Mutex<object::RefusedForms>,
}

impl std::fmt::Debug for HttpRuntime {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("HttpRuntime")
            .field("provider", &self.inner.provider)
            .field("lanes", &self.inner.role_models)
            .finish_non_exhaustive()
    }
}

impl HttpRuntime {
    /// Sends nothing. Errors name the environment variable and the key of `ktx.yaml`.
    pub fn new(settings: HttpSettings, events: Arc<dyn EventSink>) -> Result<Self, LlmError> {
        settings.checked()?;
        let role_models = role_model::all(&settings)?;
        for role_model in role_models
            .values()
            .filter(|role_model| role_model.has_own_model(&role_models))
        {
            if role_model.facts.listing == FactsOrigin::Guessed
                && !preset::row(settings.provider).catalogue.is_empty()
            {
                events.event(RuntimeEvent::Warning(format!(
                    "the model `{}` is not in the catalogue; ktx treats it as the newest of its family",
                    role_model.facts.id
                )));
            }
        }
        let mut redactor = Redactor::new();
        if let Some(key) = &settings.api_key {
            redactor.learn(key);
        }
        for secret in settings
            .vertex
            .iter()
            .flat_map(|place| place.credentials.secrets())
        {
            redactor.learn(secret);
        }
        let governor = match settings.rate_limit {
            RateLimit::Own(limits) => Governor::new(limits, Arc::clone(&events)),
            RateLimit::Shared(governor) => governor,
        };
        let access = match (settings.provider, settings.api_key, settings.vertex) {
            (Provider::Vertex, _, Some(vertex)) => Authorization::Google(Box::new(
                GoogleTokens::new(vertex.credentials, settings.clock.clone()),
            )),
            (Provider::Anthropic, Some(key), _) => Authorization::Header("x-api-key", key),
            (Provider::Gemini, Some(key), _) => Authorization::Header("x-goog-api-key", key),
            (Provider::Vertex, _, None) | (_, None, _) => Authorization::Open,
            (_, Some(key), _) => Authorization::Bearer(key),
        };
        let endpoint = Endpoint {
            clients: HttpClients::new(&settings.proxy, &settings.timeouts)?,
            access,
            governor,
            gate: settings.gate,
            events: Arc::clone(&events),
            redactor,
            timeouts: settings.timeouts.clone(),
            clock: settings.clock,
            limits: Mutex::default(),
            answered: Mutex::default(),
            left_out: Mutex::default(),
        };
        Ok(Self {
            inner: Arc::new(RuntimeState {
                provider: settings.provider,
                endpoint,
                role_models,
                caching: settings.caching,
                timeouts: settings.timeouts,
                ignored_fields: settings.ignored_fields,
                events,
                names: Mutex::default(),
                refused_forms: Mutex::default(),
            }),
        })
    }
}

struct RuntimeOperation<'a> {
    inner: &'a RuntimeState,
    role_model: &'a RoleModel,
    role: ModelRole,
    label: &'a CallLabel,
    cancel: &'a CancellationToken,
    writer: Option<&'a RunWriter>,
    deltas: Deltas,
    patience: Patience,
    started: Instant,
    metrics: CallMetrics,
    refused_signatures: u32,
}

impl RuntimeState {
    fn role_model(&self, role: ModelRole) -> Result<&RoleModel, LlmError> {
        self.role_models.get(&role).ok_or_else(|| {
            LlmError::new(
                LlmErrorKind::Internal,
                format!("the role `{role}` has no model"),
            )
        })
    }

    fn operation<'a>(
        &'a self,
        role: ModelRole,
        label: &'a CallLabel,
        cancel: &'a CancellationToken,
    ) -> Result<RuntimeOperation<'a>, LlmError> {
        if cancel.is_cancelled() {
            return Err(LlmError::cancelled());
        }
        Ok(RuntimeOperation {
            inner: self,
            role_model: self.role_model(role)?,
            role,
            label,
            cancel,
            writer: None,
            deltas: Deltas::default(),
            patience: Patience::AsConfigured,
            started: Instant::now(),
            metrics: CallMetrics::default(),
            refused_signatures: 0,
        })
    }
}

impl RuntimeOperation<'_> {
    async fn turn(&mut self, request: &CanonicalRequest) -> Result<Response, LlmError> {
        let paid: Mutex<Vec<UsageFact>> = Mutex::default();
        let account = UsageAccount {
            inner: self.inner,
            role_model: self.role_model,
            role: self.role,
            label: self.label,
        };
        let outcome = self
            .inner
            .endpoint
            .call(HttpCall {
                role: self.role,
                request,
                target: self.role_model.target(),
                base: &self.role_model.base,
                cancel: self.cancel,
                listener: self.writer.filter(|_| self.deltas == Deltas::AsTheyCome),
                patience: self.patience,
                payer: &account,
                paid: &paid,
            })
            .await;
        let facts = paid
            .into_inner()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        let last = facts.last().map(|fact| fact.message_id.clone());
        for fact in facts {
            self.metrics.usage += fact.usage;
            if let Some(writer) = self.writer {
                writer.event(RunEvent::UsageReport(fact)).await;
            }
        }
        let HttpCallAnswer {
            response,
            reasoning,
        } = outcome?;
        if let (Some(writer), Deltas::ByTurn) = (self.writer, self.deltas) {
            for block in &response.content {
                if let ContentBlock::Reasoning { reasoning, .. } = block
                    && !reasoning.is_empty()
                {
                    writer
                        .event(RunEvent::ReasoningDelta(reasoning.clone()))
                        .await;
                }
            }
            let text = response.text();
            if !text.is_empty() {
                writer.event(RunEvent::TextDelta(text)).await;
            }
        }
        if reasoning == OldReasoning::Refused {
            self.refused_signatures += 1;
        }
        self.metrics.steps += 1;
        self.metrics.step_boundaries.push(self.started.elapsed());
        if let Some(model) = &response.draft.model {
            self.metrics.model = Some(model.clone());
        }
        if let (Some(cost), Some(message)) = (response.draft.reported_cost_usd, last) {
            *self.metrics.reported_cost_usd.get_or_insert(0.0) += cost;
            self.inner
                .events
                .event(RuntimeEvent::CostReported(ReportedCost {
                    source_system: SourceSystem::Provider(self.inner.provider),
                    role: self.role,
                    label: self.label.clone(),
                    call: format!("{message}/cost"),
                    dollars: cost,
                    message_ids: vec![message],
                }));
        }
        Ok(response)
    }

    fn metrics(&mut self) -> CallMetrics {
        self.metrics.total = self.started.elapsed();
        std::mem::take(&mut self.metrics)
    }

    fn request(&self, system: &str, prompt: &str) -> CanonicalRequest {
        CanonicalRequest {
            system: system.to_owned(),
            messages: vec![Message::text(MessageRole::User, prompt)],
            temperature: Some(0.0),
            caching: Some(self.inner.caching),
            ..CanonicalRequest::default()
        }
    }
}

fn usable(response: Response) -> Result<Response, LlmError> {
    match &response.stop {
        ResponseEnd::Refusal(category) => {
            let error = LlmError::new(LlmErrorKind::Refusal, "the model refused to answer")
                .hint(LOOK_INSIDE);
            Err(match category {
                Some(category) => error.detail(format!("category: {category}")),
                None => error,
            })
        }
        ResponseEnd::MaxOutput => Err(LlmError::new(
            LlmErrorKind::MaxOutput,
            "the answer does not fit the model's output limit",
        )
        .hint("set `llm.models` to a model that may write longer answers")),
        ResponseEnd::ContextFull => Err(LlmError::new(
            LlmErrorKind::ContextTooLong,
            "the conversation does not fit the model's context window",
        )
        .hint(LARGER_WINDOW)),
        ResponseEnd::Natural | ResponseEnd::Pause => Ok(response),
    }
}

#[async_trait]
impl LlmRuntime for HttpRuntime {
    async fn generate_text(&self, request: TextRequest) -> Result<TextOutcome, LlmError> {
        let mut operation = self
            .inner
            .operation(request.role, &request.label, &request.cancel)?;
        let asked = operation.request(&request.system, &request.prompt);
        let response = usable(operation.turn(&asked).await?)?;
        Ok(TextOutcome {
            text: response.text(),
            metrics: operation.metrics(),
        })
    }

    async fn generate_object(&self, request: ObjectRequest) -> Result<ObjectOutcome, LlmError> {
        let operation = self
            .inner
            .operation(request.role, &request.label, &request.cancel)?;
        object::generate(operation, &request).await
    }

    async fn run_agent_loop(&self, request: LoopRequest) -> LoopOutcome {
        if let Err(error) = request.checked() {
            return LoopOutcome::failed(error);
        }
        match self
            .inner
            .operation(request.role, &request.label, &request.cancel)
        {
            Ok(operation) => {
                let messages = vec![Message::text(MessageRole::User, request.prompt.as_str())];
                agent::run(
                    operation,
                    agent::LoopTask {
                        system: &request.system,
                        messages,
                        tools: &request.tools,
                        step_budget: request.step_budget,
                        on_step: request.on_step.as_ref(),
                        transcript: request.transcript.as_deref(),
                        hook: None,
                        settings: CallSettings::default(),
                    },
                )
                .await
            }
            Err(error) => LoopOutcome::failed(error),
        }
    }

    fn start_run(&self, request: RunRequest) -> RunHandle {
        let (writer, handle) = run_channel(
            request.label.run_id.clone(),
            request.ingress_request_id.clone(),
        );
        let runtime = self.clone();
        let span = tracing::info_span!(
            "run",
            run_id = %request.label.run_id,
            trace_id = request.trace_id.as_deref().unwrap_or_default(),
        );
        let work = async move {
            let last = agent::run_with_events(&runtime.inner, &request, &writer).await;
            writer.finish(last).await;
        };
        tokio::spawn(work.instrument(span));
        handle
    }

    async fn probe(&self, request: ProbeRequest) -> Result<ProbeReport, LlmError> {
        let label = CallLabel::of_probe(&request.run_id);
        let inner = &self.inner;
        let mut operation = inner.operation(ModelRole::Default, &label, &request.cancel)?;
        operation.patience = request.patience;
        let mut asked = operation.request("", "Answer with the word ok.");
        asked.delivery = DeliveryMode::Whole;
        asked.max_output = Some(PROBE_TOKENS);
        let response = operation.turn(&asked).await?;
        let role_model = operation.role_model;
        let answered = response
            .draft
            .model
            .unwrap_or_else(|| role_model.facts.id.clone());
        let warnings = (role_model.facts.listing == FactsOrigin::Guessed)
            .then(|| {
                format!(
                    "the model `{}` is not in the catalogue",
                    role_model.facts.id
                )
            })
            .into_iter()
            .collect();
        Ok(ProbeReport {
            facts: vec![
                ("backend".to_owned(), self.inner.provider.to_string()),
                ("address".to_owned(), role_model.base.url.clone()),
                ("model".to_owned(), answered),
            ],
            warnings,
        })
    }

    fn abilities(&self, role: ModelRole) -> Abilities {
        let role_model = self.inner.role_models.get(&role);
        role_model.map(abilities::of).unwrap_or_default()
    }

    fn describe(&self) -> BackendInfo {
        BackendInfo {
            name: self.inner.provider.as_str(),
            payer: format!("your account at {}", self.inner.provider.title()),
            ignored_fields: self.inner.ignored_fields.clone(),
            continues_loops: true,
        }
    }
}
