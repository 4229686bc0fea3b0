//! Model failures on that page.

use ktx_diagnostics::Code;
use ktx_llm_runtime::LlmErrorKind;

const HEAD: &str = "
Outside of a project, `ktx status` says how to create one and exits with 0. With `--json` or `--validate` it fails with
`missing_project` and exits with 3.

## Failures of the model backend

The codes are the same on every backend. With `--json`, a command that fails prints the code as `error.code`, next to
`error.message` and `error.hint`. `ktx status` prints it as `llm.code`, a `ktx ingest` that pauses as `paused.code`. The
exit code in this table is that of a command that the failure stops. There are three exceptions:

- `ktx status` shows the failure in the model's line and exits with 5, whatever the code.
- A `ktx ingest` that pauses keeps finished work and exits with 7, or with 5 if a person has to log in or pay first
  (`llm_auth`, `llm_billing`).
- If the model cannot describe a table, the table stays without a description, and a warning says why.

| code | exit code | meaning | what to do |
|---|---:|---|---|
";

pub(super) fn has_row(code: Code) -> bool {
    LlmErrorKind::ALL.iter().any(|kind| kind.code() == code)
}

pub(super) fn reference_markdown() -> String {
    let rows = LlmErrorKind::ALL.map(|kind| {
        format!(
            "| `{}` | {} | {} | {} |\n",
            kind.code(),
            kind.code().exit().code(),
            kind.code().meaning(),
            next_step(kind)
        )
    });
    format!("{HEAD}{}", rows.concat())
}

const fn next_step(kind: LlmErrorKind) -> &'static str {
    use LlmErrorKind as Kind;
    match kind {
        Kind::Auth => {
            "log in with the Claude Code CLI, or check the key; then run the command again"
        }
        Kind::Billing => "follow the hint: it says what to change",
        Kind::RateLimit => "run the command again after the limit has reset",
        Kind::Overloaded | Kind::Server => "run the command again later",
        Kind::Transport => "check the network, the proxy and `base_url`",
        Kind::Timeout => "run the command again; if the error stays, follow the hint",
        Kind::ContextTooLong => "set `llm.models` to a model with a larger context window",
        Kind::MaxOutput => "set `llm.models` to a model that may write longer answers",
        Kind::Refusal | Kind::Permission => {
            "run the command again with `--debug`, which shows the backend's own message"
        }
        Kind::ModelNotFound => "check `llm.models`; `ktx llm models` shows the model of each role",
        Kind::InvalidRequest => "follow the hint; `--debug` shows the backend's own message",
        Kind::StructuredOutput | Kind::MaxTurns => {
            "run the command again; if the error stays, set `llm.models` to a more capable model"
        }
        Kind::Isolation => "update Claude Code, then run the command again",
        Kind::Budget => "run the same command again, with a larger budget where the hint says so",
        Kind::Cancelled => "run the command again to continue",
        Kind::Process => "follow the hint: install Claude Code, or run `claude update`",
        Kind::Crashed => "run the command again; `--debug` shows what Claude Code said",
        Kind::Protocol => "check `base_url`, or use a tested version of Claude Code",
        Kind::UnknownTool | Kind::Internal => {
            "report it with the output of the command under `--debug`"
        }
    }
}
