//! The table of environment variables and its reference page.

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EnvironmentVariable {
    pub name: &'static str,
    pub group: &'static str,
    pub meaning: &'static str,
    pub default: &'static str,
}

const fn row(
    group: &'static str,
    name: &'static str,
    meaning: &'static str,
    default: &'static str,
) -> EnvironmentVariable {
    EnvironmentVariable {
        name,
        group,
        meaning,
        default,
    }
}

const HEAD: &str = "\
# Environment variables

A variable that is not listed here has no effect on ktx, unless `ktx.yaml` names it as `env:NAME`.
The variables that ktx passes to `claude` are at [the end](#variables-that-claude-gets).
";

const CHILD: &str = "
## Variables that `claude` gets

With `backend: claude-code`, ktx passes these variables of its shell to `claude`, and no others:

| Passed | Why |
|---|---|
| `HOME`, `LOGNAME`, `USER`, `SHELL`, `PATH`, `TMPDIR`, `TMP`, `TEMP`, `XDG_CACHE_HOME`, `XDG_CONFIG_HOME`, `XDG_DATA_HOME`, `XDG_RUNTIME_DIR`, `XDG_STATE_HOME` | the user and the folders |
| `LANG`, `LANGUAGE`, names that begin with `LC_`, `TZ`, `TERM`, `COLORTERM` | the language, the time zone and the terminal |
| `HTTPS_PROXY`, `HTTP_PROXY`, `ALL_PROXY`, `NO_PROXY` (also in lower case), `NODE_EXTRA_CA_CERTS`, `NODE_USE_SYSTEM_CA`, `SSL_CERT_FILE`, `SSL_CERT_DIR` | the proxy and the trusted certificates |
| `CLAUDE_CONFIG_DIR`, `CLAUDE_CODE_OAUTH_TOKEN`, `CLAUDE_CODE_MAX_RETRIES`, `CLAUDE_CODE_MAX_OUTPUT_TOKENS`, `CLAUDE_CODE_MAX_TOOL_USE_CONCURRENCY`, `CLAUDE_CODE_CLIENT_CERT`, `CLAUDE_CODE_CLIENT_KEY`, `CLAUDE_CODE_CLIENT_KEY_PASSPHRASE`, `CLAUDE_CODE_GIT_BASH_PATH` | your own session and its limits |
| `ALLUSERSPROFILE`, `APPDATA`, `COMSPEC`, `HOMEDRIVE`, `HOMEPATH`, `LOCALAPPDATA`, `PATHEXT`, `PROGRAMDATA`, `PROGRAMFILES`, `PROGRAMFILES(X86)`, `SYSTEMDRIVE`, `SYSTEMROOT`, `USERNAME`, `USERPROFILE`, `WINDIR` | the same on Windows |

[`llm.provider.environment`](config.md) adds others by name, such as `LD_LIBRARY_PATH` if `claude` does not start
without it. It cannot add these:

| Never passed | Why |
|---|---|
| names that begin with `AI_GATEWAY_`, `ANTHROPIC_`, `AWS_`, `AZURE_`, `BEDROCK_`, `CLOUDSDK_`, `CLOUD_ML_`, `GCLOUD_`, `GOOGLE_`, `VERTEX_` | they choose another account, provider, address or model |
| names that begin with `CLAUDE_`, `CCR_`, `MCP_`, `SELF_HOSTED_RUNNER_`, except those above; `CLAUDECODE`, `SESSION_INGRESS_URL` | they belong to another session or change this one |
| names that begin with `OTEL_`; `BETA_TRACING_ENDPOINT`, `ENABLE_ENHANCED_TELEMETRY_BETA` | they send prompts and answers elsewhere |
| names that begin with `BUN_` or `SSH_`; `NODE_OPTIONS`, `NODE_PATH`, `NODE_TLS_REJECT_UNAUTHORIZED`, `BASH_ENV`, `DEBUG` | they change the program itself, or lend it a login |
| `ENABLE_CLAUDEAI_MCP_SERVERS`, `USER_TYPE` | they allow more than the options of a call |
| `DISABLE_AUTO_COMPACT`, `DISABLE_COMPACT`, `ENABLE_TOOL_SEARCH`, `MAX_MCP_OUTPUT_TOKENS`, `SLASH_COMMAND_TOOL_CHAR_BUDGET` | they change tools and summaries |
";

const PROJECT: &str = "Project and output";
const PROVIDERS: &str = "Providers";
const NETWORK: &str = "Network";
const DIAGNOSTICS: &str = "Diagnostics";
const TRACES: &str = "Traces";
const QUIET: &str = "Accepted, without effect";

pub const VARIABLES: &[EnvironmentVariable] = &[
    row(
        PROJECT,
        "KTX_PROJECT_DIR",
        "The project folder. `--project-dir` overrides it; a blank value is an error.",
        "the nearest folder upwards with a `ktx.yaml`",
    ),
    row(
        PROJECT,
        "KTX_OUTPUT",
        "The output format: `pretty`, `plain` or `json`. Another value is an error.",
        "`pretty` on a terminal, else `plain`",
    ),
    row(PROJECT, "NO_COLOR", "No colors, if set to anything.", ""),
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
        "The terminal program: ktx knows which of them show Unicode.",
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
        "The search path for `git` and `claude`.",
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
        "The token that agents must send to the server of `ktx mcp start`. Never passed to `claude`.",
        "the project's own token, created at the first start",
    ),
    row(
        PROVIDERS,
        "ANTHROPIC_API_KEY",
        "The key of the `anthropic` backend when `ktx.yaml` names none. Never passed to `claude`.",
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
        "The credentials file of the `vertex` backend and of BigQuery. Never passed to `claude`.",
        "the account signed in with `gcloud`",
    ),
    row(
        PROVIDERS,
        "GCE_METADATA_HOST",
        "The address of the metadata server, for BigQuery with `credentials: metadata`.",
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
        "The folder with Claude Code's login; passed to `claude`.",
        "`~/.claude`",
    ),
    row(
        PROVIDERS,
        "CLAUDE_CODE_OAUTH_TOKEN",
        "The user's own Claude Code login; passed to `claude`.",
        "",
    ),
    row(
        PROVIDERS,
        "CLAUDE_CODE_MAX_RETRIES",
        "How often Claude Code repeats a failed request; passed to `claude`.",
        "",
    ),
    row(
        PROVIDERS,
        "CLAUDE_CODE_MAX_OUTPUT_TOKENS",
        "The longest answer that Claude Code asks for; passed to `claude`.",
        "",
    ),
    row(
        PROVIDERS,
        "CLAUDE_CODE_MAX_TOOL_USE_CONCURRENCY",
        "How many tools Claude Code calls in parallel; passed to `claude`.",
        "",
    ),
    row(
        PROVIDERS,
        "CLAUDE_CODE_CLIENT_CERT",
        "The client certificate of Claude Code; passed to `claude`.",
        "",
    ),
    row(
        PROVIDERS,
        "CLAUDE_CODE_CLIENT_KEY",
        "The key of that certificate; passed to `claude`.",
        "",
    ),
    row(
        PROVIDERS,
        "CLAUDE_CODE_CLIENT_KEY_PASSPHRASE",
        "The passphrase of that key; passed to `claude`.",
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
        "Hosts to reach without the proxy (`no_proxy` too). ktx uses ranges of IPv6 addresses for its own requests only, because `claude` cannot read them.",
        "",
    ),
    row(
        DIAGNOSTICS,
        "KTX_LOG",
        "The log lines to write to stderr, such as `debug` or `ktx_scan=debug`.",
        "warnings of ktx itself",
    ),
    row(
        DIAGNOSTICS,
        "KTX_LOG_FORMAT",
        "The format of log lines: `text`, or `json` with one object per line.",
        "`text`",
    ),
    row(
        DIAGNOSTICS,
        "KTX_PROFILE_INGEST",
        "Accepted from older setups; has no effect, and `ktx status` says so.",
        "",
    ),
    row(
        DIAGNOSTICS,
        "KTX_INGEST_TRACE_LEVEL",
        "Accepted from older setups; has no effect, and `ktx status` says so.",
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
        DIAGNOSTICS,
        "KTX_TEST_NOW",
        "For tests: the time that schedules see.",
        "",
    ),
    row(
        TRACES,
        "OTEL_EXPORTER_OTLP_ENDPOINT",
        "Where ktx posts spans of model calls; it appends `/v1/traces`. Without the variable, ktx posts none.",
        "nothing is exported",
    ),
    row(
        TRACES,
        "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT",
        "The same as a whole URL; overrides the one above.",
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
        "More attributes of this program, `name=value,…` in percent encoding.",
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
