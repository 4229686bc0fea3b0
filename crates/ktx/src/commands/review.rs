//! `ktx review`: proposals of context sources and the user's decisions.

mod numbers;

use ktx_diagnostics::{Code, Exit, Failure};
use ktx_ingest::{WaitingProposal, waiting_proposals};
use ktx_project_store::{remove, write_atomically};
use serde::Serialize;
use serde_json::json;

use self::numbers::{MeasureNumbers, numbers};
use crate::cli::{ReviewArgs, ReviewCommand};
use crate::ingesting::failures::cause;
use crate::invocation::{Invocation, OpenProject};
use crate::locking::lock;
use crate::opening::open_project;
use crate::printer::{Mode, Printer};
use crate::proposals::{find, require_open, require_untouched};
use crate::report::{Outcome, Report as _};
use crate::skipped_files::left_alone;
use crate::tables::Report as Table;

const COMMAND: &str = "ktx review";

pub(crate) fn run(args: &ReviewArgs, invocation: &Invocation) -> Outcome {
    let printer = invocation.printer(&args.output)?;
    let project = open_project(invocation, &printer)?;
    let command = args.command.as_ref().unwrap_or(&ReviewCommand::List);
    // Read under the lock: a run can change them.
    let _held = match command {
        ReviewCommand::List | ReviewCommand::Show(_) => None,
        _ => Some(lock(&project, COMMAND)?),
    };
    let waiting = waiting_proposals(&project.store).map_err(|error| cause(&error, &project.dir))?;
    let desk = Desk {
        waiting,
        invocation,
        project: &project,
        printer: &printer,
    };
    match command {
        ReviewCommand::List => desk.list(),
        ReviewCommand::Show(one) => desk.show(&one.id),
        ReviewCommand::Accept(one) => desk.accept(&one.id),
        ReviewCommand::Reject(one) => desk.reject(&one.id),
        ReviewCommand::Edit(one) => desk.edit(&one.id),
    }
}

struct Desk<'a> {
    waiting: Vec<WaitingProposal>,
    invocation: &'a Invocation,
    project: &'a OpenProject,
    printer: &'a Printer,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Listed<'a> {
    id: &'a str,
    connection_id: &'a str,
    unit_key: &'a str,
    state: &'static str,
    branch: &'a str,
    files: Vec<HeldFile<'a>>,
    evidence: &'a [String],
}

#[derive(Serialize)]
struct HeldFile<'a> {
    path: &'a str,
    reason: &'a str,
}

impl<'a> Listed<'a> {
    fn new(proposal: &'a WaitingProposal) -> Self {
        let files = proposal.held.iter();
        Self {
            id: &proposal.id,
            connection_id: proposal.source.as_str(),
            unit_key: &proposal.work,
            state: proposal.state.name(),
            branch: &proposal.branch,
            files: files
                .map(|(path, reason)| HeldFile { path, reason })
                .collect(),
            evidence: &proposal.evidence,
        }
    }
}

