//! Tests obstacles of a publish.

use std::os::unix::fs::symlink;

use ktx_config::Environment;
use ktx_diagnostics::Hints as _;
use ktx_project_store::{Change, Failpoints, PublishError, SkipReason, SkippedFile, Store};

use crate::world::{TestRepository, at, publish};

fn page(name: &str, text: &str) -> Change {
    Change::write(at(&format!("wiki/global/{name}.md")), text)
}

fn open(world: &TestRepository, name: &str) -> Store {
    let environment: Environment = world.environment();
    Store::open(&world.path(name), environment, Failpoints::none()).expect("a project")
}

fn described(error: &PublishError, world: &TestRepository) -> String {
    let root = world.path("").canonicalize().expect("a folder");
    let mut lines = vec![error.to_string()];
    lines.extend(error.hints().iter().map(ToString::to_string));
    let place = format!("{}/", root.display());
    lines.join("\n").replace(&place, "")
}

#[test]
fn a_link_on_the_disk_is_not_written_through() {
    let (world, store) = TestRepository::with_project();
    publish(&store, &[page("a", "A\n")]).expect("a commit");
    let head = world.git("shop", &["rev-parse", "HEAD"]);
    std::fs::rename(world.path("shop/wiki/global"), world.path("outside")).expect("moved");
    symlink(world.path("outside"), world.path("shop/wiki/global")).expect("a link");
    let error = publish(&store, &[page("a", "B\n")]).expect_err("a link");
    assert_eq!(
        described(&error, &world),
        "`wiki/global` is not an ordinary folder\n\
         make `wiki/global` an ordinary folder and commit that, then run the command again"
    );
    assert_eq!(world.git("shop", &["rev-parse", "HEAD"]), head);
    assert_eq!(world.read("outside/a.md").as_deref(), Some("A\n"));
}

#[test]
fn a_link_that_is_committed_is_not_replaced_by_a_folder() {
    let (world, store) = TestRepository::with_project();
    std::fs::rename(world.path("shop/wiki"), world.path("outside")).expect("moved");
    symlink(world.path("outside"), world.path("shop/wiki")).expect("a link");
    world.git("shop", &["add", "-A"]);
    world.git("shop", &["commit", "-qm", "mine"]);
    let before = world.git("shop", &["ls-tree", "-r", "HEAD"]);
    for on_disk in ["a link", "nothing"] {
        let error = publish(&store, &[page("a", "A\n")]).expect_err(on_disk);
        assert_eq!(
            error.to_string(),
            "`wiki` is not an ordinary folder",
            "{on_disk}"
        );
        assert_eq!(world.git("shop", &["ls-tree", "-r", "HEAD"]), before);
        if on_disk == "a link" {
            std::fs::remove_file(world.path("shop/wiki")).expect("it was there");
        }
    }
    assert_eq!(world.git("shop", &["ls-files", "wiki"]), "wiki\n");
}

#[test]
fn a_file_replaced_by_a_folder_in_the_same_commit_is_allowed() {
    let (world, store) = TestRepository::with_project();
    publish(&store, &[Change::write(at("notes"), "1\n")]).expect("a commit");
    let within = Change::write(at("notes/a.md"), "2\n");
    let error = publish(&store, std::slice::from_ref(&within)).expect_err("a file");
    assert_eq!(error.to_string(), "`notes` is not an ordinary folder");
    let published = publish(&store, &[Change::delete(at("notes")), within]).expect("a commit");
    assert_eq!(published.skipped, []);
    assert_eq!(world.read("shop/notes/a.md").as_deref(), Some("2\n"));
    assert_eq!(world.untidy("shop"), "");
}

#[test]
fn a_file_of_the_user_in_place_of_a_folder_is_named() {
    let (world, store) = TestRepository::with_project();
    let head = world.git("shop", &["rev-parse", "HEAD"]);
    world.write("shop/notes", "mine\n");
    let change = Change::write(at("notes/a.md"), "1\n");
    let error = publish(&store, &[change]).expect_err("a file in the way");
    assert_eq!(
        described(&error, &world),
        "`notes` is not an ordinary folder\n\
         make `notes` an ordinary folder and commit that, then run the command again"
    );
    assert_eq!(world.git("shop", &["rev-parse", "HEAD"]), head);
    assert_eq!(world.read("shop/notes").as_deref(), Some("mine\n"));
}

