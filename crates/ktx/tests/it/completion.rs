//! `ktx completion` and its candidates.

use std::path::Path;
use std::process::Command;

use crate::support::{run, shop};

#[test]
fn commands_are_offered_by_their_first_letters() {
    let sandbox = shop();
    check!(&sandbox, "__complete -- s", @r"
    exit 0
    scan
    setup
    sl
    sql
    status
    sync
    ");
    check!(&sandbox, "__complete", @r"
    exit 0
    admin
    agent
    completion
    connection
    demo
    drift
    help
    ingest
    llm
    mcp
    report
    review
    runs
    scan
    setup
    sl
    sql
    status
    sync
    tools
    usage
    why
    wiki
    --debug
    --help
    --project-dir
    --version
    ");
}

#[test]
fn connections_are_offered() {
    let sandbox = shop();
    check!(&sandbox, "__complete -- connection test ''", @r"
exit 0
warehouse
--all
--debug
--help
--json
--output
--project-dir
");
    check!(&sandbox, "__complete -- scan w", @r"
exit 0
warehouse
");
    check!(&sandbox, "__complete -- sl --connection-id ''", @r"
exit 0
warehouse
");
}

#[test]
fn sources_and_pages_are_offered() {
    let sandbox = shop();
    check!(&sandbox, "__complete -- sl read ''", @r"
exit 0
customers
orders
regions
--connection-id
--debug
--help
--json
--limit
--output
--project-dir
");
    check!(&sandbox, "__complete -- sl validate o", @r"
exit 0
orders
");
    check!(&sandbox, "__complete -- wiki read ''", @r"
exit 0
revenue
test-customers
--debug
--help
--json
--limit
--output
--project-dir
--user-id
");
}

#[test]
fn options_and_their_values_are_offered() {
    let sandbox = shop();
    check!(&sandbox, "__complete -- sql --output ''", @r"
exit 0
csv
json
plain
pretty
table
tsv
");
    check!(&sandbox, "__complete -- sl query --m", @r"
exit 0
--max-rows
--measure
");
    check!(&sandbox, "__complete -- sl query --execute --ex", @r"
exit 0
--explain
");
}

#[test]
fn outside_a_project_commands_are_still_offered() {
    let sandbox = shop();
    check!(&sandbox, "--project-dir nowhere __complete -- scan ''", @r"
    exit 0
    help
    relationships
    review
    --debug
    --dry-run
    --estimate
    --full
    --help
    --json
    --max-bytes
    --max-minutes
    --max-queries
    --no-query-history
    --output
    --project-dir
    --query-history
    --query-history-window-days
    --structural
    --wait
    ");
}

/// The script asks ktx, so names are current.
#[test]
fn bash_completes_words_of_the_project() {
    let sandbox = shop();
    let printed = run(&sandbox, "completion bash");
    assert_eq!((printed.code, &*printed.stderr), (Some(0), ""));
    let script = format!(
        r#"{}
COMP_WORDS=(ktx wiki read t); COMP_CWORD=3; _ktx; printf '%s\n' "${{COMPREPLY[@]}}"
COMP_WORDS=(ktx sl validate ''); COMP_CWORD=3; _ktx; printf '%s\n' "${{COMPREPLY[@]}}" | head -3
complete -p ktx"#,
        printed.stdout
    );
    let program = Path::new(env!("CARGO_BIN_EXE_ktx"));
    let folder = program.parent().unwrap();
    let output = Command::new("bash")
        .args(["--norc", "-c", &script])
        .current_dir(sandbox.work())
        .env("PATH", format!("{}:/usr/bin:/bin", folder.display()))
        .output()
        .unwrap();
    assert_eq!(
        String::from_utf8_lossy(&output.stdout),
        "test-customers\ncustomers\norders\nregions\ncomplete -o default -F _ktx ktx\n",
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
}

#[test]
fn every_shell_has_a_script() {
    let sandbox = shop();
    for (shell, mark) in [
        ("bash", "ktx __complete -- "),
        ("zsh", "#compdef ktx"),
        ("fish", "ktx __complete -- "),
        ("powershell", "Register-ArgumentCompleter"),
        ("elvish", "edit:completion:arg-completer[ktx]"),
    ] {
        let printed = run(&sandbox, &format!("completion {shell}"));
        assert_eq!((printed.code, &*printed.stderr), (Some(0), ""), "{shell}");
        assert!(printed.stdout.contains(mark), "{shell}: {}", printed.stdout);
    }
}

#[test]
fn each_command_that_help_lists_has_a_man_page() {
    let sandbox = shop();
    let folder = sandbox.work().join("man");
    std::fs::create_dir(&folder).unwrap();
    check!(&sandbox, "__man man", @"\nexit 0\n");
    let names: Vec<String> = std::fs::read_dir(&folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    let listed = [
        "",
        "admin",
        "agent",
        "completion",
        "connection",
        "demo",
        "ingest",
        "llm",
        "mcp",
        "scan",
        "setup",
        "sl",
        "sql",
        "status",
        "usage",
        "wiki",
    ];
    for command in listed {
        let name = ["ktx", command].join("-");
        let page = format!("{}.1", name.trim_end_matches('-'));
        assert!(names.contains(&page), "{page} is missing in {names:?}");
    }
    assert!(!names.iter().any(|name| name.contains("__")), "{names:?}");
    let page = sandbox.read("man/ktx-sql.1").unwrap();
    assert!(page.contains("\n.TH ktx-sql 1 "), "{page}");
}

#[test]
fn man_pages_go_into_a_folder_that_exists() {
    check!(&shop(), "__man nowhere", @r"
exit 1
--- stderr
error: the man pages cannot be written to `nowhere`: No such file or directory (os error 2)
");
}
