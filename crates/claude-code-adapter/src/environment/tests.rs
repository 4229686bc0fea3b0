//! The environment boundary, by value.

use std::collections::BTreeMap;

use super::{Compaction, DENIED, DENIED_PREFIXES, KEPT, child_environment, is_passed};

fn map(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    pairs
        .iter()
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
        .collect()
}

/// KTX-40, KTX-43: everything ordinary goes through, leftovers of an enclosing session do not.
#[test]
fn the_child_gets_the_parents_environment_without_the_denied_names() {
    let parent = map(&[
        ("ANTHROPIC_API_KEY", "sk-ant-1"),
        ("CLAUDECODE", "1"),
        ("CLAUDE_CODE_OAUTH_TOKEN", "token"),
        ("CLAUDE_CONFIG_DIR", "/home/dev/.claude-work"),
        ("HOME", "/home/dev"),
        ("HTTPS_PROXY", "http://127.0.0.1:8080"),
        ("KTX_FAKE_CLAUDE", "/scenario.json"),
        ("NODE_EXTRA_CA_CERTS", "/ca.pem"),
        ("NODE_OPTIONS", "--inspect"),
        ("NO_PROXY", "localhost"),
        ("PATH", "/bin"),
        ("SSL_CERT_FILE", "/certs.pem"),
    ]);
    assert_eq!(
        child_environment(&parent, "1.2.3", Compaction::Refused, "token-1"),
        map(&[
            ("CLAUDE_AGENT_SDK_CLIENT_APP", "ktx/1.2.3"),
            ("CLAUDE_CODE_DISABLE_ATTACHMENTS", "1"),
            ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1"),
            ("CLAUDE_CODE_OAUTH_TOKEN", "token"),
            ("CLAUDE_CONFIG_DIR", "/home/dev/.claude-work"),
            ("DISABLE_AUTO_COMPACT", "1"),
            ("HOME", "/home/dev"),
            ("HTTPS_PROXY", "http://127.0.0.1:8080"),
            ("KTX_CLAUDE_CHILD", "token-1"),
            ("KTX_FAKE_CLAUDE", "/scenario.json"),
            ("NODE_EXTRA_CA_CERTS", "/ca.pem"),
            ("NO_PROXY", "localhost"),
            ("PATH", "/bin"),
            ("SSL_CERT_FILE", "/certs.pem"),
        ])
    );
}

#[test]
fn loops_may_compact() {
    let parent = map(&[("DISABLE_AUTO_COMPACT", "1")]);
    let child = child_environment(&parent, "1", Compaction::Allowed, "t");
    assert!(!child.contains_key("DISABLE_AUTO_COMPACT"));
}

/// KTX-41: every name of the specification.
#[test]
fn every_name_of_the_denylist_is_stopped() {
    for name in DENIED {
        assert!(!is_passed(name), "{name}");
    }
}

/// KTX-42: names that no version has yet.
#[test]
fn future_routing_variables_are_stopped_by_their_family() {
    for prefix in DENIED_PREFIXES {
        let name = format!("{prefix}OF_TOMORROW");
        assert!(!is_passed(&name), "{name}");
    }
    for name in KEPT {
        assert!(is_passed(name), "{name}");
    }
}

#[test]
fn no_name_is_both_kept_and_denied() {
    let both: Vec<_> = KEPT.iter().filter(|name| DENIED.contains(name)).collect();
    assert_eq!(both, Vec::<&&str>::new());
}
