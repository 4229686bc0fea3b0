//! Measures the release binary as ratios to a unit in the same minute, because bare times mean
//! nothing on noisy machines.

mod cases;
mod claude;
mod crowd;
mod decoders;
mod http;
mod measure;
mod scan;
mod search;
mod semantic;
mod sessions;
mod sources;
mod start;

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use serde_json::{Value, json};

use crate::repository::Repository;
use crate::{Verdict, process, terminal};

struct Benchmark {
    name: &'static str,
    run: fn(&Bench<'_>) -> Result<Vec<Outcome>>,
}

const BENCHMARKS: [Benchmark; 15] = [
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
        name: "mcp-crowd",
        run: crowd::crowds,
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
        name: "unchanged",
        run: scan::unchanged,
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
        name: "cases",
        run: cases::figures,
    },
    Benchmark {
        name: "sessions",
        run: sessions::figures,
    },
    Benchmark {
        name: "decoders",
        run: decoders::streams,
    },
    Benchmark {
        name: "search",
        run: search::pages,
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

struct Bench<'tree> {
    repository: &'tree Repository,
    ktx: PathBuf,
    /// A program that does nothing, to measure process start.
    nothing: PathBuf,
    folder: &'tree Path,
    scale: Scale,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Scale {
    Whole,
    Small,
}

#[derive(Clone, Debug, PartialEq)]
struct Outcome {
    name: String,
    /// `ms`, `KiB` or a counted noun.
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

/// Builds the release binary; `name` selects one benchmark.
pub(crate) fn run(repository: &Repository, name: Option<&str>) -> Result<Verdict> {
    let chosen = chosen(name)?;
    measured(repository, &chosen, Scale::Whole)
}

/// Uses less data and the debug binary, without bounds.
pub(crate) fn try_out(repository: &Repository, name: &str) -> Result<Verdict> {
    let chosen = chosen(Some(name))?;
    measured(repository, &chosen, Scale::Small)
}

fn chosen(name: Option<&str>) -> Result<Vec<&'static Benchmark>> {
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
    Ok(chosen)
}

fn measured(repository: &Repository, chosen: &[&Benchmark], scale: Scale) -> Result<Verdict> {
    let mut build = vec!["build", "--locked", "-p", "ktx"];
    let profile = match scale {
        Scale::Whole => {
            build.push("--release");
            "release"
        }
        Scale::Small => "debug",
    };
    if !process::succeeds(&mut process::cargo(repository, &build))? {
        return Ok(Verdict::Fail);
    }
    let folder = tempfile::tempdir().context("no temporary folder can be created")?;
    let bench = Bench {
        repository,
        ktx: repository.target().join(profile).join("ktx"),
        nothing: measure::program_that_does_nothing(repository, folder.path())?,
        folder: folder.path(),
        scale,
    };
    let mut verdict = Verdict::Pass;
    for benchmark in chosen {
        for outcome in (benchmark.run)(&bench)? {
            terminal::line(&outcome.wire().to_string());
            if scale == Scale::Whole && !outcome.holds() {
                verdict = Verdict::Fail;
            }
        }
    }
    Ok(verdict)
}

#[cfg(test)]
mod tests;
