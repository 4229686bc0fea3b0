//! Asks the cases of a run.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use tokio::sync::OnceCell;
use tokio::time::timeout;

use super::case::{AgentRunner, AskError, Case, Conversation, Oracle, OracleError, Truth};
use super::grading::{Graded, grade};
use super::journal::{JournalError, RunJournal};
use super::metric::KnownTruth;
use crate::{Attempt, GoldRows, Judge, RowOrder, Usage, Verdict};

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
    /// Dollars after which nothing more is asked.
    pub budget_usd: Option<f64>,
    /// Attempts of an earlier process, which are not asked again.
    pub finished: Vec<Attempt>,
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
}

impl std::fmt::Debug for Ports<'_> {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Ports").finish_non_exhaustive()
    }
}

/// Asks what is not finished, case by case and arm by arm, and returns all attempts in the order of the plan. What the
/// budget stops is an error with the reason `budget`, which the journal does not keep.
///
/// # Errors
/// Those of the journal: an attempt that cannot be kept ends the run.
pub async fn run(plan: &Plan, ports: Ports<'_>) -> Result<Vec<Attempt>, JournalError> {
    let places = plan.jobs();
    let mut finished: BTreeMap<Place, Attempt> = BTreeMap::new();
    for attempt in &plan.finished {
        if let Some(place) = plan.place(attempt) {
            finished.insert(place, attempt.clone());
        }
    }
    let spent = finished.values().filter_map(|it| it.usage.cost_usd).sum();
    let run = Run {
        plan,
        ports,
        spent: Mutex::new(spent),
        truths: plan.cases.iter().map(|_| OnceCell::new()).collect(),
    };
    let open = places.iter().filter(|place| !finished.contains_key(place));
    let asked: Vec<Option<(Place, Attempt)>> = stream::iter(open)
        .map(|place| run.attempt(*place))
        .buffer_unordered(plan.parallel.max(1))
        .try_collect()
        .await?;
    finished.extend(asked.into_iter().flatten());
    Ok(finished.into_values().collect())
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
    /// Dollars.
    spent: Mutex<f64>,
    truths: Vec<OnceCell<Truths>>,
}

/// What an attempt came to.
struct Asked {
    graded: Graded,
    session: Option<String>,
    usage: Usage,
    seconds: f64,
}

impl Asked {
    fn without_answer(graded: Graded, usage: Usage) -> Self {
        Self {
            graded,
            session: None,
            usage,
            seconds: 0.0,
        }
    }
}

/// A usage that is known and nothing.
const NOTHING: Usage = Usage {
    tokens: 0,
    cost_usd: Some(0.0),
    steps: 0,
};

impl Run<'_> {
    async fn attempt(&self, place: Place) -> Result<Option<(Place, Attempt)>, JournalError> {
        let Some(case) = self.plan.cases.get(place.case) else {
            return Ok(None);
        };
        let Some(arm) = self.plan.arms.get(place.arm) else {
            return Ok(None);
        };
        if case.skip.is_none() && self.is_spent() {
            let asked = Asked::without_answer(Graded::error("budget"), NOTHING);
            return Ok(Some((place, written(case, arm, place.repeat, asked))));
        }
        let asked = match &case.skip {
            Some(reason) => {
                let skipped = Graded {
                    verdict: Verdict::Skipped,
                    ..Graded::error(reason.clone())
                };
                Asked::without_answer(skipped, NOTHING)
            }
            None => self.ask(case, arm, place).await,
        };
        self.spend(asked.usage);
        let attempt = written(case, arm, place.repeat, asked);
        self.ports.journal.record(&attempt)?;
        Ok(Some((place, attempt)))
    }

    fn is_spent(&self) -> bool {
        let spent = *self.spent.lock().unwrap_or_else(PoisonError::into_inner);
        self.plan.budget_usd.is_some_and(|budget| spent >= budget)
    }

    fn spend(&self, usage: Usage) {
        let mut spent = self.spent.lock().unwrap_or_else(PoisonError::into_inner);
        *spent += usage.cost_usd.unwrap_or(0.0);
    }

    async fn ask(&self, case: &Case, arm: &str, place: Place) -> Asked {
        // The reference first: without it the answer would be paid for nothing.
        let truths = match self.truths(case, place.case).await {
            Ok(truths) => truths,
            Err(error) => {
                let graded = Graded::error(format!("oracle: the reference failed: {error}"));
                return Asked::without_answer(graded, NOTHING);
            }
        };
        let mut lost = NOTHING;
        let mut tries = 0;
        let (conversation, seconds) = loop {
            let begun = Instant::now();
            match self.converse(case, arm, place.repeat).await {
                Ok(conversation) => break (conversation, begun.elapsed().as_secs_f64()),
                Err(error) => {
                    lost = sum(lost, error.usage);
                    if tries == self.plan.retries {
                        return Asked::without_answer(Graded::error(error.message), lost);
                    }
                    tries += 1;
                }
            }
        };
        let judge = self.ports.judge;
        let mut graded = grade(case, &conversation, truths, judge, seconds).await;
        for _ in 0..self.plan.retries {
            if graded.verdict != Verdict::Error {
                break;
            }
            graded = grade(case, &conversation, truths, judge, seconds).await;
        }
        Asked {
            graded,
            session: conversation.session,
            usage: sum(lost, conversation.usage),
            seconds,
        }
    }

    async fn converse(
        &self,
        case: &Case,
        arm: &str,
        repeat: u32,
    ) -> Result<Conversation, AskError> {
        let asking = self.ports.agent.ask(case, arm, repeat);
        timeout(case.timeout, asking).await.unwrap_or_else(|_| {
            Err(AskError {
                message: format!("timeout after {} s", case.timeout.as_secs_f64()),
                usage: Usage::default(),
            })
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

fn sum(one: Usage, other: Usage) -> Usage {
    Usage {
        tokens: one.tokens + other.tokens,
        cost_usd: one
            .cost_usd
            .zip(other.cost_usd)
            .map(|(one, other)| one + other),
        steps: one.steps + other.steps,
    }
}

fn written(case: &Case, arm: &str, repeat: u32, asked: Asked) -> Attempt {
    Attempt {
        case: case.name.clone(),
        arm: arm.to_owned(),
        repeat,
        verdict: asked.graded.verdict,
        class: asked.graded.class,
        reason: asked.graded.reason,
        metrics: asked.graded.metrics,
        session: asked.session,
        usage: asked.usage,
        seconds: asked.seconds,
    }
}
