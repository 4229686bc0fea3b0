//! Measurements of the release binary as ratios to a yardstick that runs in the same minute: these
//! machines are noisy, and a bare time says nothing.

mod claude;
mod decoders;
mod http;
mod measure;
mod scan;
mod semantic;
mod sources;
mod start;

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use serde_json::{Value, json};

use crate::repository::Repository;
use crate::{Verdict, process, terminal};

/// One benchmark's name and how it is run.
struct Benchmark {
    name: &'static str,
    run: fn(&Bench<'_>) -> Result<Vec<Outcome>>,
}

const BENCHMARKS: [Benchmark; 10] = [
    Benchmark {
        name: "start",
        run: start::commands,
    },
    Benchmark {
        name: "mcp",
        run: start::mcp,
    },
    Benchmark {
        name: "mcp-http",
        run: http::kept_connection,
    },
    Benchmark {
        name: "scan",
        run: scan::structure,
    },
    Benchmark {
        name: "profile",
        run: scan::profile,
    },
    Benchmark {
        name: "discovery",
        run: scan::discovery,
    },
    Benchmark {
        name: "claude",
        run: claude::driver,
    },
    Benchmark {
        name: "decoders",
        run: decoders::streams,
    },
    Benchmark {
        name: "semantic",
        run: semantic::scale,
    },
    Benchmark {
        name: "sources",
        run: sources::commands,
    },
];

/// The program under test, the yardstick, and a place to work in.
struct Bench<'tree> {
    repository: &'tree Repository,
    ktx: PathBuf,
    /// A program that does nothing: what it costs to start a process here.
    nothing: PathBuf,
    folder: &'tree Path,
}

/// One measured thing against its bound.
#[derive(Clone, Debug, PartialEq)]
struct Outcome {
    name: String,
    /// The unit of both figures: `ms`, `KiB` or what is counted.
    unit: &'static str,
    measured: f64,
    yardstick: f64,
    bound: f64,
}

impl Outcome {
    fn ratio(&self) -> f64 {
        self.measured / self.yardstick
    }

    fn holds(&self) -> bool {
        self.ratio() <= self.bound
    }

    fn wire(&self) -> Value {
        let rounded = |figure: f64| (figure * 1000.0).round() / 1000.0;
        json!({
            "name": self.name,
            "unit": self.unit,
            "measured": rounded(self.measured),
            "yardstick": rounded(self.yardstick),
            "ratio": rounded(self.ratio()),
            "bound": self.bound,
            "holds": self.holds(),
        })
    }
}

/// Builds the release binary and runs every benchmark, or the one called `name`.
pub(crate) fn run(repository: &Repository, name: Option<&str>) -> Result<Verdict> {
    let chosen: Vec<&Benchmark> = BENCHMARKS
        .iter()
        .filter(|benchmark| name.is_none_or(|name| name == benchmark.name))
        .collect();
    if chosen.is_empty() {
        let names = BENCHMARKS.map(|benchmark| benchmark.name).join("`, `");
        bail!(
            "no benchmark `{}`; there are `{names}`",
            name.unwrap_or_default()
        );
    }
    let build = ["build", "--release", "--locked", "-p", "ktx"];
    if !process::succeeds(&mut process::cargo(repository, &build))? {
        return Ok(Verdict::Fail);
    }
    let folder = tempfile::tempdir().context("no temporary folder can be made")?;
    let bench = Bench {
        repository,
        ktx: repository.target().join("release/ktx"),
        nothing: measure::program_that_does_nothing(repository, folder.path())?,
        folder: folder.path(),
    };
    let mut verdict = Verdict::Pass;
    for benchmark in chosen {
        for outcome in (benchmark.run)(&bench)? {
            terminal::line(&outcome.wire().to_string());
            if !outcome.holds() {
                verdict = Verdict::Fail;
            }
        }
    }
    Ok(verdict)
}

#[cfg(test)]
mod tests;
