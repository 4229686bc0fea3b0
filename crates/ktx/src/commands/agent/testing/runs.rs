//! Run journals in `.ktx/state/agents/tests/<run>/`.

use std::collections::BTreeMap;

use jiff::Timestamp;
use ktx_agent_eval::{JournalEntry, JournalError, RecordedAnswers, RecordedRun, RunJournal};
use ktx_diagnostics::{Code, Failure, counted};
use ktx_project_store::{Holder, Layout};
use ktx_session_log::{LogError, SessionId, SessionStore};
use serde_json::Value;

use super::selection::runner_name;
use super::wire::PlanRecord;
use crate::cli::TestRunner;
use crate::invocation::{Invocation, OpenProject};
use crate::report::{Outcome, Report as _};

pub(super) fn store(project: &OpenProject) -> SessionStore {
    SessionStore::new(Layout::new(&project.dir).agent_tests())
}

fn holder(invocation: &Invocation) -> Holder {
    Holder::this_process(&format!("ktx {}", invocation.command), Some(invocation.now))
}

pub(super) fn find(store: &SessionStore, text: &str) -> Outcome<SessionId> {
    store.find(text).map_err(|error| match error {
        LogError::NotFound { nearest, .. } => {
            let failure = Failure::new(
                Code::TestRunNotFound,
                format!("there is no test run `{text}`"),
            );
            match nearest.first() {
                Some(near) => failure.hint(format!("did you mean `{near}`?")),
                None => failure.hint("list the runs with `ls .ktx/state/agents/tests`"),
            }
        }
        other => journal_failure(&other.into()),
    })
}

pub(super) fn journal_failure(error: &JournalError) -> Failure {
    let code = match error {
        JournalError::Log(LogError::Busy { .. }) => Code::SessionBusy,
        JournalError::Log(LogError::Damaged { .. } | LogError::Format { .. })
        | JournalError::Record { .. } => Code::CorruptedData,
        _ => Code::File,
    };
    Failure::from_error(code, error).context("the journal of the test run cannot be used")
}

pub(super) fn create(
    store: &SessionStore,
    run: &SessionId,
    invocation: &Invocation,
    plan: &PlanRecord,
) -> Outcome<RunJournal> {
    let plan =
        serde_json::to_value(plan).map_err(|error| Failure::from_error(Code::Internal, &error))?;
    RunJournal::create(store, run, &holder(invocation), plan, Timestamp::now)
        .map_err(|error| journal_failure(&error))
}

pub(super) fn resume(
    store: &SessionStore,
    run: &SessionId,
    invocation: &Invocation,
) -> Outcome<(RunJournal, RecordedRun)> {
    RunJournal::resume(store, run, &holder(invocation), Timestamp::now)
        .map_err(|error| journal_failure(&error))
}

pub(super) fn read(store: &SessionStore, run: &SessionId) -> Outcome<RecordedRun> {
    RunJournal::read(store, run).map_err(|error| journal_failure(&error))
}

pub(super) fn plan_of(run: &SessionId, plan: &Value) -> Outcome<PlanRecord> {
    serde_json::from_value(plan.clone()).map_err(|error| {
        Failure::from_error(Code::TestRunChanged, &error)
            .context(format!("the test run `{run}` is of another version of ktx"))
            .hint("begin a new run")
    })
}

/// Refuses to mix answers of two states.
pub(super) fn check_unchanged(
    run: &SessionId,
    before: &PlanRecord,
    now: &PlanRecord,
) -> Outcome<()> {
    let changed = before.differences(now);
    if changed.is_empty() {
        return Ok(());
    }
    let verb = if changed.len() == 1 && changed.first() != Some(&"the cases") {
        "has"
    } else {
        "have"
    };
    Err(Failure::new(
        Code::TestRunChanged,
        format!(
            "{} {verb} changed since the test run `{run}` began",
            changed.join(" and ")
        ),
    )
    .hint("begin a new run")
    .hint(format!(
        "or judge its answers with the cases as they are now: `ktx agent test --grade {run}`"
    )))
}

/// The newest verdicts that a run with this plan can reuse, without errors.
pub(super) fn reusable(store: &SessionStore, now: &PlanRecord) -> Outcome<Vec<JournalEntry>> {
    let ids = store
        .list()
        .map_err(|error| journal_failure(&error.into()))?;
    let mut found: BTreeMap<(String, String, u32), (String, JournalEntry)> = BTreeMap::new();
    for id in ids {
        let Ok(run) = RunJournal::read(store, &id) else {
            continue;
        };
        let Ok(plan) = plan_of(&id, &run.plan) else {
            continue;
        };
        for entry in run.entries {
            let attempt = &entry.attempt;
            let place = (attempt.case.clone(), attempt.arm.clone(), attempt.repeat);
            let is_newer = found
                .get(&place)
                .is_none_or(|(started, _)| *started <= plan.started);
            if is_newer
                && attempt.verdict.is_judged()
                && plan.asks_as(now, &attempt.case, &attempt.arm)
            {
                found.insert(place, (plan.started.clone(), entry));
            }
        }
    }
    Ok(found.into_values().map(|(_, entry)| entry).collect())
}

pub(super) fn recorded_answers(store: &SessionStore, agent: &str) -> Outcome<RecordedAnswers> {
    let mut runs: Vec<(String, RecordedRun)> = Vec::new();
    let ids = store
        .list()
        .map_err(|error| journal_failure(&error.into()))?;
    let mut unread = 0;
    for id in ids {
        let run = RunJournal::read(store, &id).ok();
        let plan = run.as_ref().and_then(|run| plan_of(&id, &run.plan).ok());
        match run.zip(plan) {
            Some((run, plan))
                if plan.agent == agent
                    && plan.selection.runner == runner_name(TestRunner::Agent) =>
            {
                runs.push((plan.started, run));
            }
            Some(_) => {}
            None => unread += 1,
        }
    }
    runs.sort_by(|(one, _), (other, _)| one.cmp(other));
    let mut answers = RecordedAnswers::default();
    for (_, run) in runs {
        answers.add(run);
    }
    if answers.is_empty() {
        let failure = Failure::new(Code::NoCases, "no answer of this agent is recorded");
        let failure = failure.hint("ask the cases once: `ktx agent test`");
        return Err(if unread > 0 {
            failure.hint(format!("{} cannot be read", counted(unread, "test run")))
        } else {
            failure
        });
    }
    Ok(answers)
}
