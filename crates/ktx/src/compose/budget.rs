//! The budget of a run, with the list prices of the models that it will use.

use std::sync::Arc;

use ktx_config::Backend;
use ktx_llm_runtime::{SourceSystem, TokenUsage};
use ktx_provider_adapters::Preset;
use ktx_usage_ledger::{Budget, Limits, Meter, price};
use ktx_vocabulary::ModelRole;

use super::accounting::prices;
use super::telemetry::asked_model;
use crate::exit::Exit;
use crate::report::{Failure, Outcome};
use crate::session::Opened;

/// Makes the budget of a run that asks for these roles. A limit of money is refused when a model is
/// known to have no price: an unknown price is unknown, never zero.
pub(crate) fn budget(
    opened: &Opened,
    limits: Limits,
    meter: Arc<Meter>,
    roles: &[ModelRole],
) -> Outcome<Budget> {
    if limits.cost.is_none() {
        return Ok(Budget::new(limits, meter, |_, _| None));
    }
    let table = prices(opened)?;
    let backend = opened.config.llm.backend;
    let source = source(backend);
    let models = opened.config.llm.models.clone();
    let model = move |role: ModelRole| {
        let written = models
            .get(&role)
            .or_else(|| models.get(&ModelRole::Default));
        asked_model(backend, written.map(String::as_str)).map(|model| priced(backend, &model))
    };
    let unpriced = roles.iter().filter_map(|role| model(*role)).find(|model| {
        let now = jiff::Timestamp::now().to_string();
        source.is_none_or(|source| {
            price(source, model, &TokenUsage::default(), &now, &table).is_none()
        })
    });
    if let Some(model) = unpriced {
        return Err(Failure::new(
            Exit::Config,
            "price_unknown",
            format!("`--max-usd` cannot be held: the model `{model}` has no list price"),
        )
        .hint("use `--max-tokens`")
        .hint("or import a price table that has the model: `ktx llm pricing --help`"));
    }
    Ok(Budget::new(limits, meter, move |role, usage| {
        let now = jiff::Timestamp::now().to_string();
        let cost = price(source?, &model(role)?, usage, &now, &table)?;
        Some(cost.amount)
    }))
}

/// The id under which a model has its price: aliases of the local session stand for one.
fn priced(backend: Backend, model: &str) -> String {
    super::http::model_facts(backend, model).id
}

/// Who counts the tokens of a backend.
fn source(backend: Backend) -> Option<SourceSystem> {
    match backend {
        Backend::None => None,
        Backend::ClaudeCode => Some(SourceSystem::AnthropicSdk),
        other => Preset::parse(other.as_str()).map(Preset::source_system),
    }
}
