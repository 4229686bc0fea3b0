//! Random kills of a run with a scripted model, each followed by a resume: no file is half-written, no
//! finished unit or verdict is paid twice, and the files of a person stay as they are.
//!
//! A process of its own runs the engine. It ends as if killed before or after one of its git processes,
//! at an event, when it asks the model, or at a named step.

use std::collections::BTreeSet;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Command, Output};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use ktx_config::Environment;
use ktx_context_sources::Source;
use ktx_llm_runtime::Reply;
use ktx_project_store::Failpoints;
use ktx_test_support::random::Random;
use serde_json::json;

use crate::world::{World, calls, is_reconciliation, source, unit_of};

/// Kills of each of the tests; `KTX_TEST_KILLS` sets another number for all of them together.
const KILLS: usize = 25;

const TESTS: usize = 4;

const STEPS: [&str; 6] = [
    "memory:captured",
    "publish:before-import",
    "publish:after-import",
    "publish:after-index",
    "publish:between-files",
    "publish:after-files",
];

const CHILD: &str = "kills::a_process_that_is_killed";

const FOLDER: &str = "KTX_TEST_KILL_FOLDER";

#[test]
fn units_one_after_another_survive_kills() {
    survives(1, 1);
}

#[test]
fn more_units_one_after_another_survive_kills() {
    survives(2, 1);
}

#[test]
fn units_at_the_same_time_survive_kills() {
    survives(3, 3);
}

#[test]
fn more_units_at_the_same_time_survive_kills() {
    survives(4, 3);
}

/// When the process is to end.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Plan {
    kind: &'static str,
    /// From 1; of a step, its place in the list.
    at: usize,
    round: usize,
    concurrency: u32,
}

impl Plan {
    fn random(random: &mut Random, round: usize, concurrency: u32) -> Self {
        let (kind, end) = *random.pick(&[
            ("before", 70),
            ("after", 70),
            ("before", 70),
            ("after", 70),
            ("event", 12),
            ("prompt", 6),
            ("step", STEPS.len()),
        ]);
        Self {
            kind,
            at: random.below(end) + 1,
            round,
            concurrency,
        }
    }
}

fn survives(seed: u64, concurrency: u32) {
    let wanted = Environment::from_process();
    let wanted = wanted.get("KTX_TEST_KILLS").map(str::parse::<usize>);
    let wanted = wanted.map_or(KILLS, |count| count.expect("a number") / TESTS);
    let mut random = Random::new(seed);
    let world = prepared();
    let (mut kills, mut round) = (0, 1);
    // Files are gone from the second round on.
    while kills < wanted || round < 3 {
        let plan = Plan::random(&mut random, round, concurrency);
        let finished = finished(&world);
        let before = log(&world).len();
        let output = child(&world, &plan);
        let again: Vec<String> = log(&world).split_off(before);
        let paid_twice: Vec<&String> = again
            .iter()
            .filter(|what| finished.contains(*what))
            .collect();
        assert!(paid_twice.is_empty(), "{plan:?}: {paid_twice:?}");
        check_files(&world, &plan);
        match output.status.code() {
            None => kills += 1,
            Some(0) => {
                check_end(&world, round, &plan);
                round += 1;
            }
            Some(code) => assert_eq!(code, 0, "{plan:?}: {output:?}"),
        }
    }
    // The last one resumes to the end.
    let plan = Plan {
        kind: "never",
        at: 0,
        round,
        concurrency,
    };
    let output = child(&world, &plan);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    check_end(&world, round, &plan);
}

const MINE: &str = "---\nsummary: Mine.\n---\n\nWhat a person wrote.\n";

fn prepared() -> World {
    let world = World::with_path(counting);
    let shop = world.path("shop");
    std::fs::create_dir_all(shop.join("wiki/global")).expect("a folder");
    std::fs::write(shop.join("wiki/global/mine.md"), MINE).expect("a page");
    git(&world, &["add", "--all"]);
    world.commit_all("mine");
    std::fs::write(shop.join("wiki/global/mine.md"), format!("{MINE}\nMore.\n")).expect("a page");
    std::fs::write(shop.join("scratch.txt"), "not for git\n").expect("a file");
    std::fs::write(world.path("asked"), "").expect("a file");
    world
}

/// Writes a git that kills its parent at the planned call.
fn counting(folder: &Path) -> String {
    let path = Environment::from_process();
    let path = path.get("PATH").expect("a path").to_owned();
    let real = std::env::split_paths(&path).map(|folder| folder.join("git"));
    let real = real.into_iter().find(|file| file.exists()).expect("git");
    let bin = folder.join("bin");
    std::fs::create_dir(&bin).expect("a folder");
    let script = format!(
        "#!/bin/sh\nread count < '{counter}'\ncount=$((count + 1))\necho $count > '{counter}'\n\
         read kind at < '{plan}'\n\
         if [ \"$count\" = \"$at\" ]; then\n  if [ $kind = before ]; then kill -9 $PPID; exit 1; fi\n  \
         if [ $kind = after ]; then '{real}' \"$@\"; kill -9 $PPID; exit 1; fi\nfi\nexec '{real}' \"$@\"\n",
        counter = folder.join("count").display(),
        plan = folder.join("plan").display(),
        real = real.display()
    );
    let git = bin.join("git");
    std::fs::write(&git, script).expect("a file");
    let executable = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(&git, executable).expect("a permission");
    std::fs::write(folder.join("count"), "0\n").expect("a file");
    std::fs::write(folder.join("plan"), "never 0\n").expect("a file");
    format!("{}:{path}", bin.display())
}

