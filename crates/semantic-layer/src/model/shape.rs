//! The keys of source files in canonical order, for the formatter and the JSON schema.

mod measure;
mod schema;

use measure::MEASURE;
pub use schema::source_schema;

#[derive(Debug, Clone, Copy)]
pub enum Holds {
    Text,
    Texts,
    Choice(&'static [&'static str]),
    Truth,
    /// At least 1.
    Count,
    Records(&'static Record),
    Record(&'static Record),
    WordOr(&'static str, &'static Record),
    Descriptions,
    Free,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Presence {
    Required,
    Optional,
}

#[derive(Debug, Clone, Copy)]
pub struct Key {
    pub name: &'static str,
    pub holds: Holds,
    pub presence: Presence,
    pub about: &'static str,
}

#[derive(Debug, Clone, Copy)]
pub struct Record {
    pub name: &'static str,
    pub about: &'static str,
    pub keys: &'static [Key],
}

impl Record {
    pub fn key(&self, name: &str) -> Option<&'static Key> {
        self.keys.iter().find(|key| key.name == name)
    }

    /// Unknown keys come last.
    pub fn rank(&self, name: &str) -> usize {
        let place = self.keys.iter().position(|key| key.name == name);
        place.unwrap_or(self.keys.len())
    }
}

pub const WRITERS: [&str; 7] = ["user", "ai", "dbt", "metricflow", "lookml", "looker", "db"];

const fn required(name: &'static str, holds: Holds, about: &'static str) -> Key {
    Key {
        name,
        holds,
        presence: Presence::Required,
        about,
    }
}

const fn optional(name: &'static str, holds: Holds, about: &'static str) -> Key {
    Key {
        name,
        holds,
        presence: Presence::Optional,
        about,
    }
}

const TYPES: Holds = Holds::Choice(&["string", "number", "time", "boolean"]);
const ROLES: Holds = Holds::Choice(&["time", "default"]);
const VISIBILITIES: Holds = Holds::Choice(&["public", "internal", "hidden"]);
const RELATIONSHIPS: Holds = Holds::Choice(&["many_to_one", "one_to_many", "one_to_one"]);

const NAME: Key = required(
    "name",
    Holds::Text,
    "The source's name, unique within its connection; case matters.",
);
const DESCRIPTIONS: Key = optional(
    "descriptions",
    Holds::Descriptions,
    "What it is, by who wrote the text; `user` is shown first, then `ai`, `dbt`, `metricflow`, `lookml`, `looker`, `db`.",
);
const VISIBILITY: Key = optional(
    "visibility",
    VISIBILITIES,
    "Who may use it: `public` (everyone, advertised), `internal` (may be queried), `hidden` (only \
     the source's own expressions).",
);
const ROLE: Key = optional("role", ROLES, "`time` marks a time axis.");
const CONSTRAINTS: Key = optional(
    "constraints",
    Holds::Free,
    "Constraints by the tool that knows them, such as `{dbt: {not_null: true}}`.",
);
const ENUM_VALUES: Key = optional(
    "enum_values",
    Holds::Free,
    "The values that occur, by the tool that knows them.",
);
const TESTS: Key = optional("tests", Holds::Free, "Tests by the tool that runs them.");
const JOINS: Key = optional(
    "joins",
    Holds::Records(&JOIN),
    "How rows of this source belong to rows of others. Each join can be read from both sides.",
);
const MEASURES: Key = optional(
    "measures",
    Holds::Records(&MEASURE),
    "Numbers that can be asked for by name.",
);
const SEGMENTS: Key = optional(
    "segments",
    Holds::Records(&SEGMENT),
    "Named predicates that measures and queries can use.",
);
const DEFAULT_TIME: Key = optional(
    "default_time_dimension",
    Holds::Free,
    "The usual time column, by the tool that says so, such as `{dbt: ordered_at}`.",
);
const USAGE: Key = optional(
    "usage",
    Holds::Free,
    "What the query history tells about it; feeds search only.",
);

/// A file with its own `table` or `sql`.
pub const STANDALONE: Record = Record {
    name: "standalone",
    about: "A source of its own: a table or a query, its columns, joins and measures.",
    keys: &[
        NAME,
        optional(
            "description",
            Holds::Text,
            "What it is; short for `descriptions: {user: …}`.",
        ),
        DESCRIPTIONS,
        optional(
            "source_type",
            Holds::Choice(&["table", "sql"]),
            "Accepted and ignored: `table` and `sql` say it.",
        ),
        optional(
            "table",
            Holds::Text,
            "The table or view in the warehouse, by its dotted name; exactly one of `table` and `sql`.",
        ),
        optional(
            "sql",
            Holds::Text,
            "One query in the connection's dialect; exactly one of `table` and `sql`.",
        ),
        optional(
            "inherits_columns_from",
            Holds::Text,
            "A scanned table whose types, roles and descriptions fill what the columns here leave out.",
        ),
        required(
            "grain",
            Holds::Texts,
            "The columns that tell the rows apart.",
        ),
        required(
            "columns",
            Holds::Records(&COLUMN),
            "The columns, in the order in which they are shown.",
        ),
        JOINS,
        MEASURES,
        SEGMENTS,
        DEFAULT_TIME,
        optional("tags", Holds::Free, "Tags by the tool that gave them."),
        optional(
            "owners",
            Holds::Free,
            "Who answers for it, by the tool that knows.",
        ),
        optional(
            "freshness",
            Holds::Free,
            "When it was last loaded, by the tool that knows.",
        ),
        optional(
            "exposures",
            Holds::Free,
            "What is built on it outside of the warehouse, by the tool that knows.",
        ),
        USAGE,
    ],
};

pub const OVERLAY: Record = Record {
    name: "overlay",
    about: "Additions to the scanned table of the same name.",
    keys: &[
        NAME,
        DESCRIPTIONS,
        optional(
            "grain",
            Holds::Texts,
            "The columns that tell the rows apart, in place of the scanned key.",
        ),
        optional(
            "exclude_columns",
            Holds::Texts,
            "Scanned columns to leave out.",
        ),
        optional(
            "column_overrides",
            Holds::Records(&COLUMN_OVERRIDE),
            "Better metadata for scanned columns.",
        ),
        optional(
            "columns",
            Holds::Records(&COMPUTED_COLUMN),
            "Computed columns to add.",
        ),
        optional(
            "disable_joins",
            Holds::Texts,
            "Conditions (`on`) of scanned joins to leave out, on both sides of each.",
        ),
        optional(
            "joins",
            Holds::Records(&OVERLAY_JOIN),
            "Joins to add, and scanned joins to change, name or leave out.",
        ),
        MEASURES,
        SEGMENTS,
        DEFAULT_TIME,
        USAGE,
    ],
};

const COLUMN: Record = Record {
    name: "column",
    about: "One column.",
    keys: &[
        required(
            "name",
            Holds::Text,
            "The name in queries and, without `expr`, in the warehouse; no dot.",
        ),
        optional(
            "type",
            TYPES,
            "What it holds; may be left out only where it is inherited.",
        ),
        ROLE,
        VISIBILITY,
        optional(
            "description",
            Holds::Text,
            "What it is; `descriptions` goes first.",
        ),
        DESCRIPTIONS,
        optional(
            "expr",
            Holds::Text,
            "An expression over the source's own columns: makes it a computed column.",
        ),
        optional(
            "natural_granularity",
            Holds::Text,
            "The unit in which the times come, such as `day`.",
        ),
        CONSTRAINTS,
        ENUM_VALUES,
        TESTS,
    ],
};

const COMPUTED_COLUMN: Record = Record {
    name: "computed_column",
    about: "A computed column of an overlay.",
    keys: &[
        required(
            "name",
            Holds::Text,
            "The name in queries; no scanned column may have it.",
        ),
        required("type", TYPES, "What it holds."),
        ROLE,
        VISIBILITY,
        optional(
            "description",
            Holds::Text,
            "What it is; `descriptions` goes first.",
        ),
        DESCRIPTIONS,
        required(
            "expr",
            Holds::Text,
            "An expression over the table's columns.",
        ),
        optional(
            "natural_granularity",
            Holds::Text,
            "The unit in which the times come, such as `day`.",
        ),
        CONSTRAINTS,
        ENUM_VALUES,
        TESTS,
    ],
};

const COLUMN_OVERRIDE: Record = Record {
    name: "column_override",
    about: "Metadata for a scanned column.",
    keys: &[
        required("name", Holds::Text, "The scanned column."),
        ROLE,
        VISIBILITY,
        DESCRIPTIONS,
        CONSTRAINTS,
        ENUM_VALUES,
        TESTS,
    ],
};

const JOIN: Record = Record {
    name: "join",
    about: "One join.",
    keys: &[
        required(
            "to",
            Holds::Text,
            "The source joined to, in its exact case.",
        ),
        optional(
            "alias",
            Holds::Text,
            "The role that the other source plays here, such as `billing_address`; the join then leads to a node of this name.",
        ),
        required(
            "on",
            Holds::Text,
            "Equalities joined by AND, this source first: `customer_id = customers.id`.",
        ),
        required(
            "relationship",
            RELATIONSHIPS,
            "How many rows belong together, read from this source.",
        ),
        optional(
            "source",
            Holds::Choice(&["formal", "inferred", "manual"]),
            "Who says so.",
        ),
        optional(
            "weight",
            Holds::Text,
            "On a join of a table of pairs: the part of a row that belongs to each of its groups, an expression over this \
             source's columns, such as `share`. Queries with `across: allocate` use it.",
        ),
    ],
};

const OVERLAY_JOIN: Record = Record {
    name: "overlay_join",
    about: "One join. A scanned join to the same source completes what it leaves out.",
    keys: &[
        required(
            "to",
            Holds::Text,
            "The source joined to, in its exact case.",
        ),
        optional(
            "alias",
            Holds::Text,
            "The role that the other source plays here, such as `billing_address`.",
        ),
        optional(
            "on",
            Holds::Text,
            "Equalities joined by AND, this source first: `customer_id = customers.id`. May be left out if the scan \
             has one join to that source.",
        ),
        optional(
            "relationship",
            RELATIONSHIPS,
            "How many rows belong together, read from this source; without it, as the scan says.",
        ),
        optional(
            "source",
            Holds::Choice(&["formal", "inferred", "manual"]),
            "Who says so.",
        ),
        optional(
            "weight",
            Holds::Text,
            "On a join of a table of pairs: the part of a row that belongs to each of its groups, an expression over this \
             source's columns, such as `share`. Queries with `across: allocate` use it.",
        ),
        optional(
            "exclude",
            Holds::Truth,
            "`true` leaves the scanned join out, on both sides.",
        ),
    ],
};

const SEGMENT: Record = Record {
    name: "segment",
    about: "One named predicate.",
    keys: &[
        required(
            "name",
            Holds::Text,
            "The name in queries, after the source's.",
        ),
        required("expr", Holds::Text, "The predicate."),
        optional("description", Holds::Text, "What it selects."),
    ],
};

#[cfg(test)]
mod tests;
