//! Repository chores: `cargo xtask audit | style | test | acceptance | docs | codegen | bench |
//! mutants | dist | ci`. Depends on no product crate.

mod acceptance;
mod audit;
mod bench;
mod ci;
mod codegen;
mod dist;
mod docs;
mod environment;
mod live;
mod mutants;
mod process;
mod repository;
mod services;
mod style;
mod suite;
mod terminal;

use std::process::ExitCode;

use anyhow::{Result, bail};

use crate::acceptance::Programs;
use crate::repository::Repository;
use crate::services::Load;
use crate::style::StyleDetails;

const USAGE: &str = "\
usage: cargo xtask <task>

  audit [--call-sites]   check the rules of the house; with --call-sites, list every use of the LLM port
  style [--details]      print the figures of taste beside those of other projects; with --details, also
                         the places that they count
  test [--heavy] [-- <filter>…]
                         bring up the services, run every test, shut the services down; with --heavy,
                         also what takes long to fetch or much memory (ClickHouse, the emulators of
                         BigQuery and Snowflake) and the newest `claude` of the registry
  test --live <provider> ask a real provider a few small questions, with the key in `.env.live.<provider>`
  acceptance [<script>]  run the scripts of `fixtures/acceptance` with the built program and real servers
  docs [--check]         check the manual and the root pages; without --check, also build the book
  codegen [--check]      regenerate the generated pages, or check that they are current
  bench [<name>]         measure the release binary and print ratios as JSON lines
  bench <name> --try     run a benchmark over less data with the debug binary; no bound counts
  mutants [--since <commit>] [<crate>…]
                         break the code in one place at a time and print how many breaks the tests of each
                         crate notice; with --since, only in lines that differ from the commit
  dist                   build the release artifacts for this machine, install each into an empty folder,
                         and run the demo there
  ci                     everything a change must pass, in order, with times
";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    Write,
    Check,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    Pass,
    Fail,
}

fn main() -> ExitCode {
    let arguments: Vec<String> = environment::arguments();
    match run(&arguments) {
        Ok(Verdict::Pass) => ExitCode::SUCCESS,
        Ok(Verdict::Fail) => ExitCode::from(1),
        Err(error) => {
            terminal::problem(&format!("error: {error:#}"));
            ExitCode::from(2)
        }
    }
}

fn run(arguments: &[String]) -> Result<Verdict> {
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    if matches!(words.as_slice(), [] | ["help" | "--help" | "-h", ..]) {
        terminal::line(USAGE.trim_end());
        return Ok(Verdict::Pass);
    }
    let repository = Repository::locate()?;
    match words.as_slice() {
        ["audit"] => audit::run(&repository),
        ["audit", "--call-sites"] => audit::print_call_sites(&repository),
        ["style"] => style::run(&repository, StyleDetails::Hidden),
        ["style", "--details"] => style::run(&repository, StyleDetails::Shown),
        ["test", "--live", provider] => live::run(&repository, provider),
        ["test"] => suite::run(&repository, Load::Usual, &[]),
        ["test", "--heavy"] => suite::run(&repository, Load::Heavy, &[]),
        ["test", "--", filters @ ..] => suite::run(&repository, Load::Usual, filters),
        ["test", "--heavy", "--", filters @ ..] => suite::run(&repository, Load::Heavy, filters),
        ["acceptance"] => acceptance::run(&repository, Programs::Build, None),
        ["acceptance", script] => acceptance::run(&repository, Programs::Build, Some(script)),
        ["docs"] => docs::run(&repository, Mode::Write),
        ["docs", "--check"] => docs::run(&repository, Mode::Check),
        ["codegen"] => codegen::run(&repository, Mode::Write),
        ["codegen", "--check"] => codegen::run(&repository, Mode::Check),
        ["bench"] => bench::run(&repository, None),
        ["bench", name] => bench::run(&repository, Some(name)),
        ["bench", name, "--try"] => bench::try_out(&repository, name),
        ["mutants", "--since", commit, crates @ ..] => {
            mutants::run(&repository, mutants::MutationExtent::Since(commit), crates)
        }
        ["mutants", crates @ ..] => {
            mutants::run(&repository, mutants::MutationExtent::Whole, crates)
        }
        ["dist"] => dist::run(&repository),
        ["ci"] => Ok(ci::run(&repository)),
        _ => bail!("unknown task `{}`\n\n{USAGE}", words.join(" ")),
    }
}
