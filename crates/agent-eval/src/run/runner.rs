//! Asks the cases of a run.

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
use super::grading::{Graded, grade, unusable};
use super::journal::{JournalError, RunJournal};
use super::metric::KnownTruth;
use crate::{Attempt, GoldRows, Judge, RowOrder, Usage, Verdict};

/// How long an attempt that is out of time may take to say what it has cost.
const LAST_WORDS: Duration = Duration::from_secs(5);

/// What a run asks.
#[derive(Debug, Clone, Default)]
pub struct Plan {
    /// With names that differ.
    pub cases: Vec<Case>,
    /// Each case is asked in each arm, one after the other.
    pub arms: Vec<String>,
    /// How many attempts are under way at once; at least 1.
    pub parallel: usize,
    /// How often an error is tried again. A failure never is.
    pub retries: u32,
    /// Attempts of an earlier process, which are not asked again.
    pub finished: Vec<Attempt>,
    /// Attempts of an earlier process that are asked again. What they cost is a part of what the new ones cost.
    pub lost: Vec<Attempt>,
}

/// What a run needs.
#[derive(Clone, Copy)]
pub struct Ports<'a> {
    /// Asks the agent.
    pub agent: &'a dyn AgentRunner,
    /// Runs the queries of truths, once a case.
    pub oracle: &'a dyn Oracle,
    /// Judges words; absent when no metric needs it.
    pub judge: Option<&'a dyn Judge>,
    /// Takes each finished attempt.
    pub journal: &'a RunJournal,
    /// Hears of each finished attempt.
    pub notify: &'a (dyn Fn(&Attempt) + Send + Sync),
}

impl std::fmt::Debug for Ports<'_> {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Ports").finish_non_exhaustive()
    }
}

/// What a run came to.
#[derive(Debug, Clone, PartialEq)]
pub struct RunOutcome {
    /// All attempts, in the order of the plan.
    pub attempts: Vec<Attempt>,
    /// Why the run ended before all were asked. Those that were not are errors in `attempts`, and not in the journal.
    pub stopped: Option<AskError>,
}

/// Asks what is not finished, case by case and arm by arm. What the budget, a person or an unusable model stops is an
/// error that the journal does not keep.
///
/// # Errors
/// Those of the journal: an attempt that cannot be kept ends the run.
pub async fn run(plan: &Plan, ports: Ports<'_>) -> Result<RunOutcome, JournalError> {
    let places = plan.jobs();
    let mut finished: BTreeMap<Place, Attempt> = BTreeMap::new();
    for attempt in &plan.finished {
        if let Some(place) = plan.place(attempt) {
            finished.insert(place, attempt.clone());
        }
    }
    let lost = plan.lost.iter();
    let lost = lost.filter_map(|attempt| Some((plan.place(attempt)?, attempt.usage)));
    let run = Run {
        plan,
        ports,
        lost: lost.collect(),
        stopped: Mutex::default(),
        truths: plan.cases.iter().map(|_| OnceCell::new()).collect(),
    };
    let open = places.iter().filter(|place| !finished.contains_key(place));
    let asked: Vec<Option<(Place, Attempt)>> = stream::iter(open)
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

/// The places of a case, a repeat (from 1) and an arm; in this order they are asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Place {
    case: usize,
    repeat: u32,
    arm: usize,
}

impl Plan {
    fn jobs(&self) -> Vec<Place> {
        let mut jobs = Vec::new();
        for (case, asked) in self.cases.iter().enumerate() {
            // A case that is not asked is not asked once.
            let repeats = if asked.skip.is_some() {
                1
            } else {
                asked.repeats
            };
            for repeat in 1..=repeats {
                jobs.extend((0..self.arms.len()).map(|arm| Place { case, repeat, arm }));
            }
        }
        jobs
    }

    fn place(&self, attempt: &Attempt) -> Option<Place> {
        Some(Place {
            case: self.cases.iter().position(|it| it.name == attempt.case)?,
            repeat: attempt.repeat,
            arm: self.arms.iter().position(|it| *it == attempt.arm)?,
        })
    }
}

/// The truths of each turn of a case.
type Truths = Vec<Vec<KnownTruth>>;

struct Run<'a> {
    plan: &'a Plan,
    ports: Ports<'a>,
    /// What earlier attempts at the cases that run again have cost.
    lost: BTreeMap<Place, Usage>,
    /// Why the run asks no further attempts; absent while it does.
    stopped: Mutex<Option<AskError>>,
    truths: Vec<OnceCell<Truths>>,
}

/// What an attempt came to.
struct AttemptResult {
    graded: Graded,
    usage: Usage,
    conversation: Option<Conversation>,
}

impl AttemptResult {
    fn without_answer(graded: Graded, usage: Usage) -> Self {
        Self {
            graded,
            usage,
            conversation: None,
        }
    }
}

impl Run<'_> {
    async fn attempt(&self, place: Place) -> Result<Option<(Place, Attempt)>, JournalError> {
        let Some(case) = self.plan.cases.get(place.case) else {
            return Ok(None);
        };
        let Some(arm) = self.plan.arms.get(place.arm) else {
            return Ok(None);
        };
        let asked = match (&case.skip, self.stop()) {
            (Some(reason), _) => {
                let skipped = Graded {
                    verdict: Verdict::Skipped,
                    ..Graded::error(reason.clone())
                };
                AttemptResult::without_answer(skipped, Usage::NOTHING)
            }
            (None, Some(stop)) => {
                let graded = Graded::error(reason_of(&stop));
                let asked = AttemptResult::without_answer(graded, self.paid_before(place));
                return Ok(Some((place, written(case, arm, place.repeat, &asked))));
            }
            (None, None) => match self.ask(case, arm, place).await {
                Ok(asked) => asked,
                Err(stop) => {
                    let asked =
                        AttemptResult::without_answer(Graded::error(reason_of(&stop)), stop.usage);
                    let attempt = written(case, arm, place.repeat, &asked);
                    self.lock().get_or_insert(stop);
                    if attempt.usage != Usage::NOTHING {
                        self.ports.journal.lose(&attempt)?;
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

    fn paid_before(&self, place: Place) -> Usage {
        self.lost.get(&place).copied().unwrap_or(Usage::NOTHING)
    }

    fn stop(&self) -> Option<AskError> {
        self.lock().clone()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Option<AskError>> {
        self.stopped.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Asks and judges; the error is one that ends the run.
    async fn ask(&self, case: &Case, arm: &str, place: Place) -> Result<AttemptResult, AskError> {
        // The reference first: without it the answer would be paid for nothing.
        let truths = match self.truths(case, place.case).await {
            Ok(truths) => truths,
            Err(error) => {
                let graded = Graded::error(format!("oracle: the reference failed: {error}"));
                return Ok(AttemptResult::without_answer(
                    graded,
                    self.paid_before(place),
                ));
            }
        };
        if let Some(graded) = unusable(case, truths) {
            return Ok(AttemptResult::without_answer(
                graded,
                self.paid_before(place),
            ));
        }
        let mut lost = self.paid_before(place);
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
                        let graded = Graded::error(error.message);
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
            // What ends the run does so whenever it is known.
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

    /// The truths of a case; each query runs once, for all arms and repeats.
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

/// What a report says about an attempt that was not made.
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
