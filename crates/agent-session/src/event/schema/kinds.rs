//! The table of events.

use ktx_session_log::Channel;

pub(super) struct Kind {
    pub(super) name: &'static str,
    pub(super) channel: Channel,
    pub(super) about: &'static str,
    pub(super) fields: &'static [Field],
}

pub(super) struct Field {
    pub(super) name: &'static str,
    pub(super) form: Form,
    pub(super) presence: Presence,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Presence {
    Always,
    Sometimes,
}

#[derive(Clone, Copy)]
pub(super) enum Form {
    Text,
    Texts,
    Count,
    Ratio,
    Time,
    Any,
    Call,
    Approval,
    Tasks,
    Choice(&'static [&'static str]),
}

const fn always(name: &'static str, form: Form) -> Field {
    Field {
        name,
        form,
        presence: Presence::Always,
    }
}

const fn sometimes(name: &'static str, form: Form) -> Field {
    Field {
        name,
        form,
        presence: Presence::Sometimes,
    }
}

const fn kind(
    name: &'static str,
    channel: Channel,
    about: &'static str,
    fields: &'static [Field],
) -> Kind {
    Kind {
        name,
        channel,
        about,
        fields,
    }
}

const CALL: &[Field] = &[always("call", Form::Call)];
const DELTA: &[Field] = &[always("delta", Form::Text)];
const TASKS: &[Field] = &[always("tasks", Form::Tasks)];

const DECISION: &[Field] = &[
    always("call_id", Form::Text),
    always("decision", Form::Choice(&["allow", "deny"])),
    always("decided_by", Form::Text),
    sometimes("note", Form::Text),
    sometimes("session", Form::Text),
];

const BREAKPOINT: Form = Form::Choice(&[
    "READY",
    "PRE_MODEL",
    "STREAMING_MODEL",
    "TOOL_PENDING",
    "AWAITING_APPROVAL",
    "PRE_TOOL",
    "TOOL_EXECUTING",
    "POST_TOOL",
]);

