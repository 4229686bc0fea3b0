//! Counts the git processes of a run.

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use ktx_config::Environment;

use crate::world::{World, a_page_each, source};

const MOST_PER_UNIT: usize = 15;

fn noting(folder: &Path) -> String {
    let path = Environment::from_process()
        .get("PATH")
        .expect("a path")
        .to_owned();
    let real = std::env::split_paths(&path).map(|folder| folder.join("git"));
    let real = real.into_iter().find(|file| file.exists()).expect("git");
    let bin = folder.join("bin");
    std::fs::create_dir(&bin).expect("a folder");
    let script = format!(
        "#!/bin/sh\necho \"$*\" >> '{}'\nexec '{}' \"$@\"\n",
        folder.join("log").display(),
        real.display()
    );
    let git = bin.join("git");
    std::fs::write(&git, script).expect("a file");
    let executable = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(&git, executable).expect("a permission");
    format!("{}:{path}", bin.display())
}

async fn commands(units: usize) -> BTreeMap<String, usize> {
    let world = World::with_path(noting);
    std::fs::write(world.path("log"), "").expect("a file");
    let keys: Vec<String> = (0..units).map(|index| format!("unit{index}")).collect();
    let keys: Vec<&str> = keys.iter().map(String::as_str).collect();
    assert!(
        world
            .run(source(&keys), a_page_each)
            .await
            .report
            .is_whole()
    );
    let log = std::fs::read_to_string(world.path("log")).expect("the log");
    let mut counts = BTreeMap::new();
    for line in log.lines() {
        let mut words = line
            .split(' ')
            .skip_while(|word| word.starts_with('-') || word.contains('/') || word.contains('='));
        let command = words.next().unwrap_or_default();
        let what = match command {
            "log" if line.contains("--grep") => "log --grep",
            "ls-tree" if line.contains("wiki/global") => "ls-tree wiki/global",
            command => command,
        };
        *counts.entry(what.to_owned()).or_default() += 1;
    }
    counts
}

/// Each further unit costs the same few processes, however many pages and commits there are.
#[tokio::test]
async fn a_run_reads_pages_and_history_once() {
    let (few, many) = (commands(2).await, commands(6).await);
    for what in ["log --grep", "ls-tree wiki/global"] {
        assert_eq!(
            (few.get(what), many.get(what)),
            (Some(&1), Some(&1)),
            "{what}"
        );
    }
    let processes = |counts: &BTreeMap<String, usize>| counts.values().sum::<usize>();
    let further = processes(&many) - processes(&few);
    assert!(further <= 4 * MOST_PER_UNIT, "{few:?}\n{many:?}");
}
