//! Tests commits, and the user's tree after them.

use ktx_config::Environment;
use ktx_diagnostics::Hints as _;
use ktx_project_store::{
    Change, Failpoints, GitError, ProjectPath, PublishError, PublishRequest, SkipReason,
    SkippedFile, Store,
};

use crate::world::{TestRepository, at, noon, publish};

fn page(name: &str, text: &str) -> Change {
    Change::write(at(&format!("wiki/global/{name}.md")), text)
}

#[test]
fn one_run_is_one_commit_and_the_tree_is_in_step() {
    let (world, store) = TestRepository::with_project();
    publish(&store, &[page("a", "A\n"), page("b", "B\n")]).expect("a commit");
    let changes = [
        page("a", "A2\n"),
        Change::delete(at("wiki/global/b.md")),
        page("c", "C\n"),
    ];
    let published = publish(&store, &changes).expect("a commit");
    let head = world.git("shop", &["rev-parse", "HEAD"]);
    assert_eq!(published.commit.as_deref(), Some(head.trim()));
    let changed: Vec<&str> = published.changed.iter().map(ProjectPath::as_str).collect();
    assert_eq!(
        changed,
        ["wiki/global/a.md", "wiki/global/b.md", "wiki/global/c.md"]
    );
    assert_eq!(published.skipped, []);
    assert_eq!(
        world.git("shop", &["log", "-1", "--name-status", "--format=%an|%s"]),
        "Ada|ktx: a run\n\nM\twiki/global/a.md\nD\twiki/global/b.md\nA\twiki/global/c.md\n"
    );
    assert_eq!(world.read("shop/wiki/global/a.md").as_deref(), Some("A2\n"));
    assert_eq!(world.read("shop/wiki/global/b.md"), None);
    assert_eq!(world.untidy("shop"), "");
    let crashes = std::fs::read_dir(world.path("shop/.git")).expect("a repository");
    let crashes = crashes.filter(|entry| {
        entry
            .as_ref()
            .is_ok_and(|entry| entry.file_name().to_string_lossy().contains("crash"))
    });
    assert_eq!(crashes.count(), 0);
}

#[test]
fn changes_without_effect_make_no_commit() {
    let (world, store) = TestRepository::with_project();
    publish(&store, &[page("a", "A\n")]).expect("a commit");
    let head = world.git("shop", &["rev-parse", "HEAD"]);
    let changes = [page("a", "A\n"), Change::delete(at("wiki/global/none.md"))];
    let published = publish(&store, &changes).expect("no commit");
    assert_eq!((published.commit, published.changed), (None, Vec::new()));
    assert_eq!(world.git("shop", &["rev-parse", "HEAD"]), head);
    assert!(!store.layout().state().join("publish.json").exists());
}

#[test]
fn files_that_the_user_changed_or_staged_are_not_touched() {
    let (world, store) = TestRepository::with_project();
    publish(
        &store,
        &[
            page("dirty", "1\n"),
            page("staged", "1\n"),
            page("gone", "1\n"),
            page("clean", "1\n"),
        ],
    )
    .expect("a commit");
    world.write("shop/wiki/global/dirty.md", "mine\n");
    world.write("shop/wiki/global/staged.md", "mine\n");
    world.git("shop", &["add", "wiki/global/staged.md"]);
    std::fs::remove_file(world.path("shop/wiki/global/gone.md")).expect("it was there");
    world.write("shop/wiki/global/untracked.md", "mine\n");
    let names = ["clean", "dirty", "gone", "staged", "untracked"];
    let published = publish(&store, &names.map(|name| page(name, "2\n"))).expect("a commit");
    let skipped = |name: &str, reason| SkippedFile {
        path: at(&format!("wiki/global/{name}.md")),
        reason,
    };
    assert_eq!(
        published.skipped,
        [
            skipped("dirty", SkipReason::Changed),
            skipped("gone", SkipReason::Changed),
            skipped("staged", SkipReason::Staged),
            skipped("untracked", SkipReason::Changed),
        ]
    );
    let found = names.map(|name| {
        world
            .read(&format!("shop/wiki/global/{name}.md"))
            .unwrap_or_default()
    });
    assert_eq!(found, ["2\n", "mine\n", "", "mine\n", "mine\n"]);
    // Only the user's changes, and none that would undo the commit.
    assert_eq!(
        world.untidy("shop"),
        " M wiki/global/dirty.md\n D wiki/global/gone.md\nM  wiki/global/staged.md\n M wiki/global/untracked.md\n"
    );
}

