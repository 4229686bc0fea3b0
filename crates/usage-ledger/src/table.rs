//! The price table: data, not code.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::matching::ModelMatch;

#[derive(Debug, Clone, Deserialize)]
pub struct PriceTable {
    pub(crate) schema_version: u32,
    /// `YYYY-MM-DD`
    pub exported: String,
    pub(crate) rules: TableRules,
    /// For every reader of the table.
    #[serde(default)]
    pub(crate) checks: Vec<TestVector>,
    pub(crate) providers: Vec<Provider>,
    /// By model id in lower case; take precedence.
    #[serde(skip)]
    pub(crate) own: BTreeMap<String, Prices>,
}

#[derive(Debug, thiserror::Error)]
pub enum PriceTableError {
    #[error("the price table cannot be read")]
    Unreadable(#[source] serde_json::Error),
    #[error("the price table has schema version {found}; this version reads 1")]
    Version { found: u32 },
    #[error("the price table cannot be opened")]
    Unopened(#[source] std::io::Error),
    #[error("the price table cannot be used: the pattern of the model `{model}` is not valid")]
    Pattern { model: String },
    #[error("the price of the model `{model}` cannot be used")]
    Own {
        model: String,
        #[source]
        source: serde_json::Error,
    },
    #[error(
        "the price table does not reproduce its own test vector for `{model}`: expected {expected}, computed {computed}"
    )]
    TestVector {
        model: String,
        expected: String,
        computed: String,
    },
}

#[derive(Debug, Clone, Deserialize)]
pub(crate) struct TableRules {
    pub(crate) region_multiplier: f64,
}

#[derive(Debug, Clone, Deserialize)]
pub(crate) struct TestVector {
    pub(crate) provider: String,
    pub(crate) model: String,
    pub(crate) at: String,
    pub(crate) usage: TestVectorUsage,
    pub(crate) cost_usd: f64,
}

/// `input_tokens` is the whole input; `cache_write_tokens` includes the one-hour part.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(crate) struct TestVectorUsage {
    #[serde(rename = "input_tokens")]
    pub(crate) input: u64,
    #[serde(rename = "cache_read_tokens")]
    pub(crate) cache_read: u64,
    #[serde(rename = "cache_write_tokens")]
    pub(crate) cache_write: u64,
    #[serde(rename = "cache_write_1h_tokens")]
    pub(crate) cache_write_1h: u64,
    #[serde(rename = "output_tokens")]
    pub(crate) output: u64,
}

#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Provider {
    pub(crate) id: String,
    #[serde(default)]
    pub(crate) fallback: Vec<String>,
    pub(crate) models: Vec<Model>,
}

#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Model {
    pub(crate) id: String,
    #[serde(rename = "match")]
    pub(crate) matching: ModelMatch,
    pub(crate) prices: Vec<Prices>,
    #[serde(default)]
    pub(crate) variants: Vec<Variant>,
}

/// US dollars per million tokens.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Prices {
    pub(crate) when: Option<Validity>,
    pub(crate) input: Option<Price>,
    pub(crate) output: Option<Price>,
    pub(crate) cache_read: Option<Price>,
    pub(crate) cache_write_5m: Option<Price>,
    pub(crate) cache_write_1h: Option<Price>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct OwnPrices {
    input: Price,
    output: Price,
    cache_read: Option<Price>,
    cache_write_5m: Option<Price>,
    cache_write_1h: Option<Price>,
}

impl From<OwnPrices> for Prices {
    fn from(own: OwnPrices) -> Self {
        Self {
            when: None,
            input: Some(own.input),
            output: Some(own.output),
            cache_read: own.cache_read,
            cache_write_5m: own.cache_write_5m,
            cache_write_1h: own.cache_write_1h,
        }
    }
}

#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Variant {
    pub(crate) request: BTreeMap<String, String>,
    #[serde(flatten)]
    pub(crate) prices: Prices,
}

#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Validity {
    pub(crate) start_date: Option<String>,
    pub(crate) time_of_day_utc: Option<[String; 2]>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(try_from = "wire::Price")]
pub(crate) enum Price {
    Flat(f64),
    Tiered { base: f64, tiers: Vec<Tier> },
}

#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Tier {
    pub(crate) above_input_tokens: u64,
    pub(crate) price: f64,
}

mod wire {
    //! Deserializes prices and refuses negative ones.

    use serde::Deserialize;

    use super::Tier;

    #[derive(Deserialize)]
    #[serde(untagged)]
    pub(super) enum Price {
        Flat(f64),
        Tiered { base: f64, tiers: Vec<Tier> },
    }

    impl TryFrom<Price> for super::Price {
        type Error = String;

        fn try_from(price: Price) -> Result<Self, String> {
            let good = |price: f64| {
                if price.is_finite() && price >= 0.0 {
                    Ok(price)
                } else {
                    Err(format!("a price is a number from 0, not {price}"))
                }
            };
            match price {
                Price::Flat(price) => good(price).map(Self::Flat),
                Price::Tiered { base, tiers } => {
                    for tier in &tiers {
                        good(tier.price)?;
                    }
                    good(base).map(|base| Self::Tiered { base, tiers })
                }
            }
        }
    }
}

impl PriceTable {
    pub fn built_in() -> Result<Self, PriceTableError> {
        Self::read(include_str!("data/llm-pricing.json"))
    }

    pub fn parse(text: &str) -> Result<Self, PriceTableError> {
        let table = Self::read(text)?;
        table.check_patterns()?;
        table.verify()?;
        Ok(table)
    }

    /// By model id, in US dollars per million tokens; `input` and `output` are required.
    pub fn with_own<'a>(
        mut self,
        prices: impl IntoIterator<Item = (&'a str, serde_json::Value)>,
    ) -> Result<Self, PriceTableError> {
        for (model, price) in prices {
            let wrong = |source| PriceTableError::Own {
                model: model.to_owned(),
                source,
            };
            let own: OwnPrices = serde_json::from_value(price).map_err(wrong)?;
            self.own.insert(model.trim().to_lowercase(), own.into());
        }
        Ok(self)
    }

    fn read(text: &str) -> Result<Self, PriceTableError> {
        let table: Self = serde_json::from_str(text).map_err(PriceTableError::Unreadable)?;
        if table.schema_version == 1 {
            Ok(table)
        } else {
            Err(PriceTableError::Version {
                found: table.schema_version,
            })
        }
    }

    pub fn models(&self, provider: &str) -> Vec<&str> {
        let found = self
            .providers
            .iter()
            .filter(|candidate| candidate.id == provider);
        found
            .flat_map(|provider| provider.models.iter().map(|model| model.id.as_str()))
            .collect()
    }

    pub fn providers(&self) -> Vec<&str> {
        self.providers
            .iter()
            .map(|provider| provider.id.as_str())
            .collect()
    }
}
