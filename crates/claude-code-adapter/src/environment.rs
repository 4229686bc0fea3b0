//! The child's environment (KTX-40…43): variables in [`ALLOWED`], in [`OWN_SESSION`], or named by
//! the project unless in [`DENIED`] or [`DENIED_PREFIXES`].

use std::collections::BTreeMap;

/// Proxy variables occur in both cases.
const ALLOWED: &[&str] = &[
    // paths and the user
    "HOME",
    "LOGNAME",
    "PATH",
    "SHELL",
    "USER",
    "TEMP",
    "TMP",
    "TMPDIR",
    "XDG_CACHE_HOME",
    "XDG_CONFIG_HOME",
    "XDG_DATA_HOME",
    "XDG_RUNTIME_DIR",
    "XDG_STATE_HOME",
    // language and terminal
    "LANG",
    "LANGUAGE",
    "TZ",
    "COLORTERM",
    "TERM",
    // network access
    "ALL_PROXY",
    "HTTPS_PROXY",
    "HTTP_PROXY",
    "NO_PROXY",
    "NODE_EXTRA_CA_CERTS",
    "NODE_USE_SYSTEM_CA",
    "SSL_CERT_DIR",
    "SSL_CERT_FILE",
    // the Windows equivalents
    "ALLUSERSPROFILE",
    "APPDATA",
    "COMSPEC",
    "HOMEDRIVE",
    "HOMEPATH",
    "LOCALAPPDATA",
    "PATHEXT",
    "PROGRAMDATA",
    "PROGRAMFILES",
    "PROGRAMFILES(X86)",
    "SYSTEMDRIVE",
    "SYSTEMROOT",
    "USERNAME",
    "USERPROFILE",
    "WINDIR",
];

const LOCALE: &str = "LC_";

/// Change authentication, provider, endpoint or model, or belong to an enclosing session. Each was
/// observed to, or accompanies one that was.
pub(crate) const DENIED: &[&str] = &[
    // named in the specification (KTX-41)
    "ANTHROPIC_API_KEY",
    "ANTHROPIC_AUTH_TOKEN",
    "ANTHROPIC_BASE_URL",
    "ANTHROPIC_MODEL",
    "ANTHROPIC_VERTEX_PROJECT_ID",
    "CLOUD_ML_REGION",
    "GOOGLE_APPLICATION_CREDENTIALS",
    "GOOGLE_CLOUD_PROJECT",
    "AWS_ACCESS_KEY_ID",
    "AWS_SECRET_ACCESS_KEY",
    "AWS_SESSION_TOKEN",
    "AWS_REGION",
    "AWS_PROFILE",
    "CLAUDE_CODE_USE_BEDROCK",
    "CLAUDE_CODE_USE_VERTEX",
    // other routing variables (KTX-42)
    "CLAUDE_CODE_USE_FOUNDRY",
    "CLAUDE_CODE_USE_ANTHROPIC_AWS",
    "CLAUDE_CODE_USE_MANTLE",
    "CLAUDE_CODE_USE_ANTHROPIC_GOOGLE_CLOUD",
    "CLAUDE_CODE_API_KEY_FILE_DESCRIPTOR",
    "CLAUDE_CODE_OAUTH_TOKEN_FILE_DESCRIPTOR",
    "CLAUDE_CODE_CUSTOM_OAUTH_URL",
    "CLAUDE_CODE_PROVIDER_MANAGED_BY_HOST",
    "CLAUDE_CODE_SIMPLE",
    "CLAUDE_CODE_SUBAGENT_MODEL",
    "ANTHROPIC_CUSTOM_HEADERS",
    "ANTHROPIC_UNIX_SOCKET",
    "ANTHROPIC_BETAS",
    "ANTHROPIC_DEFAULT_SONNET_MODEL",
    "ANTHROPIC_DEFAULT_OPUS_MODEL",
    "ANTHROPIC_DEFAULT_HAIKU_MODEL",
    "ANTHROPIC_DEFAULT_FABLE_MODEL",
    "ANTHROPIC_DEFAULT_MODEL",
    "ANTHROPIC_SMALL_FAST_MODEL",
    "ANTHROPIC_FOUNDRY_API_KEY",
    "ANTHROPIC_FOUNDRY_BASE_URL",
    "ANTHROPIC_FOUNDRY_RESOURCE",
    "ANTHROPIC_AWS_API_KEY",
    "ANTHROPIC_AWS_BASE_URL",
    "ANTHROPIC_AWS_WORKSPACE_ID",
    "ANTHROPIC_BEDROCK_BASE_URL",
    "ANTHROPIC_BEDROCK_MANTLE_BASE_URL",
    "ANTHROPIC_VERTEX_BASE_URL",
    "AWS_BEARER_TOKEN_BEDROCK",
    "AWS_DEFAULT_REGION",
    "AI_GATEWAY_API_KEY",
    // leftovers of an enclosing session (KTX-43)
    "CLAUDECODE",
    "CLAUDE_CODE_ENTRYPOINT",
    "CLAUDE_CODE_SSE_PORT",
    "CLAUDE_CODE_SESSION_ID",
    "CLAUDE_CODE_CHILD_SESSION",
    "CLAUDE_CODE_MESSAGING_SOCKET",
    // change the runtime of the child
    "NODE_OPTIONS",
    "NODE_PATH",
    "NODE_TLS_REJECT_UNAUTHORIZED",
    "BASH_ENV",
    "DEBUG",
    // send prompts and answers elsewhere
    "BETA_TRACING_ENDPOINT",
    "ENABLE_ENHANCED_TELEMETRY_BETA",
    "SESSION_INGRESS_URL",
    // enable more than a call's options
    "ENABLE_CLAUDEAI_MCP_SERVERS",
    "USER_TYPE",
    // change tools and summaries
    "DISABLE_AUTO_COMPACT",
    "DISABLE_COMPACT",
    "ENABLE_TOOL_SEARCH",
    "MAX_MCP_OUTPUT_TOKENS",
    "SLASH_COMMAND_TOOL_CHAR_BUDGET",
];