#[test]
fn a_repository_that_git_cannot_use_gets_no_other_one_inside() {
    type DamageFunction = fn(&TestRepository);
    let damages: [(DamageFunction, &str); 3] = [
        (
            |world| {
                std::fs::rename(world.path("app/.git"), world.path("moved")).expect("moved");
                world.write("app/.git", "gitdir: nowhere\n");
            },
            "not a git repository: app/nowhere",
        ),
        (
            |world| std::fs::remove_file(world.path("app/.git/HEAD")).expect("it was there"),
            "not a git repository",
        ),
        (
            |world| {
                let text = "[core]\n\trepositoryformatversion = 99\n";
                world.write("app/.git/config", text);
            },
            "repo version",
        ),
    ];
    for (damage, said) in damages {
        let (world, _) = TestRepository::with_project();
        world.init("app").expect("a project");
        world.write("app/data/ktx.yaml", "connections: {}\n");
        damage(&world);
        let store = open(&world, "app/data");
        let error = store.publisher().expect_err("a broken repository");
        let described = described(&error, &world);
        assert!(
            described.starts_with("git cannot use the repository of `app/.git`: fatal: "),
            "{described}"
        );
        assert!(described.to_lowercase().contains(said), "{described}");
        assert!(
            described.ends_with(
                "\nrun `git status` in `app`, repair what it names, then run the command again"
            ),
            "{described}"
        );
        assert!(!world.path("app/data/.git").exists(), "{described}");
        let refused = store.history().expect_err("a broken repository");
        assert_eq!(refused.to_string(), error.to_string());
    }
}

#[test]
fn a_sparse_checkout_stays_sparse() {
    let (world, store) = TestRepository::with_project();
    let change = |text: &str| Change::write(at("raw-sources/a.json"), text);
    publish(&store, &[change("1\n"), page("a", "1\n")]).expect("a commit");
    // Git excludes only files whose status it has refreshed.
    world.git("shop", &["status"]);
    world.git(
        "shop",
        &[
            "sparse-checkout",
            "set",
            "--no-cone",
            "/*",
            "!/raw-sources/",
        ],
    );
    assert_eq!(world.read("shop/raw-sources/a.json"), None);
    let published = publish(&store, &[change("2\n"), page("a", "2\n")]).expect("a commit");
    assert_eq!(published.skipped, []);
    assert_eq!(
        world.git("shop", &["show", "HEAD:raw-sources/a.json"]),
        "2\n"
    );
    assert_eq!(world.read("shop/raw-sources/a.json"), None);
    assert_eq!(world.read("shop/wiki/global/a.md").as_deref(), Some("2\n"));
    assert_eq!(
        world.git("shop", &["ls-files", "-t", "raw-sources", "wiki"]),
        "S raw-sources/.gitkeep\nS raw-sources/a.json\nH wiki/global/.gitkeep\nH wiki/global/a.md\n"
    );
    assert_eq!(world.untidy("shop"), "");
}

/// A publish that is killed within its index update leaves a file without its skip-worktree mark;
/// the record restores it.
#[test]
fn a_sparse_checkout_stays_sparse_after_a_kill() {
    let (world, store) = TestRepository::with_project();
    let change = |text: &str| Change::write(at("raw-sources/a.json"), text);
    publish(&store, &[change("1\n")]).expect("a commit");
    let flag = |flag: &str| world.git("shop", &["update-index", flag, "raw-sources/a.json"]);
    flag("--skip-worktree");
    std::fs::remove_file(world.path("shop/raw-sources/a.json")).expect("it was there");
    world.write("shop/.git/index.lock", "");
    publish(&store, &[change("2\n")]).expect_err("the index is locked");
    std::fs::remove_file(world.path("shop/.git/index.lock")).expect("it was there");
    flag("--no-skip-worktree");
    store.publisher().expect("git").begin().expect("a branch");
    assert_eq!(
        world.git("shop", &["ls-files", "-t", "raw-sources"]),
        "H raw-sources/.gitkeep\nS raw-sources/a.json\n"
    );
    assert_eq!(world.untidy("shop"), "");
}

