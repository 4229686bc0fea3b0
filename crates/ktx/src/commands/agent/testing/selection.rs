//! Selects the agent, cases and arms of a run.

use std::path::{Path, PathBuf};

use ktx_agent_eval::AgentInfo;
use ktx_agent_file::{
    AgentFile, Arm, Capabilities, Case, CaseFile, CheckedFile, ProjectFacts, agent_files, has_cases,
};
use ktx_agent_session::Agent;
use ktx_diagnostics::{Code, Diagnostic, Diagnostics, Failure, Severity, counted};
use ktx_tool_descriptors::matches_name;

use super::arms::{self, ArmPlan, BARE, FULL};
use super::wire::Selection;
use crate::cli::{AgentTestArgs, TestRunner};
use crate::commands::agent::agents::{self, Place};
use crate::commands::agent::files;
use crate::report::{Outcome, Report as _};

pub(super) const fn runner_name(runner: TestRunner) -> &'static str {
    match runner {
        TestRunner::Agent => "agent",
        TestRunner::Planner => "planner",
        TestRunner::Retrieval => "retrieval",
        TestRunner::Replay => "replay",
    }
}

pub(super) fn runner_of(name: &str) -> TestRunner {
    match name {
        "planner" => TestRunner::Planner,
        "retrieval" => TestRunner::Retrieval,
        "replay" => TestRunner::Replay,
        _ => TestRunner::Agent,
    }
}

impl Selection {
    /// Paths start at the project, so that any later process finds them.
    pub(super) fn of(args: &AgentTestArgs, place: Place<'_>) -> Outcome<Self> {
        let chosen = &args.selection;
        let file = args.file.as_deref();
        let file = file.map(|name| files::named_file(name, place.invocation, place.project));
        let file = file.transpose()?;
        let named = |path: PathBuf| {
            let inside = path.strip_prefix(&place.project.dir);
            inside.unwrap_or(&path).display().to_string()
        };
        let arms = if chosen.ablation {
            vec![FULL.to_owned(), BARE.to_owned()]
        } else {
            chosen.arm.clone()
        };
        Ok(Self {
            file: file.map(named),
            agent: chosen.agent.clone(),
            case: chosen.case.clone(),
            tags: chosen.tag.clone(),
            limit: chosen.limit,
            repeats: chosen.repeats,
            arms,
            runner: runner_name(chosen.runner).to_owned(),
        })
    }

    fn takes(&self, case: &Case) -> bool {
        let name = self.case.as_deref();
        name.is_none_or(|glob| matches_name(glob, &case.name))
            && (self.tags.is_empty() || case.tags.iter().any(|tag| self.tags.contains(tag)))
    }
}

pub(super) struct Chosen {
    pub(super) agent: Agent,
    /// `None` for the built-in agent.
    pub(super) file: Option<AgentFile>,
    pub(super) info: AgentInfo,
    pub(super) cases: Vec<Case>,
    pub(super) arms: Vec<ArmPlan>,
}

/// Reports all faults of agent and cases at once.
pub(super) fn choose(selection: &Selection, place: Place<'_>) -> Outcome<Chosen> {
    let around = files::surroundings(place.invocation, place.project, Capabilities::Refused)?;
    let dir = &place.project.dir;
    let path = selection.file.as_deref().map(|file| dir.join(file));
    let (agent, cases) = match path {
        Some(path) if has_cases(&path) => {
            let agent = named_agent(selection.agent.as_deref(), place, &around)?;
            (agent, Some(CaseFile::check(&path, dir, &around)))
        }
        Some(path) => {
            let checked = AgentFile::check(&path, dir, &around);
            match (selection.agent.as_deref(), &checked.value) {
                (None, _) => (Some(checked), None),
                (Some(_), Some(_)) => {
                    return Err(Failure::new(
                        Code::ConflictingFlags,
                        "the file is an agent, and `--agent` names another one",
                    )
                    .hint("leave one of them out"));
                }
                // Not an agent: reports its faults as a case file.
                (named, None) => {
                    let agent = named_agent(named, place, &around)?;
                    (agent, Some(CaseFile::check(&path, dir, &around)))
                }
            }
        }
        None => match named_agent(selection.agent.as_deref(), place, &around)? {
            Some(agent) => (Some(agent), None),
            None => (Some(only_agent(place, &around)?), None),
        },
    };
    let (file, cases) = sound(agent, cases, place)?;
    let mut cases = cases.unwrap_or(CaseFile {
        arms: Vec::new(),
        cases: Vec::new(),
    });
    cases.cases.retain(|case| selection.takes(case));
    let limit = selection
        .limit
        .and_then(|limit| usize::try_from(limit).ok());
    cases.cases.truncate(limit.unwrap_or(usize::MAX));
    if cases.cases.is_empty() {
        return Err(no_cases(selection));
    }
    chosen(file, cases, selection, place)
}

