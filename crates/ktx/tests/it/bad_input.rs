//! Project errors are reported once with place and next step, and nothing is half-written.

use crate::support::{
    CONFIG, SHOP, compare_text, database, git, project, run, sandbox, shop, tree, unscanned, write,
};

#[test]
fn a_folder_without_a_project_is_no_project() {
    let sandbox = sandbox();
    let first = run(&sandbox, "sl");
    for command in [
        "wiki",
        "scan",
        "ingest",
        "connection",
        "usage",
        "mcp stdio",
        "sl query --measure a.b",
    ] {
        assert_eq!(run(&sandbox, command), first, "{command}");
    }
    check!(&sandbox, "sl", @r"
exit 3
--- stderr
error: no ktx project in `[SANDBOX]/work`

hint: run `ktx admin init` to create one here, or `ktx demo` for a sample
hint: name another folder with `--project-dir`
");
    check!(&sandbox, "sl --json", @r#"
exit 3
{
  "error": {
    "code": "missing_project",
    "message": "no ktx project in `[SANDBOX]/work`",
    "hint": "run `ktx admin init` to create one here, or `ktx demo` for a sample",
    "hints": [
      "run `ktx admin init` to create one here, or `ktx demo` for a sample",
      "name another folder with `--project-dir`"
    ]
  }
}
"#);
    check!(&sandbox, "--project-dir nowhere scan --json", @r#"
exit 3
{
  "error": {
    "code": "missing_project",
    "message": "no ktx project in `[SANDBOX]/work/nowhere`",
    "hint": "run `ktx admin init` to create one here, or `ktx demo` for a sample",
    "hints": [
      "run `ktx admin init` to create one here, or `ktx demo` for a sample",
      "name another folder with `--project-dir`"
    ]
  }
}
"#);
    assert_eq!(std::fs::read_dir(sandbox.work()).unwrap().count(), 0);
}

#[test]
fn broken_yaml_is_named_with_its_place() {
    let sandbox = project();
    write(
        &sandbox,
        "ktx.yaml",
        "connections:\n  warehouse:\n    driver: sqlite\n   path: x\n",
    );
    check!(&sandbox, "scan", @r"
exit 3
--- stderr
error: ktx.yaml:4:4: cannot be read as YAML: did not find expected key
");
    check!(&sandbox, "status --json", @r#"
exit 3
{
  "error": {
    "code": "yaml_syntax",
    "message": "ktx.yaml:4:4: cannot be read as YAML: did not find expected key",
    "hint": null
  }
}
"#);
    write(
        &sandbox,
        "ktx.yaml",
        "connections:\n  warehouse: { driver: sqlite, path: [x }\n",
    );
    check!(&sandbox, "sl", @r"
exit 3
--- stderr
error: ktx.yaml:2:41: cannot be read as YAML: did not find expected ',' or ']'
");
    write(&sandbox, "ktx.yaml", "- a list\n");
    check!(&sandbox, "sl", @r"
exit 3
--- stderr
error: ktx.yaml:1:1: the file must hold an object
");
    write(&sandbox, "ktx.yaml", "");
    check!(&sandbox, "connection", @r"
exit 0
--- stderr
Project: [SANDBOX]/work
no connections; add one under `connections:` in ktx.yaml
");
    std::fs::write(sandbox.work().join("ktx.yaml"), b"a: \xff\xfe\n").unwrap();
    check!(&sandbox, "connection", @r"
exit 3
--- stderr
error: ktx.yaml:1:4: `ktx.yaml` is not UTF-8 text

hint: save the file as UTF-8
");
}

#[test]
fn wrong_settings_are_all_named() {
    let sandbox = project();
    write(
        &sandbox,
        "ktx.yaml",
        "connections:
  warehouse: { driver: oracle }
  ../escape: { driver: sqlite, path: x.db }
llm:
  provider:
    backend: cloud-code
scan:
  relationships:
    acceptThreshold: 7
",
    );
    check!(&sandbox, "status", @"
    exit 3
    --- stderr
    error: ktx.yaml:2:24: Unsupported connections.warehouse.driver: oracle (allowed: postgres, snowflake, bigquery, clickhouse, mysql, mariadb, sqlserver, sqlite, duckdb, redshift, dbt, metricflow, lookml, cube, looker, metabase, notion)
      caused by: ktx.yaml:3:3: unsafe connection id `../escape`: use letters, digits, `_` and `-`, beginning with a letter or digit
      caused by: ktx.yaml:6:14: Unsupported llm.provider.backend: cloud-code (allowed: none, anthropic, vertex, gateway, claude-code, openai, gemini, deepseek, qwen, glm, minimax, kimi, groq, cerebras, openai-compatible)
      caused by: ktx.yaml:9:22: `scan.relationships.acceptThreshold` must be a number from 0 to 1, not `7`
    ");
    check!(&sandbox, "status --validate --json", @r#"
    exit 3
    {
      "error": {
        "code": "unknown_driver",
        "message": "ktx.yaml:2:24: Unsupported connections.warehouse.driver: oracle (allowed: postgres, snowflake, bigquery, clickhouse, mysql, mariadb, sqlserver, sqlite, duckdb, redshift, dbt, metricflow, lookml, cube, looker, metabase, notion)",
        "hint": null,
        "causes": [
          "ktx.yaml:3:3: unsafe connection id `../escape`: use letters, digits, `_` and `-`, beginning with a letter or digit",
          "ktx.yaml:6:14: Unsupported llm.provider.backend: cloud-code (allowed: none, anthropic, vertex, gateway, claude-code, openai, gemini, deepseek, qwen, glm, minimax, kimi, groq, cerebras, openai-compatible)",
          "ktx.yaml:9:22: `scan.relationships.acceptThreshold` must be a number from 0 to 1, not `7`"
        ]
      }
    }
    "#);
}

#[test]
fn an_unknown_key_is_kept_and_named() {
    let sandbox = unscanned(SHOP);
    let text = format!("{CONFIG}    shape: round\nconections: {{}}\n");
    write(&sandbox, "ktx.yaml", &text);
    check!(&sandbox, "scan", @r"
exit 0
warehouse: 3 added, 0 modified, 0 deleted, 0 unchanged tables
  joins: 2 accepted, 0 to review
  commit: [COMMIT]
--- stderr
Project: [SANDBOX]/work
warning: ktx.yaml:6:1: Unsupported conections: unknown field (ignored)
warehouse · structure
warehouse · 3 tables, 11 columns
warehouse · profile (3)
warehouse · relationships
warehouse · 2 joins, 0 to review
warehouse · artifacts
");
    assert_eq!(sandbox.read("ktx.yaml").unwrap(), text);
}

#[test]
fn a_warehouse_that_is_no_database_is_named() {
    let sandbox = unscanned(SHOP);
    let use_path = |path: &str| {
        write(&sandbox, "ktx.yaml", &CONFIG.replace("warehouse.db", path));
    };
    write(
        &sandbox,
        "text.db",
        "this is no database, it only looks like a file of some length\n",
    );
    write(&sandbox, "folder.db/file", "");
    write(&sandbox, "empty.db", "");
    let before = git(&sandbox, &["rev-parse", "HEAD"]);
    use_path("text.db");
    check!(&sandbox, "scan", @r"
exit 3
--- stderr
Project: [SANDBOX]/work
warehouse · structure
error: could not read the structure of `warehouse`
  caused by: `[SANDBOX]/work/text.db` is not a SQLite database

hint: set `path` to a SQLite file; encrypted databases are not supported
");
    use_path("folder.db");
    check!(&sandbox, "scan", @r"
exit 3
--- stderr
Project: [SANDBOX]/work
warehouse · structure
error: could not read the structure of `warehouse`
  caused by: `[SANDBOX]/work/folder.db` is a folder, not a SQLite database

hint: set `path` to the database file inside it
");
    use_path("missing.db");
    check!(&sandbox, "scan", @r"
exit 4
--- stderr
Project: [SANDBOX]/work
warehouse · structure
error: could not read the structure of `warehouse`
  caused by: the database file `[SANDBOX]/work/missing.db` does not exist

hint: correct `path`; a relative path starts at the project folder
");
    check!(&sandbox, "sql --json 'select 1'", @r#"
exit 4
{
  "error": {
    "code": "connection_not_found",
    "message": "the database file `[SANDBOX]/work/missing.db` does not exist",
    "hint": "correct `path`; a relative path starts at the project folder"
  }
}
"#);
    use_path("empty.db");
    check!(&sandbox, "scan --dry-run", @r"
exit 0
warehouse: 0 added, 0 modified, 0 deleted, 0 unchanged tables
  no table or view was found; check the database, the schemas and the rights of the login
  joins: 0 accepted, 0 to review
  dry run: nothing was written
--- stderr
Project: [SANDBOX]/work
warehouse · structure
warehouse · 0 tables, 0 columns
warehouse · profile (0)
warehouse · relationships
warehouse · 0 joins, 0 to review
warehouse · artifacts
");
    assert_eq!(git(&sandbox, &["rev-parse", "HEAD"]), before);
    assert!(
        !sandbox.work().join("missing.db").exists(),
        "looking makes no database"
    );
}

#[test]
fn a_file_in_the_way_is_named_and_nothing_is_committed() {
    let sandbox = unscanned(SHOP);
    write(&sandbox, "semantic-layer/warehouse", "in the way");
    let before = git(&sandbox, &["rev-parse", "HEAD"]);
    check!(&sandbox, "scan", @r"
exit 1
--- stderr
Project: [SANDBOX]/work
warehouse · structure
warehouse · 3 tables, 11 columns
warehouse · profile (3)
warehouse · relationships
warehouse · 2 joins, 0 to review
warehouse · artifacts
error: `semantic-layer/warehouse` is not an ordinary folder

hint: make `semantic-layer/warehouse` an ordinary folder and commit that, then run the command again
");
    assert_eq!(git(&sandbox, &["rev-parse", "HEAD"]), before);
    assert_eq!(
        sandbox.read("semantic-layer/warehouse").unwrap(),
        "in the way"
    );
    write(&sandbox, "file", "in the way");
    check!(&sandbox, "admin init file", @r"
exit 3
--- stderr
error: cannot make a project in `[SANDBOX]/work/file`
  caused by: cannot write `[SANDBOX]/work/file`
  caused by: File exists (os error 17)
");
    check!(&sandbox, "--project-dir file scan", @r"
exit 3
--- stderr
error: no ktx project in `[SANDBOX]/work/file`

hint: run `ktx admin init` to create one here, or `ktx demo` for a sample
hint: name another folder with `--project-dir`
");
}

#[test]
fn a_repository_of_someone_else_is_left_alone() {
    let sandbox = sandbox();
    write(&sandbox, "theirs/src/main.rs", "fn main() {}");
    sandbox.git("theirs", &["init", "--quiet"]).unwrap();
    let before = tree(&sandbox);
    check!(&sandbox, "admin init theirs", @r"
exit 3
--- stderr
error: `[SANDBOX]/work/theirs` is a git repository that is not a ktx project

hint: use a separate folder inside the repository, such as `ktx/`
hint: or use `--force` to make the repository itself the project
");
    assert_eq!(tree(&sandbox), before);
}

#[test]
fn a_folder_inside_a_repository_shares_its_history() {
    let sandbox = sandbox();
    write(&sandbox, "theirs/src/main.rs", "fn main() {}");
    let git = |words: &[&str]| sandbox.git("theirs", words).unwrap();
    git(&["init", "--quiet", "--initial-branch", "main"]);
    git(&["add", "."]);
    git(&["commit", "--quiet", "-m", "theirs"]);
    write(&sandbox, "theirs/src/draft.rs", "mine");
    check!(&sandbox, "admin init theirs/ktx", @r"
exit 0
Initialized ktx project at [SANDBOX]/work/theirs/ktx
Config: [SANDBOX]/work/theirs/ktx/ktx.yaml
Commit: [COMMIT]
--- stderr
next: add a connection to ktx.yaml, then run `ktx connection test` and `ktx scan`
");
    compare_text(
        "the log",
        &git(&["log", "--format=%s", "--stat=60"]),
        r"
Initialize ktx project: ktx

 ktx/.ktx/.gitignore         | 14 ++++++++++++++
 ktx/.ktx/prompts/.gitkeep   |  0
 ktx/.ktx/skills/.gitkeep    |  0
 ktx/ktx.yaml                | 12 ++++++++++++
 ktx/raw-sources/.gitkeep    |  0
 ktx/semantic-layer/.gitkeep |  0
 ktx/wiki/global/.gitkeep    |  0
 7 files changed, 26 insertions(+)
theirs

 src/main.rs | 1 +
 1 file changed, 1 insertion(+)
",
    );
    assert_eq!(git(&["status", "--porcelain"]), "?? src/draft.rs\n");
}

#[test]
fn without_git_nothing_is_made() {
    let mut sandbox = sandbox();
    sandbox.set("PATH", sandbox.home().display().to_string());
    check!(&sandbox, "admin init p", @r"
exit 3
--- stderr
error: `git` is not installed

hint: install git and put it on `PATH`
");
    assert!(!sandbox.work().join("p/ktx.yaml").exists());
}

#[test]
fn without_git_a_project_can_still_be_read() {
    let mut sandbox = shop();
    database(
        &sandbox,
        "warehouse.db",
        "CREATE TABLE extra (id INTEGER PRIMARY KEY)",
    );
    let before = tree(&sandbox);
    sandbox.set("PATH", sandbox.home().display().to_string());
    check!(&sandbox, "sl", @r"
exit 0
warehouse	customers	columns=4	measures=0	joins=2
warehouse	orders	columns=5	measures=2	joins=1
warehouse	regions	columns=2	measures=0	joins=1
--- stderr
Project: [SANDBOX]/work
");
    check!(&sandbox, "sql 'select 1 as one'", @r"
exit 0
one
1
--- stderr
Project: [SANDBOX]/work
");
    check!(&sandbox, "scan", @r"
exit 1
--- stderr
Project: [SANDBOX]/work
error: `git` is not installed

hint: install git and put it on `PATH`
");
    assert_eq!(tree(&sandbox), before);
}

#[test]
fn a_project_without_a_repository_says_so() {
    let sandbox = shop();
    std::fs::remove_dir_all(sandbox.work().join(".git")).unwrap();
    check!(&sandbox, "sl", @r"
exit 0
warehouse	customers	columns=4	measures=0	joins=2
warehouse	orders	columns=5	measures=2	joins=1
warehouse	regions	columns=2	measures=0	joins=1
--- stderr
Project: [SANDBOX]/work
");
    check!(&sandbox, "scan", @r"
    exit 0
    warehouse: 3 added, 0 modified, 0 deleted, 0 unchanged tables
      3 tables keep the values of an earlier scan; `ktx scan --full` reads all tables
      joins: 2 accepted, 0 to review
      commit: [COMMIT]
    --- stderr
    Project: [SANDBOX]/work
    warehouse · structure
    warehouse · 3 tables, 11 columns
    warehouse · profile (3)
    warehouse · relationships
    warehouse · 2 joins, 0 to review
    warehouse · artifacts
    ");
}
