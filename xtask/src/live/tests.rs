//! The files with keys.
#![expect(
    clippy::disallowed_methods,
    reason = "tests write into their own temporary folder"
)]

use super::*;

/// KODE-24: the message names the next step.
#[test]
fn without_its_file_a_provider_is_not_asked() {
    let folder = tempfile::tempdir().unwrap();
    let error = read(folder.path(), "anthropic").unwrap_err();
    assert_eq!(
        format!("{error:#}"),
        "there is no `.env.live.anthropic`: write the provider's key into it as a line `NAME=value`; \
         git ignores the file, and CONTRIBUTING.md says what else it may hold"
    );
    let error = read(folder.path(), "../x").unwrap_err();
    assert_eq!(
        error.to_string(),
        "`../x` is not the name of a provider, such as `anthropic`"
    );
}

/// KODE-24: variables of another provider are not included.
#[test]
fn the_file_of_a_provider_is_its_environment() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    write(
        ".env.live.groq",
        "# my key\n\nexport GROQ_API_KEY=\"a=b\"\nKTX_LIVE_MODEL = llama \n",
    );
    write(".env.live.openai", "OPENAI_API_KEY=other\n");
    let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    assert_eq!(
        read(folder.path(), "groq").unwrap(),
        [pair("GROQ_API_KEY", "a=b"), pair("KTX_LIVE_MODEL", "llama")]
    );
    write(".env.live.groq", "GROQ_API_KEY\n");
    let error = read(folder.path(), "groq").unwrap_err();
    assert_eq!(
        format!("{error:#}"),
        "`.env.live.groq` cannot be used: line 1 is no `NAME=value`"
    );
}

/// KODE-24.
#[test]
fn git_ignores_the_files() {
    let repository = Repository::locate().unwrap();
    let ignored = std::fs::read_to_string(repository.root().join(".gitignore")).unwrap();
    assert!(
        ignored.lines().any(|line| line == "/.env.live.*"),
        "{ignored}"
    );
}
