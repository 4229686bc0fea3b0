//! The keys of one client below `clients`.

use super::{Field, KeyRule, Shape};

/// The client without its own token.
pub const DEFAULT_CLIENT: &str = "default";

const POSITIVE: Shape = Shape::Count { min: 1, max: None };

pub(crate) const CLIENT: &[Field] = &[
    Field::optional(
        "token",
        Shape::Secret,
        "The token by which the server over HTTP knows the client: a reference `env:NAME` or `file:PATH`. The client `default` has none: it is everyone who shows no token of a client, and every agent that starts its own `ktx mcp stdio`.",
    ),
    Field::optional(
        "tools",
        Shape::Choice(&["full", "core"]),
        "The tool profile; that of the server when absent.",
    ),
    Field::optional(
        "allowed_tools",
        Shape::Texts,
        "The only tools that the client is offered; all of its profile when absent. Tools that take notes are offered only when they are named here.",
    ),
    Field::optional(
        "hidden_pages",
        Shape::Texts,
        "Keys of wiki pages that the client does not see; `*` stands for any letters.",
    ),
    Field::optional(
        "max_rows",
        POSITIVE,
        "The most rows that a statement gives the client.",
    ),
    Field::optional(
        "max_seconds",
        POSITIVE,
        "The longest time of a statement of the client, in seconds.",
    ),
    Field::optional(
        "max_bytes",
        POSITIVE,
        "The most bytes that a statement of the client may read, where the warehouse estimates them.",
    ),
    Field::optional(
        "warehouses",
        Shape::Map(KeyRule::Any, &Shape::ClosedObject(RULES)),
        "What the client may read of each warehouse, by connection id. A warehouse that is not named is open.",
    ),
];

const RULES: &[Field] = &[
    Field::optional(
        "tables",
        Shape::Texts,
        "The only tables that the client sees, as `name`, `schema.name` or with `*` for any letters; all when absent.",
    ),
    Field::optional(
        "hidden_tables",
        Shape::Texts,
        "Tables that the client does not see.",
    ),
    Field::optional(
        "hidden_columns",
        Shape::Texts,
        "Columns that the client does not see, each as `table.column`.",
    ),
    Field::optional(
        "row_filters",
        Shape::Map(KeyRule::Any, &Shape::Text),
        "For a table the condition, in the SQL of the warehouse, that the rows meet which the client sees.",
    ),
    Field::optional(
        "masked_columns",
        Shape::Map(KeyRule::Any, &Shape::Text),
        "For a column, as `table.column`, the expression in the SQL of the warehouse that the client reads in its place.",
    ),
];
