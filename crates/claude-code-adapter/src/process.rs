//! The child process, in its own group.

mod descendants;
mod exit_grace;
mod guard;
mod launch;
mod pipes;
mod registry;
mod tree;
mod version;

use std::collections::BTreeMap;
use std::process::ExitStatus;
use std::sync::Arc;
use std::time::Duration;

use ktx_llm_runtime::{LlmError, LlmErrorKind, Patience};
use tokio::process::{Child, ChildStdout};
use tokio::task::JoinSet;
use tokio::time::timeout;

use crate::environment::child_environment;
use crate::invocation::Query;
use crate::settings::ClaudeCodeSettings;
use crate::versions::{is_older, too_old};

pub(crate) use descendants::Descendants;
use exit_grace::ExitGrace;
pub(crate) use guard::Guard;
use launch::StartFailureCause;
pub(crate) use launch::{GUARD_NAME, another_program, find_program};
use pipes::PipeWriter;
pub(crate) use pipes::{ChildInput, StderrTail};
pub use registry::sweep;
pub(crate) use registry::{forget_descendants, note_below};
use tree::ProcessTree;
pub(crate) use tree::kill_child;
pub(crate) use version::{VersionReply, ask_version};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ProcessEnding {
    /// Waits for the end, then continues as for `Stop`.
    Wait,
    Stop,
    Kill,
}

/// Drop kills the whole tree.
#[derive(Debug)]
pub(crate) struct RunningChild {
    pub(crate) stdout: ChildStdout,
    pub(crate) input: ChildInput,
    pub(crate) complaints: StderrTail,
    child: Child,
    tree: ProcessTree,
}

/// Nothing else starts the program.
pub(crate) async fn spawn(
    settings: &ClaudeCodeSettings,
    guard: &Arc<Guard>,
    query: &Query,
) -> Result<RunningChild, LlmError> {
    let token = uuid::Uuid::new_v4().to_string();
    let environment: BTreeMap<String, String> = child_environment(
        &settings.parent(),
        query.compaction(),
        query.substitution(),
        &token,
    );
    let watched = || guard.watch(&token);
    if let Some(version) = guard.known.new_version(settings).await
        && is_older(&version)
    {
        return Err(too_old(Some(&version)));
    }
    let (mut child, watch) = started(settings, query, &environment, &watched).await?;
    let (Some(stdin), Some(stdout), Some(stderr)) =
        (child.stdin.take(), child.stdout.take(), child.stderr.take())
    else {
        return Err(LlmError::new(
            LlmErrorKind::Process,
            "the pipes of the Claude Code process are missing",
        ));
    };
    let tree = ProcessTree::new(child.id(), token, settings.state_dir.as_deref(), watch);
    Ok(RunningChild {
        stdout,
        input: ChildInput::new(stdin),
        complaints: StderrTail::new(stderr),
        child,
        tree,
    })
}

/// Retries while there is no room or during an update. Probes do not wait for a missing program.
async fn started<W>(
    settings: &ClaudeCodeSettings,
    query: &Query,
    environment: &BTreeMap<String, String>,
    watched: &(dyn Fn() -> W + Sync),
) -> Result<(Child, W), LlmError> {
    let mut pause = settings.timeouts.spawn_backoff;
    let mut tries = 1;
    loop {
        let StartFailure { error, cause } = match start(settings, query, environment, watched) {
            Ok(started) => return Ok(started),
            Err(failed) => failed,
        };
        let most = match cause {
            StartFailureCause::Crowded => 4,
            StartFailureCause::Absent if query.patience() == Patience::AsConfigured => 6,
            StartFailureCause::Absent | StartFailureCause::Lasting => 1,
        };
        if tries >= most {
            return Err(error);
        }
        tracing::warn!(%error, tries, "a Claude Code process does not start, waiting");
        tokio::time::sleep(pause).await;
        pause *= 2;
        tries += 1;
    }
}

