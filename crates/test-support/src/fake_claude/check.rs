//! Checks arguments, environment, `initialize` and prompt by the requirements, not by the product's
//! code.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::{ScenarioHalt, fault};

#[derive(Debug, Clone)]
pub(crate) struct Options {
    pub(crate) allowed: BTreeSet<String>,
    pub(crate) max_turns: u32,
    pub(crate) model: String,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            allowed: BTreeSet::new(),
            max_turns: u32::MAX,
            model: "sonnet".to_owned(),
        }
    }
}

const FIXED: &[(&str, Option<&str>)] = &[
    ("--output-format", Some("stream-json")),
    ("--input-format", Some("stream-json")),
    ("--verbose", None),
    ("--include-partial-messages", None),
    ("--no-session-persistence", None),
    ("--setting-sources", Some("")),
    ("--strict-mcp-config", None),
    ("--tools", Some("")),
    ("--permission-mode", Some("dontAsk")),
    ("--permission-prompt-tool", Some("stdio")),
];

const SWITCHED_OFF: &[&str] = &[
    "Agent",
    "AskUserQuestion",
    "Bash",
    "Edit",
    "Glob",
    "Grep",
    "Read",
    "Task",
    "TodoWrite",
    "WebFetch",
    "WebSearch",
    "Write",
];

pub const CANARIES: &[&str] = &[
    "AI_GATEWAY_API_KEY",
    "ANTHROPIC_API_KEY",
    "ANTHROPIC_AUTH_TOKEN",
    "ANTHROPIC_AWS_API_KEY",
    "ANTHROPIC_AWS_BASE_URL",
    "ANTHROPIC_AWS_WORKSPACE_ID",
    "ANTHROPIC_BASE_URL",
    "ANTHROPIC_BEDROCK_BASE_URL",
    "ANTHROPIC_BEDROCK_MANTLE_BASE_URL",
    "ANTHROPIC_BETAS",
    "ANTHROPIC_CUSTOM_HEADERS",
    "ANTHROPIC_DEFAULT_FABLE_MODEL",
    "ANTHROPIC_DEFAULT_HAIKU_MODEL",
    "ANTHROPIC_DEFAULT_MODEL",
    "ANTHROPIC_DEFAULT_OPUS_MODEL",
    "ANTHROPIC_DEFAULT_SONNET_MODEL",
    "ANTHROPIC_FOUNDRY_API_KEY",
    "ANTHROPIC_FOUNDRY_BASE_URL",
    "ANTHROPIC_FOUNDRY_RESOURCE",
    "ANTHROPIC_MODEL",
    "ANTHROPIC_SMALL_FAST_MODEL",
    "ANTHROPIC_UNIX_SOCKET",
    "ANTHROPIC_VERTEX_BASE_URL",
    "ANTHROPIC_VERTEX_PROJECT_ID",
    "AWS_ACCESS_KEY_ID",
    "AWS_BEARER_TOKEN_BEDROCK",
    "AWS_DEFAULT_REGION",
    "AWS_PROFILE",
    "AWS_REGION",
    "AWS_SECRET_ACCESS_KEY",
    "AWS_SESSION_TOKEN",
    "BASH_ENV",
    "BETA_TRACING_ENDPOINT",
    "BUN_OPTIONS",
    "CLAUDECODE",
    "CLAUDE_CODE_API_KEY_FILE_DESCRIPTOR",
    "CLAUDE_CODE_CHILD_SESSION",
    "CLAUDE_CODE_CUSTOM_OAUTH_URL",
    "CLAUDE_CODE_ENTRYPOINT",
    "CLAUDE_CODE_MESSAGING_SOCKET",
    "CLAUDE_CODE_OAUTH_TOKEN_FILE_DESCRIPTOR",
    "CLAUDE_CODE_PROVIDER_MANAGED_BY_HOST",
    "CLAUDE_CODE_SESSION_ID",
    "CLAUDE_CODE_SIMPLE",
    "CLAUDE_CODE_SSE_PORT",
    "CLAUDE_CODE_SUBAGENT_MODEL",
    "CLAUDE_CODE_USE_ANTHROPIC_AWS",
    "CLAUDE_CODE_USE_ANTHROPIC_GOOGLE_CLOUD",
    "CLAUDE_CODE_USE_BEDROCK",
    "CLAUDE_CODE_USE_FOUNDRY",
    "CLAUDE_CODE_USE_MANTLE",
    "CLAUDE_CODE_USE_VERTEX",
    "CLOUD_ML_REGION",
    "ENABLE_CLAUDEAI_MCP_SERVERS",
    "USER_TYPE",
    "DEBUG",
    "DEBUG_AUTH",
    "DISABLE_COMPACT",
    "ENABLE_ENHANCED_TELEMETRY_BETA",
    "ENABLE_TOOL_SEARCH",
    "GOOGLE_APPLICATION_CREDENTIALS",
    "GOOGLE_CLOUD_PROJECT",
    "MAX_MCP_OUTPUT_TOKENS",
    "MCP_TOOL_TIMEOUT",
    "MAX_THINKING_TOKENS",
    "NODE_OPTIONS",
    "NODE_PATH",
    "NODE_TLS_REJECT_UNAUTHORIZED",
    "OTEL_EXPORTER_OTLP_ENDPOINT",
    "SELF_HOSTED_RUNNER_POOL_SECRET",
    "SESSION_INGRESS_URL",
    "SLASH_COMMAND_TOOL_CHAR_BUDGET",
    "SSH_AUTH_SOCK",
    "DATABASE_PASSWORD",
    "GITHUB_TOKEN",
    "OPENAI_API_KEY",
    "PGPASSWORD",
    "API_TIMEOUT_MS",
    "CI_JOB_JWT",
    "DATABASE_URL",
    "DOCKER_HOST",
    "DYLD_INSERT_LIBRARIES",
    "EDITOR",
    "GITLAB_PAT",
    "GIT_SSH_COMMAND",
    "HISTFILE",
    "KTX_MCP_TOKEN",
    "KTX_PROJECT_DIR",
    "KUBECONFIG",
    "LD_LIBRARY_PATH",
    "LD_PRELOAD",
    "MYSQL_PWD",
    "NETRC",
    "PYTHONPATH",
    "SLACK_WEBHOOK_URL",
    "STRIPE_SK",
    "TWILIO_SID",
    "ANTHROPIC_ENDPOINT_OF_TOMORROW",
    "AWS_ROLE_ARN",
    "AZURE_OPENAI_KEY",
    "CLAUDE_CODE_USE_TOMORROW",
    "CLOUDSDK_CONFIG",
    "GOOGLE_API_KEY",
    "VERTEX_REGION_CLAUDE_4_6_SONNET",
];

