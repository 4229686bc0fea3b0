//! Tests of the environment boundary, by value.

use std::collections::BTreeMap;

use super::{
    ALLOWED, Compaction, DENIED, DENIED_PREFIXES, OWN_SESSION, Substitution, can_be_added,
    child_environment, is_allowed, secret_values,
};
use crate::settings::ClaudeCodeSettings;

fn map(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    pairs
        .iter()
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
        .collect()
}

fn settings(parent: BTreeMap<String, String>, added: &[&str]) -> ClaudeCodeSettings {
    let mut settings = ClaudeCodeSettings::new("/project".into(), parent, "sonnet");
    settings.version = "1.2.3".to_owned();
    settings.added_variables = added.iter().map(|name| (*name).to_owned()).collect();
    settings
}

/// KTX-40, KTX-43.
#[test]
fn the_child_gets_needed_and_added_variables() {
    let parent = map(&[
        ("ANTHROPIC_API_KEY", "sk-ant-1"),
        ("CLAUDECODE", "1"),
        ("CLAUDE_CODE_OAUTH_TOKEN", "token"),
        ("CLAUDE_CONFIG_DIR", "/home/dev/.claude-work"),
        ("HOME", "/home/dev"),
        ("HTTPS_PROXY", "http://127.0.0.1:8080"),
        ("GITLAB_PAT", "glpat-1"),
        ("LC_TIME", "de_DE.UTF-8"),
        ("LD_LIBRARY_PATH", "/opt/lib"),
        ("LD_PRELOAD", "/opt/spy.so"),
        ("NODE_EXTRA_CA_CERTS", "/ca.pem"),
        ("NODE_OPTIONS", "--inspect"),
        ("NO_PROXY", "localhost"),
        ("PATH", "/bin"),
        ("SSL_CERT_FILE", "/certs.pem"),
    ]);
    assert_eq!(
        child_environment(
            &settings(parent, &["LD_LIBRARY_PATH", "ANTHROPIC_API_KEY"]).parent(),
            Compaction::Refused,
            Substitution::InFamily,
            "token-1"
        ),
        map(&[
            ("CLAUDE_AGENT_SDK_CLIENT_APP", "ktx/1.2.3"),
            ("CLAUDE_CODE_DISABLE_ATTACHMENTS", "1"),
            ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1"),
            ("CLAUDE_CODE_DISABLE_REFUSAL_FALLBACK", "1"),
            ("CLAUDE_CODE_OAUTH_TOKEN", "token"),
            ("CLAUDE_CONFIG_DIR", "/home/dev/.claude-work"),
            ("DISABLE_AUTO_COMPACT", "1"),
            ("HOME", "/home/dev"),
            ("HTTPS_PROXY", "http://127.0.0.1:8080"),
            ("KTX_CLAUDE_CHILD", "token-1"),
            ("LC_TIME", "de_DE.UTF-8"),
            ("LD_LIBRARY_PATH", "/opt/lib"),
            ("NODE_EXTRA_CA_CERTS", "/ca.pem"),
            ("NO_PROXY", "localhost"),
            ("PATH", "/bin"),
            ("SSL_CERT_FILE", "/certs.pem"),
        ])
    );
}

/// KTX-40.
#[test]
fn ipv6_ranges_do_not_reach_the_child() {
    let child = |name: &str, value: &str| {
        let parent = map(&[(name, value)]);
        let settings = settings(parent, &[]);
        child_environment(
            &settings.parent(),
            Compaction::Allowed,
            Substitution::Refused,
            "t",
        )
        .remove(name)
    };
    let cases = [
        (
            "NO_PROXY",
            "localhost, fd00::/8,10.0.0.0/8,::1,[fe80::1]:80",
            Some("localhost,10.0.0.0/8,::1,[fe80::1]:80"),
        ),
        ("no_proxy", "fd00::/8,::/0", None),
        ("NO_PROXY", " a , b", Some(" a , b")),
        (
            "HTTPS_PROXY",
            "http://[fd00::1]:80/x",
            Some("http://[fd00::1]:80/x"),
        ),
    ];
    for (name, value, expected) in cases {
        assert_eq!(child(name, value).as_deref(), expected, "{value}");
    }
}

#[test]
fn loops_may_compact() {
    let parent = map(&[("DISABLE_AUTO_COMPACT", "1")]);
    let settings = settings(parent, &[]);
    let child = child_environment(
        &settings.parent(),
        Compaction::Allowed,
        Substitution::Refused,
        "t",
    );
    assert!(!child.contains_key("DISABLE_AUTO_COMPACT"));
    assert_eq!(
        child
            .get("CLAUDE_CODE_NO_MODEL_FALLBACK")
            .map(String::as_str),
        Some("1")
    );
}

