//! The keys of metrics (a pure table).

use super::model::MODEL;
use super::{
    AMOUNT, Field, ListShape, RATIO, TEXT, TEXTS, TaggedShape, ValueShape, Variant, VariantBody,
};
use crate::form::TextForm;

pub(super) const METRIC: ValueShape = ValueShape::Tagged(&TaggedShape {
    tag: "type",
    absent: Some("standard"),
    noun: "type of metric",
    variants: &[
        Variant {
            name: "standard",
            body: VariantBody::Tagged(&STANDARD),
        },
        variant("geval", &[&[NAMED], COMMON, JUDGE, GEVAL]),
        variant("rag", &[&[LABEL], COMMON, JUDGE, RAG]),
        Variant {
            name: "code",
            body: CODE,
        },
    ],
});

const STANDARD: TaggedShape = TaggedShape {
    tag: "metric",
    absent: None,
    noun: "metric",
    variants: &[
        variant("equality", &[&[LABEL], COMMON, NO_JUDGE, EQUALITY]),
        variant("contains", &[&[LABEL], COMMON, NO_JUDGE, CONTAINS]),
        variant("not_contains", &[&[LABEL], COMMON, NO_JUDGE, CONTAINS]),
        variant("regex", &[&[LABEL], COMMON, NO_JUDGE, REGEX]),
        variant("numeric", &[&[LABEL], COMMON, NO_JUDGE, NUMERIC]),
        variant("sql_result", &[&[LABEL], COMMON, NO_JUDGE, SQL_RESULT]),
        variant("tools", &[&[LABEL], COMMON, NO_JUDGE, TOOLS]),
        variant("refusal", &[&[LABEL], COMMON, JUDGE]),
        variant("cost", &[&[LABEL], COMMON, NO_JUDGE, MOST]),
        variant("tokens", &[&[LABEL], COMMON, NO_JUDGE, MOST]),
        variant("seconds", &[&[LABEL], COMMON, NO_JUDGE, MOST]),
        variant("steps", &[&[LABEL], COMMON, NO_JUDGE, MOST]),
        variant("f1_score", &[&[LABEL], COMMON, NO_JUDGE]),
        variant("bleu", &[&[LABEL], COMMON, NO_JUDGE]),
        variant("rouge", &[&[LABEL], COMMON, NO_JUDGE, ROUGE]),
        variant("meteor", &[&[LABEL], COMMON, NO_JUDGE]),
        Variant {
            name: "code",
            body: CODE,
        },
        foreign_metric(
            "groundedness",
            "use `type: rag` with `metric_type: faithfulness`",
        ),
        foreign_metric(
            "relevance",
            "use `type: rag` with `metric_type: answer_relevancy`",
        ),
        foreign_metric("coherence", "use `type: geval` with your own `criteria`"),
        foreign_metric("safety", "use `type: geval` with your own `criteria`"),
    ],
};

const CODE: VariantBody = VariantBody::Refused {
    why: "ktx runs no foreign code as a grader",
    hint: "use `sql_result`, `tools` or `regex`",
};