#[test]
fn a_file_that_already_has_the_new_content_is_only_added_to_the_index() {
    let (world, store) = TestRepository::with_project();
    store
        .write(&at("ktx.yaml"), b"connections: {}\n")
        .expect("a file");
    let change = Change::write(at("ktx.yaml"), "connections: {}\n");
    assert_eq!(publish(&store, &[change]).expect("a commit").skipped, []);
    assert_eq!(world.untidy("shop"), "");
}

#[test]
fn line_ends_that_git_converts_are_not_changes_of_the_user() {
    let (world, store) = TestRepository::with_project();
    publish(&store, &[page("a", "one\ntwo\n")]).expect("a commit");
    world.git("shop", &["config", "core.autocrlf", "true"]);
    world.write("shop/wiki/global/a.md", "one\r\ntwo\r\n");
    assert_eq!(
        publish(&store, &[page("a", "three\n")])
            .expect("a commit")
            .skipped,
        []
    );
    assert_eq!(
        world.read("shop/wiki/global/a.md").as_deref(),
        Some("three\n")
    );
}

#[test]
fn odd_names_survive() {
    let (world, store) = TestRepository::with_project();
    let names = [
        "a b",
        "quo\"te",
        "new\nline",
        "tab\tulator",
        "größe",
        "-dash",
        "star*",
        ":(glob)x",
        "$x `y`",
    ];
    let changes: Vec<Change> = names
        .iter()
        .map(|name| Change::write(at(name), *name))
        .collect();
    publish(&store, &changes).expect("a commit");
    publish(
        &store,
        &changes
            .iter()
            .map(|change| Change::write(change.path.clone(), "2"))
            .collect::<Vec<_>>(),
    )
    .expect("a commit");
    for name in names {
        assert_eq!(
            world.read(&format!("shop/{name}")).as_deref(),
            Some("2"),
            "{name:?}"
        );
    }
    assert_eq!(world.untidy("shop"), "");
}

#[test]
fn a_commit_of_others_between_is_built_upon() {
    let (world, store) = TestRepository::with_project();
    let publisher = store.publisher().expect("git");
    let base = publisher.begin().expect("a branch");
    world.write("shop/notes.txt", "mine\n");
    world.git("shop", &["add", "notes.txt"]);
    world.git("shop", &["commit", "-qm", "mine"]);
    let request = PublishRequest {
        changes: &[page("a", "A\n")],
        message: "ktx: a run",
        at: noon(),
    };
    publisher.publish(&base, &request).expect("a commit");
    assert_eq!(
        world.git("shop", &["log", "-2", "--format=%s"]),
        "ktx: a run\nmine\n"
    );
    assert_eq!(world.untidy("shop"), "");
}

#[test]
fn a_commit_of_others_to_the_same_file_is_a_conflict() {
    let (world, store) = TestRepository::with_project();
    let publisher = store.publisher().expect("git");
    let base = publisher.begin().expect("a branch");
    world.write("shop/wiki/global/a.md", "mine\n");
    world.git("shop", &["add", "-A"]);
    world.git("shop", &["commit", "-qm", "mine"]);
    let request = PublishRequest {
        changes: &[page("a", "A\n")],
        message: "ktx: a run",
        at: noon(),
    };
    let error = publisher.publish(&base, &request).expect_err("a conflict");
    assert_eq!(
        error.to_string(),
        "someone else has changed `wiki/global/a.md`"
    );
    assert_eq!(world.git("shop", &["log", "-1", "--format=%s"]), "mine\n");
    assert_eq!(world.untidy("shop"), "");
}

#[test]
fn racing_publishers_all_land() {
    const WRITERS: usize = 4;
    const COMMITS: usize = 6;
    let (world, store) = TestRepository::with_project();
    std::thread::scope(|scope| {
        for writer in 0..WRITERS {
            let store = store.clone();
            scope.spawn(move || {
                for commit in 0..COMMITS {
                    publish(&store, &[page(&format!("w{writer}-{commit}"), "x\n")])
                        .expect("it lands");
                }
            });
        }
        // Another writer moves the branch and may lose the race.
        for commit in 0..COMMITS {
            let head = world.git("shop", &["rev-parse", "HEAD"]);
            let tree = format!("{}^{{tree}}", head.trim());
            let subject = format!("other {commit}");
            let new = world.git(
                "shop",
                &["commit-tree", &tree, "-p", head.trim(), "-m", &subject],
            );
            world.git(
                "shop",
                &["update-ref", "refs/heads/main", new.trim(), head.trim()],
            );
        }
    });
    let subjects = world.git("shop", &["log", "--format=%s"]);
    assert_eq!(
        subjects
            .lines()
            .filter(|line| *line == "ktx: a run")
            .count(),
        WRITERS * COMMITS
    );
    let files = world.git("shop", &["ls-tree", "-r", "--name-only", "HEAD", "wiki"]);
    assert_eq!(
        files.lines().filter(|line| line.contains("/w")).count(),
        WRITERS * COMMITS
    );
    publish(&store, &[page("last", "x\n")]).expect("a commit");
    assert_eq!(world.untidy("shop"), "");
}

