//! The cost of tokens, in whole picodollars so that sums are exact.

use std::collections::BTreeMap;

use ktx_llm_runtime::TokenUsage;

use crate::lookup::spellings;
use crate::table::{Price, PriceTable, PriceTableError, Prices, TestVectorUsage, Validity};

/// US dollars in picodollars (10⁻¹²).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Money(i128);

impl Money {
    const PER_DOLLAR: i128 = 1_000_000_000_000;

    pub const fn from_picodollars(amount: i128) -> Self {
        Self(amount)
    }

    pub const fn picodollars(self) -> i128 {
        self.0
    }

    #[expect(
        clippy::cast_precision_loss,
        reason = "for display and JSON; sums are made in integers"
    )]
    pub fn dollars(self) -> f64 {
        self.0 as f64 / Self::PER_DOLLAR as f64
    }

    #[expect(
        clippy::cast_possible_truncation,
        reason = "amounts of money are far below the range"
    )]
    pub fn from_dollars(dollars: f64) -> Self {
        Self((dollars * 1e12).round() as i128)
    }
}

impl std::ops::AddAssign for Money {
    fn add_assign(&mut self, other: Self) {
        self.0 = self.0.saturating_add(other.0);
    }
}

/// `$0.0123`
impl std::fmt::Display for Money {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let dollars = self.dollars();
        if dollars != 0.0 && dollars.abs() < 0.0001 {
            write!(f, "${dollars:.8}")
        } else {
            write!(f, "${dollars:.4}")
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cost {
    pub amount: Money,
    /// A related price replaced a missing cache price.
    pub estimated: bool,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RequestTraits {
    /// Such as `processing=batch` or `speed=fast`.
    pub attributes: BTreeMap<String, String>,
    /// A regional endpoint costs a tenth more for some models.
    pub regional: PriceRegion,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum PriceRegion {
    #[default]
    Global,
    Region,
}

impl PriceTable {
    /// `at` is UTC (`YYYY-MM-DDTHH:MM:SS…`). An unknown price is `None`, never zero (COG-16).
    pub fn cost(
        &self,
        provider: &str,
        model: &str,
        at: &str,
        usage: &TokenUsage,
        traits: &RequestTraits,
    ) -> Option<Cost> {
        let model = self.model(provider, model)?;
        let plain = model
            .prices
            .iter()
            .rev()
            .find(|prices| holds(prices.when.as_ref(), at))?;
        let variant = model.variants.iter().find(|variant| {
            !variant.request.is_empty()
                && variant
                    .request
                    .iter()
                    .all(|(key, value)| traits.attributes.get(key) == Some(value))
                && holds(variant.prices.when.as_ref(), at)
        });
        let cost = summed(plain, variant.map(|variant| &variant.prices), usage)?;
        Some(match traits.regional {
            PriceRegion::Region if model.has_regional_surcharge() => {
                let dollars = cost.amount.dollars() * self.rules.region_multiplier;
                Cost {
                    amount: Money::from_dollars(dollars),
                    ..cost
                }
            }
            PriceRegion::Global | PriceRegion::Region => cost,
        })
    }

    pub(crate) fn own_cost(&self, model: &str, usage: &TokenUsage) -> Option<Cost> {
        let own = spellings(model)
            .iter()
            .find_map(|spelling| self.own.get(&spelling.to_lowercase()))?;
        summed(own, None, usage)
    }

    /// The test vectors must match to the picodollar.
    pub(crate) fn verify(&self) -> Result<(), PriceTableError> {
        for check in &self.checks {
            let usage = check.usage.disjoint();
            let traits = RequestTraits::default();
            let cost = self.cost(&check.provider, &check.model, &check.at, &usage, &traits);
            let expected = Money::from_dollars(check.cost_usd);
            if cost.map(|cost| cost.amount) != Some(expected) {
                return Err(PriceTableError::TestVector {
                    model: check.model.clone(),
                    expected: expected.to_string(),
                    computed: cost
                        .map_or_else(|| "none".to_owned(), |cost| cost.amount.to_string()),
                });
            }
        }
        Ok(())
    }
}

impl TestVectorUsage {
    /// Nested counters become disjoint.
    fn disjoint(&self) -> TokenUsage {
        let cached = self.cache_read.saturating_add(self.cache_write);
        TokenUsage {
            input: self.input.saturating_sub(cached),
            cache_write_5m: self.cache_write.saturating_sub(self.cache_write_1h),
            cache_write_1h: self.cache_write_1h,
            cache_read: self.cache_read,
            output: self.output,
            reasoning: 0,
        }
    }
}

fn summed(plain: &Prices, variant: Option<&Prices>, usage: &TokenUsage) -> Option<Cost> {
    let price = |pick: fn(&Prices) -> Option<&Price>| {
        let own = variant.and_then(pick);
        own.or_else(|| pick(plain))
            .map(|price| rate(price, usage.input_total()))
    };
    let input = price(|prices| prices.input.as_ref())?;
    let output = price(|prices| prices.output.as_ref())?;
    let read = price(|prices| prices.cache_read.as_ref());
    let write_5m = price(|prices| prices.cache_write_5m.as_ref());
    let write_1h = price(|prices| prices.cache_write_1h.as_ref());
    let short = write_5m.unwrap_or(input);
    let parts = [
        (usage.input, input),
        (usage.cache_read, read.unwrap_or(input)),
        (usage.cache_write_5m, short),
        (usage.cache_write_1h, write_1h.unwrap_or(short)),
        (usage.output, output),
    ];
    let amount = parts
        .iter()
        .map(|(tokens, rate)| i128::from(*tokens).saturating_mul(*rate))
        .fold(0, i128::saturating_add);
    let estimated = (usage.cache_read > 0 && read.is_none())
        || (usage.cache_write_5m > 0 && write_5m.is_none())
        || (usage.cache_write_1h > 0 && write_1h.is_none());
    Some(Cost {
        amount: Money(amount),
        estimated,
    })
}

/// Picodollars per token. The highest tier below the whole input applies to every token.
fn rate(price: &Price, input_total: u64) -> i128 {
    let dollars = match price {
        Price::Flat(price) => *price,
        Price::Tiered { base, tiers } => tiers
            .iter()
            .filter(|tier| tier.above_input_tokens < input_total)
            .max_by_key(|tier| tier.above_input_tokens)
            .map_or(*base, |tier| tier.price),
    };
    Money::from_dollars(dollars * 1e-6).0
}

fn holds(when: Option<&Validity>, at: &str) -> bool {
    let Some(when) = when else { return true };
    let (date, time) = (
        at.get(..10).unwrap_or_default(),
        at.get(11..19).unwrap_or_default(),
    );
    let started = when.start_date.as_deref().is_none_or(|start| start <= date);
    let inside = when.time_of_day_utc.as_ref().is_none_or(|[from, to]| {
        from.get(..8).is_some_and(|from| from <= time) && to.get(..8).is_some_and(|to| time < to)
    });
    started && inside
}