pub(super) const KINDS: &[Kind] = &[
    kind(
        "think_chunk_start",
        Channel::Progress,
        "The model begins to think.",
        &[],
    ),
    kind(
        "think_chunk",
        Channel::Progress,
        "More of a thought.",
        DELTA,
    ),
    kind(
        "think_chunk_end",
        Channel::Progress,
        "The thought is over.",
        &[],
    ),
    kind(
        "text_chunk_start",
        Channel::Progress,
        "The model begins to speak.",
        &[],
    ),
    kind("text_chunk", Channel::Progress, "More of the text.", DELTA),
    kind(
        "text_chunk_end",
        Channel::Progress,
        "The text is over.",
        &[always("text", Form::Text)],
    ),
    kind(
        "tool:start",
        Channel::Progress,
        "The model wants a call.",
        CALL,
    ),
    kind(
        "tool:end",
        Channel::Progress,
        "A call has ended; recorded in call order.",
        CALL,
    ),
    kind(
        "tool:error",
        Channel::Progress,
        "A call has failed or was denied; its end follows.",
        &[always("call", Form::Call), always("error", Form::Text)],
    ),
    kind(
        "done",
        Channel::Progress,
        "The turn is over.",
        &[
            always("reason", Form::Choice(&["completed", "interrupted"])),
            sometimes(
                "cause",
                Form::Choice(&["user", "parked", "budget", "failed"]),
            ),
        ],
    ),
    kind(
        "permission_required",
        Channel::Control,
        "A call waits for a decision.",
        &[
            always("call", Form::Call),
            sometimes("expires", Form::Time),
            sometimes("session", Form::Text),
        ],
    ),
    kind(
        "permission_decided",
        Channel::Control,
        "Somebody has decided about a call.",
        DECISION,
    ),
    kind(
        "state_changed",
        Channel::Monitor,
        "The agent works, waits for a decision, or is ready.",
        &[always(
            "state",
            Form::Choice(&["READY", "WORKING", "PAUSED"]),
        )],
    ),
    kind(
        "step_complete",
        Channel::Monitor,
        "A message of the model and its calls are over.",
        &[always("step", Form::Count)],
    ),
    kind(
        "error",
        Channel::Monitor,
        "Something has failed.",
        &[
            always("severity", Form::Choice(&["info", "warn", "error"])),
            always(
                "phase",
                Form::Choice(&["model", "tool", "system", "lifecycle"]),
            ),
            always("message", Form::Text),
        ],
    ),
    kind(
        "token_usage",
        Channel::Monitor,
        "What a message of the model has used.",
        &[
            always("run_id", Form::Text),
            always("message_id", Form::Text),
            always("model", Form::Text),
            always("input_tokens", Form::Count),
            always("cache_creation_input_tokens", Form::Count),
            always("cache_read_input_tokens", Form::Count),
            always("output_tokens", Form::Count),
        ],
    ),
    kind(
        "tool_executed",
        Channel::Monitor,
        "A call is over; for audits, with the decision about it.",
        &[
            always("call", Form::Call),
            sometimes("approval", Form::Approval),
        ],
    ),
    kind(
        "agent_resumed",
        Channel::Monitor,
        "A later process continues the session; it has closed these calls.",
        &[
            always("strategy", Form::Choice(&["crash", "manual"])),
            always("sealed", Form::Texts),
        ],
    ),
    kind(
        "breakpoint_changed",
        Channel::Monitor,
        "The next stage of a step begins.",
        &[
            always("previous", BREAKPOINT),
            always("current", BREAKPOINT),
        ],
    ),
    kind(
        "status",
        Channel::Monitor,
        "What the model's backend tells people.",
        &[always("text", Form::Text)],
    ),
    kind(
        "context_compression",
        Channel::Monitor,
        "The model is sent less of the conversation.",
        &[
            always("phase", Form::Choice(&["start", "end"])),
            sometimes("ratio", Form::Ratio),
        ],
    ),
    kind(
        "tool_manual_updated",
        Channel::Monitor,
        "The model reads the manuals of other tools than before.",
        &[always("tools", Form::Texts)],
    ),
    kind(
        "file_changed",
        Channel::Monitor,
        "Somebody has changed a file that the agent has read.",
        &[always("path", Form::Text)],
    ),
    kind(
        "tool_custom_event",
        Channel::Monitor,
        "A tool tells something of a call that runs, such as its progress.",
        &[
            always("call_id", Form::Text),
            always("event", Form::Text),
            always("data", Form::Any),
        ],
    ),
    kind(
        "todo_reminder",
        Channel::Monitor,
        "The agent is reminded of its tasks.",
        TASKS,
    ),
    kind(
        "todo_changed",
        Channel::Monitor,
        "The list of tasks is another one.",
        &[
            always("current", Form::Tasks),
            always("previous", Form::Tasks),
        ],
    ),
    kind(
        "reminder_sent",
        Channel::Monitor,
        "ktx has written a note to the model.",
        &[
            always("category", Form::Text),
            always("content", Form::Text),
        ],
    ),
    kind(
        "queued",
        Channel::Monitor,
        "A message waits for the next step or the end of the turn.",
        &[
            always("message", Form::Text),
            sometimes("key", Form::Text),
            sometimes("turn", Form::Count),
        ],
    ),
    kind(
        "subagent",
        Channel::Monitor,
        "An agent that this one has asked begins or ends its work.",
        &[
            always("session", Form::Text),
            always("agent", Form::Text),
            always("call", Form::Text),
            always(
                "state",
                Form::Choice(&["working", "answered", "failed", "parked", "interrupted"]),
            ),
        ],
    ),
    kind(
        "room_stopped",
        Channel::Monitor,
        "The messages of a room have reached their limit.",
        &[always("room", Form::Text), always("hop", Form::Count)],
    ),
    kind(
        "scheduler_triggered",
        Channel::Monitor,
        "The schedule of the agent has begun this session.",
        &[
            always("task_id", Form::Text),
            always("spec", Form::Text),
            always("kind", Form::Choice(&["steps", "time", "cron"])),
            sometimes("scheduled", Form::Time),
            sometimes("on_ask", Form::Text),
            sometimes("max_turns", Form::Count),
            sometimes("limits", Form::Any),
        ],
    ),
    kind(
        "rate_limit_observed",
        Channel::Monitor,
        "The provider reports how much of a limit is used.",
        &[
            always("window", Form::Text),
            sometimes("utilization", Form::Ratio),
            sometimes("resets_at", Form::Count),
        ],
    ),
    kind(
        "rate_limit_refused",
        Channel::Monitor,
        "The provider refuses calls until the limit is over.",
        &[
            always("window", Form::Text),
            sometimes("resets_at", Form::Count),
        ],
    ),
    kind(
        "rate_limit_wait_started",
        Channel::Monitor,
        "The turn waits for the end of a limit.",
        &[
            always("reason", Form::Text),
            always("duration_ms", Form::Count),
        ],
    ),
    kind(
        "rate_limit_wait_tick",
        Channel::Monitor,
        "The turn still waits; recorded every 10 seconds.",
        &[
            always("reason", Form::Text),
            always("remaining_ms", Form::Count),
        ],
    ),
    kind(
        "rate_limit_wait_finished",
        Channel::Monitor,
        "The wait is over.",
        &[],
    ),
    kind(
        "retry",
        Channel::Monitor,
        "A call of the model has failed; ktx tries it again.",
        &[always("attempt", Form::Count), always("code", Form::Text)],
    ),
    kind(
        "isolation_verified",
        Channel::Monitor,
        "The model's program offers only the agent's tools.",
        &[always("version", Form::Text)],
    ),
];
