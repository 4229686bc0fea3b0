//! A structural scan of a thousand tables against the least that any scan has to do.

use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result};

use super::measure::{median, milliseconds};
use super::start::{ktx, project};
use super::{Bench, Outcome};
use crate::process;

const RUNS: usize = 5;
const BOUND: f64 = 3.0;

/// Makes the warehouse: 1 000 tables of 12 columns, each with a key into the table before it.
const MAKE: &str = r#"
import sqlite3, sys
with sqlite3.connect(sys.argv[1]) as db:
    for n in range(1000):
        columns = ", ".join(f"c{i} TEXT" for i in range(10))
        parent = f"REFERENCES t{n - 1:04}(id)" if n else ""
        db.execute(f"CREATE TABLE t{n:04} (id INTEGER PRIMARY KEY, parent_id INTEGER {parent}, {columns})")
"#;

/// Reads columns and keys of every table and writes one file for each.
const READ: &str = r#"
import json, pathlib, sqlite3, sys
db = sqlite3.connect(sys.argv[1])
out = pathlib.Path(sys.argv[2])
out.mkdir()
for (name,) in db.execute("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name").fetchall():
    columns = db.execute(f"PRAGMA table_xinfo('{name}')").fetchall()
    keys = db.execute(f"PRAGMA foreign_key_list('{name}')").fetchall()
    (out / f"{name}.json").write_text(json.dumps([columns, keys]))
"#;

/// A fresh scan of a fresh project each time.
pub(crate) fn structure(bench: &Bench<'_>) -> Result<Vec<Outcome>> {
    let made = bench.folder.join("made.sqlite");
    process::output(python(bench, MAKE).arg(&made))?;
    let (mut measured, mut yardstick) = (Vec::new(), Vec::new());
    for run in 0..RUNS {
        let bare = bench.folder.join(format!("bare-{run}"));
        std::fs::create_dir_all(&bare).context("the bare folder cannot be made")?;
        process::output(&mut git(bench, &bare, &["init", "--quiet"]))?;
        let mut took = milliseconds(python(bench, READ).arg(&made).arg(bare.join("tables")))?;
        took += milliseconds(&mut git(bench, &bare, &["add", "--all"]))?;
        took += milliseconds(&mut git(
            bench,
            &bare,
            &["commit", "--quiet", "-m", "tables"],
        ))?;
        yardstick.push(took);

        let scanned = project(bench, &format!("scan-{run}"))?;
        std::fs::copy(&made, scanned.join("warehouse.sqlite"))
            .context("the warehouse cannot be copied")?;
        process::output(&mut git(bench, &scanned, &["init", "--quiet"]))?;
        measured.push(milliseconds(
            ktx(bench, &scanned, &["scan", "warehouse"]).envs(IDENTITY),
        )?);
    }
    Ok(vec![Outcome {
        name: "ktx scan of 1000 tables".to_owned(),
        unit: "ms",
        measured: median(measured),
        yardstick: median(yardstick),
        bound: BOUND,
    }])
}

const IDENTITY: [(&str, &str); 4] = [
    ("GIT_AUTHOR_NAME", "Bench"),
    ("GIT_AUTHOR_EMAIL", "bench@example.com"),
    ("GIT_COMMITTER_NAME", "Bench"),
    ("GIT_COMMITTER_EMAIL", "bench@example.com"),
];

fn git(bench: &Bench<'_>, folder: &Path, arguments: &[&str]) -> Command {
    let mut command = process::command(bench.repository, "git");
    command
        .args(arguments)
        .current_dir(folder)
        .env("HOME", bench.folder)
        .envs(IDENTITY);
    command
}

fn python(bench: &Bench<'_>, script: &str) -> Command {
    let mut command = process::command(bench.repository, "python3");
    command.args(["-c", script]);
    command
}
