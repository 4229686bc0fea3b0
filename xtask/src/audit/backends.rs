//! The LLM port is the only door: no provider, program, model or backend is named beside it.

use std::sync::LazyLock;

use regex::Regex;

use super::finding::Finding;
use super::source::{Purpose, Source};

struct Name {
    rule: &'static str,
    pattern: &'static str,
    /// Packages, files and folders in which the name is at home.
    homes: &'static [&'static str],
    cure: &'static str,
}

const COMPOSE: &str = "crates/ktx/src/compose.rs";
const COMPOSE_PARTS: &str = "crates/ktx/src/compose/";

const NAMES: [Name; 5] = [
    Name {
        rule: "provider host",
        pattern: r"api\.anthropic\.com|api\.openai\.com|generativelanguage\.googleapis\.com|aiplatform\.googleapis\.com|ai-gateway\.vercel\.sh|openrouter\.ai|api\.deepseek\.com|api\.minimax|api\.moonshot|open\.bigmodel\.cn|dashscope|api\.mistral\.ai|api\.groq\.com",
        homes: &[
            "provider-adapters",
            "claude-code-adapter",
            "config",
            "llm-runtime",
        ],
        cure: "call a model only through `LlmRuntime`",
    },
    Name {
        rule: "spawns claude",
        pattern: r#"Command::new\(\s*"claude""#,
        homes: &["claude-code-adapter"],
        cure: "the `claude` program belongs to `claude-code-adapter`",
    },
    Name {
        rule: "model name",
        pattern: r#"claude-(?:sonnet|opus|haiku|fable|[0-9])[\w.-]*|"(?:gpt-[0-9]|gemini-[0-9]|deepseek-[a-z])[\w.-]*"#,
        homes: &[
            "llm-runtime",
            "provider-adapters",
            "claude-code-adapter",
            "config",
            COMPOSE,
            COMPOSE_PARTS,
        ],
        cure: "ask for a role; the catalogue knows the models",
    },
    Name {
        rule: "backend named",
        pattern: r#""claude-code"|\bClaudeCode\w*"#,
        homes: &["config", "claude-code-adapter", COMPOSE, COMPOSE_PARTS],
        cure: "ask `LlmRuntime::describe`; only `compose.rs` knows which backend runs",
    },
    Name {
        rule: "adapter outside compose.rs",
        pattern: r"\bktx_(?:claude_code_adapter|provider_adapters|connectors)\b",
        homes: &[
            "claude-code-adapter",
            "provider-adapters",
            "connectors",
            COMPOSE,
            COMPOSE_PARTS,
        ],
        cure: "take the port; only `compose.rs` builds what stands behind it",
    },
];

// A pattern that is no regular expression would drop out here; a test counts them.
static PATTERNS: LazyLock<Vec<(&'static Name, Regex)>> = LazyLock::new(|| {
    NAMES
        .iter()
        .filter_map(|entry| Some((entry, Regex::new(entry.pattern).ok()?)))
        .collect()
});

/// How many patterns are in force.
#[cfg(test)]
pub(crate) fn patterns() -> usize {
    PATTERNS.len()
}

/// The rules with their patterns and homes.
#[cfg(test)]
pub(crate) fn rules() -> impl Iterator<Item = (&'static str, &'static str, &'static [&'static str])>
{
    NAMES
        .iter()
        .map(|name| (name.rule, name.pattern, name.homes))
}

/// The ways past permission checks that the adapter must not even name.
const FORBIDDEN_IN_ADAPTER: [&str; 2] = ["bypasspermissions", "dangerously"];

/// Checks the product code and literals of one file; the adapter's folder also with its comments.
pub(crate) fn check(source: &Source) -> Vec<Finding> {
    if source.purpose() == Purpose::Chore {
        return Vec::new();
    }
    let mut findings = Vec::new();
    for (name, pattern) in PATTERNS
        .iter()
        .filter(|(name, _)| !source.is_in(name.homes))
    {
        for line in source.product_literals() {
            if let Some(found) = pattern.find(line.text) {
                let what = format!("`{}`", found.as_str().trim_matches('"'));
                findings
                    .push(Finding::file(&source.path, name.rule, what, name.cure).at(line.number));
            }
        }
    }
    if source.path.starts_with("crates/claude-code-adapter/src/") {
        for (index, line) in source.text.lines().enumerate() {
            let lower = line.to_lowercase();
            if let Some(word) = FORBIDDEN_IN_ADAPTER
                .iter()
                .find(|word| lower.contains(**word))
            {
                let what = format!("`{word}` stands here");
                let cure = "the adapter answers every permission question itself";
                findings.push(
                    Finding::file(&source.path, "permission bypass", what, cure).at(index + 1),
                );
            }
        }
    }
    findings
}
