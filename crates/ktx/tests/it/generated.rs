//! The generated pages equal the code; `cargo xtask codegen` writes them.
#![expect(
    clippy::disallowed_methods,
    reason = "the write mode of the generators"
)]

use std::path::Path;

#[track_caller]
fn check(page: &str, expected: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .join(page);
    if std::env::var_os("KTX_UPDATE_DOCS").is_some() {
        std::fs::write(&path, expected).unwrap();
    }
    let found = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        found == expected,
        "{page} is stale; run `cargo xtask codegen`"
    );
}

#[test]
fn generated_command_reference() {
    check("docs-site/src/reference/cli.md", &ktx::cli_markdown());
}

#[test]
fn generated_exit_codes() {
    check(
        "docs-site/src/reference/exit-codes.md",
        &ktx::exit_codes_markdown(),
    );
}

#[test]
fn generated_environment_reference() {
    check(
        "docs-site/src/reference/environment.md",
        &ktx::environment_markdown(),
    );
}

#[test]
fn generated_configuration_reference() {
    check("docs-site/src/reference/config.md", &ktx::config_markdown());
}

#[test]
fn generated_agent_file_reference() {
    check(
        "docs-site/src/reference/agent-file.md",
        &ktx::agent_file_markdown(),
    );
}

#[test]
fn generated_tool_catalogue() {
    check("docs-site/src/reference/tools.md", &ktx::tools_markdown());
}
