//! `ktx agent test`.

mod arms;
mod as_of;
mod asking;
mod attachments;
mod cases;
mod colleagues;
mod execution;
mod gold;
mod judging;
mod layer;
mod metrics;
mod offline;
mod reports;
mod rows;
mod runs;
mod selection;
mod usage;
mod wire;

use std::collections::BTreeMap;

use ktx_agent_eval::{
    AskEffect, Attempt, Case, EvaluationPlan, PlannedCase, RecordedAnswers, ReportHeader,
    RunJournal, Verdict, report,
};
use ktx_agent_file::Case as WrittenCase;
use ktx_diagnostics::{Code, Exit, Failure, counted};
use ktx_session_log::{SessionId, SessionStore};
use ktx_usage_ledger::Limits;
use ktx_vocabulary::ModelRole;
use sha2::{Digest as _, Sha256};

use super::agents::{self, Place};
use super::session_store::new_id;
use crate::audit::hex;
use crate::cli::{AgentTestArgs, TestRunner};
use crate::compose;
use crate::invocation::{CommandContext, Invocation};
use crate::opening::open_project;
use crate::printer::{Mode, Printer};
use crate::report::{Outcome, Report as _};
use arms::ArmPlan;
use cases::{CaseDefaults, case_of};
use execution::{Answers, Execution, cancelled, journal_path};
use layer::layer_info;
use reports::{Finished, Preview, print_preview};
use runs::journal_failure;
use selection::{Chosen, choose, runner_of};
use wire::{Inputs, PlanRecord, Selection};

/// Concurrent cases without a model.
const PARALLEL: usize = 4;

enum Start {
    New,
    Continued {
        run: SessionId,
        before: Box<PlanRecord>,
        finished: Finish,
    },
    Graded(RecordedAnswers),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Finish {
    Everything,
    WhatWasJudged,
}

pub(super) fn run(args: &AgentTestArgs, invocation: &Invocation) -> Outcome {
    let printer = invocation.printer(&args.output)?;
    reports::check(&args.report)?;
    let limits = compose::limits_of(&args.spending)?;
    let invocation = &invocation.ending_after(limits.time);
    let mut project = open_project(invocation, &printer)?;
    let place = Place {
        invocation,
        project: &project,
        printer: &printer,
    };
    let (start, selection) = begin(args, place)?;
    let chosen = choose(&selection, place)?;
    agents::use_model(&mut project, &chosen.agent);
    TestCommand {
        args,
        context: CommandContext {
            invocation,
            project: &project,
            printer: &printer,
        },
        limits,
        chosen: &chosen,
        selection: &selection,
    }
    .run(start)
}

fn begin(args: &AgentTestArgs, place: Place<'_>) -> Outcome<(Start, Selection)> {
    let earlier = &args.earlier;
    let store = runs::store(place.project);
    let continued = earlier
        .resume
        .as_ref()
        .map(|run| (run, Finish::Everything))
        .or(earlier
            .retry_errors
            .as_ref()
            .map(|run| (run, Finish::WhatWasJudged)));
    if let Some((text, finished)) = continued {
        let run = runs::find(&store, text)?;
        let before = runs::plan_of(&run, &runs::read(&store, &run)?.plan)?;
        let selection = before.selection.clone();
        let start = Start::Continued {
            run,
            before: Box::new(before),
            finished,
        };
        return Ok((start, selection));
    }
    if let Some(text) = &earlier.grade {
        let run = runs::find(&store, text)?;
        let recorded = runs::read(&store, &run)?;
        let selection = runs::plan_of(&run, &recorded.plan)?.selection;
        let mut answers = RecordedAnswers::default();
        answers.add(recorded);
        return Ok((Start::Graded(answers), selection));
    }
    Ok((Start::New, Selection::of(args, place)?))
}

struct TestCommand<'a> {
    args: &'a AgentTestArgs,
    context: CommandContext<'a>,
    limits: Limits,
    chosen: &'a Chosen,
    selection: &'a Selection,
}

struct Journaled {
    run: SessionId,
    journal: RunJournal,
    finished: Vec<Attempt>,
    lost: Vec<Attempt>,
    started: String,
}

