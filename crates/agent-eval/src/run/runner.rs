//! Runs the attempts of a plan.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use tokio::sync::OnceCell;
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;

use super::case::{
    AgentRunner, AskEffect, AskError, AttemptRequest, Case, Conversation, Oracle, OracleError,
    Truth,
};
use super::grading::{GradedAttempt, grade, unusable};
use super::journal::{JournalError, RunJournal};
use super::metric::KnownTruth;
use crate::{Attempt, GoldRows, Judge, RowOrder, Usage, Verdict};

/// Grace period for a timed-out attempt to report its cost.
const LAST_WORDS: Duration = Duration::from_secs(5);

#[derive(Debug, Clone, Default)]
pub struct EvaluationPlan {
    /// With unique names.
    pub cases: Vec<Case>,
    /// Each case runs in each arm.
    pub arms: Vec<String>,
    /// At least 1.
    pub parallel: usize,
    /// Retries after an error; a failure is never retried.
    pub retries: u32,
    pub finished: Vec<Attempt>,
    /// Attempts to run again; their cost is added.
    pub lost: Vec<Attempt>,
}

#[derive(Clone, Copy)]
pub struct EvaluationPorts<'a> {
    pub agent: &'a dyn AgentRunner,
    /// Runs each query once.
    pub oracle: &'a dyn Oracle,
    pub judge: Option<&'a dyn Judge>,
    pub journal: &'a RunJournal,
    pub notify: &'a (dyn Fn(&Attempt) + Send + Sync),
}

impl std::fmt::Debug for EvaluationPorts<'_> {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Ports").finish_non_exhaustive()
    }
}

#[derive(Debug, Clone, PartialEq)]
pub struct RunOutcome {
    pub attempts: Vec<Attempt>,
    /// Remaining attempts are errors in `attempts`, and not in the journal.
    pub stopped: Option<AskError>,
}

/// Runs unfinished attempts, case by case and arm by arm. Attempts stopped by the budget, a person
/// or an unusable model are errors, and not in the journal.
pub async fn run(
    plan: &EvaluationPlan,
    ports: EvaluationPorts<'_>,
) -> Result<RunOutcome, JournalError> {
    let places = plan.jobs();
    let mut finished: BTreeMap<AttemptPosition, Attempt> = BTreeMap::new();
    for attempt in &plan.finished {
        if let Some(place) = plan.place(attempt) {
            finished.insert(place, attempt.clone());
        }
    }
    let lost = plan.lost.iter();
    let lost = lost.filter_map(|attempt| Some((plan.place(attempt)?, attempt.usage)));
    let run = EvaluationRun {
        plan,
        ports,
        lost: lost.collect(),
        stopped: Mutex::default(),
        truths: plan.cases.iter().map(|_| OnceCell::new()).collect(),
    };
    let open = places.iter().filter(|place| !finished.contains_key(place));
    let asked: Vec<Option<(AttemptPosition, Attempt)>> = stream::iter(open)
        .map(|place| run.attempt(*place))
        .buffer_unordered(plan.parallel.max(1))
        .try_collect()
        .await?;
    finished.extend(asked.into_iter().flatten());
    Ok(RunOutcome {
        attempts: finished.into_values().collect(),
        stopped: run.stop(),
    })
}

/// In run order; repeats from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct AttemptPosition {
    case: usize,
    repeat: u32,
    arm: usize,
}

impl EvaluationPlan {
    fn jobs(&self) -> Vec<AttemptPosition> {
        let mut jobs = Vec::new();
        for (case, asked) in self.cases.iter().enumerate() {
            // A skipped case gets one attempt.
            let repeats = if asked.skip.is_some() {
                1
            } else {
                asked.repeats
            };
            for repeat in 1..=repeats {
                jobs.extend((0..self.arms.len()).map(|arm| AttemptPosition { case, repeat, arm }));
            }
        }
        jobs
    }

