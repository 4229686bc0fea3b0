//! The demo's folder. The earlier demo moves to a sibling folder until the new one is complete; the
//! next `ktx demo` recovers from a killed one.

use ktx_diagnostics::{Code, Failure};
use std::path::{Path, PathBuf};

use ktx_config::FILE_NAME;
use ktx_project_store::{Failpoints, FileError, Layout, ProjectLock, Store, Wait};
use ktx_usage_ledger::Ledger;
use serde_json::{Value, json};

use crate::invocation::Invocation;
use crate::report::{Outcome, Report as _};

/// The first line of the sample `ktx.yaml`.
const MARK: &str = "# The sample project of `ktx demo`.";

/// Whether an earlier demo at the path can be replaced (`--force`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Overwrite {
    Allowed,
    Refused,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum EarlierDemo {
    None,
    Replace,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DemoState {
    Begun,
    Whole,
}

#[derive(Debug)]
pub(super) struct DemoFolder<'a> {
    dir: PathBuf,
    /// A free sibling path for the earlier demo.
    aside: PathBuf,
    invocation: &'a Invocation,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct DemoRecord {
    state: DemoState,
    replaces: Option<String>,
}

fn failed(error: &(dyn std::error::Error + 'static)) -> Failure {
    Failure::from_error(Code::DemoFiles, error)
}

impl<'a> DemoFolder<'a> {
    pub(super) fn new(dir: PathBuf, invocation: &'a Invocation) -> Self {
        let aside = dir.with_file_name(format!("{}{}", prefix(&dir), invocation.run_id));
        Self {
            dir,
            aside,
            invocation,
        }
    }

    pub(super) fn dir(&self) -> &Path {
        &self.dir
    }

    /// Recovers from a killed `ktx demo --force`. Leaves unclear folders unchanged.
    pub(super) fn recover(&self, overwrite: Overwrite) -> Outcome<Vec<String>> {
        let mut notes = Vec::new();
        self.remove_gone();
        let left = self.left_aside()?;
        if is_bare(&self.dir) {
            // With several, the last one is unclear.
            if let [only] = left.as_slice() {
                let lock = self.locked(only)?;
                if self.dir.exists() {
                    ktx_project_store::remove_folder(&self.dir).map_err(|error| failed(&error))?;
                }
                ktx_project_store::move_folder(only, &self.dir).map_err(|error| failed(&error))?;
                drop(lock);
                notes.push(
                    "the earlier demo, which a killed `ktx demo` had moved aside, is restored"
                        .to_owned(),
                );
            }
            return Ok(notes);
        }
        let Some(record) = read_record(&self.dir, &self.dir) else {
            return Ok(notes);
        };
        let replaced = left
            .into_iter()
            .find(|left| Some(&*name(left)) == record.replaces.as_deref());
        let Some(replaced) = replaced else {
            return Ok(notes);
        };
        // Held until every folder is in place.
        let lock = self.locked(&replaced)?;
        match record.state {
            DemoState::Whole => {
                carry(&replaced, &self.dir)?;
                self.remove(&replaced).map_err(|error| failed(&error))?;
                notes.push("removed the demo before this one, which a killed `ktx demo` had moved aside; its usage is kept".to_owned());
            }
            DemoState::Begun if overwrite == Overwrite::Allowed => {
                self.put_back(&replaced).map_err(|error| failed(&*error))?;
                notes.push("removed the demo that a killed `ktx demo` had begun; the earlier one is restored".to_owned());
            }
            DemoState::Begun => notes.push(format!(
                "a killed `ktx demo` created the folder; the demo before it is in `{}`",
                replaced.display()
            )),
        }
        drop(lock);
        Ok(notes)
    }

    fn left_aside(&self) -> Outcome<Vec<PathBuf>> {
        let parent = self.dir.parent().unwrap_or(Path::new("."));
        let entries = match std::fs::read_dir(parent) {
            Ok(entries) => entries,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(failed(&error)),
        };
        let prefix = prefix(&self.dir);
        let mut left: Vec<PathBuf> = entries
            .flatten()
            .map(|entry| entry.path())
            .filter(|path| name(path).starts_with(&prefix))
            .filter(|path| read_record(path, &self.dir).is_some())
            .collect();
        left.sort();
        Ok(left)
    }

    /// Restores the earlier demo if `build` fails.
    pub(super) fn replaced(&self, build: impl FnOnce() -> Outcome) -> Outcome {
        // The lock moves with the folder.
        let lock = self.locked(&self.dir)?;
        if read_record(&self.dir, &self.dir).is_none() {
            return Err(Failure::new(
                Code::DemoFolder,
                format!("`{}` was replaced meanwhile", self.dir.display()),
            )
            .hint("run the same command again"));
        }
        readable(&self.dir)?;
        ktx_project_store::move_folder(&self.dir, &self.aside)
            .map_err(|error| failed(&error).context("the earlier demo cannot be replaced"))?;
        let built = build();
        let is_whole = read_record(&self.dir, &self.dir)
            .is_some_and(|record| record.state == DemoState::Whole && record.replaces.is_some());
        let ended = match built {
            Err(failure) if !is_whole => Err(match self.put_back(&self.aside) {
                Ok(()) => failure.hint("the earlier demo is restored"),
                Err(error) => failure
                    .because(error.to_string())
                    .hint(format!("the earlier demo is in `{}`", self.aside.display())),
            }),
            // The paid result stays, although it was not shown.
            built => {
                carry(&self.aside, &self.dir)?;
                if let Err(error) = self.remove(&self.aside) {
                    let chain = ktx_diagnostics::chain(&error).join(": ");
                    crate::printer::stderr_line(&format!(
                        "warning: the earlier demo could not be removed: {chain}"
                    ));
                }
                built
            }
        };
        drop(lock);
        ended
    }

    fn put_back(&self, aside: &Path) -> Result<(), Box<dyn std::error::Error>> {
        let gone = self.gone();
        if self.dir.exists() {
            carry_over(&self.dir, aside)?;
            ktx_project_store::move_folder(&self.dir, &gone)?;
        }
        ktx_project_store::move_folder(aside, &self.dir)?;
        self.remove_gone();
        Ok(())
    }

    /// Renames first, so that an interrupted removal is recognizable.
    fn remove(&self, demo: &Path) -> Result<(), FileError> {
        let gone = self.gone();
        ktx_project_store::move_folder(demo, &gone)?;
        ktx_project_store::remove_folder(&gone)
    }

    fn gone(&self) -> PathBuf {
        let name = format!("{}{}", gone_prefix(&self.dir), self.invocation.run_id);
        self.dir.with_file_name(name)
    }

    fn remove_gone(&self) {
        let parent = self.dir.parent().unwrap_or(Path::new("."));
        let prefix = gone_prefix(&self.dir);
        let entries = std::fs::read_dir(parent).into_iter().flatten().flatten();
        for entry in entries.filter(|entry| name(&entry.path()).starts_with(&prefix)) {
            if let Err(error) = ktx_project_store::remove_folder(&entry.path()) {
                tracing::warn!(%error, "the rest of an earlier demo could not be removed");
            }
        }
    }

    fn locked(&self, aside: &Path) -> Outcome<ProjectLock> {
        let environment = self.invocation.environment.clone();
        let failpoints = Failpoints::kill_at(self.invocation.environment.test_kill_at());
        let store = Store::unchecked(Layout::new(aside), environment, failpoints);
        store
            .lock("ktx demo", jiff::Timestamp::now(), Wait::No)
            .map_err(|error| {
                let failure = Failure::from_error(Code::Locked, &error);
                failure
                    .with_hints(&error)
                    .context(format!("`{}` is being created", self.dir.display()))
            })
    }

    /// Refuses non-empty folders, except one that `ktx demo` created at this path.
    pub(super) fn refuse_occupied(&self, overwrite: Overwrite) -> Outcome<EarlierDemo> {
        let dir = &self.dir;
        let mut entries = match std::fs::read_dir(dir) {
            Ok(entries) => entries,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                return Ok(EarlierDemo::None);
            }
            Err(error) => {
                return Err(Failure::from_error(Code::DemoFolder, &error)
                    .context(format!("`{}` cannot be used", dir.display())));
            }
        };
        if entries.next().is_none() || is_bare(dir) {
            return Ok(EarlierDemo::None);
        }
        let record = read_record(dir, dir);
        let unfinished = record
            .as_ref()
            .is_some_and(|record| record.state == DemoState::Begun);
        let looks_like_demo =
            std::fs::read_to_string(dir.join(FILE_NAME)).is_ok_and(|text| text.starts_with(MARK));
        let refused =
            |what: &str| Failure::new(Code::DemoExists, format!("`{}` {what}", dir.display()));
        if !looks_like_demo && !unfinished {
            return Err(refused("is not empty and not a demo; ktx leaves it alone")
                .hint("name an empty or new folder with `--dir`"));
        }
        if overwrite == Overwrite::Refused {
            return Err(refused("is an earlier demo")
                .hint("use `--force` to replace it, or `--dir` for another folder"));
        }
        if record.is_none() {
            return Err(refused(
                "looks like a demo, but there is no record that `ktx demo` created it here; ktx leaves it alone",
            )
            .hint("name an empty or new folder with `--dir`, or remove the folder yourself"));
        }
        Ok(EarlierDemo::Replace)
    }

    /// Refuses committed folders: removal would count as the user's own change, which no command
    /// undoes.
    pub(super) fn refuse_committed(&self) -> Outcome<()> {
        let environment = &self.invocation.environment;
        let is_committed = ktx_project_store::is_committed_around(&self.dir, environment)
            .map_err(|error| Failure::from_error(Code::Git, &error).with_hints(&error))?;
        if !is_committed {
            return Ok(());
        }
        Err(Failure::new(
            Code::DemoCommitted,
            format!(
                "`{}` is part of the git repository around it, whose last commit has files there",
                self.dir.display()
            ),
        )
        .hint("name a folder with `--dir` that the repository does not have")
        .hint("or remove the folder, commit that, and run the same command again"))
    }

    pub(super) fn record(&self, earlier: EarlierDemo, state: DemoState) -> Outcome<()> {
        let store = Store::unchecked(
            Layout::new(&self.dir),
            self.invocation.environment.clone(),
            Failpoints::kill_at(self.invocation.environment.test_kill_at()),
        );
        store.make_state().map_err(|error| failed(&error))?;
        store.failpoint("demo:folder");
        let here = self.dir.canonicalize().map_err(|error| failed(&error))?;
        let record = json!({
            "dir": here.to_string_lossy(),
            "state": match state { DemoState::Begun => "begun", DemoState::Whole => "whole" },
            "replaces": (earlier == EarlierDemo::Replace).then(|| name(&self.aside)),
        });
        let file = store.layout().demo_record();
        ktx_project_store::write_atomically(&file, format!("{record:#}\n").as_bytes())
            .map_err(|error| failed(&error))?;
        Ok(())
    }
}

