//! The meaning of each refusal and what to do about it.

use std::fmt::Write as _;

use crate::model::error::ErrorKind;

#[derive(Debug, Clone, Copy)]
pub struct Advice {
    pub kind: ErrorKind,
    pub means: &'static str,
    /// Used if the refusal itself proposes nothing.
    pub next: &'static str,
    pub offer: Offer,
    /// For the source's file; empty if only the query can settle it.
    pub line: &'static str,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Offer {
    /// One or two, where the sources have what they need.
    Queries,
    /// Why there are none.
    Never(&'static str),
}

struct Chapter {
    title: &'static str,
    rows: &'static [Advice],
}

const fn row(
    kind: ErrorKind,
    means: &'static str,
    next: &'static str,
    offer: Offer,
    line: &'static str,
) -> Advice {
    Advice {
        kind,
        means,
        next,
        offer,
        line,
    }
}

const CHAPTERS: &[Chapter] = &[
    Chapter {
        title: "Which rows are meant",
        rows: &[
            row(
                ErrorKind::AmbiguousJoinPath,
                "several chains of joins lead to the table, and they can find other rows",
                "name the path in the query, such as `orders.billing_address.city.name`; to settle it for everyone, take \
                 the other join out in the overlay of the source: `{to: …, on: …, exclude: true}`",
                Offer::Queries,
                "joins: [{to: address, on: shipping_address_id = address.id, exclude: true}]",
            ),
            row(
                ErrorKind::Fanout,
                "a row of the measure's table has many rows there, so sums would count it several times",
                "group by a column of the measure's own table, or count each row once in each of its groups with \
                 `across: count_each` (`--across count_each`)",
                Offer::Queries,
                "joins: [{to: category, on: category_id = category.id, relationship: many_to_one, weight: share}]",
            ),
            row(
                ErrorKind::FilterFanout,
                "the same for a filter",
                "keep a row if one of the rows there meets the filter: `across: count_each` (`--across count_each`)",
                Offer::Queries,
                "segments: [{name: with_tea, expr: product = 'tea'}]",
            ),
            row(
                ErrorKind::AsymmetricDimensions,
                "the dimension divides the rows of one measure and not those of the other",
                "ask for the measures in two queries",
                Offer::Queries,
                "joins: [{to: orders, on: order_id = orders.id, relationship: many_to_one}]",
            ),
            row(
                ErrorKind::NoJoinPath,
                "no join connects the tables",
                "add the join to the file of a source, `joins: [{to: …, on: …, relationship: many_to_one}]`, or run \
                 `ktx scan` if the tables are new",
                Offer::Queries,
                "joins: [{to: weather, on: ordered_on = weather.day, relationship: many_to_one}]",
            ),
            row(
                ErrorKind::FilterUnreachable,
                "the same for a filter",
                "filter by a column that the measure's table has or looks up, or add the join to the file of a source",
                Offer::Never("without the filter it would be another question"),
                "joins: [{to: weather, on: ordered_on = weather.day, relationship: many_to_one}]",
            ),
        ],
    },
    Chapter {
        title: "Which name is meant",
        rows: &[
            row(
                ErrorKind::UnknownSource,
                "no source has this name",
                "take a name that `ktx sl` lists",
                Offer::Queries,
                "name: orders",
            ),
            row(
                ErrorKind::UnknownColumn,
                "the source has no such column",
                "take a column that `ktx sl read SOURCE` lists",
                Offer::Queries,
                "columns: [{name: size, type: string, expr: case when amount > 9 then 'big' else 'small' end}]",
            ),
            row(
                ErrorKind::UnknownMeasure,
                "no source has such a measure",
                "take a measure that `ktx sl read SOURCE` lists, or write an aggregate such as `sum(orders.amount)`",
                Offer::Queries,
                "measures: [{name: profit, expr: sum(amount - cost)}]",
            ),
            row(
                ErrorKind::UnknownSegment,
                "the source has no such segment",
                "take a segment that `ktx sl read SOURCE` lists, or write the condition as a filter",
                Offer::Queries,
                "segments: [{name: paid, expr: status = 'paid'}]",
            ),
            row(
                ErrorKind::AmbiguousColumn,
                "several sources have the column",
                "write the source before it: `orders.status`",
                Offer::Queries,
                "column_overrides: [{name: status, visibility: hidden}]",
            ),
            row(
                ErrorKind::AmbiguousMeasure,
                "several sources have the measure",
                "write the source before it: `orders.revenue`",
                Offer::Queries,
                "measures: [{name: average_amount, expr: avg(amount)}]",
            ),
            row(
                ErrorKind::UnqualifiedColumn,
                "an aggregate names a column alone",
                "write the source before it: `sum(orders.total)`",
                Offer::Queries,
                "measures: [{name: quantity_total, expr: sum(quantity)}]",
            ),
            row(
                ErrorKind::HiddenColumn,
                "a file hides the column from queries",
                "ask with another column; to show it, remove `visibility: hidden` from the file of the source",
                Offer::Never("only the owner of the file can show the column"),
                "column_overrides: [{name: margin, visibility: public}]",
            ),
            row(
                ErrorKind::NotAMeasure,
                "the query uses a column as a measure",
                "aggregate the column: `sum(orders.total)`",
                Offer::Queries,
                "measures: [{name: revenue, expr: sum(amount)}]",
            ),
            row(
                ErrorKind::NotADimension,
                "the query groups by what is not a column",
                "group by a column, and move a measure to the measures of the query",
                Offer::Queries,
                "columns: [{name: size, type: string, expr: case when amount > 9 then 'big' else 'small' end}]",
            ),
            row(
                ErrorKind::UnknownOrderField,
                "the query sorts by a field that it does not select",
                "sort by a measure or dimension of the query, or add the field to it",
                Offer::Queries,
                "",
            ),
            row(
                ErrorKind::NoSource,
                "the expression names no source, or the connection has none",
                "write the source in it, such as `count(orders.*)`; run `ktx scan` if there are no sources",
                Offer::Never("no part of the query says which rows to count"),
                "measures: [{name: order_count, expr: count(*)}]",
            ),
        ],
    },
    Chapter {
        title: "Times",
        rows: &[
            row(
                ErrorKind::NotATimeColumn,
                "only times have a granularity",
                "take a time column of the source, or leave the unit out",
                Offer::Queries,
                "columns: [{name: day, type: time, expr: cast(day_text as date)}]",
            ),
            row(
                ErrorKind::BadGranularity,
                "the unit is unknown or finer than the column",
                "take one of `year`, `quarter`, `month`, `week`, `day`, `hour` and `minute`, not finer than the column",
                Offer::Queries,
                "columns: [{name: hour, type: number, expr: extract(hour from ordered_at)}]",
            ),
            row(
                ErrorKind::NoTimeDimension,
                "a measure over periods needs a time dimension",
                "add one with its unit, such as `orders.ordered_at:month`",
                Offer::Queries,
                "default_time_dimension: ordered_at",
            ),
            row(
                ErrorKind::AmbiguousTimeDimension,
                "a measure over periods needs one time dimension, and the query has several",
                "leave one time dimension in the query",
                Offer::Queries,
                "default_time_dimension: ordered_at",
            ),
            row(
                ErrorKind::MixedTimeFilter,
                "a filter on the time also tests something else",
                "write the test of the time as a filter of its own",
                Offer::Never("each half of an `or` keeps other rows than the whole"),
                "segments: [{name: recent_or_paid, expr: ordered_at > '2025-01-01' or status = 'paid'}]",
            ),
            row(
                ErrorKind::UnboundedFill,
                "to fill in periods, ktx needs a beginning and an end",
                "add a filter on the time with both, such as `orders.ordered_at >= '2025-01-01'`, or ask without `fill`",
                Offer::Queries,
                "",
            ),
            row(
                ErrorKind::FillTooLong,
                "the periods to fill in are too many",
                "take a coarser unit or a shorter time, or ask without `fill`",
                Offer::Queries,
                "",
            ),
            row(
                ErrorKind::BadWindow,
                "the measure's window does not fit the query",
                "group by a unit of time that the window is made of",
                Offer::Queries,
                "measures: [{name: last_12_months, cumulative: {measure: revenue, window: {count: 12, unit: month}}}]",
            ),
            row(
                ErrorKind::BadSnapshot,
                "the measure of a moment cannot be computed as it is defined",
                "define it as one aggregate, such as `sum(amount)`, with `per`, the columns that have a balance each",
                Offer::Never("the measure has to be right first"),
                "measures: [{name: balance, expr: sum(amount), semi_additive: {dimension: ordered_at, at: last}}]",
            ),
        ],
    },
    Chapter {
        title: "Measures and filters",
        rows: &[
            row(
                ErrorKind::MultiSourceMeasure,
                "one aggregate reads rows of two tables that cannot be looked up from one another",
                "aggregate each table and combine the results: `sum(a.x) / count(b.*)`",
                Offer::Never("which of the two tables the rows are of is not said"),
                "joins: [{to: orders, on: order_id = orders.id, relationship: many_to_one}]",
            ),
            row(
                ErrorKind::MultiGrainMeasure,
                "one expression mixes rows of different tables",
                "aggregate each table and combine the results: `sum(a.x) / count(b.*)`",
                Offer::Never("which of the tables the rows are of is not said"),
                "measures: [{name: rate, expr: sum(amount) / sum(budgets.amount)}]",
            ),
            row(
                ErrorKind::NotAdditive,
                "the groups do not add up to a total of which they could be a share",
                "ask for the measure alone, or for a share of a count or a sum; `across: allocate` divides sums and counts \
                 only",
                Offer::Queries,
                "measures: [{name: revenue, expr: sum(amount)}]",
            ),
            row(
                ErrorKind::NestedAggregate,
                "an aggregate contains an aggregate",
                "aggregate one value for each row of a source: `avg(per(customers, count(orders.*)))`",
                Offer::Never("for which rows the inner number is meant is not said"),
                "measures: [{name: orders_per_customer, expr: 'avg(per(customers, count(orders.*)))'}]",
            ),
            row(
                ErrorKind::WindowFunction,
                "window functions have no value here",
                "compare groups with `share`, `rank`, `running_total`, `previous`, `change` or `growth`",
                Offer::Never(
                    "a window says how rows follow each other, and the groups of an answer do not",
                ),
                "measures: [{name: so_far, cumulative: {measure: revenue, window: {count: 3, unit: month}}}]",
            ),
            row(
                ErrorKind::SubqueryNotAllowed,
                "an expression holds a query",
                "write `overall(avg(orders.amount))` for a number over all rows, `per(customers, count(orders.*)) = 0` for \
                 rows without others, or a source with `sql`",
                Offer::Never("ktx does not read the inner query"),
                "sql: select order_id, count(*) as items from items group by 1",
            ),
            row(
                ErrorKind::CircularMeasure,
                "measures refer to each other in a circle",
                "define one of them by its columns",
                Offer::Never("none of the measures has a value"),
                "measures: [{name: revenue, expr: sum(amount)}]",
            ),
            row(
                ErrorKind::MixedOrFilter,
                "an `or` joins a condition on rows with one on a measure",
                "ask two queries; to compare each row with a number over all rows, write `overall(avg(orders.amount))`",
                Offer::Never(
                    "rows and groups are filtered one after the other, so no query has both halves",
                ),
                "columns: [{name: is_paid, type: boolean, expr: status = 'paid'}]",
            ),
            row(
                ErrorKind::TotalFilter,
                "a condition on a measure needs groups",
                "add a dimension, or write the condition for each row of a source: `per(customers, count(orders.*)) > 2`",
                Offer::Queries,
                "",
            ),
            row(
                ErrorKind::SegmentNotQualified,
                "the segment has no source",
                "write `source.segment`",
                Offer::Queries,
                "",
            ),
            row(
                ErrorKind::SegmentNoMeasure,
                "the query has no measure of the segment's source",
                "add a measure of that source, or leave the segment out",
                Offer::Queries,
                "",
            ),
            row(
                ErrorKind::ParseError,
                "ktx cannot read an expression",
                "write a measure as `orders.revenue` or `sum(orders.amount)`, a filter as `orders.status = 'paid'`",
                Offer::Never("what the text means is not known"),
                "",
            ),
            row(
                ErrorKind::InvalidQuery,
                "the query has a part that ktx does not know or that does not fit the others",
                "begin with one measure, such as `sum(orders.amount)`, and add to the query part by part",
                Offer::Queries,
                "",
            ),
            row(
                ErrorKind::UnknownDialect,
                "the dialect is unknown",
                "take one of the dialects that the message lists",
                Offer::Never("a query does not name its dialect"),
                "",
            ),
        ],
    },
    Chapter {
        title: "Files that queries need",
        rows: &[
            row(
                ErrorKind::InvalidSource,
                "the file of a source has an error",
                "correct the file at the place that the message has; `ktx sl validate` checks all files",
                Offer::Never("the file has to be right first"),
                "",
            ),
            row(
                ErrorKind::DuplicateSource,
                "two files declare one source",
                "rename or remove one of them; `ktx sl validate` lists both",
                Offer::Never("the files have to be right first"),
                "",
            ),
            row(
                ErrorKind::OrphanJoinTarget,
                "a join leads to a source that does not exist",
                "correct `to` of the join, or run `ktx scan` if the table is new",
                Offer::Never("the file has to be right first"),
                "joins: [{to: customers, on: customer_id = customers.id, relationship: many_to_one}]",
            ),
            row(
                ErrorKind::InvalidJoinCondition,
                "a join has a condition other than equal columns",
                "write `on` as `column = source.column`, with `and` between several",
                Offer::Never("the file has to be right first"),
                "joins: [{to: customers, on: customer_id = customers.id, relationship: many_to_one}]",
            ),
            row(
                ErrorKind::InvalidOverlay,
                "an overlay does not fit its table",
                "correct the file at the place that the message has; `ktx sl validate` checks all files",
                Offer::Never("the file has to be right first"),
                "",
            ),
        ],
    },
];

impl ErrorKind {
    /// `None` for findings that refuse no query.
    pub fn advice(self) -> Option<&'static Advice> {
        let mut rows = CHAPTERS.iter().flat_map(|chapter| chapter.rows);
        rows.find(|row| row.kind == self)
    }
}

