//! `ktx agent test` and `ktx agent cases`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

use super::{OutputArgs, SpendingArgs};

/// `ktx agent test`
#[derive(Debug, Args)]
pub struct AgentTestArgs {
    /// A file of cases, or an agent with cases: a name or a file [default: the cases of `--agent`, else of the only
    /// agent that has some]
    #[arg(value_name = "FILE")]
    pub file: Option<String>,
    #[command(flatten)]
    pub selection: TestSelectionArgs,
    #[command(flatten)]
    pub pace: TestPaceArgs,
    #[command(flatten)]
    pub earlier: TestEarlierArgs,
    #[command(flatten)]
    pub report: TestReportArgs,
    #[command(flatten)]
    pub spending: SpendingArgs,
    #[command(flatten)]
    pub output: OutputArgs,
}

/// Which cases are asked, in which arms.
#[derive(Debug, Args)]
pub struct TestSelectionArgs {
    /// The agent: a name or a file [default: the agent of the cases, else the built-in `research`]
    #[arg(long, value_name = "AGENT")]
    pub agent: Option<String>,
    /// Ask only cases whose name matches; `*` matches any characters
    #[arg(long, value_name = "GLOB")]
    pub case: Option<String>,
    /// Ask only cases with this tag (can be repeated)
    #[arg(long, value_name = "TAG")]
    pub tag: Vec<String>,
    /// Ask only the first N of them
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub limit: Option<u32>,
    /// Ask each case N times, whatever the case says
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100))]
    pub repeats: Option<u32>,
    /// Ask in this arm: `full`, `bare`, `no-wiki`, `no-semantic`, `no-descriptions`, `no-joins`, `no-dictionary`,
    /// or one of the file. Can be repeated; ktx compares the first arm with each of the others
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    pub arm: Vec<String>,
    /// Ask in the arms `full` and `bare`, and report whether the context layer helps
    #[arg(long, conflicts_with = "arm")]
    pub ablation: bool,
    /// What answers the cases
    #[arg(long, value_enum, default_value_t = TestRunner::Agent, value_name = "RUNNER")]
    pub runner: TestRunner,
}

/// Who answers the cases.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum TestRunner {
    /// The agent, with its model
    Agent,
    /// The semantic layer: compares `{semantic}` with `{sql}`, without a model
    Planner,
    /// The search: looks for `expected_sources`, without a model
    Retrieval,
    /// The newest recorded answers, without a model
    Replay,
}

/// How the cases are asked.
#[derive(Debug, Args)]
pub struct TestPaceArgs {
    /// Ask N cases at the same time [default: `execution.parallel_test_cases`, else 4, with `claude-code` 1]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=64))]
    pub parallel: Option<u16>,
    /// Seconds that a case may take [default: its own, else `execution.llm_timeout`]
    #[arg(long, value_name = "S", value_parser = clap::value_parser!(u64).range(1..))]
    pub timeout: Option<u64>,
    /// Retry an error N times; failures are not retried
    #[arg(long, value_name = "N", default_value_t = 2)]
    pub retries: u32,
    /// Check and list the cases without asking
    #[arg(long)]
    pub dry_run: bool,
}

/// Which earlier run this one is about.
#[derive(Debug, Args)]
pub struct TestEarlierArgs {
    /// Continue a run with its remaining cases
    #[arg(long, value_name = "RUN", conflicts_with_all = EARLIER)]
    pub resume: Option<String>,
    /// Continue a run, and ask cases again that ended in an error
    #[arg(long, value_name = "RUN", conflicts_with_all = EARLIER, conflicts_with = "resume")]
    pub retry_errors: Option<String>,
    /// Judge the recorded answers of a run with the current cases, without asking the agent
    #[arg(long, value_name = "RUN", conflicts_with_all = EARLIER, conflicts_with_all = ["resume", "retry_errors"])]
    pub grade: Option<String>,
    /// Take verdicts from earlier runs in which the agent, the case, the arm, the context layer and the model were the
    /// same, and ask only the others
    #[arg(long, conflicts_with_all = ["resume", "retry_errors", "grade"])]
    pub reuse: bool,
}

/// Flags that an earlier run has its own values of.
const EARLIER: [&str; 9] = [
    "file", "agent", "case", "tag", "limit", "repeats", "arm", "ablation", "runner",
];

/// What is reported of a run.
#[derive(Debug, Args)]
pub struct TestReportArgs {
    /// Write a report: `.json`, `.xml` for `JUnit`, `.md` or `.html` (can be repeated)
    #[arg(long, value_name = "FILE")]
    pub report: Vec<PathBuf>,
    /// Print a report in this form on stdout
    #[arg(long, value_enum, value_name = "FORM")]
    pub format: Option<TestReportFormat>,
    /// Compare with an earlier report in JSON
    #[arg(long, value_name = "REPORT")]
    pub compare: Option<PathBuf>,
    /// Exit with 8 only if a case that passed in the earlier report fails now
    #[arg(long, requires = "compare")]
    pub no_regression: bool,
    /// Exit with 8 only if the accuracy is below X, from 0 to 1
    #[arg(long, value_name = "X", value_parser = share)]
    pub fail_under: Option<f64>,
}

/// The form of a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum TestReportFormat {
    /// Everything, as data
    Json,
    /// Markdown
    Md,
    /// `JUnit` XML
    Junit,
    /// One HTML page without scripts
    Html,
}

fn share(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(share) if (0.0..=1.0).contains(&share) => Ok(share),
        _ => Err("give a share from 0 to 1, such as 0.9".to_owned()),
    }
}

/// `ktx agent cases`
#[derive(Debug, Args)]
pub struct CasesArgs {
    #[command(subcommand)]
    pub command: CasesCommand,
}

/// `ktx agent cases …`
#[derive(Debug, Subcommand)]
pub enum CasesCommand {
    /// Propose cases with gold SQL from past queries and measures
    ///
    /// ktx does not know whether a proposed query is right. Each case is skipped until you have read its SQL and
    /// removed `skip`.
    Suggest(CasesSuggestArgs),
}

/// `ktx agent cases suggest`
#[derive(Debug, Args)]
pub struct CasesSuggestArgs {
    /// Use only this connection
    #[arg(long, value_name = "ID")]
    pub connection_id: Option<String>,
    /// Propose at most N cases
    #[arg(long, value_name = "N", default_value_t = 30)]
    pub limit: usize,
    /// The file to write, which must not exist [default: standard output]
    #[arg(long, value_name = "FILE")]
    pub to: Option<PathBuf>,
    #[command(flatten)]
    pub output: OutputArgs,
}