fn name(path: &Path) -> String {
    path.file_name()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned()
}

fn prefix(dir: &Path) -> String {
    format!(".{}.before-", name(dir))
}

fn gone_prefix(dir: &Path) -> String {
    format!(".{}.gone-", name(dir))
}

/// True if missing, empty, or with only the empty state of a killed command.
fn is_bare(dir: &Path) -> bool {
    let state = Layout::new(dir).state();
    let holds = |folder: &Path, only: Option<&str>| match std::fs::read_dir(folder) {
        Ok(mut entries) => entries.all(|entry| {
            entry.is_ok_and(|entry| only.is_some_and(|only| entry.file_name() == *only))
        }),
        Err(error) => error.kind() == std::io::ErrorKind::NotFound,
    };
    let is_unused = |folder: &Path| match std::fs::read_dir(folder) {
        // An unrenamed temporary file and the lock.
        Ok(mut entries) => entries.all(|entry| {
            entry.is_ok_and(|entry| {
                let name = entry.file_name();
                let name = name.to_string_lossy();
                name == "lock" || name.starts_with('.') || name == "tmp"
            })
        }),
        Err(error) => error.kind() == std::io::ErrorKind::NotFound,
    };
    holds(dir, Some(".ktx")) && holds(&dir.join(".ktx"), Some("state")) && is_unused(&state)
}