pub fn refused_markdown() -> String {
    let mut page = String::from(
        "# My query was refused\n\n\
         ktx refuses a query that has no exact answer, and says what to ask instead. On the command line, each\n\
         `hint: run …` is a command that works as it is; with `--json` the same queries are objects in\n\
         `error.suggestions`, and over MCP they follow `send instead:`. ktx has compiled each of them. Where there is no\n\
         such query, the hint says what to change.\n\n\
         A line of the last column goes into `semantic-layer/<connection>/<source>.yaml`, beside `name: <source>`.\n\n\
         How paths, bridges and weights are written is in\n\
         [the semantic layer](../concepts/semantic-layer.md#say-which-path-is-meant).\n",
    );
    for chapter in CHAPTERS {
        let _unused = write!(
            page,
            "\n## {}\n\n| code | it means | do this | for good, in the file of the source |\n|---|---|---|---|\n",
            chapter.title
        );
        for row in chapter.rows {
            let next = match row.offer {
                Offer::Queries => row.next.to_owned(),
                Offer::Never(why) => format!("{}; no query is offered: {why}", row.next),
            };
            let line = match row.line {
                "" => "–".to_owned(),
                line => format!("`{line}`"),
            };
            let _unused = writeln!(page, "| `{}` | {} | {next} | {line} |", row.kind, row.means);
        }
    }
    page.push_str(
        "\nA source whose file has an error refuses every query that needs it; `ktx sl validate` prints the file, the line\n\
         and the fix.\n",
    );
    page
}
