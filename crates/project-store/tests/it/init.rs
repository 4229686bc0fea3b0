//! Tests of new projects.

use ktx_diagnostics::{Hints as _, chain};
use ktx_project_store::{Failpoints, Force, InitError, init};

use crate::world::{TestRepository, noon};

#[track_caller]
fn refused(
    result: Result<ktx_project_store::Initialized, InitError>,
    world: &TestRepository,
) -> String {
    let error = result.expect_err("it is refused");
    let hints: Vec<String> = error
        .hints()
        .iter()
        .map(|hint| format!("hint: {hint}"))
        .collect();
    let text = [chain(&error), hints].concat().join("\n");
    text.replace(&world.path("").display().to_string(), "")
}

#[test]
fn a_new_project_is_one_commit_of_the_scaffold_with_the_user_as_its_author() {
    let (world, store) = TestRepository::with_project();
    assert_eq!(
        world.git("shop", &["log", "--format=%an <%ae>|%cn|%cI|%B"]),
        "Ada <ada@example.com>|Ada|2026-03-01T12:00:00Z|Initialize ktx project: shop\n\n"
    );
    assert_eq!(
        world.git("shop", &["ls-files"]),
        ".ktx/.gitignore\n.ktx/prompts/.gitkeep\n.ktx/skills/.gitkeep\nktx.yaml\nraw-sources/.gitkeep\nsemantic-layer/.gitkeep\nwiki/global/.gitkeep\n"
    );
    assert_eq!(world.untidy("shop"), "");
    let config = store.config().expect("a good file");
    assert_eq!(
        (config.project, config.warnings),
        (ktx_config::Project::defaults(), Vec::new())
    );
}

#[test]
fn local_files_never_dirty_the_tree() {
    let (world, store) = TestRepository::with_project();
    drop(store.state().expect("a database"));
    drop(
        store
            .lock(
                "ktx scan",
                jiff::Timestamp::UNIX_EPOCH,
                ktx_project_store::Wait::No,
            )
            .expect("the lock"),
    );
    for local in [
        ".ktx/mcp.json",
        ".ktx/logs/mcp.log",
        ".ktx/worktrees/a/b",
        ".ktx/runtime/daemon.json",
        ".ktx/secrets/key",
        ".ktx/db.sqlite-wal",
        ".ktx/ingest-traces/x/trace.jsonl",
    ] {
        world.write(&format!("shop/{local}"), "x");
    }
    assert_eq!(world.untidy("shop"), "");
}

#[test]
fn without_an_identity_ktx_signs_itself() {
    let world = TestRepository::new();
    world.init("shop").expect("a project");
    assert_eq!(
        world.git("shop", &["log", "--format=%an <%ae>"]),
        "ktx <ktx@localhost>\n"
    );
}

#[test]
fn an_existing_project_is_refused_and_force_adds_what_is_missing() {
    let (world, _) = TestRepository::with_project();
    assert_eq!(
        refused(world.init("shop"), &world),
        "`shop` is a ktx project already\nhint: use `--force` to add the missing files"
    );
    world.write("shop/ktx.yaml", "# mine\nconnections: {}\n");
    world.write("shop/.ktx/.gitignore", "cache/\nmine\n");
    world.git("shop", &["commit", "-qam", "mine"]);
    let again = init(
        &world.path("shop"),
        Force::Yes,
        noon(),
        &world.environment(),
        &Failpoints::none(),
    );
    let again = again.expect("it is made whole");
    assert!(again.commit.is_some());
    assert_eq!(
        world.read("shop/ktx.yaml").as_deref(),
        Some("# mine\nconnections: {}\n")
    );
    assert!(
        world
            .read("shop/.ktx/.gitignore")
            .expect("it is there")
            .starts_with("cache/\nmine\ndb.sqlite\n")
    );
    assert_eq!(world.untidy("shop"), "");
}

#[test]
fn a_foreign_repository_is_refused_and_force_uses_it() {
    let world = TestRepository::new();
    world.write("app/main.c", "int main;\n");
    world.git("app", &["init", "-q"]);
    assert_eq!(
        refused(world.init("app"), &world),
        "`app` is a git repository that is not a ktx project\n\
         hint: use a separate folder inside the repository, such as `ktx/`\n\
         hint: or use `--force` to make the repository itself the project"
    );
    assert_eq!(world.read("app/ktx.yaml"), None);
    init(
        &world.path("app"),
        Force::Yes,
        noon(),
        &world.environment(),
        &Failpoints::none(),
    )
    .expect("a project");
    assert_eq!(world.untidy("app"), "?? main.c\n");
}