fn start<W>(
    settings: &ClaudeCodeSettings,
    query: &Query,
    environment: &BTreeMap<String, String>,
    watched: &(dyn Fn() -> W + Sync),
) -> Result<(Child, W), StartFailure> {
    let lasting = |error| StartFailure {
        error,
        cause: StartFailureCause::Lasting,
    };
    let program = find_program(settings).map_err(|error| StartFailure {
        error,
        cause: StartFailureCause::Absent,
    })?;
    if let Some(version) = version::installed_version(&program)
        && is_older(&version)
    {
        return Err(lasting(too_old(Some(&version))));
    }
    if !settings.project_dir.is_dir() {
        return Err(lasting(LlmError::new(
            LlmErrorKind::Process,
            format!(
                "the project directory `{}` does not exist",
                settings.project_dir.display()
            ),
        )));
    }
    let mut command = launch::command(settings, &program, &query.arguments(), environment);
    let watch = watched();
    match command.spawn() {
        Ok(child) => Ok((child, watch)),
        Err(error) => Err(StartFailure {
            cause: launch::cause(&error),
            error: launch::not_started(settings, &program, &error),
        }),
    }
}

struct StartFailure {
    error: LlmError,
    cause: StartFailureCause,
}

impl RunningChild {
    pub(crate) async fn exited(child: &mut Child) -> Option<ExitStatus> {
        match child.wait().await {
            Ok(status) => Some(status),
            Err(error) => {
                tracing::warn!(%error, "the end of the Claude Code process was not seen");
                None
            }
        }
    }

    pub(crate) fn parts(&mut self) -> (&mut ChildStdout, &mut Child) {
        (&mut self.stdout, &mut self.child)
    }

    pub(crate) async fn end(self, ending: ProcessEnding, limits: &crate::Timeouts) -> ChildExit {
        self.closing(ProcessEnding::Kill).end(ending, limits).await
    }

    /// The child can only end then. `Ending::Wait` applies even if the caller is dropped.
    pub(crate) fn closing(self, when_dropped: ProcessEnding) -> ClosingChild {
        let Self {
            mut stdout,
            input,
            complaints,
            child,
            mut tree,
        } = self;
        tree.record_descendants();
        let mut drain = JoinSet::new();
        drain.spawn(async move { tokio::io::copy(&mut stdout, &mut tokio::io::sink()).await });
        ClosingChild {
            exit_grace: (when_dropped == ProcessEnding::Wait).then(|| ExitGrace::to(child.id())),
            tree,
            child,
            _writer: input.close(),
            _drain: drain,
            complaints,
        }
    }
}

/// Drop kills the whole tree, after the promised moment.
#[derive(Debug)]
pub(crate) struct ClosingChild {
    /// Must be dropped first.
    exit_grace: Option<ExitGrace>,
    tree: ProcessTree,
    child: Child,
    _writer: PipeWriter,
    _drain: JoinSet<std::io::Result<u64>>,
    complaints: StderrTail,
}

impl ClosingChild {
    pub(crate) async fn end(
        mut self,
        ending: ProcessEnding,
        limits: &crate::Timeouts,
    ) -> ChildExit {
        let mut status = None;
        if ending == ProcessEnding::Wait {
            status = within(limits.exit, &mut self.child).await;
        }
        if let Some(exit_grace) = self.exit_grace.take() {
            exit_grace.over();
        }
        let ended_by_itself = status.is_some();
        if status.is_none() && ending != ProcessEnding::Kill {
            self.tree.terminate();
            status = within(limits.terminate, &mut self.child).await;
        }
        if status.is_none() {
            self.tree.kill();
            status = within(limits.terminate, &mut self.child).await;
        }
        let Self {
            tree,
            _drain: drain,
            complaints,
            ..
        } = self;
        drop(tree);
        drop(drain);
        ChildExit {
            status,
            ended_by_itself,
            complaints: complaints.finish(limits.drain).await,
        }
    }
}

pub(crate) const STAYED: &str = "Claude Code did not exit after an answer, so ktx ended it";

#[derive(Debug)]
pub(crate) struct ChildExit {
    pub(crate) status: Option<ExitStatus>,
    pub(crate) ended_by_itself: bool,
    pub(crate) complaints: String,
}

async fn within(limit: Duration, child: &mut Child) -> Option<ExitStatus> {
    timeout(limit, RunningChild::exited(child))
        .await
        .ok()
        .flatten()
}

pub(crate) fn status_text(status: Option<ExitStatus>) -> String {
    let Some(status) = status else {
        return "without a status".to_owned();
    };
    #[cfg(unix)]
    if let Some(signal) = std::os::unix::process::ExitStatusExt::signal(&status) {
        return format!("by signal {signal}");
    }
    status.code().map_or_else(
        || "without a status".to_owned(),
        |code| format!("with exit code {code}"),
    )
}