const fn variant(name: &'static str, groups: &'static [&'static [Field]]) -> Variant {
    Variant {
        name,
        body: VariantBody::Fields(groups),
    }
}

/// A HoloDeck metric that ktx names differently.
const fn foreign_metric(name: &'static str, hint: &'static str) -> Variant {
    Variant {
        name,
        body: VariantBody::Refused {
            why: "ktx does not have this metric",
            hint,
        },
    }
}

const LABEL: Field = Field::optional(
    "name",
    TEXT,
    "The name in reports; the metric's when absent.",
);
const NAMED: Field = Field::required("name", TEXT, "The name in reports.");

const COMMON: &[Field] = &[
    Field::optional(
        "threshold",
        RATIO,
        "The lowest score that passes. When absent, 1; none for `f1_score`, `bleu`, `rouge`, `meteor`, `geval` and `rag`, which then only inform.",
    ),
    Field::defaulted(
        "enabled",
        ValueShape::Flag,
        "true",
        "Whether the metric is computed.",
    ),
    Field::optional(
        "response_path",
        TEXT,
        "A path with dots into the structured answer, which is judged in place of the text.",
    ),
    Field::foreign("scale", "scores are from 0 to 1"),
    Field::foreign("fail_on_error", "an error is never a score"),
    Field::foreign("retry_on_failure", "use `--retries`"),
    Field::foreign("timeout_ms", "use `timeout_s` of the case"),
    Field::foreign(
        "custom_prompt",
        "use `type: geval` with your own `criteria`",
    ),
];

const JUDGE: &[Field] = &[Field::optional(
    "model",
    ValueShape::Object(MODEL),
    "The model that judges; `evaluations.model` when absent.",
)];
const NO_JUDGE: &[Field] = &[Field::foreign("model", "no model computes this metric")];

const fn flag(name: &'static str, meaning: &'static str) -> Field {
    Field::defaulted(name, ValueShape::Flag, "false", meaning)
}

const EQUALITY: &[Field] = &[
    flag("case_insensitive", "Whether case is ignored."),
    flag(
        "strip_whitespace",
        "Whether spaces at both ends are ignored.",
    ),
    flag("strip_punctuation", "Whether punctuation is ignored."),
];

const CONTAINS: &[Field] = &[
    Field::optional(
        "values",
        ValueShape::OneOrMore(&TEXT),
        "The texts; the ground truth when absent.",
    ),
    flag("case_insensitive", "Whether case is ignored."),
];

const REGEX: &[Field] = &[Field::required(
    "pattern",
    ValueShape::Form(TextForm::Regex),
    "The regular expression.",
)];

const NUMERIC: &[Field] = &[
    Field::defaulted(
        "pick",
        ValueShape::Choice(&["answer_line", "first", "last", "any"]),
        r#""answer_line""#,
        "Which number of the answer is meant.",
    ),
    Field::defaulted(
        "absolute_tolerance",
        AMOUNT,
        "1e-6",
        "The difference that passes.",
    ),
    Field::defaulted(
        "relative_tolerance",
        AMOUNT,
        "0",
        "The difference that passes, as a share of the truth.",
    ),
    flag("accept_percent", "Whether `5 %` is 0.05."),
    flag(
        "accept_thousands_separators",
        "Whether digits may be in groups of three.",
    ),
    Field::defaulted(
        "decimal",
        ValueShape::Choice(&[".", ","]),
        r#"".""#,
        "The sign before decimals.",
    ),
];

const SQL_RESULT: &[Field] = &[
    Field::optional(
        "rel_tol",
        AMOUNT,
        "The relative difference of numbers that are equal. When absent, 1e-6; without `rel_tol` and `abs_tol`, two whole numbers are equal only if they are the same.",
    ),
    Field::optional(
        "abs_tol",
        AMOUNT,
        "The absolute difference of numbers that are equal. When absent, 1e-9.",
    ),
    Field::defaulted(
        "extra_columns",
        ValueShape::Choice(&["allow", "forbid"]),
        r#""allow""#,
        "Whether the answer may have further columns.",
    ),
    Field::optional(
        "ordered",
        ValueShape::Flag,
        "Whether the order of rows counts; the ORDER BY of the reference decides when absent.",
    ),
    flag("allow_empty", "Whether the reference may have no rows."),
];

const TOOLS: &[Field] = &[Field::optional(
    "mode",
    super::cases::TOOLS_MODE,
    "How calls are compared; `expected_tools_mode` of the case when absent.",
)];

const MOST: &[Field] = &[Field::required("max", AMOUNT, "The most that passes.")];

const ROUGE: &[Field] = &[Field::defaulted(
    "variant",
    ValueShape::Choice(&["rouge1", "rouge2", "rougeL"]),
    r#""rougeL""#,
    "What is compared: words, pairs of words, or the longest common sequence.",
)];

const GEVAL: &[Field] = &[
    Field::required("criteria", TEXT, "What makes an answer good."),
    Field::optional("evaluation_steps", TEXTS, "The steps of the judgment."),
    Field::defaulted(
        "evaluation_params",
        ValueShape::List(&ListShape::of(ValueShape::Choice(&[
            "input",
            "actual_output",
            "expected_output",
            "context",
            "retrieval_context",
        ]))),
        r#"["actual_output"]"#,
        "What the judge sees.",
    ),
    flag(
        "strict_mode",
        "Whether only the best score counts as 1, and all others as 0.",
    ),
    Field::defaulted(
        "votes",
        ValueShape::Odd { max: 15 },
        "1",
        "How often the judge is asked; the median counts. An odd number.",
    ),
];

const RAG: &[Field] = &[Field::required(
    "metric_type",
    ValueShape::Choice(&[
        "faithfulness",
        "answer_relevancy",
        "contextual_relevancy",
        "contextual_precision",
        "contextual_recall",
    ]),
    "What is measured.",
)];
