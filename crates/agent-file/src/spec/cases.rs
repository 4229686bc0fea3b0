//! The keys of cases (a pure table).

use super::metrics::METRIC;
use super::{
    AMOUNT, Field, ListShape, POSITIVE, PathKind, ShortForm, TEXT, TEXTS, ValueShape, Variant,
    VariantBody,
};
use crate::form::TextForm;

pub(crate) const TOOLS_MODE: ValueShape = ValueShape::Choice(&["subset", "exact", "ordered"]);

pub(crate) const METRICS: ValueShape = ValueShape::List(&ListShape::of(METRIC));

pub(crate) const CASES: ValueShape = ValueShape::List(&ListShape {
    item: ValueShape::Object(CASE),
    most: None,
    unique: Some("name"),
});

/// The object form of a case file.
pub(crate) const CASE_FILE: &[Field] = &[
    Field::optional(
        "as_of",
        ValueShape::Form(TextForm::Date),
        "The date that the agent takes for today in every case.",
    ),
    Field::optional(
        "defaults",
        ValueShape::Object(DEFAULTS),
        "Keys that every case has unless it sets them itself.",
    ),
    Field::optional(
        "arms",
        ValueShape::List(&ListShape {
            item: ValueShape::Object(ARM),
            most: None,
            unique: Some("name"),
        }),
        "Variants of the agent for `--arm` and `--ablation`.",
    ),
    Field::required("cases", CASES, "The cases."),
];

const ARM: &[Field] = &[
    Field::required(
        "name",
        ValueShape::Form(TextForm::EntryName),
        "The arm's name.",
    ),
    Field::optional(
        "tools",
        TEXTS,
        "The tools of the arm; the agent's when absent.",
    ),
    Field::defaulted(
        "without",
        ValueShape::List(&ListShape::of(ValueShape::Choice(&[
            "wiki",
            "semantic",
            "descriptions",
            "joins",
            "dictionary",
        ]))),
        "[]",
        "The parts of the layer that the arm does not see.",
    ),
];

const TAGS: Field = Field::defaulted("tags", TEXTS, "[]", "Labels to choose cases by.");
const OWNER: Field = Field::optional("owner", TEXT, "Who answers for the case.");
const FORBIDDEN: Field = Field::defaulted(
    "forbidden_tools",
    ValueShape::List(&ListShape::of(ValueShape::Form(TextForm::ToolPattern))),
    "[]",
    "Tools that the agent must not call, with `*` for any characters.",
);
const MODE: Field = Field::defaulted(
    "expected_tools_mode",
    TOOLS_MODE,
    r#""subset""#,
    "`subset`: further calls are fine; `exact`: they are not; `ordered`: the expected calls in this order.",
);
const LIMITS: Field = Field::optional(
    "limits",
    ValueShape::Object(&[
        Field::optional("max_turns", POSITIVE, "Steps."),
        Field::optional("max_usd", AMOUNT, "US dollars at list prices."),
        Field::optional("max_tokens", POSITIVE, "Tokens, input and output."),
        Field::optional("max_seconds", POSITIVE, "Seconds."),
    ]),
    "The most that passes.",
);
const REPEATS: Field = Field::defaulted(
    "repeats",
    ValueShape::Count {
        min: 1,
        max: Some(100),
    },
    "1",
    "How often the case runs.",
);
const TIMEOUT: Field = Field::optional(
    "timeout_s",
    POSITIVE,
    "Seconds that a run may take; `execution.llm_timeout` when absent.",
);
const EVALUATIONS: Field = Field::optional(
    "evaluations",
    METRICS,
    "The metrics of this case, in place of the agent's.",
);
const AS_OF: Field = Field::optional(
    "as_of",
    ValueShape::Form(TextForm::Date),
    "The date that the agent takes for today.",
);

const DEFAULTS: &[Field] = &[
    TAGS,
    OWNER,
    FORBIDDEN,
    MODE,
    EVALUATIONS,
    LIMITS,
    REPEATS,
    TIMEOUT,
];

