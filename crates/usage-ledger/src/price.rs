//! The price of a message, by provider and location.

use ktx_llm_runtime::{SourceSystem, TokenUsage, UsageFact, UsageKind};
use ktx_vocabulary::Provider;

use crate::{Cost, Money, PriceRegion, PriceTable, RequestTraits};

/// `at` is UTC (RFC 3339). `None` for estimated tokens.
pub fn price_of(fact: &UsageFact, at: &str, prices: &PriceTable) -> Option<Cost> {
    if fact.kind == UsageKind::Estimated {
        return None;
    }
    let location = fact.location.as_deref();
    price(
        fact.source_system,
        &fact.model,
        location,
        &fact.usage,
        at,
        prices,
    )
}

/// `at` is UTC (RFC 3339). Prefers the project's own price. Subscriptions cost as much as the API:
/// the value of the work, not the bill.
pub fn price(
    source: SourceSystem,
    model: &str,
    location: Option<&str>,
    usage: &TokenUsage,
    at: &str,
    prices: &PriceTable,
) -> Option<Cost> {
    if source == SourceSystem::Scripted {
        return Some(Cost {
            amount: Money::default(),
            estimated: false,
        });
    }
    let traits = RequestTraits {
        regional: match location {
            None | Some("global") => PriceRegion::Global,
            Some(_) => PriceRegion::Region,
        },
        ..RequestTraits::default()
    };
    prices.own_cost(model, usage).or_else(|| {
        providers(source, model)
            .iter()
            .find_map(|provider| prices.cost(provider, model, at, usage, &traits))
    })
}

pub(crate) fn unpriced_reason(kind: &str, model: &str) -> String {
    if kind == UsageKind::Estimated.as_str() {
        format!("the provider does not report what the model `{model}` has used")
    } else {
        format!("the model `{model}` has no list price")
    }
}

const VENDORS: [(&str, &str); 9] = [
    ("anthropic", "anthropic"),
    ("openai", "openai"),
    ("google", "google"),
    ("deepseek", "deepseek"),
    ("alibaba", "qwen"),
    ("moonshotai", "moonshotai"),
    ("zai", "zai"),
    ("minimax", "minimax"),
    ("qwen", "qwen"),
];

/// In order. No others replace a missing price, because models have different prices elsewhere.
fn providers(source: SourceSystem, model: &str) -> Vec<&'static str> {
    match source {
        SourceSystem::LocalSession => Provider::Anthropic.price_rows().to_vec(),
        // A gateway charges the vendor's price.
        SourceSystem::Provider(Provider::Gateway) => {
            let vendor = model.split_once('/').map(|(vendor, _)| vendor.trim());
            VENDORS
                .into_iter()
                .filter(|(name, _)| vendor.is_none_or(|vendor| vendor.eq_ignore_ascii_case(name)))
                .map(|(_, provider)| provider)
                .collect()
        }
        SourceSystem::Provider(provider) => provider.price_rows().to_vec(),
        SourceSystem::Scripted => Vec::new(),
    }
}
