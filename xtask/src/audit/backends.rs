//! Only the LLM port reaches models: no other code names a provider, program, model or backend.

use std::sync::LazyLock;

use regex::Regex;

use super::finding::Finding;
use super::source::{Purpose, Source};
use crate::repository::TextFile;

struct BackendRule {
    rule: &'static str,
    pattern: &'static str,
    homes: &'static [&'static str],
    cure: &'static str,
}

const COMPOSE: &str = "crates/ktx/src/compose.rs";
const COMPOSE_PARTS: &str = "crates/ktx/src/compose/";

const BACKEND_RULE: &str = "backend named";
const BACKEND_HOMES: [&str; 7] = [
    "vocabulary",
    "config",
    "claude-code-adapter",
    "provider-adapters",
    "llm-runtime",
    COMPOSE,
    COMPOSE_PARTS,
];
const BACKEND_CURE: &str = "ask `LlmRuntime::describe`; only `compose.rs` knows which backend runs";

const BACKENDS: &str = "crates/vocabulary/src/provider.rs";

const NAMES: [BackendRule; 5] = [
    BackendRule {
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
    BackendRule {
        rule: "spawns claude",
        pattern: r#"Command::new\(\s*"claude""#,
        homes: &["claude-code-adapter"],
        cure: "the `claude` program belongs to `claude-code-adapter`",
    },
    BackendRule {
        rule: "model name",
        pattern: r#"claude-(?:sonnet|opus|haiku|fable|[0-9])[\w.-]*|"(?:sonnet|opus|opusplan|haiku|fable)"|"(?:gpt-[0-9]|gemini-[0-9]|deepseek-[a-z])[\w.-]*"#,
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
    BackendRule {
        rule: BACKEND_RULE,
        pattern: r"\bClaudeCode\w*",
        homes: &BACKEND_HOMES,
        cure: BACKEND_CURE,
    },
    BackendRule {
        rule: "adapter outside compose.rs",
        pattern: r"\bktx_(?:claude_code_adapter|provider_adapters|connectors)\b",
        homes: &[
            "claude-code-adapter",
            "provider-adapters",
            "connectors",
            COMPOSE,
            COMPOSE_PARTS,
        ],
        cure: "take the port; only `compose.rs` builds its implementation",
    },
];

// Drops invalid patterns; a test counts them.
static PATTERNS: LazyLock<Vec<(&'static BackendRule, Regex)>> = LazyLock::new(|| {
    NAMES
        .iter()
        .filter_map(|entry| Some((entry, Regex::new(entry.pattern).ok()?)))
        .collect()
});

#[cfg(test)]
pub(crate) fn patterns() -> usize {
    PATTERNS.len()
}

#[cfg(test)]
pub(crate) fn rules() -> impl Iterator<Item = (&'static str, &'static str, &'static [&'static str])>
{
    NAMES
        .iter()
        .map(|name| (name.rule, name.pattern, name.homes))
}

/// Forbidden even in the adapter.
const FORBIDDEN_IN_ADAPTER: [&str; 2] = ["bypasspermissions", "dangerously"];

/// Spellings in `ktx.yaml`, from the table in `vocabulary`, except the ordinary word `none`.
pub(crate) fn spellings(files: &[TextFile]) -> Vec<&str> {
    let text = files.iter().find(|file| file.path == BACKENDS);
    text.map_or("", |file| &*file.text)
        .lines()
        .filter_map(|line| {
            let line = line.trim();
            let spelling = match line.strip_prefix("config: \"") {
                Some(of_provider) => of_provider,
                None => line.strip_prefix("Self::")?.split_once("=> \"")?.1,
            };
            Some(spelling.split_once('"')?.0)
        })
        .filter(|spelling| *spelling != "none")
        .collect()
}

/// Checks product code and literals; in the adapter also comments.
pub(crate) fn check(files: &[TextFile], sources: &[Source]) -> Vec<Finding> {
    let spellings = spellings(files);
    sources
        .iter()
        .filter(|source| source.purpose() != Purpose::Chore)
        .flat_map(|source| {
            let mut findings = check_names(source);
            findings.extend(check_spellings(source, &spellings));
            findings.extend(check_bypasses(source));
            findings
        })
        .collect()
}

fn check_names(source: &Source) -> Vec<Finding> {
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
    findings
}

/// Only whole literals count.
fn check_spellings(source: &Source, spellings: &[&str]) -> Vec<Finding> {
    if source.is_in(&BACKEND_HOMES) {
        return Vec::new();
    }
    let mut findings = Vec::new();
    for line in source.product_literals() {
        let mut parts = line.text.split('"');
        if let Some(found) = parts.find(|part| spellings.contains(part)) {
            let what = format!("`{found}`");
            findings.push(
                Finding::file(&source.path, BACKEND_RULE, what, BACKEND_CURE).at(line.number),
            );
        }
    }
    findings
}

fn check_bypasses(source: &Source) -> Vec<Finding> {
    if !source.path.starts_with("crates/claude-code-adapter/src/") {
        return Vec::new();
    }
    let mut findings = Vec::new();
    for (index, line) in source.text.lines().enumerate() {
        let lower = line.to_lowercase();
        if let Some(word) = FORBIDDEN_IN_ADAPTER
            .iter()
            .find(|word| lower.contains(**word))
        {
            let what = format!("the file names `{word}`");
            let cure = "the adapter answers every permission question itself";
            findings
                .push(Finding::file(&source.path, "permission bypass", what, cure).at(index + 1));
        }
    }
    findings
}