/// Route today or may in a future version.
pub(crate) const DENIED_PREFIXES: &[&str] = &[
    "AI_GATEWAY_",
    "ANTHROPIC_",
    "AWS_",
    "AZURE_",
    "BEDROCK_",
    "BUN_",
    "CCR_",
    "CLAUDE_",
    "CLOUDSDK_",
    "CLOUD_ML_",
    "GCLOUD_",
    "GOOGLE_",
    "MCP_",
    "OTEL_",
    "SELF_HOSTED_RUNNER_",
    "SSH_",
    "VERTEX_",
];

const SECRET_WORDS: &[&str] = &[
    "KEY",
    "TOKEN",
    "SECRET",
    "PASSWORD",
    "PASSWD",
    "PASSPHRASE",
    "_PWD",
    "CREDENTIAL",
    "HEADERS",
    "COOKIE",
    "DSN",
    "AUTH",
];

/// Belong to the user's session or bound its effort.
pub(crate) const OWN_SESSION: &[&str] = &[
    "CLAUDE_CONFIG_DIR",
    "CLAUDE_CODE_GIT_BASH_PATH",
    "CLAUDE_CODE_OAUTH_TOKEN",
    "CLAUDE_CODE_MAX_RETRIES",
    "CLAUDE_CODE_MAX_OUTPUT_TOKENS",
    "CLAUDE_CODE_MAX_TOOL_USE_CONCURRENCY",
    "CLAUDE_CODE_CLIENT_CERT",
    "CLAUDE_CODE_CLIENT_KEY",
    "CLAUDE_CODE_CLIENT_KEY_PASSPHRASE",
];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Compaction {
    /// An agent loop continues with a summary of its own work.
    Allowed,
    /// An answer must not be based on a summary of its prompt.
    Refused,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Substitution {
    /// If the account cannot use the newest model.
    InFamily,
    Refused,
}

pub(crate) fn is_allowed(name: &str) -> bool {
    let is_locale = name.starts_with(LOCALE);
    let is_one_of = |names: &[&str]| names.iter().any(|known| known.eq_ignore_ascii_case(name));
    is_locale || is_one_of(ALLOWED) || OWN_SESSION.contains(&name)
}

/// Not if it chooses account, provider, address, model or session.
pub(crate) fn can_be_added(name: &str) -> bool {
    let family = |prefix: &&str| name.starts_with(*prefix);
    is_allowed(name) || !DENIED.contains(&name) && !DENIED_PREFIXES.iter().any(family)
}

/// By name, or as a URL with a login, except for proxies.
fn is_secret(name: &str, value: &str) -> bool {
    let name = name.to_ascii_uppercase();
    let named = SECRET_WORDS.iter().any(|word| name.contains(word));
    named || has_login(value) && !name.ends_with("_PROXY")
}

fn has_login(value: &str) -> bool {
    value.match_indices("://").any(|(at, _)| {
        let rest = value.get(at + 3..).unwrap_or_default();
        let authority = rest.split(['/', '?', '#', ' ']).next().unwrap_or_default();
        let login = authority.rsplit_once('@').map(|(login, _)| login);
        login.is_some_and(|login| login.contains(':'))
    })
}

/// The child's parser fails on IPv6 ranges.
fn without_ipv6_ranges(hosts: &str) -> Option<String> {
    let is_range = |host: &str| {
        let range = host.trim().split_once('/');
        range.is_some_and(|(address, _)| address.matches(':').count() > 1)
    };
    let entries = || hosts.split(',');
    if !entries().any(is_range) {
        return Some(hosts.to_owned());
    }
    let kept: Vec<&str> = entries().filter(|host| !is_range(host)).collect();
    (!kept.is_empty()).then(|| kept.join(","))
}

pub(crate) struct ParentEnvironment<'a> {
    pub(crate) variables: &'a BTreeMap<String, String>,
    pub(crate) added: &'a [String],
    pub(crate) version: &'a str,
}

