//! Compares scans with the minimum work: structure of a thousand tables, profile of a large table,
//! joins of four hundred tables.

mod postgres;

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result};

use super::measure::{median, milliseconds, peak_memory, processor_seconds};
use super::start::{ktx, project};
use super::{Bench, Outcome};
use crate::process;

const RUNS: usize = 5;
/// Compared with reading the catalog and committing a file per table.
const STRUCTURE_BOUND: f64 = 3.0;
/// Without writes, compared with bare catalog queries.
const CATALOG_BOUND: f64 = 2.0;
/// Compared with counting every column of the table.
const PROFILE_BOUND: f64 = 0.2;
/// Memory for ten times the rows.
const MEMORY_BOUND: f64 = 1.3;
/// Scan of unchanged tables, compared with bare catalog queries.
const UNCHANGED_BOUND: f64 = 10.0;
/// KiB for five thousand unchanged tables.
const UNCHANGED_MEMORY: f64 = 250.0 * 1024.0;
/// Processor seconds for five thousand unchanged tables.
const UNCHANGED_SECONDS: f64 = 3.0;
/// Processor seconds of join discovery over four hundred tables.
const DISCOVERY_SECONDS: f64 = 10.0;

const FILL: &str = r#"
import sqlite3, sys
rows = int(sys.argv[2])
with sqlite3.connect(sys.argv[1]) as db:
    db.execute("CREATE TABLE facts (id INTEGER PRIMARY KEY, customer_id INTEGER, product_id INTEGER, day TEXT, status TEXT, "
               "amount REAL, quantity INTEGER, code TEXT, note TEXT, flag INTEGER, score REAL, batch INTEGER)")
    line = lambda n: (n, n * 7919 % 50021, n * 31 % 997, f"2024-{n % 12 + 1:02}-{n % 28 + 1:02}", ("new", "open", "done")[n % 3],
                      n % 9973 / 7, n % 9 + 1, f"C{n:09}", f"note {n * 17 % 65537}", n % 2, n % 101 / 3, n // 1000)
    db.executemany("INSERT INTO facts VALUES (?,?,?,?,?,?,?,?,?,?,?,?)", map(line, range(1, rows + 1)))
"#;

const COUNT: &str = r#"
import sqlite3, sys
db = sqlite3.connect(sys.argv[1])
for (_, name, *_) in db.execute("PRAGMA table_info('facts')").fetchall():
    db.execute(f"SELECT COUNT({name}), COUNT(DISTINCT {name}), MIN({name}), MAX({name}) FROM facts").fetchall()
"#;

/// Tables of 12 columns, each with a foreign key to the previous one.
const MAKE: &str = r#"
import sqlite3, sys
with sqlite3.connect(sys.argv[1]) as db:
    for n in range(int(sys.argv[2])):
        columns = ", ".join(f"c{i} TEXT" for i in range(10))
        parent = f"REFERENCES t{n - 1:04}(id)" if n else ""
        db.execute(f"CREATE TABLE t{n:04} (id INTEGER PRIMARY KEY, parent_id INTEGER {parent}, {columns})")
"#;

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

const LOOK: &str = r#"
import sqlite3, sys
db = sqlite3.connect(sys.argv[1])
for read in ("table_xinfo", "foreign_key_list"):
    db.execute(f"SELECT m.name, r.* FROM sqlite_schema m JOIN pragma_{read}(m.name) r WHERE m.type = 'table'").fetchall()
"#;

/// Reads only, then scans into a new project each time.
pub(crate) fn structure(bench: &Bench<'_>) -> Result<Vec<Outcome>> {
    let made = bench.folder.join("made.sqlite");
    process::output(python(bench, MAKE).arg(&made).arg("1000"))?;
    let (mut measured, mut yardstick) = (Vec::new(), Vec::new());
    let (mut looked, mut catalog) = (Vec::new(), Vec::new());
    for run in 0..RUNS {
        let bare = bench.folder.join(format!("bare-{run}"));
        std::fs::create_dir_all(&bare).context("the bare folder cannot be made")?;
        process::output(&mut git(bench, &bare, &["init", "--quiet"]))?;
        let read = milliseconds(python(bench, READ).arg(&made).arg(bare.join("tables")))?;
        let added = milliseconds(&mut git(bench, &bare, &["add", "--all"]))?;
        let commit = ["commit", "--quiet", "-m", "tables"];
        yardstick.push(read + added + milliseconds(&mut git(bench, &bare, &commit))?);
        catalog.push(milliseconds(python(bench, LOOK).arg(&made))?);

        let scanned = filled(bench, &format!("scan-{run}"), &made)?;
        let scan =
            |arguments: &[&str]| milliseconds(ktx(bench, &scanned, arguments).envs(IDENTITY));
        looked.push(scan(&["scan", "warehouse", "--structural", "--dry-run"])?);
        measured.push(scan(&["scan", "warehouse", "--structural"])?);
    }
    let outcome = |name: &str, measured, yardstick, bound| Outcome {
        name: name.to_owned(),
        unit: "ms",
        measured: median(measured),
        yardstick: median(yardstick),
        bound,
    };
    let mut outcomes = vec![
        outcome(
            "structural scan of 1000 tables against bare introspection and one commit",
            measured,
            yardstick,
            STRUCTURE_BOUND,
        ),
        outcome(
            "structural scan of 1000 tables that writes nothing against the bare catalog queries",
            looked,
            catalog,
            CATALOG_BOUND,
        ),
    ];
    outcomes.push(postgres::structure(bench)?);
    Ok(outcomes)
}

pub(crate) fn profile(bench: &Bench<'_>) -> Result<Vec<Outcome>> {
    let (small, large) = (150_000, 1_500_000);
    let mut peaks = Vec::new();
    let (mut measured, mut yardstick) = (Vec::new(), Vec::new());
    for rows in [small, large] {
        let made = bench.folder.join(format!("facts-{rows}.sqlite"));
        process::output(python(bench, FILL).arg(&made).arg(rows.to_string()))?;
        let runs = if rows == large { 3 } else { 0 };
        for run in 0..runs {
            yardstick.push(milliseconds(python(bench, COUNT).arg(&made))?);
            let scanned = filled(bench, &format!("facts-{rows}-{run}"), &made)?;
            measured.push(milliseconds(
                ktx(bench, &scanned, &["scan", "warehouse"]).envs(IDENTITY),
            )?);
        }
        let scanned = filled(bench, &format!("facts-{rows}-memory"), &made)?;
        let mut scan = ktx(bench, &scanned, &["scan", "warehouse", "--dry-run"]);
        peaks.push(peak_memory(bench.repository, scan.envs(IDENTITY))?);
    }
    let mut outcomes = vec![Outcome {
        name: "ktx scan of 1.5 million rows against counting every column".to_owned(),
        unit: "ms",
        measured: median(measured),
        yardstick: median(yardstick),
        bound: PROFILE_BOUND,
    }];
    if let [Some(less), Some(more)] = peaks.as_slice() {
        outcomes.push(Outcome {
            name: "peak memory of a scan of 1.5 million rows against 150 thousand".to_owned(),
            unit: "KiB",
            measured: *more,
            yardstick: *less,
            bound: MEMORY_BOUND,
        });
    }
    Ok(outcomes)
}

pub(crate) fn unchanged(bench: &Bench<'_>) -> Result<Vec<Outcome>> {
    let made = bench.folder.join("many.sqlite");
    process::output(python(bench, MAKE).arg(&made).arg("5000"))?;
    let scanned = filled(bench, "unchanged", &made)?;
    let scan = || {
        let mut scan = ktx(bench, &scanned, &["scan", "warehouse"]);
        scan.envs(IDENTITY);
        scan
    };
    process::output(&mut scan())?;
    let (mut measured, mut catalog) = (Vec::new(), Vec::new());
    for _ in 0..RUNS {
        catalog.push(milliseconds(python(bench, LOOK).arg(&made))?);
        measured.push(milliseconds(&mut scan())?);
    }
    let mut outcomes = vec![Outcome {
        name: "scan of 5000 unchanged tables against the bare catalog queries".to_owned(),
        unit: "ms",
        measured: median(measured),
        yardstick: median(catalog),
        bound: UNCHANGED_BOUND,
    }];
    if let Some(peak) = peak_memory(bench.repository, &scan())? {
        outcomes.push(Outcome {
            name: "peak memory of a scan of 5000 unchanged tables".to_owned(),
            unit: "KiB",
            measured: peak,
            yardstick: UNCHANGED_MEMORY,
            bound: 1.0,
        });
    }
    if let Some(seconds) = processor_seconds(bench.repository, &scan())? {
        outcomes.push(Outcome {
            name: "processor time of a scan of 5000 unchanged tables".to_owned(),
            unit: "s",
            measured: seconds,
            yardstick: UNCHANGED_SECONDS,
            bound: 1.0,
        });
    }
    Ok(outcomes)
}

pub(crate) fn discovery(bench: &Bench<'_>) -> Result<Vec<Outcome>> {
    let run = [
        "run",
        "--release",
        "--quiet",
        "--locked",
        "-p",
        "ktx-scan",
        "--example",
        "discovery",
    ];
    let printed = process::output(&mut process::cargo(bench.repository, &run))?;
    let figures: serde_json::Value =
        serde_json::from_str(printed.trim()).context("the measurements are not JSON")?;
    let seconds = figures
        .get("discoverySeconds")
        .and_then(serde_json::Value::as_f64)
        .context("discovery was not measured")?;
    Ok(vec![Outcome {
        name: "discovery over 400 tables, processor time".to_owned(),
        unit: "s",
        measured: seconds,
        yardstick: DISCOVERY_SECONDS,
        bound: 1.0,
    }])
}

fn filled(bench: &Bench<'_>, name: &str, made: &Path) -> Result<PathBuf> {
    let folder = project(bench, name)?;
    std::fs::copy(made, folder.join("warehouse.sqlite"))
        .context("the warehouse cannot be copied")?;
    process::output(&mut git(bench, &folder, &["init", "--quiet"]))?;
    Ok(folder)
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