/// The filter acts as a user who saves files while git reads the last one.
#[test]
fn an_edit_that_is_saved_during_a_publish_is_kept() {
    let (world, store) = TestRepository::with_project();
    let names = ["edited", "gone", "new", "still", "z"];
    let old: Vec<Change> = ["edited", "gone", "still", "z"]
        .iter()
        .map(|name| page(name, "1\n"))
        .collect();
    publish(&store, &old).expect("a commit");
    world.write(
        "shop/.git/info/attributes",
        "wiki/global/z.md filter=late\n",
    );
    let clean = "cat; cd wiki/global; for file in edited gone new; do echo mine > $file.md; done";
    world.git("shop", &["config", "filter.late.clean", clean]);
    let changes = names.map(|name| match name {
        "gone" => Change::delete(at("wiki/global/gone.md")),
        name => page(name, "2\n"),
    });
    let published = publish(&store, &changes).expect("a commit");
    let left = ["edited", "gone", "new"].map(|name| SkippedFile {
        path: at(&format!("wiki/global/{name}.md")),
        reason: SkipReason::Changed,
    });
    assert_eq!(published.skipped, left);
    let found = names.map(|name| {
        world
            .read(&format!("shop/wiki/global/{name}.md"))
            .unwrap_or_default()
    });
    assert_eq!(found, ["mine\n", "mine\n", "mine\n", "2\n", "2\n"]);
    assert!(!world.path("shop/.ktx/state/publish.json").exists());
}

#[test]
fn a_lock_left_by_a_killed_publish_is_removed_and_reported() {
    let (world, store) = TestRepository::with_project();
    publish(&store, &[page("a", "A\n")]).expect("a commit");
    let locks = ["index", "HEAD", "refs/heads/main"].map(|name| format!("shop/.git/{name}.lock"));
    // A killed publish leaves its record.
    let record = "shop/.ktx/state/publish.json";
    let unfinished = || world.write(record, r#"{"files":[]}"#);
    let left = || {
        let there = locks.iter().filter(|lock| world.path(lock).exists());
        there.cloned().collect::<Vec<String>>()
    };

    // Without the record, the owner of the locks is unknown.
    world.write(&locks[0], "");
    let publisher = store.publisher().expect("git");
    publisher.begin().expect("a branch");
    assert_eq!(
        (left(), publisher.removed_locks()),
        (vec![locks[0].clone()], vec![])
    );

    // The lock is older than the publish.
    std::thread::sleep(std::time::Duration::from_millis(20));
    unfinished();
    publisher.begin().expect("a branch");
    assert_eq!(left(), [locks[0].clone()]);
    std::fs::remove_file(world.path(&locks[0])).expect("the lock");

    // A running git may hold them.
    unfinished();
    for lock in &locks {
        world.write(lock, "");
    }
    let mut git = std::process::Command::new("git")
        .args(["cat-file", "--batch"])
        .current_dir(world.path("shop"))
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::null())
        .spawn()
        .expect("git");
    publisher.begin().expect("a branch");
    let there = left();
    drop(git.stdin.take());
    git.wait().expect("it ends");
    assert_eq!(there, locks);

    unfinished();
    for lock in &locks {
        world.write(lock, "");
    }
    publisher.begin().expect("a branch");
    let root = world.path("shop").canonicalize().expect("a folder");
    let removed: Vec<String> = publisher
        .removed_locks()
        .iter()
        .map(|file| {
            file.strip_prefix(&root)
                .expect("inside")
                .display()
                .to_string()
        })
        .collect();
    assert_eq!(
        removed,
        locks.clone().map(|lock| lock["shop/".len()..].to_owned())
    );
    assert_eq!((left(), world.untidy("shop")), (vec![], String::new()));
    publish(&store, &[page("a", "B\n")]).expect("a commit");
}