impl Desk<'_> {
    fn list(&self) -> Outcome {
        if self.printer.mode == Mode::Json {
            let all: Vec<Listed<'_>> = self.waiting.iter().map(Listed::new).collect();
            self.printer
                .json(&json!({ "kind": "review.list", "data": { "items": all } }))?;
            return Ok(Exit::Success);
        }
        let mut table = Table::new(["Id", "Source", "Unit", "State", "Files"]);
        for proposal in &self.waiting {
            table.row([
                proposal.id.as_str(),
                proposal.source.as_str(),
                &proposal.work,
                proposal.state.name(),
                &proposal.paths.join(", "),
            ]);
        }
        if self.waiting.is_empty() {
            self.printer.note("nothing waits for you");
        } else {
            table.print(self.printer)?;
            self.printer
                .note("look with `ktx review show <id>`, decide with `accept`, `reject` or `edit`");
        }
        Ok(Exit::Success)
    }

    fn show(&self, id: &str) -> Outcome {
        let proposal = find(&self.waiting, id)?;
        let numbers = numbers(proposal, self.invocation, self.project)?;
        if self.printer.mode == Mode::Json {
            self.printer.json(&json!({
                "kind": "review.show",
                "data": {
                    "proposal": Listed::new(proposal),
                    "numbers": numbers,
                    "diff": proposal.difference(),
                },
            }))?;
            return Ok(Exit::Success);
        }
        let Self { printer, .. } = self;
        printer.line(&format!(
            "{}: {} of {}, {}",
            proposal.id,
            proposal.work,
            proposal.source,
            proposal.state.name()
        ))?;
        for (path, reason) in &proposal.held {
            printer.line(&format!("{path}: {reason}"))?;
        }
        for line in &proposal.evidence {
            printer.line(&format!("built on {line}"))?;
        }
        for MeasureNumbers {
            measure,
            before,
            after,
        } in &numbers
        {
            printer.line(&format!("{measure}: {before} before, {after} after"))?;
        }
        printer.line("")?;
        for line in proposal.difference().lines() {
            printer.line(line)?;
        }
        Ok(Exit::Success)
    }

    fn accept(&self, id: &str) -> Outcome {
        let proposal = require_open(find(&self.waiting, id)?)?;
        require_untouched(proposal, self.project)?;
        let store = &self.project.store;
        let published = ktx_ingest::accept(proposal, store, self.invocation.now)
            .map_err(|error| cause(&error, &self.project.dir))?;
        for skipped in &published.skipped {
            self.printer.note(&left_alone(skipped, COMMAND));
        }
        self.decided(proposal, "accepted", published.commit.as_deref())
    }

    fn reject(&self, id: &str) -> Outcome {
        let proposal = find(&self.waiting, id)?;
        ktx_ingest::reject(proposal, &self.project.store)
            .map_err(|error| cause(&error, &self.project.dir))?;
        self.decided(proposal, "rejected", None)
    }

    fn edit(&self, id: &str) -> Outcome {
        let proposal = require_open(find(&self.waiting, id)?)?;
        require_untouched(proposal, self.project)?;
        let root = self.project.store.layout().root();
        for (path, file) in &proposal.files {
            let place = path.under(root);
            let done = match &file.after {
                Some(bytes) => write_atomically(&place, bytes).map(drop),
                None => remove(&place).map(drop),
            };
            done.map_err(|error| {
                Failure::from_error(Code::ProposalFailed, &error).seen_from(&self.project.dir)
            })?;
        }
        ktx_ingest::reject(proposal, &self.project.store)
            .map_err(|error| cause(&error, &self.project.dir))?;
        self.decided(proposal, "edited", None)
    }

    fn decided(&self, proposal: &WaitingProposal, what: &str, commit: Option<&str>) -> Outcome {
        let paths = &proposal.paths;
        if self.printer.mode == Mode::Json {
            self.printer.json(&json!({
                "kind": "review.decision",
                "data": { "id": proposal.id, "decision": what, "commit": commit, "files": paths },
            }))?;
        } else {
            let commit = commit.map(|commit| format!(", commit {commit}"));
            self.printer.line(&format!(
                "{what} {}: {}{}",
                proposal.id,
                paths.join(", "),
                commit.unwrap_or_default()
            ))?;
            if what == "edited" {
                self.printer
                    .note("edit the files, then commit them; `git checkout` takes them back");
            }
        }
        if let Some(remote) = proposal.remote() {
            let inner = proposal.branch.strip_prefix(remote);
            let branch = inner.map_or(proposal.branch.as_str(), |rest| {
                rest.trim_start_matches('/')
            });
            self.printer.note(&format!(
                "`{remote}` still has it: `git push {remote} --delete {branch}`"
            ));
        }
        Ok(Exit::Success)
    }
}