fn chosen(
    file: Option<AgentFile>,
    cases: CaseFile,
    selection: &Selection,
    place: Place<'_>,
) -> Outcome<Chosen> {
    let agent = match &file {
        Some(file) => agents::agent_of(file)?,
        None => agents::current(None, None, place)?,
    };
    let digest = match &file {
        Some(file) => file.digest.clone(),
        None => agent
            .digest()
            .map_err(|error| Failure::from_error(Code::Internal, &error))?,
    };
    let names = if selection.arms.is_empty() {
        vec![FULL.to_owned()]
    } else {
        selection.arms.clone()
    };
    Ok(Chosen {
        info: AgentInfo {
            name: agent.name.clone(),
            digest,
        },
        agent,
        file,
        arms: arms_of(&names, &cases.arms, selection)?,
        cases: cases.cases,
    })
}

/// The planner has one arm, because it answers the same in each.
fn arms_of(names: &[String], of_file: &[Arm], selection: &Selection) -> Outcome<Vec<ArmPlan>> {
    if runner_of(&selection.runner) == TestRunner::Planner {
        return Ok(vec![ArmPlan::full()]);
    }
    arms::chosen(names, of_file)
}

fn named_agent(
    name: Option<&str>,
    place: Place<'_>,
    around: &ProjectFacts,
) -> Outcome<Option<CheckedFile<AgentFile>>> {
    let Some(name) = name else {
        return Ok(None);
    };
    let path = files::named_file(name, place.invocation, place.project)?;
    Ok(Some(AgentFile::check(&path, &place.project.dir, around)))
}

fn only_agent(place: Place<'_>, around: &ProjectFacts) -> Outcome<CheckedFile<AgentFile>> {
    let dir = &place.project.dir;
    let paths =
        agent_files(dir).map_err(|error| Failure::from_error(Code::FileUnreadable, &error))?;
    let checked = paths
        .iter()
        .map(|path| (path, AgentFile::check(path, dir, around)));
    let mut with_cases: Vec<(&PathBuf, CheckedFile<AgentFile>)> = checked
        .filter(|(_, checked)| match &checked.value {
            Some(agent) => agent.cases.is_some(),
            // Its faults can be in its cases.
            None => true,
        })
        .collect();
    match with_cases.len() {
        1 => Ok(with_cases.swap_remove(0).1),
        0 => Err(
            Failure::new(Code::NoCases, "no agent of the project has test cases")
                .hint("name a file of cases: `ktx agent test FILE`")
                .hint("or propose some: `ktx agent cases suggest --to cases.yaml`"),
        ),
        several => {
            let names: Vec<String> = with_cases
                .iter()
                .filter_map(|(path, _)| stem(path))
                .collect();
            Err(Failure::new(
                Code::NoCases,
                format!(
                    "{} have test cases: say which with `--agent`",
                    counted(several, "agent")
                ),
            )
            .hint(format!("there are: {}", names.join(", "))))
        }
    }
}

fn stem(path: &Path) -> Option<String> {
    Some(path.file_stem()?.to_string_lossy().into_owned())
}

fn sound(
    agent: Option<CheckedFile<AgentFile>>,
    cases: Option<CheckedFile<CaseFile>>,
    place: Place<'_>,
) -> Outcome<(Option<AgentFile>, Option<CaseFile>)> {
    let mut faults: Vec<Diagnostic> = Vec::new();
    let (file, of_agent) = match agent {
        Some(checked) => {
            faults.extend(checked.faults);
            let cases = checked.value.as_ref().and_then(|file| file.cases.clone());
            (checked.value, cases)
        }
        None => (None, None),
    };
    let of_file = cases.map(|checked| {
        faults.extend(checked.faults);
        checked.value
    });
    let is_error = |fault: &Diagnostic| fault.severity == Severity::Error;
    if faults.iter().any(is_error) {
        return Err(Diagnostics(faults).into());
    }
    for warning in &faults {
        place.printer.note(&format!("warning: {warning}"));
    }
    Ok((file, of_file.unwrap_or(of_agent)))
}

fn no_cases(selection: &Selection) -> Failure {
    let mut asked = Vec::new();
    asked.extend(
        selection
            .case
            .as_ref()
            .map(|glob| format!("`--case {glob}`")),
    );
    asked.extend(selection.tags.iter().map(|tag| format!("`--tag {tag}`")));
    if asked.is_empty() {
        return Failure::new(Code::NoCases, "there are no test cases")
            .hint("write some under `test_cases`, or name a file of cases")
            .hint("or propose some: `ktx agent cases suggest --to cases.yaml`");
    }
    Failure::new(
        Code::NoCases,
        format!("no test case fits {}", asked.join(" and ")),
    )
    .hint("list the cases with `ktx agent test --dry-run`")
}
