//! The keys of permissions, limits and schedules (a pure table).

use super::{AMOUNT, Field, ListShape, POSITIVE, PathKind, RATIO, ShortForm, TEXT, ValueShape};
use crate::form::TextForm;

/// A tool name pattern, optionally with conditions on arguments.
const RULES: ValueShape = ValueShape::List(&ListShape::of(ValueShape::Short(&ShortForm {
    key: "tool",
    text: ValueShape::Form(TextForm::ToolPattern),
    fixed: None,
    full: ValueShape::Object(&[
        Field::required(
            "tool",
            ValueShape::Form(TextForm::ToolPattern),
            "A tool's name, with `*` for any characters, or a group: `@read`, `@write`, `@all`, `@mcp:SERVER`.",
        ),
        Field::defaulted(
            "args",
            ValueShape::Map(&ValueShape::Matcher),
            "{}",
            "What the arguments of a call must be: a value, `{fuzzy: TEXT}` or `{regex: PATTERN}`.",
        ),
    ]),
})));

pub(super) const PERMISSIONS: &[Field] = &[
    Field::defaulted(
        "mode",
        ValueShape::Choice(&["auto", "approval", "readonly"]),
        r#""approval""#,
        "What happens to a call that no list names: `auto` runs it, `approval` asks, `readonly` denies it if the tool may write.",
    ),
    Field::defaulted(
        "deny",
        RULES,
        "[]",
        "Calls that are denied; this list wins over all others.",
    ),
    Field::defaulted(
        "allow",
        RULES,
        r#"["@read"]"#,
        "Calls that run without a question. `@read` stands for the tools that only read.",
    ),
    Field::defaulted("ask", RULES, "[]", "Calls that need an approval."),
    Field::defaulted(
        "expires",
        ValueShape::Form(TextForm::Period),
        r#""never""#,
        "How long an approval is waited for: `never` ends the waiting, `15m`, `8h` or `2d` do.",
    ),
    Field::defaulted(
        "on_expiry",
        ValueShape::Choice(&["deny", "fail"]),
        r#""deny""#,
        "What happens then: the call is denied, or the turn fails.",
    ),
];

const MAX_TURNS: Field = Field::defaulted(
    "max_turns",
    POSITIVE,
    "20",
    "Maximum steps of a turn: messages of the model with their tool calls.",
);
const MAX_USD: Field = Field::optional("max_usd", AMOUNT, "US dollars at list prices.");
const MAX_TOKENS: Field = Field::optional("max_tokens", POSITIVE, "Tokens, input and output.");
const MAX_MINUTES: Field = Field::optional(
    "max_minutes",
    ValueShape::Number {
        min: 0.0,
        max: None,
    },
    "Minutes of time.",
);

pub(super) const AGENT_LIMITS: &[Field] = &[
    MAX_TURNS,
    MAX_USD,
    MAX_TOKENS,
    MAX_MINUTES,
    Field::defaulted(
        "messages",
        POSITIVE,
        "50",
        "Maximum messages of the user in a session.",
    ),
    Field::defaulted(
        "message_chars",
        POSITIVE,
        "10000",
        "Maximum characters of a message of the user.",
    ),
];

pub(super) const CONTEXT: &[Field] = &[
    Field::defaulted(
        "compress_at",
        RATIO,
        "0.8",
        "The share of the window at which the history is compressed.",
    ),
    Field::defaulted(
        "target",
        RATIO,
        "0.5",
        "The share of the window that remains in use; less than `compress_at`.",
    ),
    Field::defaulted(
        "role",
        ValueShape::Form(TextForm::Role),
        r#""default""#,
        "The role whose model writes the summary.",
    ),
    Field::optional(
        "window",
        POSITIVE,
        "Tokens of the model's window; the catalog's number when absent.",
    ),
];

pub(super) const TODO: &[Field] = &[
    Field::defaulted(
        "enabled",
        ValueShape::Flag,
        "false",
        "Whether the agent has the tools `todo_read` and `todo_write`.",
    ),
    Field::defaulted(
        "remind_every_steps",
        POSITIVE,
        "10",
        "After how many steps the agent is reminded of its list.",
    ),
];

pub(super) const WORKSPACE: &[Field] = &[
    Field::optional(
        "root",
        ValueShape::Path(PathKind::Folder),
        "A folder inside the project, relative to the agent file.",
    ),
    Field::defaulted(
        "write",
        ValueShape::Flag,
        "false",
        "Whether tools may write and edit files there.",
    ),
];

pub(super) const SCHEDULE: &[Field] = &[
    Field::required(
        "name",
        ValueShape::Form(TextForm::EntryName),
        "The entry's name: small letters, digits and `-`, at most 64.",
    ),
    Field::optional(
        "cron",
        ValueShape::Form(TextForm::Cron),
        "When, in the five fields of cron (or two: minute and hour). Either this or `every_minutes`.",
    ),
    Field::optional("every_minutes", POSITIVE, "The minutes between two runs."),
    Field::defaulted(
        "timezone",
        ValueShape::Form(TextForm::TimeZone),
        r#""UTC""#,
        "The time zone of `cron`, such as `Europe/Berlin`.",
    ),
    Field::required("message", TEXT, "The question."),
    Field::defaulted(
        "catch_up",
        ValueShape::Choice(&["once", "never"]),
        r#""once""#,
        "Whether the newest missed run is made up for.",
    ),
    Field::defaulted(
        "within",
        ValueShape::Form(TextForm::Duration),
        r#""24h""#,
        "How old a missed run may be to be made up for.",
    ),
    Field::defaulted(
        "on_ask",
        ValueShape::Choice(&["park", "deny", "fail"]),
        r#""park""#,
        "What happens to a call that needs an approval: it waits, it is denied, or the turn fails.",
    ),
    Field::optional(
        "limits",
        ValueShape::Object(&[
            Field::optional("max_turns", POSITIVE, "As in `limits`."),
            MAX_USD,
            MAX_TOKENS,
            MAX_MINUTES,
        ]),
        "The most that one run may use.",
    ),
];

pub(super) const EXECUTION: &[Field] = &[
    Field::defaulted(
        "llm_timeout",
        POSITIVE,
        "120",
        "Seconds that a case may take.",
    ),
    Field::defaulted(
        "parallel_test_cases",
        POSITIVE,
        "1",
        "Cases that run at the same time.",
    ),
    Field::foreign("file_timeout", "ktx reads files of the project only"),
    Field::foreign("download_timeout", "ktx downloads no files for cases"),
    Field::foreign("cache_enabled", "ktx asks every case again"),
    Field::foreign("cache_dir", "ktx keeps its state in `.ktx`"),
    Field::foreign("verbose", "use `--debug`"),
    Field::foreign(
        "quiet",
        "ktx prints results on stdout and the rest on stderr",
    ),
];
