//! What stands in the way of a publish: sparse trees, late edits.

use ktx_project_store::{Change, SkipReason, Skipped};

use crate::world::{World, at, publish};

fn page(name: &str, text: &str) -> Change {
    Change::write(at(&format!("wiki/global/{name}.md")), text)
}

/// A file of the user where a folder is needed does not keep the project from being published.
#[test]
fn a_file_of_the_user_in_place_of_a_folder_is_left() {
    let (world, store) = World::with_project();
    world.write("shop/notes", "mine\n");
    let change = Change::write(at("notes/a.md"), "1\n");
    let published = publish(&store, &[change]).expect("a commit");
    assert_eq!(
        published.skipped,
        [Skipped {
            path: at("notes/a.md"),
            reason: SkipReason::Changed
        }]
    );
    assert_eq!(world.read("shop/notes").as_deref(), Some("mine\n"));
}

/// What a sparse checkout leaves out is neither written nor missing, and stays left out.
#[test]
fn a_sparse_checkout_stays_sparse() {
    let (world, store) = World::with_project();
    let change = |text: &str| Change::write(at("raw-sources/a.json"), text);
    publish(&store, &[change("1\n"), page("a", "1\n")]).expect("a commit");
    // Git leaves no file out that it has not looked at.
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

/// Killed between the two halves of its work on the index, a publish leaves such a file to git as one
/// that it looks for; the record says that it was none.
#[test]
fn a_sparse_checkout_stays_sparse_after_a_kill() {
    let (world, store) = World::with_project();
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

/// The filter plays a user who saves files while git looks at the last one.
#[test]
fn an_edit_that_is_saved_during_a_publish_is_kept() {
    let (world, store) = World::with_project();
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
    let left = ["edited", "gone", "new"].map(|name| Skipped {
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