/// `child_token` marks all descendants.
pub(crate) fn child_environment(
    parent: &ParentEnvironment<'_>,
    compaction: Compaction,
    substitution: Substitution,
    child_token: &str,
) -> BTreeMap<String, String> {
    let is_added = |name: &String| parent.added.contains(name);
    let mut child: BTreeMap<String, String> = parent
        .variables
        .iter()
        .filter(|(name, _)| is_allowed(name) || is_added(name) && can_be_added(name))
        .filter_map(|(name, value)| {
            let value = if name.eq_ignore_ascii_case("NO_PROXY") {
                without_ipv6_ranges(value)?
            } else {
                value.clone()
            };
            Some((name.clone(), value))
        })
        .collect();
    let mut set = |name: &str, value: &str| child.insert(name.to_owned(), value.to_owned());
    set(
        "CLAUDE_AGENT_SDK_CLIENT_APP",
        &format!("ktx/{}", parent.version),
    );
    set("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1");
    set("CLAUDE_CODE_DISABLE_ATTACHMENTS", "1");
    set("CLAUDE_CODE_DISABLE_REFUSAL_FALLBACK", "1");
    set(CHILD_TOKEN, child_token);
    if substitution == Substitution::Refused {
        set("CLAUDE_CODE_NO_MODEL_FALLBACK", "1");
    }
    if compaction == Compaction::Refused {
        set("DISABLE_AUTO_COMPACT", "1");
    }
    child
}

pub(crate) const CHILD_TOKEN: &str = "KTX_CLAUDE_CHILD";

pub(crate) fn secret_values(parent: &BTreeMap<String, String>) -> Vec<&str> {
    parent
        .iter()
        .filter(|(name, value)| is_secret(name, value))
        .map(|(_, value)| value.as_str())
        .collect()
}

#[cfg(test)]
mod tests;
