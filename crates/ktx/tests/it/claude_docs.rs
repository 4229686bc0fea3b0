//! The manual's statements about the local Claude Code session.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use ktx_llm_runtime::LlmErrorKind;
use regex::Regex;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn text(path: &Path) -> String {
    std::fs::read_to_string(path).expect("the file is there")
}

fn page_text(name: &str) -> String {
    text(&root().join("docs-site/src").join(name))
}

fn page(name: &str) -> String {
    // Line ends depend on the editor.
    in_one_line(&page_text(name))
}

fn in_one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn files(folder: &Path, extension: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).expect("the folder is there") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            found.extend(files(&path, extension));
        } else if path.extension().is_some_and(|own| own == extension) {
            found.push(path);
        }
    }
    found.sort();
    found
}

#[track_caller]
fn says(name: &str, words: &[&str]) {
    let page = page(name);
    for word in words {
        assert!(page.contains(word), "`{name}` does not say `{word}`");
    }
}

/// KTX-85: also, this backend decides on caching itself.
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
    says("reference/config.md", &[own]);
    for name in [
        "guides/quickstart.md",
        "guides/setup.md",
        "guides/claude-code.md",
        "guides/building-context.md",
        "guides/status.md",
        "concepts/backends.md",
    ] {
        says(name, &["llm.promptCaching", "ignored"]);
    }
    says(
        "reference/config.md",
        &[
            "| `llm.promptCaching` | an object | | How prompts are cached by the provider. Ignored with",
        ],
    );
    says(
        "guides/claude-code.md",
        &[
            "authenticate Claude Code locally with the Claude Code CLI",
            "5-hour",
            "7-day",
        ],
    );
}

/// KTX-09.
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
}

/// KTX-09.
#[test]
fn no_page_promises_what_a_subscription_does_not_give() {
    let mut pages = files(&root().join("docs-site/src"), "md");
    pages.push(root().join("README.md"));
    assert!(pages.len() > 20, "{pages:?}");
    for path in pages {
        let page = in_one_line(&text(&path)).to_lowercase();
        for word in [
            "unlimited",
            "unmetered",
            "free tokens",
            "for free",
            "flat rate",
            "bypass",
            "instead of paying",
        ] {
            assert!(!page.contains(word), "`{}` says `{word}`", path.display());
        }
    }
}

#[test]
fn every_code_of_a_failed_call_is_explained() {
    let page = page_text("reference/exit-codes.md");
    for kind in LlmErrorKind::ALL {
        let exit = match kind {
            LlmErrorKind::Cancelled => 130,
            LlmErrorKind::Budget => 7,
            _ => 5,
        };
        assert_eq!(kind.code().exit().code(), exit);
        let row = format!("| `{}` | {exit} | ", kind.code());
        let rows = page.lines().filter(|line| line.starts_with(&row)).count();
        assert_eq!(rows, 1, "{row}");
    }
}

#[test]
fn the_list_of_kinds_is_whole() {
    let source = text(&root().join("crates/llm-runtime/src/error.rs"));
    let spelt = Regex::new(r"Self::\w+ => Code::(\w+),").expect("an expression");
    let spelt: BTreeSet<&str> = spelt
        .captures_iter(&source)
        .filter_map(|found| found.get(1))
        .map(|code| code.as_str())
        .collect();
    let listed: Vec<String> = LlmErrorKind::ALL
        .iter()
        .map(|kind| format!("{:?}", kind.code()))
        .collect();
    let listed: BTreeSet<&str> = listed.iter().map(String::as_str).collect();
    assert_eq!(spelt, listed);
    assert_eq!(listed.len(), LlmErrorKind::ALL.len());
}

/// First cells of tables that quote messages.
fn quoted(page: &str) -> Vec<String> {
    let mut quotes = Vec::new();
    let mut in_table = false;
    for line in page.lines() {
        if line.starts_with("| message |") {
            in_table = true;
        } else if !line.starts_with('|') {
            in_table = false;
        } else if in_table && !line.starts_with("|---") {
            let cell = line.trim_start_matches('|').split('|').next();
            quotes.push(cell.unwrap_or_default().trim().to_owned());
        }
    }
    quotes
}

/// Each part between two `…` must be in the source.
#[test]
fn quoted_messages_are_those_of_the_program() {
    let sources: String = files(&root().join("crates"), "rs")
        .iter()
        .filter(|path| {
            let has = |name: &str| path.components().any(|part| part.as_os_str() == name);
            has("src") && !has("tests") && !path.ends_with("tests.rs")
        })
        .map(|path| text(path).replace("\\\n", " "))
        .collect();
    let sources = in_one_line(&sources);
    for (name, at_least) in [
        ("guides/claude-code.md", 40),
        ("guides/status.md", 5),
        ("concepts/backends.md", 40),
    ] {
        let quotes = quoted(&page_text(name));
        assert!(quotes.len() >= at_least, "{name}: {quotes:#?}");
        for quote in quotes {
            for piece in quote.split('…').map(str::trim) {
                assert!(sources.contains(piece), "{name}: {quote}: {piece}");
            }
        }
    }
}

#[test]
fn the_boundary_of_the_environment_is_written_down() {
    let source = text(&root().join("crates/claude-code-adapter/src/environment.rs"));
    let page = page_text("reference/environment.md");
    let words = Regex::new(r#""([A-Z_0-9()]+)""#).expect("an expression");
    let list = |name: &str| -> Vec<String> {
        let begin = format!("const {name}: &[&str] = &[");
        let (_, rest) = source.split_once(&begin).expect("the list");
        let (list, _) = rest.split_once("];").expect("its end");
        let found = words.captures_iter(list).filter_map(|found| found.get(1));
        found.map(|word| word.as_str().to_owned()).collect()
    };
    let (given, never) = page.split_once("| Never passed |").expect("both tables");
    let (allowed, session) = (list("ALLOWED"), list("OWN_SESSION"));
    for name in allowed.iter().chain(&session) {
        assert!(given.contains(&format!("`{name}`")), "{name}");
    }
    let families = list("DENIED_PREFIXES");
    assert!(allowed.len() > 20 && session.len() > 5 && families.len() > 10);
    for name in &families {
        assert!(never.contains(&format!("`{name}`")), "{name}");
    }
    for name in list("DENIED") {
        let covered = families.iter().any(|family| name.starts_with(family));
        assert!(covered || never.contains(&format!("`{name}`")), "{name}");
    }
}
