//! Backend names and effects are allowed only in their own crates (KTX-07).

use super::audit_all;

/// Violations for each alternative of a pattern, and allowed places.
struct Case {
    rule: &'static str,
    lines: &'static [&'static str],
    homes: &'static [&'static str],
}

const COMPOSE: &str = "crates/ktx/src/compose.rs";
const COMPOSE_PARTS: &str = "crates/ktx/src/compose/";

const CASES: [Case; 7] = [
    Case {
        rule: "provider host",
        lines: &[
            r#"const A: &str = "https://api.anthropic.com/v1";"#,
            r#"const A: &str = "https://api.openai.com/v1";"#,
            r#"const A: &str = "https://generativelanguage.googleapis.com";"#,
            r#"const A: &str = "https://europe-west1-aiplatform.googleapis.com";"#,
            r#"const A: &str = "https://ai-gateway.vercel.sh/v1";"#,
            r#"const A: &str = "https://openrouter.ai/api";"#,
            r#"const A: &str = "https://api.deepseek.com";"#,
            r#"const A: &str = "https://api.minimax.io";"#,
            r#"const A: &str = "https://api.moonshot.cn";"#,
            r#"const A: &str = "https://open.bigmodel.cn";"#,
            r#"const A: &str = "https://dashscope-intl.aliyuncs.com";"#,
            r#"const A: &str = "https://api.mistral.ai";"#,
            r#"const A: &str = "https://api.groq.com";"#,
        ],
        homes: &[
            "provider-adapters",
            "claude-code-adapter",
            "config",
            "llm-runtime",
        ],
    },
    Case {
        rule: "spawns claude",
        lines: &[
            r#"fn f() { Command::new("claude"); }"#,
            r#"fn f() { Command::new( "claude"); }"#,
        ],
        homes: &["claude-code-adapter"],
    },
    Case {
        rule: "model name",
        lines: &[
            r#"const A: &str = "claude-sonnet-4-5";"#,
            r#"const A: &str = "claude-opus-4-1";"#,
            r#"const A: &str = "claude-haiku-4-5";"#,
            r#"const A: &str = "claude-fable-5";"#,
            r#"const A: &str = "claude-3-5-sonnet";"#,
            r#"const A: &str = "sonnet";"#,
            r#"const A: &str = "opus";"#,
            r#"const A: &str = "opusplan";"#,
            r#"const A: &str = "haiku";"#,
            r#"const A: &str = "fable";"#,
            r#"const A: &str = "gpt-5";"#,
            r#"const A: &str = "gemini-3-pro";"#,
            r#"const A: &str = "deepseek-chat";"#,
        ],
        homes: &[
            "llm-runtime",
            "provider-adapters",
            "claude-code-adapter",
            "config",
            COMPOSE,
            COMPOSE_PARTS,
        ],
    },
    Case {
        rule: "backend named",
        lines: &[
            "fn f() { Backend::ClaudeCode; }",
            "use settings::ClaudeCodeSettings;",
        ],
        homes: &[
            "vocabulary",
            "config",
            "claude-code-adapter",
            "provider-adapters",
            "llm-runtime",
            COMPOSE,
            COMPOSE_PARTS,
        ],
    },
    Case {
        rule: "adapter outside compose.rs",
        lines: &[
            "use ktx_claude_code_adapter::ClaudeCodeRuntime;",
            "use ktx_provider_adapters::HttpRuntime;",
            "use ktx_connectors::open;",
        ],
        homes: &[
            "claude-code-adapter",
            "provider-adapters",
            "connectors",
            COMPOSE,
            COMPOSE_PARTS,
        ],
    },
    Case {
        rule: "writes files",
        lines: &[
            "fn f() { std::fs::write(a, b); }",
            "fn f() { std::fs::rename(a, b); }",
            "fn f() { std::fs::copy(a, b); }",
            "fn f() { std::fs::hard_link(a, b); }",
            "fn f() { std::fs::remove_file(a); }",
            "fn f() { std::fs::remove_dir_all(a); }",
            "fn f() { std::fs::create_dir(a); }",
            "fn f() { std::fs::create_dir_all(a); }",
            "fn f() { File::create(a); }",
            "fn f() { File::create_new(a); }",
        ],
        homes: &["project-store"],
    },
    Case {
        rule: "speaks HTTP",
        lines: &["use reqwest::Client;"],
        homes: &[
            "provider-adapters",
            "embeddings",
            "connectors",
            "context-sources",
        ],
    },
];

fn is_found(rule: &str, place: &str, line: &str) -> bool {
    let text = format!("//! A part.\n\n{line}\n");
    let path = match place {
        COMPOSE => place.to_owned(),
        COMPOSE_PARTS => format!("{place}part.rs"),
        package => format!("crates/{package}/src/lib.rs"),
    };
    let findings = audit_all(&[(&path, &text)]);
    findings.contains(&format!(":3: {rule}: "))
}

/// KTX-07.
#[test]
fn every_alternative_is_red_at_a_call_site_and_green_at_home() {
    for case in &CASES {
        let found = |place: &str| -> Vec<&str> {
            let lines = case.lines.iter().copied();
            lines
                .filter(|line| is_found(case.rule, place, line))
                .collect()
        };
        for place in ["scan", "context-tools", "usage-ledger"] {
            assert_eq!(found(place), case.lines, "{} in {place}", case.rule);
        }
        for home in case.homes {
            assert_eq!(found(home), Vec::<&str>::new(), "{} in {home}", case.rule);
        }
    }
}

/// KTX-07: names every home and alternative.
#[test]
fn the_table_is_complete() {
    for (rule, pattern, homes) in crate::audit::backends::rules() {
        let case = CASES.iter().find(|case| case.rule == rule);
        let case = case.unwrap_or_else(|| panic!("no case for {rule}"));
        assert_eq!(case.homes, homes, "{rule}");
        let alternatives = 1 + pattern.matches('|').count();
        assert!(case.lines.len() >= alternatives, "{rule}");
    }
}

/// C-01.
#[test]
fn both_permission_bypasses_are_found() {
    let rule = "permission bypass";
    for word in [
        "bypassPermissions",
        "BYPASSPERMISSIONS",
        "--dangerously-skip-permissions",
        "allowDangerouslySkipPermissions",
    ] {
        let line = format!("// Never {word}.");
        assert!(is_found(rule, "claude-code-adapter", &line), "{word}");
        assert!(!is_found(rule, "scan", &line), "{word}");
    }
    assert!(!is_found(rule, "claude-code-adapter", "// Asks always."));
}