#[test]
fn a_folder_inside_a_repository_becomes_a_part_of_it() {
    let world = TestRepository::new();
    world.write("app/main.c", "int main;\n");
    world.git("app", &["init", "-q"]);
    world.git("app", &["add", "main.c"]);
    world.init("app/data/ktx").expect("a project");
    assert!(!world.path("app/data/ktx/.git").exists());
    assert_eq!(world.untidy("app"), "A  main.c\n");
    assert_eq!(
        world.git("app", &["ls-tree", "-r", "--name-only", "HEAD"]),
        "data/ktx/.ktx/.gitignore\ndata/ktx/.ktx/prompts/.gitkeep\ndata/ktx/.ktx/skills/.gitkeep\ndata/ktx/ktx.yaml\ndata/ktx/raw-sources/.gitkeep\ndata/ktx/semantic-layer/.gitkeep\ndata/ktx/wiki/global/.gitkeep\n"
    );
}

#[test]
fn a_folder_that_the_repository_around_it_ignores_gets_its_own() {
    let world = TestRepository::new();
    world.write("dotfiles/.gitignore", "*\n");
    world.git("dotfiles", &["init", "-q"]);
    world.init("dotfiles/shop").expect("a project");
    assert!(world.path("dotfiles/shop/.git").is_dir());
    assert_eq!(world.untidy("dotfiles/shop"), "");
}

#[test]
fn without_git_nothing_is_written() {
    let world = TestRepository::new();
    let environment = ktx_config::Environment::from_pairs([("PATH", "/nowhere")]);
    let result = init(
        &world.path("shop"),
        Force::No,
        noon(),
        &environment,
        &Failpoints::none(),
    );
    assert_eq!(
        refused(result, &world),
        "`git` is not installed\nhint: install git and put it on `PATH`"
    );
    assert_eq!(
        std::fs::read_dir(world.path("shop"))
            .expect("a folder")
            .count(),
        0
    );
}

#[test]
fn an_old_git_is_refused() {
    use std::os::unix::fs::PermissionsExt as _;
    let world = TestRepository::new();
    world.write("bin/git", "#!/bin/sh\necho git version 2.11.4\n");
    let mode = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(world.path("bin/git"), mode).expect("an executable");
    let environment = ktx_config::Environment::from_pairs([("PATH", world.path("bin"))]);
    let result = init(
        &world.path("shop"),
        Force::No,
        noon(),
        &environment,
        &Failpoints::none(),
    );
    assert_eq!(
        refused(result, &world),
        "`git` 2.11.4 is too old: ktx needs 2.20\nhint: install a newer git"
    );
}

#[test]
fn a_folder_that_cannot_be_written_is_a_clear_error() {
    let world = TestRepository::new();
    world.write("file", "in the way");
    let result = init(
        &world.path("file/shop"),
        Force::No,
        noon(),
        &world.environment(),
        &Failpoints::none(),
    );
    assert_eq!(
        refused(result, &world),
        "cannot make a project in `file/shop`\ncannot write `file/shop`\nNot a directory (os error 20)"
    );
}

#[test]
fn secrets_are_private_and_not_in_git() {
    use std::os::unix::fs::PermissionsExt as _;
    let (world, store) = TestRepository::with_project();
    let secret = ktx_secrets::Secret::new("hunter2");
    let reference = store
        .write_secret(&crate::world::at("warehouse-url"), &secret)
        .expect("kept");
    assert_eq!(reference, "file:.ktx/secrets/warehouse-url");
    let path = world.path("shop/.ktx/secrets/warehouse-url");
    let mode = std::fs::metadata(path)
        .expect("it is there")
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o600);
    assert_eq!(
        world.read("shop/.ktx/secrets/warehouse-url").as_deref(),
        Some("hunter2\n")
    );
    assert_eq!(world.untidy("shop"), "");
}

#[test]
fn a_secret_stored_again_becomes_private() {
    use std::fs::Permissions;
    use std::os::unix::fs::PermissionsExt as _;
    let (world, store) = TestRepository::with_project();
    let name = crate::world::at("warehouse-url");
    let (folder, path) = (
        world.path("shop/.ktx/secrets"),
        world.path("shop/.ktx/secrets/warehouse-url"),
    );
    for text in ["hunter2", "hunter2", "hunter3"] {
        store
            .write_secret(&name, &ktx_secrets::Secret::new(text))
            .expect("kept");
        let modes = [&folder, &path].map(|path| {
            let found = std::fs::metadata(path).expect("it is there");
            found.permissions().mode() & 0o777
        });
        assert_eq!(modes, [0o700, 0o600], "{text}");
        std::fs::set_permissions(&path, Permissions::from_mode(0o644)).expect("a mode");
        std::fs::set_permissions(&folder, Permissions::from_mode(0o755)).expect("a mode");
    }
}