const TRUTH: Field = Field::defaulted(
    "ground_truth",
    ValueShape::OneOrMore(&GROUND_TRUTH),
    "[]",
    "What is right: a text, `{sql}`, `{semantic}`, `{rows}`, `{value}` or `{refusal: true}`; a list means any of them.",
);
const EXPECTED: Field = Field::defaulted(
    "expected_tools",
    ValueShape::List(&ListShape::of(ValueShape::Short(&ShortForm {
        key: "name",
        text: ValueShape::Form(TextForm::ToolPattern),
        fixed: None,
        full: ValueShape::Object(EXPECTED_TOOL),
    }))),
    "[]",
    "Calls that the agent must make: a tool's name, or `{name, args, count}`.",
);
const FILES: Field = Field::defaulted(
    "files",
    ValueShape::List(&ListShape {
        item: ValueShape::Short(&ShortForm {
            key: "path",
            text: ValueShape::Path(PathKind::File),
            fixed: None,
            full: ValueShape::Object(FILE),
        }),
        most: Some(10),
        unique: None,
    }),
    "[]",
    "Files that the question comes with, at most 10.",
);
const RETRIEVED: Field = Field::optional(
    "retrieval_context",
    TEXTS,
    "What `rag` metrics take for the retrieved texts; the results of the calls when absent.",
);

const CASE: &[Field] = &[
    Field::optional("name", TEXT, "The case's name; `case-N` when absent."),
    TAGS,
    OWNER,
    Field::optional("skip", TEXT, "Why the case does not run."),
    Field::optional("input", TEXT, "The question. Either this or `turns`."),
    Field::optional(
        "turns",
        ValueShape::List(&ListShape::of(ValueShape::Object(TURN))),
        "Several questions in one session.",
    ),
    TRUTH,
    EXPECTED,
    MODE,
    FORBIDDEN,
    EVALUATIONS,
    AS_OF,
    LIMITS,
    REPEATS,
    TIMEOUT,
    FILES,
    RETRIEVED,
    Field::defaulted(
        "expected_sources",
        TEXTS,
        "[]",
        "Tables, measures and pages that a search must find, for `--runner retrieval`.",
    ),
];

const TURN: &[Field] = &[
    Field::required("input", TEXT, "The question."),
    TRUTH,
    EXPECTED,
    EVALUATIONS,
    FILES,
    RETRIEVED,
];

const EXPECTED_TOOL: &[Field] = &[
    Field::required(
        "name",
        ValueShape::Form(TextForm::ToolPattern),
        "The tool's name, with `*` for any characters.",
    ),
    Field::defaulted(
        "args",
        ValueShape::Map(&ValueShape::Matcher),
        "{}",
        "What the arguments must be: a value, `{fuzzy: TEXT}` or `{regex: PATTERN}`.",
    ),
    Field::defaulted("count", POSITIVE, "1", "How many calls there must be."),
];

const FILE: &[Field] = &[
    Field::required(
        "path",
        ValueShape::Path(PathKind::File),
        "The file, relative to the file of the cases.",
    ),
    Field::optional(
        "type",
        ValueShape::Choice(&["text", "csv", "image"]),
        "What is in it.",
    ),
    Field::optional("description", TEXT, "What the agent is told about it."),
    Field::foreign("url", "ktx downloads no files for cases"),
    Field::foreign("pages", "ktx reads whole files"),
    Field::foreign("sheet", "ktx reads whole files"),
    Field::foreign("range", "ktx reads whole files"),
    Field::foreign("cache", "ktx downloads no files for cases"),
];

const CONNECTION: Field = Field::optional(
    "connection",
    TEXT,
    "The connection; may be left out when the project has one warehouse.",
);

const GROUND_TRUTH: ValueShape = ValueShape::Short(&ShortForm {
    key: "text",
    text: TEXT,
    fixed: None,
    full: ValueShape::Keyed(&[
        truth(
            "text",
            &[&[Field::required("text", TEXT, "The right answer.")]],
        ),
        truth(
            "sql",
            &[&[
                Field::required("sql", TEXT, "A query whose rows are right."),
                CONNECTION,
            ]],
        ),
        truth(
            "semantic",
            &[&[
                Field::required(
                    "semantic",
                    ValueShape::AnyObject,
                    "A semantic query whose rows are right.",
                ),
                CONNECTION,
            ]],
        ),
        truth(
            "rows",
            &[&[
                Field::required(
                    "rows",
                    ValueShape::List(&ListShape::of(ValueShape::List(&ListShape::of(
                        ValueShape::Any,
                    )))),
                    "The right rows.",
                ),
                Field::optional("columns", TEXTS, "The names of their columns."),
            ]],
        ),
        truth(
            "value",
            &[&[Field::required(
                "value",
                ValueShape::AnyNumber,
                "The right number.",
            )]],
        ),
        truth(
            "refusal",
            &[&[Field::required(
                "refusal",
                ValueShape::Yes,
                "The agent must say that it cannot answer.",
            )]],
        ),
    ]),
});

const fn truth(name: &'static str, groups: &'static [&'static [Field]]) -> Variant {
    Variant {
        name,
        body: VariantBody::Fields(groups),
    }
}
