//! `ktx setup --source`.

use ktx_test_support::metabase_fake::{Analytics, KEY, MetabaseFake};

use crate::support::{compare_text, database, project, run, tree, write};

#[test]
fn a_folder_becomes_a_source_once() {
    let sandbox = project();
    write(&sandbox, "dbt/dbt_project.yml", "name: shop\n");
    write(
        &sandbox,
        "dbt/models/orders.yml",
        "models: [{name: orders}]\n",
    );
    let line =
        "setup --skip-llm --skip-databases --source dbt --source-path dbt --source-target prod";
    check!(&sandbox, line, @r"
exit 0
project   ready    [SANDBOX]/work
model     skipped  scan, search and query need none
database  skipped  nothing can be asked yet
source    done     dbt-main: reached
                   ktx.yaml has uncommitted changes
                   `ktx ingest dbt-main` reads it
agents    skipped  none was named
                   `--agents --target claude-code` attaches one
next: run `ktx status` to see what works
");
    check!(&sandbox, "connection show dbt-main", @r"
exit 0
Connection: dbt-main
Driver: dbt (context-source)
Fields:
  source_dir: dbt
  target: prod
--- stderr
Project: [SANDBOX]/work
");
    let before = tree(&sandbox);
    check!(&sandbox, line, @r"
exit 0
project   ready    [SANDBOX]/work
model     skipped  scan, search and query need none
database  skipped  nothing can be asked yet
source    ready    dbt-main: reached
agents    skipped  none was named
                   `--agents --target claude-code` attaches one
next: run `ktx status` to see what works
");
    assert_eq!(tree(&sandbox), before);
    let other = format!("{line} --source-connection-id second");
    check!(&sandbox, &other, @r"
exit 0
project   ready    [SANDBOX]/work
model     skipped  scan, search and query need none
database  skipped  nothing can be asked yet
source    done     second: reached
                   ktx.yaml has uncommitted changes
                   `ktx ingest second` reads it
agents    skipped  none was named
                   `--agents --target claude-code` attaches one
next: run `ktx status` to see what works
");
}

#[test]
fn a_repository_that_cannot_be_reached_stays_and_is_told() {
    let sandbox = project();
    check!(&sandbox, "setup --skip-llm --skip-databases --source metricflow --source-git-url missing.git --source-branch main --source-subpath metrics", @r"
exit 4
project   ready    [SANDBOX]/work
model     skipped  scan, search and query need none
database  skipped  nothing can be asked yet
source    failed   `missing.git` cannot be fetched: `git fetch` failed: fatal: 'missing.git' does not appear to be a git repository; fatal: Could not read from remote repository.; Please make sure you have the correct access rights; and the repository exists.
                   run `git ls-remote missing.git` to see whether you can reach it
                   check the address, `branch` and `auth_token_ref` of the connection
                   the connection stays in ktx.yaml until you run setup again with another address
                   run `ktx connection test metricflow-main` to try the same address again
agents    skipped  none was named
                   `--agents --target claude-code` attaches one
next: run `ktx status` to see what works
--- stderr
error: setup is not finished: source failed

hint: fix that and run the command again
");
    check!(&sandbox, "connection show metricflow-main", @r"
exit 0
Connection: metricflow-main
Driver: metricflow (context-source)
Fields:
  metricflow.repoUrl: missing.git
  metricflow.branch: main
  metricflow.path: metrics
--- stderr
Project: [SANDBOX]/work
");
}

#[test]
fn a_database_of_metabase_is_mapped() {
    let analytics = Analytics {
        databases: vec![(1, "shop", "postgres"), (2, "crm", "mysql")],
        ..Analytics::default()
    };
    let server = MetabaseFake::start(analytics).expect("a server");
    let mut sandbox = project();
    sandbox.set("METABASE_KEY", KEY);
    let line = format!(
        "setup --skip-llm --source metabase --source-url {} --source-api-key-ref env:METABASE_KEY --metabase-database-id 2",
        server.address()
    );
    check!(&sandbox, &format!("{line} --skip-databases"), @r"
exit 2
project   ready    [SANDBOX]/work
model     skipped  scan, search and query need none
database  skipped  nothing can be asked yet
--- stderr
error: `--metabase-database-id` needs `--source-warehouse-connection-id`: there is not exactly one warehouse

hint: `ktx connection list` shows the connections
");
    database(
        &sandbox,
        "shop.db",
        "CREATE TABLE t (id INTEGER PRIMARY KEY);",
    );
    let both = format!("{line} --database sqlite --database-url shop.db");
    check!(&sandbox, &both, @r"
exit 0
project   ready    [SANDBOX]/work
model     skipped  scan, search and query need none
database  done     sqlite-local: reached
                   ktx.yaml has uncommitted changes
source    done     metabase-main: reached
                   ktx.yaml has uncommitted changes
                   `ktx ingest metabase-main` reads it
agents    skipped  none was named
                   `--agents --target claude-code` attaches one
next: run `ktx status` to see what works
");
    let shown = run(&sandbox, "connection show metabase-main").to_string();
    compare_text(
        "connection show metabase-main",
        &shown.replace(&server.address(), "[SERVER]"),
        r"
exit: 0
--- stdout
Connection: metabase-main
Driver: metabase (context-source)
Fields:
  api_url: [SERVER]
  api_key_ref: env:METABASE_KEY  (has a value)
  mappings.databaseMappings.2: sqlite-local
--- stderr
Project: [SANDBOX]/work
",
    );
    let strange = format!("{line} --source-warehouse-connection-id metabase-main");
    check!(&sandbox, &strange, @r"
exit 3
project   ready    [SANDBOX]/work
model     skipped  scan, search and query need none
database  ready    sqlite-local: reached
source    failed   there is no warehouse `metabase-main`
                   `ktx connection list` shows the connections
agents    skipped  none was named
                   `--agents --target claude-code` attaches one
next: run `ktx status` to see what works
--- stderr
error: setup is not finished: source failed

hint: fix that and run the command again
");
}

#[test]
fn flags_that_do_not_fit_are_usage_errors() {
    let sandbox = project();
    let before = tree(&sandbox);
    check!(&sandbox, "setup --skip-llm --source dbtt", @"
    exit 2
    --- stderr
    error: unknown kind of context source `dbtt`

    hint: use one of dbt, metricflow, lookml, cube, looker, metabase, notion
    ");
    check!(&sandbox, "setup --skip-llm --source dbt --source-api-key-ref env:KEY", @r"
exit 2
--- stderr
error: `--source-api-key-ref` does not belong to `--source dbt`

hint: its flags are --source-path, --source-git-url, --source-branch, --source-subpath, --source-auth-token-ref, --source-project-name, --source-profiles-path, --source-target
");
    check!(&sandbox, "setup --skip-llm --source notion --source-auth-token-ref ntn_1234567890abcdef", @r"
exit 2
--- stderr
error: `--source-auth-token-ref` takes `env:NAME` or `file:PATH`

hint: keep the secret out of the command line, where others can see it
");
    check!(&sandbox, "setup --skip-llm --source dbt --metabase-database-id 1", @r"
exit 2
--- stderr
error: `--metabase-database-id` does not belong to `--source dbt`

hint: its flags are --source-path, --source-git-url, --source-branch, --source-subpath, --source-auth-token-ref, --source-project-name, --source-profiles-path, --source-target
");
    check!(&sandbox, "setup --skip-llm --source dbt --source-path a --source-git-url b", @r"
exit 2
--- stderr
error: the argument '--source-path <PATH>' cannot be used with '--source-git-url <URL>'

Usage: ktx setup --skip-llm --source <KIND> --source-path <PATH>

For more information, try '--help'.
");
    check!(&sandbox, "setup --skip-llm --source dbt --skip-sources", @r"
exit 2
--- stderr
error: the argument '--source <KIND>' cannot be used with '--skip-sources'

Usage: ktx setup --skip-llm --source <KIND>

For more information, try '--help'.
");
    check!(&sandbox, "setup --skip-llm --source-path a", @r"
exit 2
--- stderr
error: the following required arguments were not provided:
  --source <KIND>

Usage: ktx setup --source <KIND> --skip-llm --source-path <PATH>

For more information, try '--help'.
");
    assert_eq!(tree(&sandbox), before);
}

#[test]
fn a_source_that_lacks_something_is_not_written() {
    let sandbox = project();
    let before = tree(&sandbox);
    check!(&sandbox, "setup --skip-llm --skip-databases --source notion --source-auth-token-ref env:TOKEN --notion-crawl-mode selected_roots", @r"
exit 2
project   ready    [SANDBOX]/work
model     skipped  scan, search and query need none
database  skipped  nothing can be asked yet
--- stderr
error: `connections.notion-main` selects no roots: give one of `root_page_ids`, `root_database_ids`, `root_data_source_ids`
");
    check!(&sandbox, "setup --skip-llm --skip-databases --source notion --source-auth-token-ref env:TOKEN", @r"
exit 2
project   ready    [SANDBOX]/work
model     skipped  scan, search and query need none
database  skipped  nothing can be asked yet
--- stderr
error: `connections.notion-main` selects no roots: give one of `root_page_ids`, `root_database_ids`, `root_data_source_ids`
");
    check!(&sandbox, "setup --skip-llm --skip-databases --source looker --source-url http://127.0.0.1:1", @r"
exit 2
project   ready    [SANDBOX]/work
model     skipped  scan, search and query need none
database  skipped  nothing can be asked yet
--- stderr
error: `connections.looker-main.client_id` is missing
");
    assert_eq!(tree(&sandbox), before);
}
