//! Budgets of runs and projects.

use std::sync::Arc;
use std::time::Duration;

use jiff::tz::TimeZone;
use ktx_diagnostics::{Code, Failure};
use ktx_llm_runtime::TokenUsage;
use ktx_usage_ledger::{Budget, Ceiling, Day, DayBudget, DayStatus, Limits, Money};
use ktx_vocabulary::ModelRole;
use serde::Serialize;

use super::accounting::RecordingSink;
use super::ledger_path;
use super::prices::{BackendLocation, list_price, prices};
use super::tracing::asked_model;
use crate::cli::SpendingArgs;
use crate::invocation::{Invocation, OpenProject};
use crate::report::{Outcome, Report as _};

/// Wait for calls of other commands that reserved the rest of a day.
const PATIENCE: Duration = Duration::from_secs(10);

pub(crate) fn limits_of(args: &SpendingArgs) -> Outcome<Limits> {
    let cost = match args.max_usd {
        Some(dollars) if dollars.is_finite() && dollars > 0.0 => Some(Money::from_dollars(dollars)),
        Some(dollars) => {
            return Err(Failure::new(
                Code::Usage,
                format!("`--max-usd {dollars}` is not an amount of money"),
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

#[derive(Debug, Clone, Copy)]
pub(crate) struct Spending<'a> {
    pub limits: Limits,
    pub roles: &'a [ModelRole],
}

impl Spending<'_> {
    /// Only the project's limit applies to probes.
    pub(crate) const PROBE: Self = Spending {
        limits: Limits {
            cost: None,
            tokens: None,
            time: None,
        },
        roles: &[ModelRole::Default],
    };
}

/// Refuses a cost limit if a model has no price: unknown is not zero.
pub(super) fn budget(
    invocation: &Invocation,
    project: &OpenProject,
    sink: &dyn RecordingSink,
    Spending { limits, roles }: Spending<'_>,
) -> Outcome<Option<Budget>> {
    let (recorder, shares) = (sink.recorder(), sink.shares());
    let ceiling = ceiling(project);
    let has_share = shares.iter().any(|share| share.ceiling().is_set());
    if !limits.any() && !ceiling.is_set() && !has_share {
        return Ok(None);
    }
    let day = ceiling.is_set().then(|| {
        let recorder = Arc::clone(recorder);
        DayBudget::new(ceiling, recorder, TimeZone::system(), PATIENCE)
    });
    let meter = recorder.meter();
    let has_cost_share = shares.iter().any(|share| share.ceiling().cost.is_some());
    if limits.cost.is_none() && ceiling.cost.is_none() && !has_cost_share {
        let budget = Budget::shared(limits, day, meter, |_, _| None);
        return Ok(Some(budget.for_agent(shares)));
    }
    let table = prices(project)?;
    let backend = project.config.llm.backend;
    let location = super::http::location(invocation, &project.dir, &project.config)?;
    let models = project.config.llm.models.clone();
    let model = move |role: ModelRole| {
        let written = models
            .get(&role)
            .or_else(|| models.get(&ModelRole::Default));
        asked_model(backend, written.map(String::as_str))
    };
    let price = move |model: &str, usage: &TokenUsage| {
        let now = jiff::Timestamp::now().to_string();
        let place = BackendLocation {
            backend,
            location: location.as_deref(),
        };
        list_price(place, model, usage, &now, &table)
    };
    let unpriced = roles
        .iter()
        .filter_map(|role| model(*role))
        .find(|model| price(model, &TokenUsage::default()).is_none());
    if let Some(model) = unpriced {
        let (limit, instead) = match limits.cost {
            Some(_) => ("--max-usd", "--max-tokens"),
            None if has_cost_share => ("limits.max_usd", "limits.max_tokens"),
            None => ("llm.budget.usd_per_day", "llm.budget.tokens_per_day"),
        };
        return Err(Failure::new(
            Code::PriceUnknown,
            format!("`{limit}` cannot be held: the model `{model}` has no list price"),
        )
        .hint(format!("use `{instead}`"))
        .hint("or give its price under `llm.pricing` in ktx.yaml, or import a price table that has it: `ktx llm pricing --help`"));
    }
    let budget = Budget::shared(limits, day, meter, move |role, usage| {
        let cost = price(&model(role)?, usage)?;
        Some(cost.amount)
    });
    Ok(Some(budget.for_agent(shares)))
}

pub(crate) fn day_status(
    invocation: &Invocation,
    project: &OpenProject,
) -> Outcome<Option<DayStatus>> {
    let ceiling = ceiling(project);
    if !ceiling.is_set() {
        return Ok(None);
    }
    let path = ledger_path(project);
    let day = Day::of(invocation.now, TimeZone::system());
    let status = DayStatus::read(&path, ceiling, day).map_err(|error| {
        Failure::from_error(Code::UsageLedger, &error)
            .context(format!("`{}` cannot be used", path.display()))
    })?;
    Ok(Some(status))
}

fn ceiling(project: &OpenProject) -> Ceiling {
    let budget = project.config.llm.budget;
    Ceiling {
        cost: budget.usd_per_day.map(Money::from_dollars),
        tokens: budget.tokens_per_day,
    }
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct BudgetReport {
    pub detail: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    ends_at: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    usd: Option<UsedShare<f64>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tokens: Option<UsedShare<u64>>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct UsedShare<T> {
    limit: T,
    used: T,
    in_flight: T,
}

impl BudgetReport {
    pub(crate) fn unreadable(failure: Failure) -> Self {
        Self {
            detail: failure.message,
            ends_at: None,
            usd: None,
            tokens: None,
        }
    }
}

impl From<&DayStatus> for BudgetReport {
    fn from(status: &DayStatus) -> Self {
        let DayStatus {
            ceiling,
            usage,
            day,
        } = status;
        let in_flight = usage.in_flight();
        Self {
            detail: status.to_string(),
            ends_at: Some(day.ends_at().to_string()),
            usd: ceiling.cost.map(|limit| UsedShare {
                limit: limit.dollars(),
                used: usage.spent.cost.dollars(),
                in_flight: in_flight.cost.dollars(),
            }),
            tokens: ceiling.tokens.map(|limit| UsedShare {
                limit,
                used: usage.spent.tokens,
                in_flight: in_flight.tokens,
            }),
        }
    }
}