impl TestCommand<'_> {
    fn run(&self, start: Start) -> Outcome {
        let cases = self.cases()?;
        let CommandContext {
            invocation,
            project,
            printer,
        } = self.context;
        if self.args.pace.dry_run {
            let of_file = self.chosen.cases.iter();
            let previews = cases.iter().zip(of_file).map(|(case, written)| Preview {
                case,
                tags: &written.tags,
            });
            print_preview(&previews.collect::<Vec<_>>(), &self.arms(), printer)?;
            return Ok(Exit::Success);
        }
        self.warn_of_free_cases(&cases);
        let earlier = reports::earlier(self.args.report.compare.as_deref(), &invocation.current)?;
        let layer = layer_info(project)?;
        let record = self.record(&layer.digest)?;
        let (answers, journaled) = self.journaled(start, &record)?;
        let tell = progress(printer);
        let mut executed = Execution {
            context: self.context,
            chosen: self.chosen,
            answers,
            plan: EvaluationPlan {
                cases,
                arms: self.arms(),
                parallel: self.parallel(),
                retries: self.args.pace.retries,
                finished: journaled.finished,
                lost: journaled.lost,
            },
            journal: &journaled.journal,
            limits: self.limits,
            notify: &tell,
        }
        .execute()?;
        let run = journaled.run.to_string();
        let header = ReportHeader {
            run: run.clone(),
            ktx: env!("CARGO_PKG_VERSION").to_owned(),
            agent: self.chosen.info.clone(),
            layer,
            model: self.model(),
            started: journaled.started,
        };
        let planned: Vec<PlannedCase> = executed.cases.iter().map(planned).collect();
        let attempts = &executed.outcome.attempts;
        let report = report(header, &planned, &self.arms(), attempts);
        let finished = Finished::new(report, earlier.as_ref());
        let path = journal_path(project, &journaled.run);
        finished.write(&path, &self.args.report, &invocation.current)?;
        if let Some(failure) = executed.nothing_asked() {
            return Err(failure.hint(format!(
                "or continue this run: `ktx agent test --resume {run}`"
            )));
        }
        if executed.stopped_by() == Some(AskEffect::Cancelled) {
            return Err(cancelled(&run));
        }
        finished.print(&self.args.report, printer)?;
        if executed.stopped_by().is_some() {
            printer.note(&format!(
                "not all cases were asked; to continue: ktx agent test --resume {run}"
            ));
        }
        Ok(finished.exit(&self.args.report))
    }

    fn cases(&self) -> Outcome<Vec<Case>> {
        let file = self.chosen.file.as_ref();
        let metrics = file.and_then(|file| file.evaluations.as_ref());
        let defaults = CaseDefaults {
            timeout_s: file.map_or(120, |file| file.execution.llm_timeout),
            all_timeouts_s: self.args.pace.timeout,
            all_repeats: self.selection.repeats,
            spending: self.chosen.agent.spending,
            metrics: metrics.map(|it| it.metrics.as_slice()).unwrap_or_default(),
        };
        let cases = self.chosen.cases.iter();
        cases.map(|case| case_of(case, &defaults)).collect()
    }

    /// Warns about cases that check nothing.
    fn warn_of_free_cases(&self, cases: &[Case]) {
        if self.runner() != TestRunner::Agent {
            return;
        }
        let free = cases
            .iter()
            .filter(|it| it.skip.is_none() && !it.can_fail());
        let names: Vec<String> = free.map(|case| format!("`{}`", case.name)).collect();
        if !names.is_empty() {
            self.context.printer.note(&format!(
                "warning: every answer passes {}: give `ground_truth`, `expected_tools` or `evaluations`",
                names.join(", ")
            ));
        }
    }

    fn arms(&self) -> Vec<String> {
        let arms = self.chosen.arms.iter();
        arms.map(|arm| arm.name.clone()).collect()
    }

    fn runner(&self) -> TestRunner {
        runner_of(&self.selection.runner)
    }

    fn parallel(&self) -> usize {
        let of_file = self.chosen.file.as_ref();
        let of_file = of_file.map_or(1, |file| file.execution.parallel_test_cases);
        match (self.args.pace.parallel, of_file) {
            (Some(parallel), _) => usize::from(parallel),
            (None, 2..) => usize::try_from(of_file).unwrap_or(PARALLEL),
            (None, _) if self.runner() == TestRunner::Agent => {
                compose::usual_conversations(&self.context.project.config)
            }
            (None, _) => PARALLEL,
        }
    }

    fn model(&self) -> String {
        if self.runner() != TestRunner::Agent {
            return "none".to_owned();
        }
        let config = &self.context.project.config;
        let model = config.model(ModelRole::Default);
        model.map_or_else(|| config.llm.backend.as_str().to_owned(), str::to_owned)
    }

    fn record(&self, layer: &str) -> Outcome<PlanRecord> {
        let cases = serde_json::to_vec(&self.chosen.cases)
            .map_err(|error| Failure::from_error(Code::Internal, &error))?;
        Ok(PlanRecord {
            selection: self.selection.clone(),
            agent: self.chosen.info.digest.clone(),
            cases: hex(&Sha256::digest(cases)),
            layer: layer.to_owned(),
            started: self.context.invocation.now.to_string(),
            inputs: self.inputs()?,
        })
    }

    fn inputs(&self) -> Outcome<Inputs> {
        let file = self.chosen.file.as_ref();
        let evaluations = file.and_then(|file| file.evaluations.as_ref());
        let mut cases = BTreeMap::new();
        // The content of attached files is not part of the case.
        let has_files = |case: &&WrittenCase| case.turns.iter().any(|turn| !turn.files.is_empty());
        for case in self.chosen.cases.iter().filter(|case| !has_files(case)) {
            let asked = WrittenCase {
                tags: Vec::new(),
                owner: None,
                skip: None,
                repeats: 1,
                ..case.clone()
            };
            let text = serde_json::to_vec(&(asked, evaluations))
                .map_err(|error| Failure::from_error(Code::Internal, &error))?;
            cases.insert(case.name.clone(), hex(&Sha256::digest(text)));
        }
        let arms = &self.chosen.arms;
        // With several arms, the agent's instructions list its tools.
        let are_compared = arms.len() > 1;
        let digest = |arm: &ArmPlan| hex(&Sha256::digest(format!("{arm:?} {are_compared}")));
        Ok(Inputs {
            model: self.model(),
            cases,
            arms: arms
                .iter()
                .map(|arm| (arm.name.clone(), digest(arm)))
                .collect(),
        })
    }

    fn reused(
        &self,
        store: &SessionStore,
        journal: &RunJournal,
        record: &PlanRecord,
    ) -> Outcome<Vec<Attempt>> {
        if !self.args.earlier.reuse || self.runner() != TestRunner::Agent {
            return Ok(Vec::new());
        }
        let mut finished = Vec::new();
        for entry in runs::reusable(store, record)? {
            let taken = journal.record(&entry.attempt, entry.conversation.as_ref());
            taken.map_err(|error| journal_failure(&error))?;
            finished.push(entry.attempt);
        }
        let count = finished.len();
        let verb = if count == 1 { "is" } else { "are" };
        self.context.printer.note(&format!(
            "{} {verb} taken from earlier runs, with {} cost of then",
            counted(count, "verdict"),
            if count == 1 { "its" } else { "their" }
        ));
        Ok(finished)
    }

    fn journaled(&self, start: Start, record: &PlanRecord) -> Outcome<(Answers, Journaled)> {
        let CommandContext {
            invocation,
            project,
            ..
        } = self.context;
        let store = runs::store(project);
        let (answers, run) = match start {
            Start::Continued {
                run,
                before,
                finished,
            } => {
                runs::check_unchanged(&run, &before, record)?;
                let (journal, recorded) = runs::resume(&store, &run, invocation)?;
                let is_finished = |attempt: &Attempt| match finished {
                    Finish::Everything => true,
                    Finish::WhatWasJudged => attempt.verdict != Verdict::Error,
                };
                let attempts = recorded.entries.into_iter().map(|entry| entry.attempt);
                let (finished, mut lost): (Vec<_>, Vec<_>) = attempts.partition(is_finished);
                // Totals are cumulative: the last one of a place counts.
                lost.extend(recorded.lost);
                let journaled = Journaled {
                    run,
                    journal,
                    finished,
                    lost,
                    started: before.started,
                };
                return Ok((Answers::Of(self.runner()), journaled));
            }
            Start::New => (Answers::Of(self.runner()), "test"),
            Start::Graded(recorded) => (Answers::Recorded(recorded), "grade"),
        };
        let topic = format!("{run} {}", self.chosen.info.name);
        let run = new_id(invocation, &topic)?;
        // Runs that only judge are not replayed.
        let mut record = record.clone();
        if matches!(answers, Answers::Recorded(_)) {
            "grade".clone_into(&mut record.selection.runner);
        }
        let journal = runs::create(&store, &run, invocation, &record)?;
        let finished = self.reused(&store, &journal, &record)?;
        let journaled = Journaled {
            run,
            journal,
            finished,
            lost: Vec::new(),
            started: record.started,
        };
        Ok((answers, journaled))
    }
}

fn planned(case: &Case) -> PlannedCase {
    PlannedCase {
        name: case.name.clone(),
        expectation: case.expectation(),
    }
}

fn progress(printer: &Printer) -> impl Fn(&Attempt) + Send + Sync + use<> {
    let printer = printer.clone();
    let is_told = printer.interactive && printer.mode != Mode::Json;
    move |attempt: &Attempt| {
        if is_told {
            let Attempt {
                case, arm, repeat, ..
            } = attempt;
            printer.note(&format!(
                "{}: {case} ({arm}, {repeat})",
                attempt.verdict.as_str()
            ));
        }
    }
}
