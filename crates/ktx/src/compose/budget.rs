//! The budget of a run, with the list prices of its models.

use std::sync::Arc;
use std::time::Duration;

use ktx_diagnostics::{Code, Failure};
use ktx_llm_runtime::TokenUsage;
use ktx_usage_ledger::{Budget, Limits, Meter, Money};
use ktx_vocabulary::ModelRole;

use super::prices::{list_price, prices};
use super::telemetry::asked_model;
use crate::cli::SpendingArgs;
use crate::report::Outcome;
use crate::session::{Opened, Session};

pub(crate) fn limits_of(args: &SpendingArgs) -> Outcome<Limits> {
    let cost = match args.max_usd {
        Some(dollars) if dollars.is_finite() && dollars > 0.0 => Some(Money::from_dollars(dollars)),
        Some(dollars) => {
            return Err(Failure::new(
                Code::Usage,
                format!("`--max-usd {dollars}` is no amount of money"),
            )
            .hint("give dollars, such as `--max-usd 2.50`"));
        }
        None => None,
    };
    let time = args
        .max_minutes
        .map(|minutes| Duration::from_secs(minutes.saturating_mul(60)));
    Ok(Limits {
        cost,
        tokens: args.max_tokens,
        time,
    })
}

/// Creates the budget of a run with these roles. A cost limit is refused if a model is known to
/// have no price: an unknown price is unknown, never zero.
pub(crate) fn budget(
    session: &Session,
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
    let location = super::http::location(session, &opened.dir, &opened.config)?;
    let models = opened.config.llm.models.clone();
    let model = move |role: ModelRole| {
        let written = models
            .get(&role)
            .or_else(|| models.get(&ModelRole::Default));
        asked_model(backend, written.map(String::as_str))
    };
    let price = move |model: &str, usage: &TokenUsage| {
        let now = jiff::Timestamp::now().to_string();
        list_price((backend, location.as_deref()), model, usage, &now, &table)
    };
    let unpriced = roles
        .iter()
        .filter_map(|role| model(*role))
        .find(|model| price(model, &TokenUsage::default()).is_none());
    if let Some(model) = unpriced {
        return Err(Failure::new(
            Code::PriceUnknown,
            format!("`--max-usd` cannot be held: the model `{model}` has no list price"),
        )
        .hint("use `--max-tokens`")
        .hint("or give its price under `llm.pricing` in ktx.yaml, or import a price table that has it: `ktx llm pricing --help`"));
    }
    Ok(Budget::new(limits, meter, move |role, usage| {
        let cost = price(&model(role)?, usage)?;
        Some(cost.amount)
    }))
}
