//! Proposals over MCP.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use jiff::Timestamp;
use ktx_config::Environment;
use ktx_context_tools::{
    DecidedProposal, Decision, ProposalDetail, ProposalSummary, ProposedChange, REVIEW_DECIDE,
    REVIEW_PROPOSALS, ReviewDesk, review_tools,
};
use ktx_diagnostics::Failure;
use ktx_ingest::{WaitingProposal, waiting_proposals};
use ktx_tool_descriptors::{ToolDescriptor, ToolError};

use crate::ingesting::failures::cause;
use crate::invocation::{Invocation, OpenProject, load};
use crate::locking::lock;
use crate::proposals::{find, require_open, require_untouched};
use crate::report::{Outcome, Report as _};

const COMMAND: &str = "ktx mcp";

/// Reads the project on each call, because servers run for days.
struct Desk {
    invocation: Invocation,
    dir: PathBuf,
}

/// For reference pages.
pub(super) fn described_tools() -> Vec<ToolDescriptor> {
    review_tools(&(Arc::new(ClosedDesk) as Arc<dyn ReviewDesk>))
}

pub(super) fn tools(invocation: &Invocation, project: &OpenProject) -> Vec<ToolDescriptor> {
    let desk: Arc<dyn ReviewDesk> = Arc::new(Desk {
        invocation: invocation.clone(),
        dir: project.dir.clone(),
    });
    review_tools(&desk)
}

pub(super) fn may_be_for_everyone(name: &str) -> bool {
    name != REVIEW_DECIDE
}

/// Clients without a policy can read waiting proposals. Only `allowed_tools` permits decisions.
pub(super) fn is_for_everyone(name: &str, dir: &Path, environment: &Environment) -> bool {
    match name {
        _ if !may_be_for_everyone(name) => false,
        REVIEW_PROPOSALS => {
            let waiting = load(dir, environment).and_then(|project| waiting(&project));
            waiting.is_ok_and(|waiting| !waiting.is_empty())
        }
        _ => true,
    }
}

impl Desk {
    fn with_project<T>(
        &self,
        work: impl FnOnce(&OpenProject, &[WaitingProposal]) -> Outcome<T>,
    ) -> Result<T, ToolError> {
        let done = || {
            let project = load(&self.dir, &self.invocation.environment)?;
            let waiting = waiting(&project)?;
            work(&project, &waiting)
        };
        done().map_err(|failure: Failure| ToolError::new(failure.to_text().trim_end()))
    }
}

fn waiting(project: &OpenProject) -> Outcome<Vec<WaitingProposal>> {
    waiting_proposals(&project.store).map_err(|error| cause(&error, &project.dir))
}

fn summary(proposal: &WaitingProposal) -> ProposalSummary {
    let held = proposal.held.iter();
    ProposalSummary {
        id: proposal.id.clone(),
        connection_id: proposal.source.to_string(),
        unit_key: proposal.work.clone(),
        state: proposal.state.name().to_owned(),
        files: held
            .map(|(path, reason)| ProposedChange {
                path: path.clone(),
                reason: reason.clone(),
            })
            .collect(),
    }
}

impl ReviewDesk for Desk {
    fn list(&self) -> Result<Vec<ProposalSummary>, ToolError> {
        self.with_project(|_, waiting| Ok(waiting.iter().map(summary).collect()))
    }

    fn show(&self, id: &str) -> Result<ProposalDetail, ToolError> {
        self.with_project(|_, waiting| {
            let proposal = find(waiting, id)?;
            Ok(ProposalDetail {
                summary: summary(proposal),
                evidence: proposal.evidence.clone(),
                diff: proposal.difference(),
            })
        })
    }

    fn decide(&self, id: &str, decision: Decision) -> Result<DecidedProposal, ToolError> {
        self.with_project(|project, _| {
            // Read again under the lock: a run can change them.
            let _held = lock(project, COMMAND)?;
            let waiting = waiting(project)?;
            let proposal = find(&waiting, id)?;
            let failed = |error| cause(&error, &project.dir);
            let (decision, commit) = match decision {
                Decision::Accept => {
                    require_open(proposal)?;
                    require_untouched(proposal, project)?;
                    let now = Timestamp::now();
                    let published = ktx_ingest::accept(proposal, &project.store, now);
                    ("accepted", published.map_err(failed)?.commit)
                }
                Decision::Reject => {
                    ktx_ingest::reject(proposal, &project.store).map_err(failed)?;
                    ("rejected", None)
                }
            };
            Ok(DecidedProposal {
                id: proposal.id.clone(),
                decision: decision.to_owned(),
                commit,
                files: proposal.paths.clone(),
            })
        })
    }
}

struct ClosedDesk;

impl ReviewDesk for ClosedDesk {
    fn list(&self) -> Result<Vec<ProposalSummary>, ToolError> {
        Err(closed())
    }

    fn show(&self, _: &str) -> Result<ProposalDetail, ToolError> {
        Err(closed())
    }

    fn decide(&self, _: &str, _: Decision) -> Result<DecidedProposal, ToolError> {
        Err(closed())
    }
}

fn closed() -> ToolError {
    ToolError::new("this server has no proposals")
}