/// KTX-41, KTX-42.
#[test]
fn every_name_of_the_denylist_is_stopped() {
    let names = "ANTHROPIC_API_KEY ANTHROPIC_AUTH_TOKEN ANTHROPIC_BASE_URL ANTHROPIC_MODEL \
        ANTHROPIC_VERTEX_PROJECT_ID CLOUD_ML_REGION GOOGLE_APPLICATION_CREDENTIALS \
        GOOGLE_CLOUD_PROJECT AWS_ACCESS_KEY_ID AWS_SECRET_ACCESS_KEY AWS_SESSION_TOKEN AWS_REGION \
        AWS_PROFILE CLAUDE_CODE_USE_BEDROCK CLAUDE_CODE_USE_VERTEX CLAUDE_CODE_USE_FOUNDRY \
        AWS_DEFAULT_REGION AWS_BEARER_TOKEN_BEDROCK ANTHROPIC_BEDROCK_BASE_URL \
        ANTHROPIC_VERTEX_BASE_URL ANTHROPIC_FOUNDRY_API_KEY ANTHROPIC_SMALL_FAST_MODEL \
        ANTHROPIC_DEFAULT_OPUS_MODEL ANTHROPIC_DEFAULT_SONNET_MODEL ANTHROPIC_DEFAULT_HAIKU_MODEL \
        ANTHROPIC_CUSTOM_HEADERS ANTHROPIC_BETAS AI_GATEWAY_API_KEY CLAUDECODE \
        CLAUDE_CODE_SUBAGENT_MODEL BUN_OPTIONS BUN_INSPECT NODE_OPTIONS NODE_PATH BASH_ENV \
        NODE_TLS_REJECT_UNAUTHORIZED ENABLE_ENHANCED_TELEMETRY_BETA SLASH_COMMAND_TOOL_CHAR_BUDGET \
        MAX_THINKING_TOKENS ENABLE_CLAUDEAI_MCP_SERVERS USER_TYPE";
    for name in names.split_whitespace().chain(DENIED.iter().copied()) {
        assert!(!is_allowed(name), "{name}");
    }
    for name in DENIED {
        assert!(!can_be_added(name), "{name}");
    }
}

/// KTX-42.
#[test]
fn future_routing_variables_are_stopped_by_their_family() {
    for prefix in DENIED_PREFIXES {
        let name = format!("{prefix}OF_TOMORROW");
        assert!(!is_allowed(&name) && !can_be_added(&name), "{name}");
    }
    for name in OWN_SESSION.iter().chain(ALLOWED) {
        assert!(is_allowed(name) && can_be_added(name), "{name}");
    }
    assert!(is_allowed("https_proxy") && is_allowed("Path") && is_allowed("LC_ALL"));
    assert!(can_be_added("GITLAB_PAT"));
}

#[test]
fn values_that_look_like_secrets_are_never_shown() {
    let names = "OPENAI_API_KEY GITHUB_TOKEN GH_TOKEN NPM_TOKEN npm_config__auth PGPASSWORD \
        MYSQL_PWD SNOWFLAKE_PASSWORD MY_SECRET_VALUE SENTRY_DSN SSH_AUTH_SOCK KTX_DB_PASSPHRASE KTX_MCP_TOKEN";
    for name in names.split_whitespace() {
        assert_eq!(secret_values(&map(&[(name, "1")])), ["1"], "{name}");
    }
    for (name, value, is_secret) in [
        (
            "DATABASE_URL",
            "postgres://ada:secret@db.example/shop",
            true,
        ),
        (
            "WAREHOUSE",
            "jdbc:mysql://ada:p@ss@db.example:3306/shop?x=1",
            true,
        ),
        ("HTTPS_PROXY", "http://ada:secret@proxy.example:8080", false),
        ("https_proxy", "http://ada:secret@proxy.example:8080", false),
        ("DOCS_URL", "https://docs.example/a:b@c", false),
        ("REMOTE", "ssh://git@host.example/repo", false),
        ("PWD", "/home/dev/shop", false),
        ("LANG", "en_US.UTF-8", false),
    ] {
        let found = secret_values(&map(&[(name, value)])).len();
        assert_eq!(found == 1, is_secret, "{name}={value}");
    }
}

#[test]
fn no_name_is_both_allowed_and_denied() {
    let both = DENIED.iter().filter(|name| is_allowed(name));
    assert_eq!(both.collect::<Vec<_>>(), Vec::<&&str>::new());
}
