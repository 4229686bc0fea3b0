//! The rule by which a limit admits a call: the same for the budget of a run and for that of a
//! project.

use crate::Money;

/// Tokens and their list price.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Amount {
    /// Tokens, input and output.
    pub tokens: u64,
    /// Money at list prices.
    pub cost: Money,
}

impl std::ops::AddAssign for Amount {
    fn add_assign(&mut self, other: Self) {
        self.tokens = self.tokens.saturating_add(other.tokens);
        self.cost += other.cost;
    }
}

impl Amount {
    /// Subtracts another amount, stopping at zero.
    #[must_use]
    pub(crate) fn beyond(self, other: Self) -> Self {
        let cost = self.cost.picodollars() - other.cost.picodollars();
        Self {
            tokens: self.tokens.saturating_sub(other.tokens),
            cost: Money::from_picodollars(cost.max(0)),
        }
    }

    /// Returns the larger of each part.
    #[must_use]
    pub(crate) fn or_more(self, other: Self) -> Self {
        Self {
            tokens: self.tokens.max(other.tokens),
            cost: self.cost.max(other.cost),
        }
    }
}

/// The highest amount that calls may use together.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Ceiling {
    /// Money at list prices.
    pub cost: Option<Money>,
    /// Tokens, input and output.
    pub tokens: Option<u64>,
}

/// What counts against a ceiling.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Load {
    /// The usage of calls that have ended.
    pub(crate) spent: Amount,
    /// What calls of this process may still use.
    pub(crate) ours: Amount,
    /// What calls of other processes may still use.
    pub(crate) theirs: Amount,
}

/// What a ceiling limits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Unit {
    Dollars,
    Tokens,
}

/// Whether a call may be made, from the best to the worst answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Fit {
    Now,
    /// Only if calls of this process use less than they reserved.
    AfterOurs,
    /// Only if calls of other processes use less than they reserved.
    AfterTheirs(Unit),
    /// The spent amount leaves no room for it.
    Never(Unit),
}

impl Ceiling {
    /// Returns whether there is any limit.
    pub const fn is_set(&self) -> bool {
        self.cost.is_some() || self.tokens.is_some()
    }

    /// Returns the limit that this amount exceeds, if there is one.
    pub(crate) fn exceeded(&self, amount: Amount) -> Option<Unit> {
        if self.tokens.is_some_and(|limit| amount.tokens > limit) {
            return Some(Unit::Tokens);
        }
        self.cost
            .is_some_and(|limit| amount.cost > limit)
            .then_some(Unit::Dollars)
    }

    /// Judges a call of this size. None begins once the limit is reached, whatever its size.
    pub(crate) fn fit(&self, load: &Load, next: Amount) -> Fit {
        let judge = |unit, limit: i128, part: fn(Amount) -> i128| {
            let spent = part(load.spent);
            let after = spent.saturating_add(part(next));
            let beside_theirs = after.saturating_add(part(load.theirs));
            let beside_all = beside_theirs.saturating_add(part(load.ours));
            if spent >= limit || after > limit {
                Fit::Never(unit)
            } else if beside_theirs > limit {
                Fit::AfterTheirs(unit)
            } else if beside_all > limit {
                Fit::AfterOurs
            } else {
                Fit::Now
            }
        };
        let tokens = self.tokens.map_or(Fit::Now, |limit| {
            judge(Unit::Tokens, i128::from(limit), |amount| {
                i128::from(amount.tokens)
            })
        });
        let cost = self.cost.map_or(Fit::Now, |limit| {
            judge(Unit::Dollars, limit.picodollars(), |amount| {
                amount.cost.picodollars()
            })
        });
        tokens.max(cost)
    }
}
