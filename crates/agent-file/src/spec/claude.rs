//! HoloDeck's block for Anthropic models (a pure table).

use super::{Field, POSITIVE, PathKind, TEXTS, ValueShape};

pub(super) const CLAUDE: &[Field] = &[
    Field::optional(
        "working_directory",
        ValueShape::Path(PathKind::Folder),
        "The folder that the agent works in: `workspace.root` under HoloDeck's name.",
    ),
    Field::optional(
        "permission_mode",
        ValueShape::Choice(&["manual", "acceptEdits", "acceptAll"]),
        "`manual` (the default) means `permissions.mode: approval`; `acceptEdits` and `acceptAll` mean `auto` for the declared tools.",
    ),
    Field::optional(
        "max_turns",
        POSITIVE,
        "Maximum steps of a turn; the smaller of this and `limits.max_turns` holds.",
    ),
    Field::optional(
        "extended_thinking",
        ValueShape::Object(&[
            Field::defaulted(
                "enabled",
                ValueShape::Flag,
                "false",
                "Whether the model thinks first.",
            ),
            Field::defaulted(
                "budget_tokens",
                ValueShape::Count {
                    min: 1000,
                    max: Some(100_000),
                },
                "10000",
                "Maximum tokens of thinking.",
            ),
        ]),
        "Thinking before the answer.",
    ),
    Field::defaulted(
        "web_search",
        ValueShape::Flag,
        "false",
        "Must be off: ktx agents search no web.",
    ),
    Field::optional(
        "bash",
        ValueShape::Object(&[
            Field::defaulted("enabled", ValueShape::Flag, "false", "Must be off."),
            Field::defaulted("excluded_commands", TEXTS, "[]", "Accepted, not used."),
            Field::defaulted(
                "allow_unsafe",
                ValueShape::Flag,
                "false",
                "Accepted, not used.",
            ),
        ]),
        "Must be off: ktx agents run no commands.",
    ),
    Field::optional(
        "file_system",
        ValueShape::Object(&[
            Field::defaulted(
                "read",
                ValueShape::Flag,
                "false",
                "Must be off; see `workspace`.",
            ),
            Field::defaulted(
                "write",
                ValueShape::Flag,
                "false",
                "Must be off; see `workspace`.",
            ),
            Field::defaulted(
                "edit",
                ValueShape::Flag,
                "false",
                "Must be off; see `workspace`.",
            ),
        ]),
        "Must be off: ktx agents reach files through `workspace` only.",
    ),
    Field::optional(
        "subagents",
        ValueShape::Object(&[
            Field::defaulted(
                "enabled",
                ValueShape::Flag,
                "false",
                "Must be off; see `agents`.",
            ),
            Field::defaulted(
                "max_parallel",
                ValueShape::Count {
                    min: 1,
                    max: Some(16),
                },
                "4",
                "Accepted, not used; see `max_parallel`.",
            ),
        ]),
        "Must be off: ktx agents ask the agents of `agents`.",
    ),
    Field::optional(
        "allowed_tools",
        TEXTS,
        "The names of the tools of `tools` that are offered; all of them when absent.",
    ),
];