pub(crate) fn options(arguments: &[String]) -> Result<Options, ScenarioHalt> {
    let mut given: BTreeMap<&str, Option<&str>> = BTreeMap::new();
    for argument in arguments {
        let (name, value) = match argument.split_once('=') {
            Some((name, value)) => (name, Some(value)),
            None => (argument.as_str(), None),
        };
        if !name.starts_with("--") {
            return fault(format!("`{argument}` is not an option"));
        }
        if given.insert(name, value).is_some() {
            return fault(format!("`{name}` is given twice"));
        }
    }
    for (name, value) in FIXED {
        match given.remove(name) {
            Some(found) if found == *value => {}
            found => return fault(format!("`{name}` must be {value:?}, is {found:?}")),
        }
    }
    let mut take = |name: &str| given.remove(name).flatten().map(str::to_owned);
    let disallowed = take("--disallowedTools").unwrap_or_default();
    let disallowed: BTreeSet<&str> = disallowed.split(',').collect();
    if let Some(missing) = SWITCHED_OFF.iter().find(|tool| !disallowed.contains(*tool)) {
        return fault(format!("`{missing}` is not switched off"));
    }
    plugins_off(&take("--settings").unwrap_or_default())?;
    let model = take("--model").unwrap_or_default();
    let max_turns = take("--max-turns")
        .and_then(|turns| turns.parse().ok())
        .unwrap_or(0);
    let allowed = allowed(take("--allowedTools").as_deref())?;
    if model.is_empty() || max_turns == 0 {
        return fault("a model and a number of turns are needed");
    }
    if let Some((name, _)) = given.pop_first() {
        return fault(format!("`{name}` is not expected"));
    }
    Ok(Options {
        allowed,
        max_turns,
        model,
    })
}

fn allowed(list: Option<&str>) -> Result<BTreeSet<String>, ScenarioHalt> {
    let Some(list) = list else {
        return Ok(BTreeSet::new());
    };
    let ids: BTreeSet<String> = list.split(',').map(str::to_owned).collect();
    for id in &ids {
        let name = id.strip_prefix("mcp__ktx__").unwrap_or_default();
        let plain = |letter: char| letter.is_ascii_alphanumeric() || letter == '_' || letter == '-';
        if name.is_empty() || id.len() > 64 || !name.chars().all(plain) {
            return fault(format!("`{id}` is not the exact id of a tool of ktx"));
        }
    }
    Ok(ids)
}

fn plugins_off(settings: &str) -> Result<(), ScenarioHalt> {
    let settings: Value = serde_json::from_str(settings).unwrap_or_default();
    let only = settings.as_object().is_some_and(|map| map.len() == 1);
    let plugins = settings["enabledPlugins"].as_object();
    let off = |plugins: &serde_json::Map<String, Value>| {
        !plugins.is_empty()
            && plugins
                .iter()
                .all(|(name, on)| name.ends_with("@builtin") && *on == false)
    };
    if only && plugins.is_some_and(off) {
        Ok(())
    } else {
        fault("`--settings` must switch off built-in plugins and nothing else")
    }
}