fn child(world: &World, plan: &Plan) -> Output {
    std::fs::write(world.path("count"), "0\n").expect("a file");
    std::fs::write(world.path("plan"), format!("{} {}\n", plan.kind, plan.at)).expect("a file");
    let tests = std::env::current_exe().expect("the tests");
    let mut child = Command::new(tests);
    child
        .args(["--exact", CHILD, "--nocapture"])
        .env(FOLDER, world.path(""))
        .env("KTX_TEST_KILL_ROUND", plan.round.to_string())
        .env("KTX_TEST_KILL_CONCURRENCY", plan.concurrency.to_string());
    child.output().expect("a child")
}

/// The other tests start this one as a process of its own and kill it.
#[tokio::test]
async fn a_process_that_is_killed() {
    let environment = Environment::from_process();
    let Some(folder) = environment.get(FOLDER) else {
        return;
    };
    let number = |name: &str| environment.get(name).expect("a number").parse::<usize>();
    let round = number("KTX_TEST_KILL_ROUND").expect("a number");
    let concurrency = number("KTX_TEST_KILL_CONCURRENCY").expect("a number");
    let folder = Path::new(folder);
    let plan = std::fs::read_to_string(folder.join("plan")).expect("a plan");
    let (kind, at) = plan.trim().split_once(' ').expect("a plan");
    let at: usize = at.parse().expect("a number");
    let step = (kind == "step").then(|| STEPS[at - 1]);
    let path = environment.get("PATH").expect("a path");
    let path = format!("{}:{path}", folder.join("bin").display());
    let mut world = World::again(folder, path, Failpoints::kill_at(step));
    world.concurrency = u32::try_from(concurrency).expect("a small number");
    let ends_at = |what: &str| Countdown::new(if kind == what { at } else { 0 });
    let (events, prompts) = (ends_at("event"), ends_at("prompt"));
    let asked = folder.join("asked");
    let answer = move |prompt: &str| {
        note(&asked, prompt);
        prompts.count();
        answer(prompt)
    };
    let count_event = move |_: &ktx_ingest::Event| {
        events.count();
        false
    };
    let ran = world.run_until(of_round(round), answer, count_event).await;
    assert!(ran.report.is_whole(), "{:?}", ran.report);
}

/// Kills this process at the given call; never if it is 0.
#[derive(Clone)]
struct Countdown {
    at: usize,
    calls: Arc<AtomicUsize>,
}

impl Countdown {
    fn new(at: usize) -> Self {
        Self {
            at,
            calls: Arc::default(),
        }
    }

    fn count(&self) {
        if self.calls.fetch_add(1, Ordering::SeqCst) + 1 == self.at {
            Failpoints::kill_at(Some("now")).reached("now");
        }
    }
}

/// Each round brings three units and loses two of the one before.
fn of_round(round: usize) -> Source {
    let mut keys: Vec<String> = ["a", "b", "c"]
        .map(|unit| format!("{unit}{round}"))
        .to_vec();
    if round > 1 {
        keys.push(format!("c{}", round - 1));
    }
    let keys: Vec<&str> = keys.iter().map(String::as_str).collect();
    source(&keys)
}

fn line(unit: &str) -> String {
    format!("The unit {unit} counts orders.")
}

fn answer(prompt: &str) -> Option<Reply> {
    if let Some(unit) = unit_of(prompt) {
        let (kind, round) = unit.split_at(1);
        let page = |key: String, content: String| {
            let input = json!({ "key": key, "summary": "What it is.", "content": content });
            ("wiki_write".to_owned(), input)
        };
        let mut pages = vec![page(format!("of-{unit}"), line(&unit))];
        let shared = format!("shared-{round}");
        if kind != "b" {
            let is_there = prompt.contains(&format!("- {shared}: "));
            let content = if is_there {
                format!(
                    "{}\n\n{}",
                    line(&format!("a{round}")),
                    line(&format!("c{round}"))
                )
            } else {
                line(&unit)
            };
            pages.push(page(shared, content));
        }
        return Some(calls(pages));
    }
    if prompt.starts_with("Verdicts for the source") {
        let verdicts = things(prompt).enumerate().map(|(index, _)| {
            json!({
                "thing": index + 1, "verdict": "rewrite", "reason": "Only the missing file said it.",
                "lines": gone_lines(prompt, index + 1),
            })
        });
        let verdicts: Vec<_> = verdicts.collect();
        return Some(Reply::Object(json!({ "verdicts": verdicts })));
    }
    is_reconciliation(prompt).then(|| calls([]))
}

