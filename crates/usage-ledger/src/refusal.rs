//! The texts of refused calls.

use std::time::Duration;

use ktx_llm_runtime::{LlmError, LlmErrorKind};

use crate::ceiling::{BudgetFit, BudgetUnit};
use crate::{Ceiling, Day, LedgerError, Money, PeriodUsage, UsageAmount};

pub(crate) fn refusal(what: &str) -> LlmError {
    of_run(format!(
        "the next model call would exceed the budget: {what}"
    ))
}

pub(crate) fn of_run(message: String) -> LlmError {
    LlmError::new(LlmErrorKind::Budget, message)
        .hint("run the same command again with a larger budget")
}

pub(crate) fn used_up(unit: BudgetUnit, ceiling: &Ceiling, spent: UsageAmount) -> LlmError {
    refusal(&format!("{} are used", limit_text(unit, ceiling, spent)))
}

pub(crate) fn of_agent(
    agent: &str,
    unit: BudgetUnit,
    ceiling: &Ceiling,
    spent: UsageAmount,
) -> LlmError {
    let message = format!(
        "the next model call would exceed the budget of the agent `{agent}`: {} are used",
        limit_text(unit, ceiling, spent)
    );
    let key = match unit {
        BudgetUnit::Tokens => "limits.max_tokens",
        BudgetUnit::Dollars => "limits.max_usd",
    };
    LlmError::new(LlmErrorKind::Budget, message)
        .hint(format!("raise `{key}` in the file of the agent `{agent}`"))
}

pub(crate) fn unpriced_agent(agent: &str, reason: &str, limit: Money) -> LlmError {
    LlmError::new(
        LlmErrorKind::Budget,
        format!("the budget of {limit} of the agent `{agent}` cannot be held: {reason}"),
    )
    .hint(format!(
        "use `limits.max_tokens` in place of `limits.max_usd` in the file of the agent `{agent}`"
    ))
}

pub(crate) fn time_used(limit: Duration) -> String {
    match limit.as_secs() / 60 {
        1 => "1 minute is over".to_owned(),
        minutes => format!("{minutes} minutes are over"),
    }
}

pub(crate) fn unpriced_run(reason: &str, limit: Money) -> LlmError {
    LlmError::new(
        LlmErrorKind::Budget,
        format!("the budget of {limit} cannot be held: {reason}"),
    )
    .hint("run the same command again with `--max-tokens` in place of `--max-usd`")
}

pub(crate) fn unpriced_day(reason: &str, limit: Money) -> LlmError {
    LlmError::new(
        LlmErrorKind::Budget,
        format!("the budget of {limit} a day cannot be held: {reason}"),
    )
    .hint("give its price under `llm.pricing` in ktx.yaml, or use `llm.budget.tokens_per_day`")
}

pub(crate) fn unrecorded(reason: impl std::fmt::Display) -> LlmError {
    LlmError::new(
        LlmErrorKind::Budget,
        format!("the budget cannot be held, because usage is not recorded: {reason}"),
    )
    .hint("repair the usage ledger, then run the same command again")
}

pub(crate) fn ledger_unusable(error: &LedgerError) -> LlmError {
    unrecorded(ktx_project_store::cause_chain(error).join(": "))
}

pub(crate) struct DayRefusal<'a> {
    pub(crate) fit: BudgetFit,
    pub(crate) ceiling: &'a Ceiling,
    pub(crate) usage: &'a PeriodUsage,
    pub(crate) day: &'a Day,
}

impl DayRefusal<'_> {
    pub(crate) fn to_error(&self) -> LlmError {
        let unit = match self.fit {
            BudgetFit::AfterTheirs(unit) | BudgetFit::Never(unit) => unit,
            BudgetFit::Now | BudgetFit::AfterOurs if self.ceiling.tokens.is_some() => {
                BudgetUnit::Tokens
            }
            BudgetFit::Now | BudgetFit::AfterOurs => BudgetUnit::Dollars,
        };
        let key = match unit {
            BudgetUnit::Tokens => "llm.budget.tokens_per_day",
            BudgetUnit::Dollars => "llm.budget.usd_per_day",
        };
        let ends = self.day.ends_at_local();
        let message = format!(
            "the next model call would exceed the budget of the day: {} are used{}; the day ends at {ends}",
            limit_text(unit, self.ceiling, self.usage.spent),
            self.in_flight(unit),
        );
        let hint = match self.fit {
            BudgetFit::Never(_) => {
                format!("raise `{key}` in ktx.yaml, or run the same command again after {ends}")
            }
            BudgetFit::Now | BudgetFit::AfterOurs | BudgetFit::AfterTheirs(_) => format!(
                "run the same command again when the calls in flight have ended, or raise `{key}` in ktx.yaml"
            ),
        };
        LlmError::new(LlmErrorKind::Budget, message).hint(hint)
    }

    fn in_flight(&self, unit: BudgetUnit) -> String {
        let amount = self.usage.in_flight();
        if amount == UsageAmount::default() {
            return String::new();
        }
        format!(", calls in flight may use {}", of_unit(unit, amount))
    }
}

fn limit_text(unit: BudgetUnit, ceiling: &Ceiling, amount: UsageAmount) -> String {
    match unit {
        BudgetUnit::Tokens => format!(
            "{} of {} tokens",
            amount.tokens,
            ceiling.tokens.unwrap_or_default()
        ),
        BudgetUnit::Dollars => format!("{} of {}", amount.cost, ceiling.cost.unwrap_or_default()),
    }
}

fn of_unit(unit: BudgetUnit, amount: UsageAmount) -> String {
    match unit {
        BudgetUnit::Tokens => format!("{} more tokens", amount.tokens),
        BudgetUnit::Dollars => format!("{} more", amount.cost),
    }
}