pub(crate) fn environment(
    variables: &BTreeMap<String, String>,
    options: &Options,
) -> Result<(), ScenarioHalt> {
    if let Some(name) = CANARIES.iter().find(|name| variables.contains_key(**name)) {
        return fault(format!("the variable `{name}` came through"));
    }
    let is = |name: &str, value: &str| variables.get(name).is_some_and(|found| found == value);
    for name in [
        "CLAUDE_CODE_DISABLE_ATTACHMENTS",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC",
    ] {
        if !is(name, "1") {
            return fault(format!("the variable `{name}` must be 1"));
        }
    }
    if !is("CLAUDE_CODE_DISABLE_REFUSAL_FALLBACK", "1") {
        return fault("a refusal must not be answered by another model");
    }
    if is("CLAUDE_CODE_NO_MODEL_FALLBACK", "1") != options.model.starts_with("claude-") {
        return fault("a model id allows only itself, unlike an alias");
    }
    let app = variables.get("CLAUDE_AGENT_SDK_CLIENT_APP");
    if !app.is_some_and(|app| app.starts_with("ktx/")) {
        return fault("the variable `CLAUDE_AGENT_SDK_CLIENT_APP` must name ktx");
    }
    if options.allowed.is_empty() && options.max_turns == 1 && !is("DISABLE_AUTO_COMPACT", "1") {
        return fault("a single answer must not be about a summary");
    }
    Ok(())
}

pub(crate) fn initialize(request: &Value, options: &Options) -> Result<(), ScenarioHalt> {
    let known = [
        "subtype",
        "systemPrompt",
        "skills",
        "title",
        "hooks",
        "sdkMcpServers",
        "jsonSchema",
    ];
    let keys = request.as_object().into_iter().flat_map(|map| map.keys());
    for key in keys {
        if !known.contains(&key.as_str()) {
            return fault(format!("`initialize` has the key `{key}`"));
        }
    }
    if !request["systemPrompt"].is_string() {
        return fault("older versions understand `systemPrompt` only as a text");
    }
    if request["skills"]
        .as_array()
        .is_none_or(|skills| !skills.is_empty())
    {
        return fault("`skills` must be an empty list");
    }
    if request["title"].as_str().is_none_or(str::is_empty) {
        return fault("without a title the whole prompt is sent twice");
    }
    let servers = request.get("sdkMcpServers");
    let expected = (!options.allowed.is_empty()).then(|| serde_json::json!(["ktx"]));
    if servers != expected.as_ref() {
        return fault(format!("`sdkMcpServers` is {servers:?}"));
    }
    if request
        .get("jsonSchema")
        .is_some_and(|schema| schema["type"] != "object")
    {
        return fault("`jsonSchema` must describe an object");
    }
    gate(request, options)
}

/// The gate hook must cover unexpected tools.
fn gate(request: &Value, options: &Options) -> Result<(), ScenarioHalt> {
    let mut expected: BTreeSet<&str> = options.allowed.iter().map(String::as_str).collect();
    if request.get("jsonSchema").is_some() {
        expected.insert("StructuredOutput");
    }
    let list: Vec<&str> = expected.into_iter().collect();
    let matcher = (!list.is_empty()).then(|| format!("^(?!(?:{})$)", list.join("|")));
    let hook = &request["hooks"]["PreToolUse"][0];
    let named = hook["hookCallbackIds"]
        .as_array()
        .is_some_and(|ids| ids.len() == 1);
    if !named || hook.get("matcher").and_then(Value::as_str) != matcher.as_deref() {
        return fault(format!("the gate is open: {hook}"));
    }
    if request["hooks"]["PostToolUseFailure"][0]["hookCallbackIds"]
        .as_array()
        .is_none()
    {
        return fault("failed calls are not listened to");
    }
    Ok(())
}

pub(crate) fn prompt(line: &Value) -> Result<String, ScenarioHalt> {
    let content = line["message"]["content"]
        .as_array()
        .cloned()
        .unwrap_or_default();
    let shaped = line["type"] == "user"
        && line["client_composed"] == true
        && line["session_id"] == ""
        && line["parent_tool_use_id"].is_null()
        && line["message"]["role"] == "user"
        && content.len() >= 2
        && content.iter().all(|block| block["type"] == "text");
    if !shaped {
        return fault("the prompt does not have its shape");
    }
    if content
        .last()
        .is_none_or(|block| block["text"] != "Follow the instructions above.")
    {
        return fault("the last block of the prompt is not the constant one");
    }
    let texts: Vec<&str> = content
        .iter()
        .filter_map(|block| block["text"].as_str())
        .collect();
    if texts.iter().any(|text| text.is_empty()) {
        return fault("a block of the prompt is empty");
    }
    Ok(texts
        .split_last()
        .map(|(_, texts)| texts.join("\n"))
        .unwrap_or_default())
}

#[cfg(test)]
mod tests;
