//! Every environment variable that ktx reads (a pure table), and its reference page.

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Variable {
    pub name: &'static str,
    /// The heading under which the reference lists it.
    pub group: &'static str,
    pub meaning: &'static str,
    /// The behavior if it is not set; empty if it needs no explanation.
    pub default: &'static str,
}

const fn row(
    group: &'static str,
    name: &'static str,
    meaning: &'static str,
    default: &'static str,
) -> Variable {
    Variable {
        name,
        group,
        meaning,
        default,
    }
}

const HEAD: &str = "\
# Environment variables

A variable that is not listed here has no effect on ktx, unless `ktx.yaml` names it as `env:NAME`.
The variables that ktx passes to `claude` are at [the end](#what-claude-is-given).
";

const CHILD: &str = "
## What `claude` is given

With `backend: claude-code` the program `claude` gets these variables of the shell that runs ktx, and no others:

| Given | Why |
|---|---|
| `HOME`, `LOGNAME`, `USER`, `SHELL`, `PATH`, `TMPDIR`, `TMP`, `TEMP`, `XDG_CACHE_HOME`, `XDG_CONFIG_HOME`, `XDG_DATA_HOME`, `XDG_RUNTIME_DIR`, `XDG_STATE_HOME` | where things are, and for whom |
| `LANG`, `LANGUAGE`, names that begin with `LC_`, `TZ`, `TERM`, `COLORTERM` | the language, the time zone and the terminal |
| `HTTPS_PROXY`, `HTTP_PROXY`, `ALL_PROXY`, `NO_PROXY` (in small letters too), `NODE_EXTRA_CA_CERTS`, `NODE_USE_SYSTEM_CA`, `SSL_CERT_FILE`, `SSL_CERT_DIR` | the way to the network, and whose certificates are believed |
| `CLAUDE_CONFIG_DIR`, `CLAUDE_CODE_OAUTH_TOKEN`, `CLAUDE_CODE_MAX_RETRIES`, `CLAUDE_CODE_MAX_OUTPUT_TOKENS`, `CLAUDE_CODE_MAX_TOOL_USE_CONCURRENCY`, `CLAUDE_CODE_CLIENT_CERT`, `CLAUDE_CODE_CLIENT_KEY`, `CLAUDE_CODE_CLIENT_KEY_PASSPHRASE`, `CLAUDE_CODE_GIT_BASH_PATH` | your own session, and what bounds its effort |
| `ALLUSERSPROFILE`, `APPDATA`, `COMSPEC`, `HOMEDRIVE`, `HOMEPATH`, `LOCALAPPDATA`, `PATHEXT`, `PROGRAMDATA`, `PROGRAMFILES`, `PROGRAMFILES(X86)`, `SYSTEMDRIVE`, `SYSTEMROOT`, `USERNAME`, `USERPROFILE`, `WINDIR` | the same on Windows |

[`llm.provider.environment`](config.md) adds others by name, such as `LD_LIBRARY_PATH` where `claude` does not start
without it. These cannot be added:

| Never given | Why |
|---|---|
| names that begin with `AI_GATEWAY_`, `ANTHROPIC_`, `AWS_`, `AZURE_`, `BEDROCK_`, `CLOUDSDK_`, `CLOUD_ML_`, `GCLOUD_`, `GOOGLE_`, `VERTEX_` | they choose another account, provider, address or model |
| names that begin with `CLAUDE_`, `CCR_`, `MCP_`, `SELF_HOSTED_RUNNER_`, but for those above; `CLAUDECODE`, `SESSION_INGRESS_URL` | they belong to another session or change this one |
| names that begin with `OTEL_`; `BETA_TRACING_ENDPOINT`, `ENABLE_ENHANCED_TELEMETRY_BETA` | they send prompts and answers elsewhere |
| names that begin with `BUN_` or `SSH_`; `NODE_OPTIONS`, `NODE_PATH`, `NODE_TLS_REJECT_UNAUTHORIZED`, `BASH_ENV`, `DEBUG` | they change the program itself, or lend it a login |
| `ENABLE_CLAUDEAI_MCP_SERVERS`, `USER_TYPE` | they open more than the options of a call do |
| `DISABLE_AUTO_COMPACT`, `DISABLE_COMPACT`, `ENABLE_TOOL_SEARCH`, `MAX_MCP_OUTPUT_TOKENS`, `SLASH_COMMAND_TOOL_CHAR_BUDGET` | they change tools and summaries |
";

const PROJECT: &str = "Project and output";
const PROVIDERS: &str = "Providers";
const NETWORK: &str = "Network";
const DIAGNOSTICS: &str = "Diagnostics";
const TRACES: &str = "Traces";
const QUIET: &str = "Accepted, without effect";

/// The table, group by group.
pub const VARIABLES: &[Variable] = &[
    row(
        PROJECT,
        "KTX_PROJECT_DIR",
        "The project folder. `--project-dir` wins over it; blank is an error.",
        "the nearest folder upwards with a `ktx.yaml`",
    ),
    row(
        PROJECT,
        "KTX_OUTPUT",
        "How results are written: `pretty`, `plain` or `json`. Another value is an error.",
        "`pretty` on a terminal, else `plain`",
    ),
    row(PROJECT, "NO_COLOR", "No colours, when set to anything.", ""),
    row(PROJECT, "CI", "No questions and no animation.", ""),
    row(PROJECT, "TERM", "No animation when `dumb`.", ""),
    row(
        PROJECT,
        "WT_SESSION",
        "Windows Terminal: Unicode is safe.",
        "",
    ),
    row(
        PROJECT,
        "TERM_PROGRAM",
        "The terminal: which of them show Unicode.",
        "",
    ),
    row(
        PROJECT,
        "HOME",
        "The home folder, which `file:~/…` references start from.",
        "the account's home folder",
    ),
    row(
        PROJECT,
        "PATH",
        "Where `git` and `claude` are looked for.",
        "",
    ),
    row(
        PROJECT,
        "KTX_DUCKDB_LIBRARY",
        "The file of DuckDB's library, for `duckdb` connections without the key `library`.",
        "where the system looks for libraries",
    ),
    row(
        PROJECT,
        "KTX_MCP_TOKEN",
        "The token that agents must show to the server of `ktx mcp start`. Never given to `claude`.",
        "agents on this machine show none",
    ),
    row(
        PROVIDERS,
        "ANTHROPIC_API_KEY",
        "The key of the `anthropic` backend when `ktx.yaml` names none. Never given to `claude`.",
        "",
    ),
    row(
        PROVIDERS,
        "AI_GATEWAY_API_KEY",
        "The key of the `gateway` backend when `ktx.yaml` names none.",
        "",
    ),
    row(
        PROVIDERS,
        "OPENAI_API_KEY",
        "The key of the `openai` backend and of OpenAI embeddings when `ktx.yaml` names none.",
        "",
    ),
    row(
        PROVIDERS,
        "GEMINI_API_KEY",
        "The key of the `gemini` backend when `ktx.yaml` names none.",
        "",
    ),
    row(
        PROVIDERS,
        "DEEPSEEK_API_KEY",
        "The key of the `deepseek` backend when `ktx.yaml` names none.",
        "",
    ),
    row(
        PROVIDERS,
        "DASHSCOPE_API_KEY",
        "The key of the `qwen` backend when `ktx.yaml` names none.",
        "",
    ),
    row(
        PROVIDERS,
        "ZAI_API_KEY",
        "The key of the `glm` backend when `ktx.yaml` names none.",
        "",
    ),
    row(
        PROVIDERS,
        "MINIMAX_API_KEY",
        "The key of the `minimax` backend when `ktx.yaml` names none.",
        "",
    ),
    row(
        PROVIDERS,
        "MOONSHOT_API_KEY",
        "The key of the `kimi` backend when `ktx.yaml` names none.",
        "",
    ),
    row(
        PROVIDERS,
        "GROQ_API_KEY",
        "The key of the `groq` backend when `ktx.yaml` names none.",
        "",
    ),
    row(
        PROVIDERS,
        "CEREBRAS_API_KEY",
        "The key of the `cerebras` backend when `ktx.yaml` names none.",
        "",
    ),
    row(
        PROVIDERS,
        "GOOGLE_VERTEX_PROJECT",
        "The Google Cloud project of the `vertex` backend when `ktx.yaml` names none.",
        "",
    ),
    row(
        PROVIDERS,
        "GOOGLE_VERTEX_LOCATION",
        "The region of the `vertex` backend when `ktx.yaml` names none.",
        "",
    ),
    row(
        PROVIDERS,
        "GOOGLE_APPLICATION_CREDENTIALS",
        "The credentials file of the `vertex` backend and of BigQuery. Never given to `claude`.",
        "the account signed in with `gcloud`",
    ),
    row(
        PROVIDERS,
        "GCE_METADATA_HOST",
        "Where the metadata server is, for BigQuery with `credentials: metadata`.",
        "`metadata.google.internal`",
    ),
    row(
        PROVIDERS,
        "KTX_CLAUDE_PATH",
        "The `claude` program of the `claude-code` backend.",
        "`claude` on `PATH`",
    ),
    row(
        PROVIDERS,
        "CLAUDE_CONFIG_DIR",
        "Where Claude Code keeps its login; handed on to `claude`.",
        "`~/.claude`",
    ),
    row(
        PROVIDERS,
        "CLAUDE_CODE_OAUTH_TOKEN",
        "The user's own Claude Code login; handed on to `claude`.",
        "",
    ),
    row(
        PROVIDERS,
        "CLAUDE_CODE_MAX_RETRIES",
        "How often Claude Code repeats a failed request; handed on to `claude`.",
        "",
    ),
    row(
        PROVIDERS,
        "CLAUDE_CODE_MAX_OUTPUT_TOKENS",
        "The longest answer that Claude Code asks for; handed on to `claude`.",
        "",
    ),
    row(
        PROVIDERS,
        "CLAUDE_CODE_MAX_TOOL_USE_CONCURRENCY",
        "How many tools Claude Code calls at the same time; handed on to `claude`.",
        "",
    ),
    row(
        PROVIDERS,
        "CLAUDE_CODE_CLIENT_CERT",
        "The client certificate that Claude Code shows to the network; handed on to `claude`.",
        "",
    ),
    row(
        PROVIDERS,
        "CLAUDE_CODE_CLIENT_KEY",
        "The key of that certificate; handed on to `claude`.",
        "",
    ),
    row(
        PROVIDERS,
        "CLAUDE_CODE_CLIENT_KEY_PASSPHRASE",
        "The passphrase of that key; handed on to `claude`.",
        "",
    ),
    row(
        NETWORK,
        "HTTPS_PROXY",
        "The proxy for outgoing requests (`https_proxy` too).",
        "",
    ),
    row(
        NETWORK,
        "HTTP_PROXY",
        "The proxy for outgoing plain requests (`http_proxy` too).",
        "",
    ),
    row(
        NETWORK,
        "NO_PROXY",
        "Hosts that are reached without the proxy (`no_proxy` too). Ranges of IPv6 addresses hold for ktx's own requests and are left out for `claude`, which cannot read them.",
        "",
    ),
    row(
        DIAGNOSTICS,
        "KTX_LOG",
        "Which log lines are written to stderr, such as `debug` or `ktx_scan=debug`.",
        "warnings of ktx itself",
    ),
    row(
        DIAGNOSTICS,
        "KTX_LOG_FORMAT",
        "How log lines look: `text`, or `json` with one object a line.",
        "`text`",
    ),
    row(
        DIAGNOSTICS,
        "KTX_PROFILE_INGEST",
        "Accepted from older set-ups; has no effect, which `ktx status` says.",
        "",
    ),
    row(
        DIAGNOSTICS,
        "KTX_INGEST_TRACE_LEVEL",
        "Accepted from older set-ups; has no effect, which `ktx status` says.",
        "",
    ),
    row(
        DIAGNOSTICS,
        "KTX_AUDIT_SQL",
        "Keep the text of statements in the audit log: `1` or `true`.",
        "only their hash",
    ),
    row(
        DIAGNOSTICS,
        "KTX_TEST_KILL_AT",
        "For tests: the step at which the process kills itself.",
        "",
    ),
    row(
        TRACES,
        "OTEL_EXPORTER_OTLP_ENDPOINT",
        "Where spans of model calls are posted; `/v1/traces` is appended. Without it, ktx posts none.",
        "nothing is exported",
    ),
    row(
        TRACES,
        "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT",
        "The same as a whole address; wins over the one above.",
        "",
    ),
    row(
        TRACES,
        "OTEL_EXPORTER_OTLP_PROTOCOL",
        "Only `http/json` is supported (`OTEL_EXPORTER_OTLP_TRACES_PROTOCOL` wins). With another value ktx exports no spans and prints a warning.",
        "`http/json`",
    ),
    row(
        TRACES,
        "OTEL_EXPORTER_OTLP_HEADERS",
        "Headers of every post, `name=value,…` in percent encoding (`OTEL_EXPORTER_OTLP_TRACES_HEADERS` wins).",
        "",
    ),
    row(
        TRACES,
        "OTEL_EXPORTER_OTLP_TIMEOUT",
        "Milliseconds for one post (`OTEL_EXPORTER_OTLP_TRACES_TIMEOUT` wins). The end of a command waits at most 3 s.",
        "`10000`",
    ),
    row(
        TRACES,
        "OTEL_SERVICE_NAME",
        "`service.name` of the spans.",
        "`ktx`",
    ),
    row(
        TRACES,
        "OTEL_RESOURCE_ATTRIBUTES",
        "More facts about this program, `name=value,…` in percent encoding.",
        "",
    ),
    row(
        TRACES,
        "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT",
        "`true`: spans contain prompts, answers, tool arguments and tool results, redacted.",
        "they are left out",
    ),
    row(
        TRACES,
        "OTEL_SDK_DISABLED",
        "`true`: no spans, whatever else is set (`OTEL_TRACES_EXPORTER=none` too).",
        "",
    ),
    row(
        QUIET,
        "KTX_TELEMETRY_DISABLED",
        "There is no telemetry.",
        "",
    ),
    row(QUIET, "KTX_TELEMETRY_DEBUG", "There is no telemetry.", ""),
    row(
        QUIET,
        "KTX_TELEMETRY_ENDPOINT",
        "There is no telemetry.",
        "",
    ),
    row(QUIET, "DO_NOT_TRACK", "There is no telemetry.", ""),
    row(
        QUIET,
        "KTX_NO_UPDATE_CHECK",
        "There is no update check.",
        "",
    ),
    row(QUIET, "NO_UPDATE_NOTIFIER", "There is no update check.", ""),
    row(QUIET, "KTX_NO_STAR", "There is no star prompt.", ""),
    row(
        QUIET,
        "KTX_RUNTIME_ROOT",
        "There is no separate runtime to install.",
        "",
    ),
    row(QUIET, "KTX_DAEMON_URL", "There is no daemon.", ""),
    row(
        QUIET,
        "KTX_SQL_ANALYSIS_URL",
        "SQL is parsed in the process.",
        "",
    ),
    row(QUIET, "KTX_DAEMON_VERSION", "There is no daemon.", ""),
    row(
        QUIET,
        "KTX_CLI_VERSION",
        "The version is that of the program.",
        "",
    ),
    row(
        QUIET,
        "KTX_PROFILE_STARTUP",
        "Accepted for older scripts.",
        "",
    ),
    row(
        QUIET,
        "KTX_AI_DEVTOOLS_ENABLED",
        "Accepted for older scripts.",
        "",
    ),
    row(
        QUIET,
        "KTX_MEMORY_AGENT_DEBUG_PROMPTS",
        "Accepted for older scripts.",
        "",
    ),
];

/// Returns the reference page of the environment, in Markdown.
pub fn reference_markdown() -> String {
    let mut page = vec![HEAD.to_owned()];
    let mut group = "";
    for variable in VARIABLES {
        if variable.group != group {
            group = variable.group;
            page.push(format!(
                "\n## {group}\n\n| Variable | Meaning | When not set |\n|---|---|---|\n"
            ));
        }
        page.push(format!(
            "| `{}` | {} | {} |\n",
            variable.name, variable.meaning, variable.default
        ));
    }
    page.push(CHILD.to_owned());
    page.concat()
}