    fn place(&self, attempt: &Attempt) -> Option<AttemptPosition> {
        Some(AttemptPosition {
            case: self.cases.iter().position(|it| it.name == attempt.case)?,
            repeat: attempt.repeat,
            arm: self.arms.iter().position(|it| *it == attempt.arm)?,
        })
    }
}

type Truths = Vec<Vec<KnownTruth>>;

struct EvaluationRun<'a> {
    plan: &'a EvaluationPlan,
    ports: EvaluationPorts<'a>,
    /// Cost of earlier attempts.
    lost: BTreeMap<AttemptPosition, Usage>,
    stopped: Mutex<Option<AskError>>,
    truths: Vec<OnceCell<Truths>>,
}

struct AttemptResult {
    graded: GradedAttempt,
    usage: Usage,
    conversation: Option<Conversation>,
}

impl AttemptResult {
    fn without_answer(graded: GradedAttempt, usage: Usage) -> Self {
        Self {
            graded,
            usage,
            conversation: None,
        }
    }
}

impl EvaluationRun<'_> {
    async fn attempt(
        &self,
        place: AttemptPosition,
    ) -> Result<Option<(AttemptPosition, Attempt)>, JournalError> {
        let Some(case) = self.plan.cases.get(place.case) else {
            return Ok(None);
        };
        let Some(arm) = self.plan.arms.get(place.arm) else {
            return Ok(None);
        };
        let asked = match (&case.skip, self.stop()) {
            (Some(reason), _) => {
                let skipped = GradedAttempt {
                    verdict: Verdict::Skipped,
                    ..GradedAttempt::error(reason.clone())
                };
                AttemptResult::without_answer(skipped, Usage::NOTHING)
            }
            (None, Some(stop)) => {
                let graded = GradedAttempt::error(reason_of(&stop));
                let asked = AttemptResult::without_answer(graded, self.earlier_usage(place));
                return Ok(Some((place, written(case, arm, place.repeat, &asked))));
            }
            (None, None) => match self.ask(case, arm, place).await {
                Ok(asked) => asked,
                Err(stop) => {
                    let asked = AttemptResult::without_answer(
                        GradedAttempt::error(reason_of(&stop)),
                        stop.usage,
                    );
                    let attempt = written(case, arm, place.repeat, &asked);
                    self.lock().get_or_insert(stop);
                    if attempt.usage != Usage::NOTHING {
                        self.ports.journal.record_unfinished(&attempt)?;
                    }
                    return Ok(Some((place, attempt)));
                }
            },
        };
        let attempt = written(case, arm, place.repeat, &asked);
        self.ports
            .journal
            .record(&attempt, asked.conversation.as_ref())?;
        (self.ports.notify)(&attempt);
        Ok(Some((place, attempt)))
    }

    fn earlier_usage(&self, place: AttemptPosition) -> Usage {
        self.lost.get(&place).copied().unwrap_or(Usage::NOTHING)
    }

    fn stop(&self) -> Option<AskError> {
        self.lock().clone()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Option<AskError>> {
        self.stopped.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Asks and judges; an error ends the run.
    async fn ask(
        &self,
        case: &Case,
        arm: &str,
        place: AttemptPosition,
    ) -> Result<AttemptResult, AskError> {
        // Without the reference, the answer would be paid for in vain.
        let truths = match self.truths(case, place.case).await {
            Ok(truths) => truths,
            Err(error) => {
                let graded = GradedAttempt::error(format!("oracle: the reference failed: {error}"));
                return Ok(AttemptResult::without_answer(
                    graded,
                    self.earlier_usage(place),
                ));
            }
        };
        if let Some(graded) = unusable(case, truths) {
            return Ok(AttemptResult::without_answer(
                graded,
                self.earlier_usage(place),
            ));
        }
        let mut lost = self.earlier_usage(place);
        let mut tries = 0;
        let mut conversation = loop {
            match self.converse(case, arm, place.repeat).await {
                Ok(conversation) => break conversation,
                Err(error) => {
                    lost = lost.plus(error.usage);
                    if error.effect.ends_run() {
                        return Err(AskError {
                            usage: lost,
                            ..error
                        });
                    }
                    if error.effect == AskEffect::Lasting || tries == self.plan.retries {
                        let graded = GradedAttempt::error(error.message);
                        return Ok(AttemptResult::without_answer(graded, lost));
                    }
                    tries += 1;
                }
            }
        };
        let judge = self.ports.judge;
        let mut graded = grade(case, &conversation, truths, judge).await;
        for _ in 0..self.plan.retries {
            if graded.verdict != Verdict::Error || graded.judging.is_none() {
                break;
            }
            let before = graded.judging;
            graded = grade(case, &conversation, truths, judge).await;
            graded.judging = before.into_iter().chain(graded.judging).reduce(Usage::plus);
        }
        conversation.usage = lost.plus(conversation.usage);
        Ok(AttemptResult {
            graded,
            usage: conversation.usage,
            conversation: Some(conversation),
        })
    }

    async fn converse(
        &self,
        case: &Case,
        arm: &str,
        repeat: u32,
    ) -> Result<Conversation, AskError> {
        let stop = CancellationToken::new();
        let asking = self.ports.agent.ask(AttemptRequest {
            case,
            arm,
            repeat,
            stop: &stop,
        });
        tokio::pin!(asking);
        tokio::select! {
            answered = &mut asking => return answered,
            () = sleep(case.timeout) => stop.cancel(),
        }
        let usage = match timeout(LAST_WORDS, asking).await {
            // Also after the timeout.
            Ok(Err(error)) if error.effect.ends_run() && error.effect != AskEffect::Cancelled => {
                return Err(error);
            }
            Ok(Err(error)) => error.usage,
            Ok(Ok(conversation)) => conversation.usage,
            Err(_) => Usage::default(),
        };
        Err(AskError {
            message: format!("timeout after {} s", case.timeout.as_secs_f64()),
            effect: AskEffect::Retry,
            usage,
        })
    }

    /// Runs each query once, for all arms and repeats.
    async fn truths(&self, case: &Case, index: usize) -> Result<&Truths, OracleError> {
        let Some(cell) = self.truths.get(index) else {
            return Err(OracleError("the case is not in the plan".to_owned()));
        };
        let mut tries = 0;
        loop {
            match cell.get_or_try_init(|| self.known(case)).await {
                Err(_) if tries < self.plan.retries => tries += 1,
                found => return found,
            }
        }
    }

    async fn known(&self, case: &Case) -> Result<Truths, OracleError> {
        let mut all = Vec::with_capacity(case.turns.len());
        for turn in &case.turns {
            let mut known = Vec::with_capacity(turn.truths.len());
            for truth in &turn.truths {
                known.push(match truth {
                    Truth::Text(text) => KnownTruth::Text(text.clone()),
                    Truth::Value(value) => KnownTruth::Value(*value),
                    Truth::Rows(table) => KnownTruth::Rows(GoldRows {
                        table: table.clone(),
                        order: RowOrder::Any,
                    }),
                    Truth::Gold(gold) => KnownTruth::Rows(self.ports.oracle.rows(gold).await?),
                    Truth::Refusal => KnownTruth::Refusal,
                });
            }
            all.push(known);
        }
        Ok(all)
    }
}

/// For an attempt that did not run.
fn reason_of(stop: &AskError) -> String {
    match stop.effect {
        AskEffect::Budget => "budget".to_owned(),
        AskEffect::Cancelled => "cancelled".to_owned(),
        _ => stop.message.clone(),
    }
}

fn written(case: &Case, arm: &str, repeat: u32, asked: &AttemptResult) -> Attempt {
    let conversation = asked.conversation.as_ref();
    Attempt {
        case: case.name.clone(),
        arm: arm.to_owned(),
        repeat,
        verdict: asked.graded.verdict,
        class: asked.graded.class,
        reason: asked.graded.reason.clone(),
        metrics: asked.graded.metrics.clone(),
        session: conversation.and_then(|it| it.session.clone()),
        usage: asked.usage,
        judging: asked.graded.judging,
        seconds: conversation.map_or(0.0, |it| it.seconds),
    }
}
