//! The keys of `llm.pricing`.

use super::{Field, Shape};

pub(super) const PRICES: &[Field] = &[
    Field::required("input", Shape::Price, "Tokens of the input."),
    Field::required("output", Shape::Price, "Tokens of the output."),
    Field::optional("cache_read", Shape::Price, "Tokens that the cache gave."),
    Field::optional(
        "cache_write_5m",
        Shape::Price,
        "Tokens that the cache took for five minutes.",
    ),
    Field::optional(
        "cache_write_1h",
        Shape::Price,
        "Tokens that the cache took for an hour.",
    ),
];

pub(crate) const PRICE_BY_SIZE: &[Field] = &[
    Field::required("base", Shape::Amount, "The price of small inputs."),
    Field::required(
        "tiers",
        Shape::List(PRICE_TIER),
        "The prices of larger inputs.",
    ),
];

const PRICE_TIER: &[Field] = &[
    Field::required(
        "above_input_tokens",
        Shape::Count { min: 0, max: None },
        "Input tokens above which the price holds.",
    ),
    Field::required("price", Shape::Amount, "The price."),
];
