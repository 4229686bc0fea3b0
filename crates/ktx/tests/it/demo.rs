//! `ktx demo`.

use serde_json::{Value, json};

use crate::support::{check, compare_text, run, sandbox, write};

/// The naive answer is wrong, the compiled one right.
#[test]
fn the_demo_answers_its_question() {
    let sandbox = sandbox();
    let answer = crate::support::json(&sandbox, "demo --json");
    let keys: Vec<&String> = answer.as_object().unwrap().keys().collect();
    assert_eq!(
        keys,
        [
            "projectDir",
            "warehouse",
            "scan",
            "model",
            "validation",
            "search",
            "question",
            "attach",
            "test"
        ]
    );
    let question = &answer["question"];
    assert_eq!(
        json!([
            answer["warehouse"]["tables"],
            answer["scan"]["tables"],
            answer["model"],
            answer["validation"],
            question["naiveIsWrong"],
            question["semanticIsRight"],
            answer["search"],
        ]),
        json!([
            13,
            13,
            null,
            { "sources": 13, "errors": [], "warnings": 1 },
            true,
            true,
            [
                { "query": "net revenue", "in": "wiki", "found": ["net-revenue"] },
                { "query": "refunds", "in": "sl", "found": ["refunds", "support_tickets", "order_items"] },
            ],
        ])
    );
    let git = |words: &[&str]| sandbox.git("ktx-demo", words).unwrap();
    assert_eq!(git(&["status", "--porcelain"]), "");
    compare_text(
        "the log",
        &git(&["log", "--format=%an: %s"]),
        r"
Ada Test: ktx scan: warehouse
Ada Test: ktx demo: a sample project
Ada Test: Initialize ktx project: ktx-demo
",
    );
    check!(&sandbox, "--project-dir ktx-demo sl validate", @r"
exit 0
warehouse: 13 sources are valid
--- stderr
Project: [SANDBOX]/work/ktx-demo
warning: semantic-layer/warehouse/: disconnected_components: the sources form 2 groups without a join between them, such as those of `crm_accounts`, `customers`
");
    check!(&sandbox, "demo", @r"
exit 3
--- stderr
error: `[SANDBOX]/work/ktx-demo` is an earlier demo

hint: use `--force` to replace it, or `--dir` for another folder
");
    check!(&sandbox, "demo --json", @r#"
exit 3
{
  "error": {
    "code": "demo_exists",
    "message": "`[SANDBOX]/work/ktx-demo` is an earlier demo",
    "hint": "use `--force` to replace it, or `--dir` for another folder"
  }
}
"#);
}

#[test]
fn a_folder_that_is_no_demo_is_left_alone() {
    let sandbox = sandbox();
    write(&sandbox, "mine/notes.txt", "mine");
    check!(&sandbox, "demo --dir mine", @r"
exit 3
--- stderr
error: `[SANDBOX]/work/mine` is not empty and not a demo; ktx leaves it alone

hint: name an empty or new folder with `--dir`
");
    check!(&sandbox, "demo --dir mine --force", @r"
exit 3
--- stderr
error: `[SANDBOX]/work/mine` is not empty and not a demo; ktx leaves it alone

hint: name an empty or new folder with `--dir`
");
    write(&sandbox, "file", "mine");
    check!(&sandbox, "demo --dir file", @r"
exit 3
--- stderr
error: `[SANDBOX]/work/file` cannot be used
  caused by: Not a directory (os error 20)
");
    assert_eq!(sandbox.read("mine/notes.txt").unwrap(), "mine");
    assert_eq!(
        std::fs::read_dir(sandbox.work().join("mine"))
            .unwrap()
            .count(),
        1
    );
    assert_eq!(run(&sandbox, "demo --dir mine --bogus").code, Some(2));
}

/// The fake answers with the smallest valid object.
#[test]
fn the_demo_describes_its_tables_with_a_model() {
    let mut sandbox = sandbox();
    crate::claude::play(&mut sandbox, json!({ "echo": {} }));
    let answer = crate::support::json(&sandbox, "demo --backend claude-code --json");
    assert_eq!(
        json!([
            answer["model"]["backend"],
            answer["question"]["semanticIsRight"]
        ]),
        json!(["claude-code", true])
    );
    let shards = sandbox
        .work()
        .join("ktx-demo/semantic-layer/warehouse/_schema");
    let described: usize = std::fs::read_dir(shards)
        .unwrap()
        .map(|shard| {
            let text = std::fs::read_to_string(shard.unwrap().path()).unwrap();
            text.matches("ai: described tableDescription").count()
        })
        .sum();
    assert_eq!(described, 13);
    assert_eq!(
        sandbox.git("ktx-demo", &["status", "--porcelain"]).unwrap(),
        ""
    );
    // The ledger includes the probe that preceded the project.
    let usage = "usage --by stage --json --project-dir ktx-demo";
    let usage = crate::support::json(&sandbox, usage).to_string();
    for stage in ["\"probe\"", "\"descriptions\""] {
        assert!(usage.contains(stage), "{usage}");
    }
    // KTX-25: no child runs in the caller's folder.
    let record = std::fs::read_to_string(sandbox.home().join("record.jsonl")).unwrap();
    let mut folders: Vec<String> = record
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap())
        .map(|record| record["folder"].as_str().unwrap_or("gone").to_owned())
        .collect();
    folders.sort();
    folders.dedup();
    let work = sandbox.work().canonicalize().unwrap();
    let [project, caller] = [work.join("ktx-demo"), work].map(|path| path.display().to_string());
    assert_eq!(folders.len(), 2, "{folders:?}");
    assert!(
        folders.contains(&project) && !folders.contains(&caller),
        "{folders:?}"
    );
}

/// `--force` replaces only a folder that the demo created there.
#[test]
fn a_demo_is_made_anew_only_where_it_was_made() {
    let sandbox = sandbox();
    assert_eq!(run(&sandbox, "demo").code, Some(0));
    write(
        &sandbox,
        "ktx-demo/semantic-layer/warehouse/extra.yaml",
        "name: extra\n",
    );
    write(&sandbox, "ktx-demo/notes/mine.txt", "mine");
    let again = run(&sandbox, "demo --force");
    assert_eq!(again.code, Some(0), "{again}");
    for gone in ["notes", "semantic-layer/warehouse/extra.yaml"] {
        assert!(
            !sandbox.work().join("ktx-demo").join(gone).exists(),
            "{gone}"
        );
    }
    assert_eq!(
        sandbox.git("ktx-demo", &["status", "--porcelain"]).unwrap(),
        ""
    );
    let names = |sandbox: &ktx_test_support::sandbox::Sandbox| {
        let mut names: Vec<String> = std::fs::read_dir(sandbox.work())
            .unwrap()
            .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
            .collect();
        names.sort();
        names
    };
    assert_eq!(names(&sandbox), ["ktx-demo"]);
    // Copies, moved folders and links belong to the user.
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink("ktx-demo", sandbox.work().join("link")).unwrap();
        assert_eq!(run(&sandbox, "demo --force --dir link").code, Some(3));
        std::fs::remove_file(sandbox.work().join("link")).unwrap();
    }
    sandbox
        .copy(&sandbox.work().join("ktx-demo"), "copy")
        .unwrap();
    std::fs::rename(
        sandbox.work().join("ktx-demo"),
        sandbox.work().join("moved"),
    )
    .unwrap();
    for dir in ["copy", "moved"] {
        check(
            &sandbox,
            &format!("demo --force --dir {dir}"),
            &format!(
                "exit 3
--- stderr
error: `[SANDBOX]/work/{dir}` looks like a demo, but there is no record that `ktx demo` created it here; ktx leaves it alone

hint: name an empty or new folder with `--dir`, or remove the folder yourself
"
            ),
        );
        assert!(sandbox.work().join(dir).join("warehouse.db").is_file());
    }
    assert_eq!(names(&sandbox), ["copy", "moved"]);
}

#[test]
fn an_earlier_demo_survives_a_failure() {
    let mut sandbox = sandbox();
    assert_eq!(run(&sandbox, "demo").code, Some(0));
    write(&sandbox, "ktx-demo/notes/mine.txt", "mine");
    sandbox.set("PATH", "/nonexistent");
    let failed = run(&sandbox, "demo --force");
    assert_eq!(failed.code, Some(3), "{failed}");
    assert!(
        failed
            .stderr
            .ends_with("hint: install git and put it on `PATH`\n"),
        "{failed}"
    );
    assert_eq!(sandbox.read("ktx-demo/notes/mine.txt").unwrap(), "mine");
    assert_eq!(std::fs::read_dir(sandbox.work()).unwrap().count(), 1);
}
