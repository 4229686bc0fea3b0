//! Runs and times all checks in order.

use std::time::{Duration, Instant};

use anyhow::Result;

use crate::acceptance::{self, Programs};
use crate::repository::Repository;
use crate::services::Load;
use crate::{Mode, Verdict, audit, docs, process, suite, terminal};

struct CiStep {
    name: &'static str,
    run: fn(&Repository) -> Result<Verdict>,
}

const STEPS: [CiStep; 6] = [
    CiStep {
        name: "fmt",
        run: |repository| cargo(repository, &["fmt", "--all", "--check"]),
    },
    CiStep {
        name: "audit",
        run: audit::run,
    },
    CiStep {
        name: "clippy",
        run: |repository| {
            let lint = ["clippy", "--workspace", "--all-targets", "--locked"];
            cargo(repository, &[&lint[..], &["--", "-D", "warnings"]].concat())
        },
    },
    CiStep {
        name: "test",
        run: |repository| suite::run(repository, Load::Usual, &[]),
    },
    CiStep {
        name: "acceptance",
        run: |repository| acceptance::run(repository, Programs::Built, None),
    },
    CiStep {
        name: "docs",
        run: |repository| docs::run(repository, Mode::Check),
    },
];

pub(crate) fn run(repository: &Repository) -> Verdict {
    let mut rows: Vec<(&str, &str, Duration)> = Vec::new();
    let mut verdict = Verdict::Pass;
    for step in &STEPS {
        terminal::problem(&format!("==> {}", step.name));
        let started = Instant::now();
        let outcome = (step.run)(repository);
        let took = started.elapsed();
        let word = match &outcome {
            Ok(Verdict::Pass) => "ok",
            Ok(Verdict::Fail) => "FAILED",
            Err(error) => {
                terminal::problem(&format!("error: {error:#}"));
                "FAILED"
            }
        };
        terminal::problem(&format!(
            "<== {} {word} in {:.1} s",
            step.name,
            took.as_secs_f64()
        ));
        rows.push((step.name, word, took));
        if word != "ok" {
            verdict = Verdict::Fail;
            break;
        }
    }
    terminal::problem(&table(&rows));
    verdict
}

fn cargo(repository: &Repository, arguments: &[&str]) -> Result<Verdict> {
    let passed = process::succeeds(&mut process::cargo(repository, arguments))?;
    Ok(if passed { Verdict::Pass } else { Verdict::Fail })
}

fn table(rows: &[(&str, &str, Duration)]) -> String {
    let total: Duration = rows.iter().map(|(_, _, took)| *took).sum();
    let mut lines = vec![format!("{:<10} {:<7} {:>8}", "step", "result", "seconds")];
    for (name, word, took) in rows {
        lines.push(format!("{name:<10} {word:<7} {:>8.1}", took.as_secs_f64()));
    }
    lines.push(format!(
        "{:<10} {:<7} {:>8.1}",
        "total",
        "",
        total.as_secs_f64()
    ));
    lines.join("\n")
}

#[cfg(test)]
mod tests;
