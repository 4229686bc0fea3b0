//! Tokens outside of messages, such as summaries and interrupted messages (COG-14).

use std::collections::BTreeMap;

use ktx_llm_runtime::TokenUsage;

/// For unlisted models only totals are compared; the most used model gets the difference.
pub(crate) fn unattributed(
    reported: &BTreeMap<String, TokenUsage>,
    counted: &BTreeMap<String, TokenUsage>,
) -> BTreeMap<String, TokenUsage> {
    let by_name = counted.keys().all(|model| reported.contains_key(model));
    let differences = if by_name {
        let difference = |(model, reported): (&String, &TokenUsage)| {
            let counted = counted.get(model).copied().unwrap_or_default();
            (model.clone(), beyond(*reported, counted))
        };
        reported.iter().map(difference).collect()
    } else {
        let most = reported.iter().max_by_key(|(_, usage)| usage.total());
        let difference = beyond(sum(reported), sum(counted));
        most.map(|(model, _)| BTreeMap::from([(model.clone(), difference)]))
            .unwrap_or_default()
    };
    let is_some = |(_, usage): &(String, TokenUsage)| usage.total() > 0;
    differences.into_iter().filter(is_some).collect()
}

pub(crate) fn sum(used: &BTreeMap<String, TokenUsage>) -> TokenUsage {
    let mut total = TokenUsage::default();
    for usage in used.values() {
        total += *usage;
    }
    total
}

/// Old versions count all cache writes as short.
fn beyond(reported: TokenUsage, counted: TokenUsage) -> TokenUsage {
    let mut counted = counted;
    if reported.cache_write_1h == 0 {
        counted.cache_write_5m = counted
            .cache_write_5m
            .saturating_add(counted.cache_write_1h);
        counted.cache_write_1h = 0;
    }
    reported.beyond(counted)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn usage(input: u64, short: u64, long: u64, output: u64) -> TokenUsage {
        TokenUsage {
            input,
            cache_write_5m: short,
            cache_write_1h: long,
            cache_read: 0,
            output,
            reasoning: 0,
        }
    }

    fn by_model<const N: usize>(used: [(&str, TokenUsage); N]) -> BTreeMap<String, TokenUsage> {
        used.map(|(model, usage)| (model.to_owned(), usage)).into()
    }

    /// COG-14.
    #[test]
    fn usage_of_messages_is_not_counted_again() {
        let counted = by_model([("sonnet", usage(100, 20, 40, 20))]);
        for reported in [
            usage(100, 20, 40, 20),
            usage(100, 60, 0, 20),
            usage(90, 0, 0, 20),
        ] {
            assert_eq!(
                unattributed(&by_model([("sonnet", reported)]), &counted),
                by_model([])
            );
        }
    }

    /// COG-14.
    #[test]
    fn the_rest_has_a_model() {
        let counted = by_model([("sonnet", usage(100, 0, 0, 1))]);
        let reported = by_model([
            ("sonnet", usage(100, 0, 0, 20)),
            ("haiku", usage(50, 0, 0, 5)),
        ]);
        let rest = by_model([
            ("sonnet", usage(0, 0, 0, 19)),
            ("haiku", usage(50, 0, 0, 5)),
        ]);
        assert_eq!(unattributed(&reported, &counted), rest);
        let other_name = by_model([("sonnet-with-a-date", usage(100, 0, 0, 20))]);
        let all = by_model([("sonnet", usage(50, 0, 0, 5))]);
        assert_eq!(unattributed(&reported, &other_name), all);
        assert_eq!(unattributed(&by_model([]), &counted), by_model([]));
    }
}
