//! Runs the attempts of a test run.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex};

use ktx_agent_eval::{
    AgentRunner, AskEffect, Attempt, Case, EvaluationPlan, EvaluationPorts, Judge, RunJournal,
    RunOutcome, run,
};
use ktx_agent_session::AgentBackend;
use ktx_diagnostics::{Code, Failure};
use ktx_llm_runtime::LlmRuntime;
use ktx_usage_ledger::Limits;
use ktx_vocabulary::ModelRole;
use tokio_util::future::FutureExt as _;
use tokio_util::sync::CancellationToken;

use super::arms::{Arm, ArmEquipment, OpenModel, context_of};
use super::asking::{AskedArm, SessionRunner};
use super::cases::{need_judge, own_judges};
use super::gold::Warehouse;
use super::judging::ModelJudge;
use super::offline::{Planner, Retrieval};
use super::runs::{self, journal_failure};
use super::selection::Chosen;
use super::usage::TestSink;
use crate::cli::TestRunner;
use crate::commands::agent::failures::backend_failure;
use crate::commands::agent::{agents, session_store};
use crate::compose::{self, LedgerSink, RecordingSink, Spending};
use crate::context;
use crate::invocation::{CommandContext, Invocation, OpenProject, load};
use crate::report::Outcome;

pub(super) enum Answers {
    Of(TestRunner),
    Recorded(ktx_agent_eval::RecordedAnswers),
}

pub(super) struct Execution<'a> {
    pub(super) context: CommandContext<'a>,
    pub(super) chosen: &'a Chosen,
    pub(super) answers: Answers,
    pub(super) plan: EvaluationPlan,
    pub(super) journal: &'a RunJournal,
    pub(super) limits: Limits,
    pub(super) notify: &'a (dyn Fn(&Attempt) + Send + Sync),
}

pub(super) struct Executed {
    pub(super) outcome: RunOutcome,
    pub(super) cases: Vec<Case>,
    pub(super) failure: Option<Failure>,
}

#[derive(Default)]
struct Models {
    agent: Option<Arc<dyn LlmRuntime>>,
    judge: Option<Arc<dyn LlmRuntime>>,
    others: BTreeMap<String, Arc<dyn LlmRuntime>>,
}

