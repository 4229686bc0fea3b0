//! Measures commands over many sources against `stat` and an empty process.
#![expect(
    clippy::disallowed_methods,
    reason = "benchmarks write into their own temporary folder"
)]

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, SystemTime};

use anyhow::{Context as _, Result};

use super::measure::{median, milliseconds, program};
use super::start::{ktx, project};
use super::{Bench, Outcome};
use crate::process;

const RUNS: usize = 21;

const LISTING_BOUND: f64 = 3.0;
/// Names two of many unchanged sources.
const MANY_BOUND: f64 = 4.0;
/// Milliseconds beyond `stat`, over ten thousand and a thousand unchanged sources.
const MANY_BEYOND: f64 = 60.0;
const THOUSAND_BEYOND: f64 = 15.0;
/// From process start to SQL.
const QUERY_BOUND: f64 = 10.0;

/// Lists sizes and times, the minimum to detect changes.
const STAT: &str = r#"
fn main() {
    let folder = std::env::args_os().nth(1).expect("a folder");
    let mut sum = 0;
    for entry in std::fs::read_dir(folder).expect("a folder") {
        let found = std::fs::metadata(entry.expect("an entry").path()).expect("a file");
        sum += found.len() + found.modified().map_or(0, |_| 1);
    }
    println!("{sum}");
}
"#;

pub(crate) fn commands(bench: &Bench<'_>) -> Result<Vec<Outcome>> {
    let (many, query) = sources(bench, "many-sources", 10_000)?;
    let folder = many.join("semantic-layer/warehouse");
    let stat = program(bench.repository, bench.folder, ("stat-of-files", STAT))?;
    // The first run stores the listing.
    milliseconds(&mut ktx(bench, &many, &["sl"]))?;
    let listing = in_turns(
        || ktx(bench, &many, &["sl"]),
        || {
            let mut command = process::command(bench.repository, &stat);
            command.arg(&folder);
            command
        },
    )?;
    let words: Vec<&str> = query.iter().map(String::as_str).collect();
    // The first run stores the index.
    milliseconds(&mut ktx(bench, &many, &words))?;
    let among_many = in_turns(
        || ktx(bench, &many, &words),
        || {
            let mut command = process::command(bench.repository, &stat);
            command.arg(&folder);
            command
        },
    )?;
    let (thousand, _) = sources(bench, "thousand-sources", 1_000)?;
    let folder = thousand.join("semantic-layer/warehouse");
    milliseconds(&mut ktx(bench, &thousand, &words))?;
    let among_thousand = in_turns(
        || ktx(bench, &thousand, &words),
        || {
            let mut command = process::command(bench.repository, &stat);
            command.arg(&folder);
            command
        },
    )?;
    let (some, query) = sources(bench, "some-sources", 100)?;
    let words: Vec<&str> = query.iter().map(String::as_str).collect();
    let cold = in_turns(
        || ktx(bench, &some, &words),
        || process::command(bench.repository, &bench.nothing),
    )?;
    let outcome = |name: &str, (measured, yardstick), bound| Outcome {
        name: name.to_owned(),
        unit: "ms",
        measured,
        yardstick,
        bound,
    };
    Ok(vec![
        outcome(
            "ktx sl over 10000 sources, nothing changed, against a bare stat of the files",
            listing,
            LISTING_BOUND,
        ),
        outcome(
            "ktx sl query over 10000 sources, nothing changed, against a bare stat of the files",
            among_many,
            MANY_BOUND,
        ),
        beyond("10000", among_many, MANY_BEYOND),
        beyond("1000", among_thousand, THOUSAND_BEYOND),
        outcome("ktx sl query over 100 sources", cold, QUERY_BOUND),
    ])
}

fn beyond(count: &str, (measured, stat): (f64, f64), most: f64) -> Outcome {
    Outcome {
        name: format!("ktx sl query over {count} sources, time beyond a bare stat of the files"),
        unit: "ms",
        measured: measured - stat,
        yardstick: most,
        bound: 1.0,
    }
}

fn in_turns(measured: impl Fn() -> Command, yardstick: impl Fn() -> Command) -> Result<(f64, f64)> {
    let (mut all, mut base) = (Vec::new(), Vec::new());
    for _ in 0..RUNS {
        base.push(milliseconds(&mut yardstick())?);
        all.push(milliseconds(&mut measured())?);
    }
    Ok((median(all), median(base)))
}

/// Sources unchanged for an hour, and a query over two.
fn sources(bench: &Bench<'_>, name: &str, count: usize) -> Result<(PathBuf, Vec<String>)> {
    let project = project(bench, name)?;
    let folder = project.join("semantic-layer/warehouse");
    for folder in [&folder, &project.join(".ktx/state")] {
        std::fs::create_dir_all(folder).context("a folder cannot be made")?;
    }
    let long_ago = SystemTime::now() - Duration::from_hours(1);
    for at in 0..count {
        let path = folder.join(format!("s{at}.yaml"));
        write(&path, &source(at, count), long_ago)
            .with_context(|| format!("`{}` cannot be written", path.display()))?;
    }
    let query = [
        "sl",
        "query",
        "--measure",
        "s1.total",
        "--dimension",
        "s0.name",
        "--format",
        "sql",
    ];
    Ok((project, query.map(str::to_owned).to_vec()))
}

fn write(path: &Path, text: &str, modified: SystemTime) -> std::io::Result<()> {
    std::fs::write(path, text)?;
    let file = std::fs::File::options().write(true).open(path)?;
    file.set_modified(modified)
}

fn source(at: usize, count: usize) -> String {
    let other = (at + count - 1) % count;
    format!(
        "name: s{at}\ndescriptions:\n  user: Rows of kind {at}.\ntable: shop.s{at}\ngrain: [id]\n\
         columns:\n  - {{name: id, type: number}}\n  - {{name: other_id, type: number}}\n  \
         - {{name: name, type: string}}\n  - {{name: amount, type: number}}\n  - {{name: day, type: time}}\n\
         joins:\n  - {{to: s{other}, 'on': other_id = s{other}.id, relationship: many_to_one}}\n\
         measures:\n  - {{name: total, expr: sum(amount)}}\n  - {{name: rows_seen, expr: count(id)}}\n"
    )
}
