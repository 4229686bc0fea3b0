//! `ktx admin`, completion, help, version, and wrong command lines.

use std::process::Stdio;

use crate::support::{check, compare_text, git, project, run, sandbox, shop, write};

#[test]
fn init_makes_a_project_in_a_repository_of_its_own() {
    let sandbox = sandbox();
    check!(&sandbox, "admin init p", @r"
exit 0
Initialized ktx project at [SANDBOX]/work/p
Config: [SANDBOX]/work/p/ktx.yaml
Commit: [COMMIT]
--- stderr
next: add a connection to ktx.yaml, then run `ktx connection test` and `ktx scan`
");
    check!(&sandbox, "admin init p", @r"
exit 3
--- stderr
error: `[SANDBOX]/work/p` is a ktx project already

hint: use `--force` to add the missing files
");
    check!(&sandbox, "admin init p --force", @r"
exit 0
Initialized ktx project at [SANDBOX]/work/p
Config: [SANDBOX]/work/p/ktx.yaml
Commit: nothing to commit
--- stderr
next: add a connection to ktx.yaml, then run `ktx connection test` and `ktx scan`
");
    check!(&sandbox, "admin init q --json", @r#"
exit 0
{
  "projectDir": "[SANDBOX]/work/q",
  "config": "[SANDBOX]/work/q/ktx.yaml",
  "commit": "[COMMIT]"
}
"#);
    check!(&sandbox, "admin init q --json", @r#"
exit 3
{
  "error": {
    "code": "init_failed",
    "message": "`[SANDBOX]/work/q` is a ktx project already",
    "hint": "use `--force` to add the missing files"
  }
}
"#);
    assert_eq!(
        sandbox.git("p", &["log", "--format=%an <%ae> %s"]).unwrap(),
        "Ada Test <ada@example.com> Initialize ktx project: p\n"
    );
    assert_eq!(sandbox.git("p", &["status", "--porcelain"]).unwrap(), "");
    compare_text(
        "the files",
        &sandbox.git("p", &["ls-files"]).unwrap(),
        r"
.ktx/.gitignore
.ktx/prompts/.gitkeep
.ktx/skills/.gitkeep
ktx.yaml
raw-sources/.gitkeep
semantic-layer/.gitkeep
wiki/global/.gitkeep
",
    );
}

#[test]
fn init_takes_the_current_folder_or_the_named_one() {
    let mut sandbox = sandbox();
    sandbox.set(
        "KTX_PROJECT_DIR",
        sandbox.work().join("named").display().to_string(),
    );
    check!(&sandbox, "admin init", @r"
exit 0
Initialized ktx project at [SANDBOX]/work/named
Config: [SANDBOX]/work/named/ktx.yaml
Commit: [COMMIT]
--- stderr
next: add a connection to ktx.yaml, then run `ktx connection test` and `ktx scan`
");
    check!(&sandbox, "--project-dir flag admin init", @r"
exit 0
Initialized ktx project at [SANDBOX]/work/flag
Config: [SANDBOX]/work/flag/ktx.yaml
Commit: [COMMIT]
--- stderr
next: add a connection to ktx.yaml, then run `ktx connection test` and `ktx scan`
");
    sandbox.unset("KTX_PROJECT_DIR");
    check!(&sandbox, "admin init", @r"
exit 0
Initialized ktx project at [SANDBOX]/work
Config: [SANDBOX]/work/ktx.yaml
Commit: [COMMIT]
--- stderr
next: add a connection to ktx.yaml, then run `ktx connection test` and `ktx scan`
");
}

#[test]
fn a_folder_inside_a_project_finds_it_and_a_strange_folder_does_not() {
    let sandbox = project();
    write(&sandbox, "notes/today.txt", "nothing");
    let mut command = sandbox.command(["connection", "list"]);
    let printed = sandbox
        .finish(command.current_dir(sandbox.work().join("notes")))
        .unwrap();
    compare!("connection list", &printed, @r"
exit 0
--- stderr
Project: [SANDBOX]/work
no connections; add one under `connections:` in ktx.yaml
");
    let mut command = sandbox.command(["connection", "list"]);
    let printed = sandbox.finish(command.current_dir(sandbox.home())).unwrap();
    compare!("connection list", &printed, @r"
exit 3
--- stderr
error: no ktx project in `[SANDBOX]/home`

hint: run `ktx admin init` to create one here, or `ktx demo` for a sample
hint: name another folder with `--project-dir`
");
}

#[test]
fn the_schema_goes_to_stdout_or_to_a_file() {
    let sandbox = sandbox();
    check!(&sandbox, "admin schema --output schema.json", @r"
exit 0
");
    let printed = run(&sandbox, "admin schema");
    assert_eq!(printed.code, Some(0));
    assert_eq!(printed.stdout, sandbox.read("schema.json").unwrap());
    let schema: serde_json::Value = serde_json::from_str(&printed.stdout).unwrap();
    assert!(jsonschema_accepts(
        &schema,
        &serde_json::json!({ "connections": {} })
    ));
    assert!(!jsonschema_accepts(
        &schema,
        &serde_json::json!({ "connections": 7 })
    ));
    check!(&sandbox, "admin schema --output no/such/folder.json", @r"
exit 0
");
}

fn jsonschema_accepts(schema: &serde_json::Value, instance: &serde_json::Value) -> bool {
    jsonschema::is_valid(schema, instance)
}

#[test]
fn the_version_is_one_line() {
    let sandbox = sandbox();
    let expected = format!("exit 0\nktx {}\n", env!("CARGO_PKG_VERSION"));
    check(&sandbox, "--version", &expected);
    check(&sandbox, "-v", &expected);
}

#[test]
fn help_names_every_command() {
    let sandbox = sandbox();
    check!(&sandbox, "", @"
    exit 0
    The context layer for data agents

    Usage: ktx [OPTIONS] [COMMAND]

    Commands:
      demo        Build a sample project with a warehouse full of traps and answer one question twice
      setup       Configure a project step by step: model, warehouse, coding agent
      status      Show what works in this project and what is missing [alias: doctor]
      connection  List, show, test and change connections
      scan        Read the structure of a warehouse and find how its tables join; needs no model
      ingest      Build context from warehouses, dbt, BI tools, documents and notes
      sync        Scan, ingest what has changed and report, once or again and again
      sl          List, search, read, validate and query semantic sources
      sql         Run one read-only SQL statement
      report      Answer a metric query as an HTML page with a table, a chart and the joins
      wiki        List, search and read wiki pages
      why         Show where a page, a source, a measure or a column comes from
      drift       Find outdated statements in sources and pages
      review      Decide about changes of context sources that wait for a person
      agent       Ask, test and manage agents that answer from the context layer
      mcp         Serve the project to agents over MCP
      runs        List, show, retry and end runs: scans, ingests, notes
      tools       List, check and call the tools that you describe in `tools/*.yaml`
      usage       Show model usage and its cost
      llm         Show models and prices, test the backend, or ask a model
      admin       Create projects, update the search index, and print schemas
      completion  Print a shell completion script
      help        Print this message or the help of the given subcommand(s)

    Options:
      -v, --version  Print the version
      -h, --help     Print help (see more with '--help')

    Global options:
          --project-dir <PATH>  The project folder [default: `KTX_PROJECT_DIR`, else the nearest parent
                                with `ktx.yaml`]
          --debug               Log progress to stderr
    ");
    let bare = run(&sandbox, "");
    assert_eq!(run(&sandbox, "help").stdout, run(&sandbox, "--help").stdout);
    assert_eq!(run(&sandbox, "-h").stdout, bare.stdout);
    check!(&sandbox, "help sql", @r"
exit 0
Run one read-only SQL statement

Usage: ktx sql [OPTIONS] [SQL]...

Arguments:
  [SQL]...
          The statement; several words are joined by spaces, and `-` reads it from stdin

Options:
  -c, --connection <ID>
          The connection [default: the only warehouse that fits]

      --max-rows <N>
          Fetch at most N rows, from 1 to 10000
          
          [default: 1000]

      --timeout <SECONDS>
          Stop the statement after this many seconds
          
          [default: 60]

      --check
          Only report whether the statement is allowed; without one, read JSON lines from stdin

      --dialect <DIALECT>
          The SQL dialect for `--check` [default: the connection's]

      --output <OUTPUT>
          The output format

          Possible values:
          - pretty: An aligned table
          - plain:  Tab-separated with a header
          - json:   JSON on stdout, errors included
          - table:  The same as pretty
          - csv:    Comma-separated with a header
          - tsv:    The same as plain

      --json
          Print JSON; the same as `--output json`

  -h, --help
          Print help (see a summary with '-h')

Global options:
      --project-dir <PATH>
          The project folder [default: `KTX_PROJECT_DIR`, else the nearest parent with `ktx.yaml`]

      --debug
          Log progress to stderr
");
}

#[test]
fn wrong_command_lines_are_usage_errors() {
    let sandbox = sandbox();
    check!(&sandbox, "conection list", @r"
exit 2
--- stderr
error: unrecognized subcommand 'conection'

  tip: some similar subcommands exist: 'completion', 'connection'

Usage: ktx [OPTIONS] [COMMAND]

For more information, try '--help'.
");
    check!(&sandbox, "conection list --json", @r#"
exit 2
{
  "error": {
    "code": "usage",
    "message": "unrecognized subcommand 'conection'",
    "hint": "some similar subcommands exist: 'completion', 'connection'",
    "hints": [
      "some similar subcommands exist: 'completion', 'connection'",
      "run `ktx --help` to see its arguments"
    ]
  }
}
"#);
    check!(&sandbox, "status --fasst", @r"
exit 2
--- stderr
error: unexpected argument '--fasst' found

  tip: a similar argument exists: '--fast'

Usage: ktx status --fast

For more information, try '--help'.
");
    check!(&sandbox, "sl query --max-rows 0 --json", @r#"
exit 2
{
  "error": {
    "code": "usage",
    "message": "invalid value '0' for '--max-rows <N>': 0 is not in 1..=10000",
    "hint": "run `ktx --help` to see its arguments"
  }
}
"#);
}

#[test]
fn wrong_command_lines_are_told_whole() {
    let sandbox = sandbox();
    check!(&sandbox, "connection add --json", @r#"
exit 2
{
  "error": {
    "code": "usage",
    "message": "the following required arguments were not provided: --driver <DRIVER> <ID>",
    "hint": "run `ktx connection add --help` to see its arguments"
  }
}
"#);
    check!(&sandbox, "status --fasst --output json", @r#"
exit 2
{
  "error": {
    "code": "usage",
    "message": "unexpected argument '--fasst' found",
    "hint": "a similar argument exists: '--fast'",
    "hints": [
      "a similar argument exists: '--fast'",
      "run `ktx status --help` to see its arguments"
    ]
  }
}
"#);
    check!(&sandbox, "setup --target x --json", @r#"
exit 2
{
  "error": {
    "code": "usage",
    "message": "invalid value 'x' for '--target <TARGET>' [possible values: claude-code, claude-desktop, codex, cursor, opencode, universal]",
    "hint": "run `ktx --help` to see its arguments"
  }
}
"#);
    check!(&sandbox, "llm --json", @r#"
exit 2
{
  "error": {
    "code": "usage",
    "message": "'ktx llm' requires a subcommand but one was not provided [subcommands: ask, models, pricing, probe, help]",
    "hint": "run `ktx llm --help` to see its arguments"
  }
}
"#);
    check!(&sandbox, "sql --max-rows 10001", @r"
exit 2
--- stderr
error: invalid value '10001' for '--max-rows <N>': 10001 is not in 1..=10000

For more information, try '--help'.
");
    check!(&sandbox, "ingest --yes --no-input", @r"
exit 2
--- stderr
error: the argument '--yes' cannot be used with '--no-input'

Usage: ktx ingest --yes [CONNECTION_ID]

For more information, try '--help'.
");
    check!(&sandbox, "ingest --plain --json", @r#"
exit 2
{
  "error": {
    "code": "usage",
    "message": "the argument '--plain' cannot be used with '--json'",
    "hint": "run `ktx ingest --help` to see its arguments"
  }
}
"#);
}

#[test]
fn wrong_words_of_a_command_are_told_whole() {
    let sandbox = sandbox();
    check!(&sandbox, "connection test a --all", @r"
exit 2
--- stderr
error: the argument '[ID]' cannot be used with '--all'

Usage: ktx connection test <ID>

For more information, try '--help'.
");
    check!(&sandbox, "admin", @r"
exit 2
--- stderr
Create projects, update the search index, and print schemas

Usage: ktx admin [OPTIONS] <COMMAND>

Commands:
  init     Create a project
  reindex  Update the search index; every search does that, too
  schema   Print the JSON Schema of `ktx.yaml`, of source files, of agent files, or of events
  help     Print this message or the help of the given subcommand(s)

Options:
  -h, --help  Print help

Global options:
      --project-dir <PATH>  The project folder [default: `KTX_PROJECT_DIR`, else the nearest parent
                            with `ktx.yaml`]
      --debug               Log progress to stderr
");
    check!(&sandbox, "completion klingon", @r"
exit 2
--- stderr
error: invalid value 'klingon' for '<SHELL>'
  [possible values: bash, elvish, fish, powershell, zsh]

For more information, try '--help'.
");
}

#[test]
fn a_wrong_output_variable_is_named() {
    let mut sandbox = project();
    sandbox.set("KTX_OUTPUT", "xml");
    check!(&sandbox, "connection", @r"
exit 2
--- stderr
error: KTX_OUTPUT is `xml`

hint: set KTX_OUTPUT to `pretty`, `plain` or `json`
");
    sandbox.set("KTX_OUTPUT", "json");
    check!(&sandbox, "connection", @r#"
exit 0
{
  "kind": "list",
  "data": {
    "items": []
  },
  "meta": {
    "command": "connection list"
  }
}
--- stderr
no connections; add one under `connections:` in ktx.yaml
"#);
    check!(&sandbox, "admin", @r#"
exit 2
{
  "error": {
    "code": "usage",
    "message": "`ktx admin` needs a command",
    "hint": "run `ktx admin --help` to see its arguments"
  }
}
"#);
    check!(&sandbox, "connection --output plain", @r"
exit 0
--- stderr
Project: [SANDBOX]/work
no connections; add one under `connections:` in ktx.yaml
");
    check!(&sandbox, "connection test nope", @r#"
exit 3
{
  "error": {
    "code": "unknown_connection",
    "message": "there is no connection `nope`",
    "hint": "add a connection to `ktx.yaml`, for example with `ktx setup`"
  }
}
"#);
}

#[test]
fn a_reader_that_has_seen_enough_is_no_failure() {
    let sandbox = shop();
    for line in [
        ["admin", "schema"].as_slice(),
        &["completion", "bash"],
        &["sl", "--json"],
    ] {
        let mut child = sandbox
            .command(line)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        drop(child.stdout.take());
        let output = child.wait_with_output().unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr)
            .replace(&*sandbox.work().to_string_lossy(), "[WORK]");
        let stderr = stderr.replace("Project: [WORK]\n", "");
        assert_eq!(
            (output.status.code(), stderr.as_str()),
            (Some(0), ""),
            "{line:?}"
        );
    }
    assert_eq!(git(&sandbox, &["status", "--porcelain"]), "");
}
