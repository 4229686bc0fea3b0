//! How a limit admits a call, for runs and projects.

use crate::Money;

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct UsageAmount {
    /// Input and output.
    pub tokens: u64,
    /// At list prices.
    pub cost: Money,
}

impl std::ops::AddAssign for UsageAmount {
    fn add_assign(&mut self, other: Self) {
        self.tokens = self.tokens.saturating_add(other.tokens);
        self.cost += other.cost;
    }
}

impl UsageAmount {
    #[must_use]
    pub(crate) fn minus(self, other: Self) -> Self {
        let cost = self.cost.picodollars() - other.cost.picodollars();
        Self {
            tokens: self.tokens.saturating_sub(other.tokens),
            cost: Money::from_picodollars(cost.max(0)),
        }
    }

    #[must_use]
    pub(crate) fn at_least(self, other: Self) -> Self {
        Self {
            tokens: self.tokens.max(other.tokens),
            cost: self.cost.max(other.cost),
        }
    }
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Ceiling {
    pub cost: Option<Money>,
    pub tokens: Option<u64>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct CeilingLoad {
    pub(crate) spent: UsageAmount,
    pub(crate) ours: UsageAmount,
    pub(crate) theirs: UsageAmount,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum BudgetUnit {
    Dollars,
    Tokens,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum BudgetFit {
    Now,
    /// If calls of this process use less than they reserved.
    AfterOurs,
    /// If calls of other processes use less than they reserved.
    AfterTheirs(BudgetUnit),
    Never(BudgetUnit),
}

impl Ceiling {
    pub const fn is_set(&self) -> bool {
        self.cost.is_some() || self.tokens.is_some()
    }

    pub(crate) fn exceeded(&self, amount: UsageAmount) -> Option<BudgetUnit> {
        if self.tokens.is_some_and(|limit| amount.tokens > limit) {
            return Some(BudgetUnit::Tokens);
        }
        self.cost
            .is_some_and(|limit| amount.cost > limit)
            .then_some(BudgetUnit::Dollars)
    }

    /// Admits nothing once the limit is reached.
    pub(crate) fn fit(&self, load: &CeilingLoad, next: UsageAmount) -> BudgetFit {
        let judge = |unit, limit: i128, part: fn(UsageAmount) -> i128| {
            let spent = part(load.spent);
            let after = spent.saturating_add(part(next));
            let beside_theirs = after.saturating_add(part(load.theirs));
            let beside_all = beside_theirs.saturating_add(part(load.ours));
            if spent >= limit || after > limit {
                BudgetFit::Never(unit)
            } else if beside_theirs > limit {
                BudgetFit::AfterTheirs(unit)
            } else if beside_all > limit {
                BudgetFit::AfterOurs
            } else {
                BudgetFit::Now
            }
        };
        let tokens = self.tokens.map_or(BudgetFit::Now, |limit| {
            judge(BudgetUnit::Tokens, i128::from(limit), |amount| {
                i128::from(amount.tokens)
            })
        });
        let cost = self.cost.map_or(BudgetFit::Now, |limit| {
            judge(BudgetUnit::Dollars, limit.picodollars(), |amount| {
                amount.cost.picodollars()
            })
        });
        tokens.max(cost)
    }
}