fn things(prompt: &str) -> impl Iterator<Item = &str> {
    let lines = prompt.lines().filter(|line| line.starts_with("Thing "));
    lines.filter_map(|line| line.split_once(": page ")?.1.split('.').next())
}

/// The numbered lines of the body that a unit `a` has written.
fn gone_lines(prompt: &str, thing: usize) -> Vec<serde_json::Value> {
    let part = prompt.split("\nThing ").nth(thing).unwrap_or_default();
    let lines = part.lines().filter_map(|line| {
        let (number, text) = line.split_once('|')?;
        let number: usize = number.trim().parse().ok()?;
        text.contains("The unit a")
            .then(|| json!({ "line": number }))
    });
    lines.collect()
}

/// Notes what is paid for.
fn note(asked: &Path, prompt: &str) {
    let mut lines = String::new();
    if let Some(unit) = unit_of(prompt) {
        lines = format!("unit {unit}\n");
    } else if prompt.starts_with("Verdicts for the source") {
        for page in things(prompt) {
            lines = format!("{lines}verdict {page}\n");
        }
    }
    let before = std::fs::read_to_string(asked).expect("the file");
    std::fs::write(asked, before + &lines).expect("the file");
}

fn log(world: &World) -> Vec<String> {
    let asked = std::fs::read_to_string(world.path("asked")).expect("the file");
    asked.lines().map(str::to_owned).collect()
}

fn git(world: &World, arguments: &[&str]) -> String {
    let output = Command::new("git")
        .current_dir(world.path("shop"))
        .env("HOME", world.path("home"))
        .args(arguments)
        .output()
        .expect("git");
    assert!(output.status.success(), "{arguments:?}: {output:?}");
    String::from_utf8(output.stdout).expect("text")
}

/// What is committed, and must not be asked again.
fn finished(world: &World) -> BTreeSet<String> {
    let titles = git(world, &["log", "--format=%s", "--grep=^ktx-unit: "]);
    let units = titles.lines();
    let units = units.filter_map(|title| title.strip_prefix("ktx ingest: shop-dbt "));
    let mut finished: BTreeSet<String> = units.map(|unit| format!("unit {unit}")).collect();
    let verdicts = git(
        world,
        &["ls-tree", "-r", "--name-only", "HEAD", "raw-sources"],
    );
    let verdicts = verdicts.lines().filter_map(|path| {
        let (_, page) = path.split_once("/verdicts/page-")?;
        page.strip_suffix(".json")
    });
    finished.extend(verdicts.map(|page| format!("verdict {page}")));
    finished
}

/// After a kill, each file is the whole file of some moment, and what a person has is as they left it.
fn check_files(world: &World, plan: &Plan) {
    git(world, &["fsck", "--strict"]);
    let shop = world.path("shop");
    let read = |path: &str| std::fs::read_to_string(shop.join(path)).expect("a file");
    assert_eq!(
        read("wiki/global/mine.md"),
        format!("{MINE}\nMore.\n"),
        "{plan:?}"
    );
    assert_eq!(
        git(world, &["show", "HEAD:wiki/global/mine.md"]),
        MINE,
        "{plan:?}"
    );
    assert_eq!(read("scratch.txt"), "not for git\n", "{plan:?}");
    for page in std::fs::read_dir(shop.join("wiki/global")).expect("a folder") {
        let path = page.expect("a page").path();
        if path.extension().is_none_or(|ending| ending != "md") {
            continue;
        }
        let text = std::fs::read_to_string(&path).expect("a page");
        let is_whole = text.starts_with("---\n") && text.ends_with(".\n");
        assert!(is_whole, "{plan:?}: {}: {text}", path.display());
    }
}

fn check_end(world: &World, round: usize, plan: &Plan) {
    let status = git(world, &["status", "--porcelain"]);
    assert_eq!(
        status, " M wiki/global/mine.md\n?? scratch.txt\n",
        "{plan:?}"
    );
    let pages = git(
        world,
        &["ls-tree", "-r", "--name-only", "HEAD", "wiki/global"],
    );
    let mut pages: BTreeSet<&str> = pages
        .lines()
        .filter_map(|path| path.strip_prefix("wiki/global/")?.strip_suffix(".md"))
        .collect();
    assert!(pages.remove("mine"), "{plan:?}");
    let mut expected: Vec<String> = ["a", "b", "c"]
        .map(|unit| format!("of-{unit}{round}"))
        .to_vec();
    expected.push(format!("shared-{round}"));
    if round > 1 {
        let last = round - 1;
        expected.extend([format!("of-c{last}"), format!("shared-{last}")]);
        let shared = git(
            world,
            &["show", &format!("HEAD:wiki/global/shared-{last}.md")],
        );
        assert!(
            shared.contains(&line(&format!("c{last}"))),
            "{plan:?}: {shared}"
        );
        assert!(
            !shared.contains(&line(&format!("a{last}"))),
            "{plan:?}: {shared}"
        );
    }
    let expected: BTreeSet<&str> = expected.iter().map(String::as_str).collect();
    assert_eq!(pages, expected, "{plan:?}");
}
