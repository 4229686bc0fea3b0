//! The pages about the local Claude Code session say what they must.

use std::path::Path;

fn page(name: &str) -> String {
    let book = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs-site/src");
    let text = std::fs::read_to_string(book.join(name)).expect("the page is there");
    // Line ends are where the editor put them.
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[track_caller]
fn says(name: &str, words: &[&str]) {
    let page = page(name);
    for word in words {
        assert!(page.contains(word), "`{name}` does not say `{word}`");
    }
}

/// KTX-85: each of the five pages speaks of the user's own session, and those that speak of caching
/// say that this backend decides itself.
#[test]
fn every_page_speaks_of_your_own_session() {
    let own = "your own local Claude Code session";
    for name in [
        "guides/quickstart.md",
        "guides/setup.md",
        "guides/claude-code.md",
        "guides/building-context.md",
        "guides/status.md",
        "concepts/backends.md",
    ] {
        says(name, &[own]);
    }
    for name in [
        "guides/claude-code.md",
        "guides/building-context.md",
        "concepts/backends.md",
    ] {
        says(name, &["llm.promptCaching", "ignored"]);
    }
    says(
        "guides/claude-code.md",
        &[
            "authenticate Claude Code locally with the Claude Code CLI",
            "5-hour",
            "7-day",
        ],
    );
}

/// KTX-09: what this backend does not offer is written down, and nobody's subscription is for sale.
#[test]
fn what_is_not_offered_is_written_down() {
    says(
        "concepts/backends.md",
        &[
            "tool-call repair",
            "OpenTelemetry",
            "embedding",
            "not a way to share or resell a subscription",
        ],
    );
    for name in [
        "guides/claude-code.md",
        "concepts/backends.md",
        "guides/setup.md",
    ] {
        let page = page(name);
        for word in ["unlimited", "free tokens", "bypass", "instead of paying"] {
            assert!(!page.contains(word), "`{name}` says `{word}`");
        }
    }
}