/// `None` if the record has another path, because copies, clones, moved folders and links belong to
/// the user.
fn read_record(folder: &Path, dir: &Path) -> Option<DemoRecord> {
    let is_link = std::fs::symlink_metadata(folder).is_ok_and(|found| found.is_symlink());
    let record = std::fs::read(Layout::new(folder).demo_record()).ok()?;
    let record: Value = serde_json::from_slice(&record).ok()?;
    let here = dir.parent()?.canonicalize().ok()?.join(name(dir));
    let names_it = record["dir"].as_str() == Some(&*here.to_string_lossy());
    (!is_link && names_it).then(|| DemoRecord {
        state: match record["state"].as_str() {
            Some("begun") => DemoState::Begun,
            _ => DemoState::Whole,
        },
        replaces: record["replaces"].as_str().map(str::to_owned),
    })
}

fn carry_over(from: &Path, to: &Path) -> Result<(), Box<dyn std::error::Error>> {
    let ledger = |folder: &Path| Layout::new(folder).state().join("usage.sqlite");
    let (from, to) = (ledger(from), ledger(to));
    if from.is_file() {
        Ledger::open(&to)?.import_from(&from)?;
    }
    Ok(())
}

/// Refuses a demo whose usage would be lost.
fn readable(demo: &Path) -> Outcome<()> {
    let ledger = Layout::new(demo).state().join("usage.sqlite");
    if !ledger.is_file() {
        return Ok(());
    }
    let looked = Ledger::open(&ledger).map(drop);
    looked.map_err(|error| {
        failed(&error)
            .context("the usage of the earlier demo cannot be kept")
            .hint(format!(
                "move `{}` away, then run the same command again",
                ledger.display()
            ))
    })
}

fn carry(from: &Path, to: &Path) -> Outcome<()> {
    carry_over(from, to).map_err(|error| {
        failed(&*error)
            .context("the usage of the earlier demo cannot be kept")
            .hint(format!("the earlier demo is in `{}`", from.display()))
    })
}