#[test]
fn in_a_part_of_a_repository_only_that_part_is_committed() {
    let world = TestRepository::new();
    world.write("app/main.c", "int main;\n");
    world.write("app/wiki/global/a.md", "not the project's\n");
    world.git("app", &["init", "-q"]);
    world.git("app", &["config", "user.name", "Bob"]);
    world.git("app", &["config", "user.email", "bob@example.com"]);
    world.git("app", &["add", "."]);
    world.git("app", &["commit", "-qm", "app"]);
    let store = world.init("app/data").expect("a project").store;
    world.write("app/main.c", "int main2;\n");
    publish(&store, &[page("a", "A\n")]).expect("a commit");
    publish(&store, &[page("a", "B\n")]).expect("a commit");
    assert_eq!(
        world.git("app", &["log", "-1", "--name-only", "--format=%an"]),
        "Bob\n\ndata/wiki/global/a.md\n"
    );
    assert_eq!(world.untidy("app"), " M main.c\n");
}

#[test]
fn a_folder_without_a_repository_gets_one() {
    let world = TestRepository::new();
    world.write("old/ktx.yaml", "connections: {}\n");
    let store = Store::open(&world.path("old"), world.environment(), Failpoints::none())
        .expect("a project");
    publish(&store, &[page("a", "A\n")]).expect("a commit");
    assert_eq!(world.untidy("old"), "?? ktx.yaml\n");
}

#[test]
fn a_detached_head_is_refused() {
    let (world, store) = TestRepository::with_project();
    world.git("shop", &["checkout", "-q", "--detach"]);
    let error = publish(&store, &[page("a", "A\n")]).expect_err("no branch");
    assert!(matches!(error, PublishError::DetachedHead), "{error}");
}

#[test]
fn a_branch_that_was_changed_meanwhile_is_refused() {
    let (world, store) = TestRepository::with_project();
    let publisher = store.publisher().expect("git");
    let base = publisher.begin().expect("a branch");
    world.git("shop", &["checkout", "-qb", "other"]);
    let request = PublishRequest {
        changes: &[page("a", "A\n")],
        message: "ktx: a run",
        at: noon(),
    };
    let error = publisher
        .publish(&base, &request)
        .expect_err("another branch");
    assert_eq!(
        error.to_string(),
        "git is on `refs/heads/other` now, and the run began on `refs/heads/main`"
    );
}

#[test]
fn hooks_signing_and_the_callers_git_variables_have_no_effect() {
    use std::os::unix::fs::PermissionsExt as _;
    let (world, store) = TestRepository::with_project();
    world.git("shop", &["config", "commit.gpgsign", "true"]);
    for hook in ["pre-commit", "reference-transaction", "post-index-change"] {
        let path = format!("shop/.git/hooks/{hook}");
        world.write(&path, "#!/bin/sh\ntouch ran-a-hook\nexit 1\n");
        let mode = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(world.path(&path), mode).expect("an executable");
    }
    publish(&store, &[page("a", "A\n")]).expect("a commit");
    assert_eq!(world.read("shop/ran-a-hook"), None);
    assert_eq!(world.read("shop/.git/ran-a-hook"), None);
}

#[test]
fn an_index_that_another_git_holds_is_updated_by_the_next_run() {
    let (world, store) = TestRepository::with_project();
    world.write("shop/.git/index.lock", "");
    let error = publish(&store, &[page("a", "A\n")]).expect_err("the index is locked");
    assert!(matches!(error, PublishError::Index { .. }), "{error}");
    assert_eq!(hints(&error), [remove_lock(&world, "index.lock")]);
    std::fs::remove_file(world.path("shop/.git/index.lock")).expect("it was there");
    store.publisher().expect("git").begin().expect("a branch");
    assert_eq!(world.untidy("shop"), "");
}