impl Execution<'_> {
    pub(super) fn execute(self) -> Outcome<Executed> {
        let CommandContext {
            invocation,
            project,
            printer,
        } = self.context;
        let ledger = LedgerSink::new(invocation, project, printer.clone());
        let sink = TestSink::new(ledger, compose::prices(project).ok());
        let models = self.models(&sink)?;
        let done = compose::block_on(|cancel| {
            let sink = Arc::clone(&sink);
            async move {
                let settled = cancel.clone();
                let mut runtimes: Vec<_> = models.others.values().cloned().collect();
                runtimes.extend(models.agent.clone());
                runtimes.extend(models.judge.clone());
                let done = self.answered(models, sink, cancel).await;
                for runtime in runtimes {
                    // After Ctrl-C, does not wait any longer.
                    runtime.settle().with_cancellation_token(&settled).await;
                }
                done
            }
        });
        sink.finish();
        done
    }

    fn models(&self, sink: &Arc<TestSink>) -> Outcome<Models> {
        let (asks, may_judge) = match &self.answers {
            Answers::Of(TestRunner::Agent) => (true, true),
            Answers::Of(_) => (false, false),
            Answers::Recorded(_) => (false, true),
        };
        let CommandContext { project, .. } = self.context;
        let mut models = Models::default();
        if asks {
            models.agent = Some(self.model(project, sink, "an agent needs a model")?);
        }
        if !may_judge || !need_judge(&self.plan.cases) {
            return Ok(models);
        }
        let what = "judging the answers needs a model";
        let evaluations = self.chosen.file.as_ref();
        let evaluations = evaluations.and_then(|file| file.evaluations.as_ref());
        let judge = match (evaluations.and_then(|it| it.model.as_ref()), &models.agent) {
            (None, Some(agent)) => Arc::clone(agent),
            (None, None) => {
                let project = load(&project.dir, &self.context.invocation.environment)?;
                self.model(&project, sink, what)?
            }
            (Some(named), _) => {
                self.model(&agents::with_model(named, self.context)?, sink, what)?
            }
        };
        models.judge = Some(judge);
        let of_agent = evaluations.map(|it| it.metrics.as_slice());
        let named = own_judges(self.chosen.cases.iter(), of_agent.unwrap_or_default())?;
        for (name, model) in named {
            let project = agents::with_model(model, self.context)?;
            models
                .others
                .insert(name, self.model(&project, sink, what)?);
        }
        Ok(models)
    }

    fn model(
        &self,
        project: &OpenProject,
        sink: &Arc<TestSink>,
        what: &str,
    ) -> Outcome<Arc<dyn LlmRuntime>> {
        open_model(self.context.invocation, project, sink, self.limits, what)
    }

    async fn answered(
        self,
        models: Models,
        usage: Arc<TestSink>,
        cancel: CancellationToken,
    ) -> Outcome<Executed> {
        let CommandContext {
            invocation,
            project,
            ..
        } = self.context;
        let stopped = cancel.clone();
        let (sink, limits) = (Arc::clone(&usage), self.limits);
        let open = move |project: &OpenProject| {
            open_model(invocation, project, &sink, limits, "a prompt needs a model")
        };
        let warehouse = Warehouse {
            context: context::open(invocation, project)?,
            cancel: cancel.clone(),
        };
        let judge = models.judge.map(|runtime| ModelJudge {
            invocation,
            runtime,
            others: models.others,
            usage: Arc::clone(&usage),
            cancel: cancel.clone(),
        });
        let judge = judge.as_ref().map(|judge| judge as &dyn Judge);
        let mut plan = self.plan;
        let mut failure = None;
        let (journal, notify) = (self.journal, self.notify);
        let asked = async |agent: &dyn AgentRunner, plan: &EvaluationPlan| {
            let ports = EvaluationPorts {
                agent,
                oracle: &warehouse,
                judge,
                journal,
                notify,
            };
            run(plan, ports)
                .await
                .map_err(|error| journal_failure(&error))
        };
        let outcome = match self.answers {
            Answers::Recorded(answers) => asked(&answers, &plan).await?,
            Answers::Of(TestRunner::Replay) => {
                let store = runs::store(project);
                let answers = runs::recorded_answers(&store, &self.chosen.info.digest)?;
                asked(&answers, &plan).await?
            }
            Answers::Of(TestRunner::Planner) => {
                let (planner, cases) = Planner::new(&warehouse, plan.cases);
                plan.cases = cases;
                asked(&planner, &plan).await?
            }
            Answers::Of(TestRunner::Retrieval) => {
                plan.cases = Retrieval::cases(plan.cases, &self.chosen.cases);
                let mut contexts = BTreeMap::new();
                for arm in &self.chosen.arms {
                    contexts.insert(arm.name.clone(), context_of(arm, invocation, project)?);
                }
                asked(&Retrieval { contexts }, &plan).await?
            }
            Answers::Of(TestRunner::Agent) => {
                let Some(runtime) = models.agent else {
                    return Err(compose::no_model("an agent needs a model"));
                };
                let runner = SessionRunner {
                    context: self.context,
                    sessions: session_store::sessions(invocation, &project.dir),
                    arms: open_arms(self.chosen, self.context, &runtime, &open)?,
                    cases: self
                        .chosen
                        .cases
                        .iter()
                        .map(|it| (it.name.as_str(), it))
                        .collect(),
                    usage,
                    limits: self.limits,
                    cancel,
                    failure: Mutex::default(),
                };
                let outcome = asked(&runner, &plan).await;
                failure = runner.first_failure();
                runner.close().with_cancellation_token(&stopped).await;
                outcome?
            }
        };
        Ok(Executed {
            outcome,
            cases: plan.cases,
            failure,
        })
    }
}

pub(super) fn open_model<S: RecordingSink + 'static>(
    invocation: &Invocation,
    project: &OpenProject,
    sink: &Arc<S>,
    limits: Limits,
    what: &str,
) -> Outcome<Arc<dyn LlmRuntime>> {
    let spending = Spending {
        limits,
        roles: &[ModelRole::Default],
    };
    compose::llm(invocation, project, sink, spending)?.ok_or_else(|| compose::no_model(what))
}

fn open_arms<'a>(
    chosen: &Chosen,
    context: CommandContext<'a>,
    runtime: &Arc<dyn LlmRuntime>,
    open: &'a OpenModel<'a>,
) -> Outcome<BTreeMap<String, AskedArm<'a>>> {
    let arms = chosen.arms.iter().map(|plan| {
        let arm = Arm::open(plan, &chosen.agent, context.invocation, context.project)?;
        let arm = Arc::new(arm);
        let backend = AgentBackend::new(ArmEquipment {
            arm: Arc::clone(&arm),
            runtime: Arc::clone(runtime),
            context,
            open,
        });
        backend.initialize().map_err(backend_failure)?;
        let plan = plan.clone();
        Ok((plan.name.clone(), AskedArm { arm, backend, plan }))
    });
    arms.collect()
}

impl Executed {
    pub(super) fn nothing_asked(&mut self) -> Option<Failure> {
        let attempts = &self.outcome.attempts;
        let is_judged =
            |attempt: &Attempt| attempt.verdict.is_judged() || attempt.session.is_some();
        if attempts.iter().any(is_judged) {
            return None;
        }
        self.failure.take()
    }

    pub(super) fn stopped_by(&self) -> Option<AskEffect> {
        self.outcome.stopped.as_ref().map(|stop| stop.effect)
    }
}

pub(super) fn cancelled(run: &str) -> Failure {
    Failure::new(Code::Cancelled, "cancelled").hint(format!(
        "run `ktx agent test --resume {run}` to continue where it ended"
    ))
}

pub(super) fn journal_path(project: &OpenProject, run: &ktx_session_log::SessionId) -> Box<Path> {
    runs::store(project).path(run).into_boxed_path()
}