#[test]
fn a_locked_branch_is_not_mistaken_for_a_moving_one() {
    let (world, store) = TestRepository::with_project();
    let branch = world.git("shop", &["symbolic-ref", "HEAD"]);
    for name in [format!("{}.lock", branch.trim()), "HEAD.lock".to_owned()] {
        let path = format!("shop/.git/{name}");
        world.write(&path, "");
        let error = publish(&store, &[page("a", "A\n")]).expect_err("the branch is locked");
        assert!(
            matches!(&error, PublishError::Git(GitError::Locked { file }) if file.ends_with(&name)),
            "{error}"
        );
        assert_eq!(hints(&error), [remove_lock(&world, &name)]);
        std::fs::remove_file(world.path(&path)).expect("it was there");
    }
    publish(&store, &[page("a", "A\n")]).expect("a commit");
    assert_eq!(world.untidy("shop"), "");
}

#[test]
fn locks_are_checked_before_a_commit() {
    let (world, store) = TestRepository::with_project();
    let publisher = store.publisher().expect("git");
    let branch = world.git("shop", &["symbolic-ref", "HEAD"]);
    let of_branch = format!("{}.lock", branch.trim());
    for name in ["index.lock", "HEAD.lock", &of_branch] {
        let path = format!("shop/.git/{name}");
        world.write(&path, "");
        let error = publisher.check_writable().expect_err("a lock");
        assert!(
            matches!(&error, PublishError::Git(GitError::Locked { file }) if file.ends_with(name)),
            "{error}"
        );
        assert_eq!(hints(&error), [remove_lock(&world, name)]);
        std::fs::remove_file(world.path(&path)).expect("it was there");
    }
    publisher.check_writable().expect("no lock");
}

/// The check creates nothing.
#[test]
fn folders_that_git_writes_to_are_checked() {
    let (world, store) = TestRepository::with_project();
    let publisher = store.publisher().expect("git");
    let before = world.git("shop", &["count-objects", "-v"]);
    publisher.check_writable().expect("all is writable");
    assert_eq!(world.git("shop", &["count-objects", "-v"]), before);
    assert_eq!(world.untidy("shop"), "");
}

fn hints(error: &PublishError) -> Vec<String> {
    error.hints().iter().map(ToString::to_string).collect()
}

fn remove_lock(world: &TestRepository, name: &str) -> String {
    format!(
        "wait until the other git has ended, or remove `{}` when no git runs in this repository; \
         then run the command again",
        world.path("shop/.git").join(name).display()
    )
}

#[test]
fn the_branch_can_be_asked_for_a_file_and_git_for_the_user() {
    let (world, store) = TestRepository::with_project();
    publish(&store, &[page("a", "A\n")]).expect("a commit");
    world.write("shop/wiki/global/a.md", "mine\n");
    let publisher = store.publisher().expect("git");
    let base = publisher.begin().expect("a base");
    let committed = |path: &str| publisher.committed(&base, &at(path)).expect("an answer");
    assert_eq!(committed("wiki/global/a.md"), Some(b"A\n".to_vec()));
    assert_eq!(committed("wiki/global/b.md"), None);
    assert_eq!(
        publisher.user_name().expect("an answer").as_deref(),
        Some("Ada")
    );
}

/// Pipelines name the author in variables, which git prefers to its settings.
#[test]
fn variables_name_the_author_and_the_committer() {
    let (world, _) = TestRepository::with_project();
    let said = [
        ("GIT_AUTHOR_NAME", "Grace\n<x>"),
        ("GIT_AUTHOR_EMAIL", "grace@example.com"),
        ("GIT_COMMITTER_NAME", "Pipeline"),
        ("GIT_COMMITTER_EMAIL", ""),
    ];
    let said = said.map(|(name, value)| (name.into(), value.into()));
    let environment = world.environment().all().clone();
    let environment = Environment::from_pairs(environment.into_iter().chain(said));
    let store =
        Store::open(&world.path("shop"), environment, Failpoints::none()).expect("a project");
    publish(&store, &[page("a", "A\n")]).expect("a commit");
    assert_eq!(
        world.git("shop", &["log", "-1", "--format=%an <%ae> %cn <%ce>"]),
        "Gracex <grace@example.com> Pipeline <ada@example.com>\n"
    );
    let publisher = store.publisher().expect("git");
    assert_eq!(
        publisher.user_name().expect("an answer").as_deref(),
        Some("Gracex")
    );
}
