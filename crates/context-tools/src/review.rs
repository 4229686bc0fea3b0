//! `review_proposals` and `review_decide`: proposals of context sources for a user's decision.

use std::sync::Arc;

use async_trait::async_trait;
use ktx_tool_descriptors::{
    CallContext, ToolDescriptor, ToolError, ToolHandler, ToolOutput, WriteEffect, schema_for,
};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::tools::{Contents, noted, schema_of_result};

/// Maximum characters of the difference of a proposal in a result.
const LONGEST_DIFFERENCE: usize = 12_000;

/// The proposals of a project. Calls may block: they read git.
pub trait ReviewDesk: Send + Sync {
    /// Returns what waits.
    fn list(&self) -> Result<Vec<ProposalSummary>, ToolError>;

    /// Returns the only proposal whose id begins so.
    fn show(&self, id: &str) -> Result<ProposalDetail, ToolError>;

    /// Accepts or rejects it, in the name of the git user.
    fn decide(&self, id: &str, decision: Decision) -> Result<DecidedProposal, ToolError>;
}

/// A proposal in a list.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ProposalSummary {
    pub id: String,
    pub connection_id: String,
    pub unit_key: String,
    /// `open`, or `expired` if its files have changed since.
    pub state: String,
    /// The files that it changes, each with why it waits.
    pub files: Vec<ProposedChange>,
}

#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ProposedChange {
    pub path: String,
    pub reason: String,
}

/// A proposal with what it is built on.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ProposalDetail {
    #[serde(flatten)]
    pub summary: ProposalSummary,
    /// Lines of the source, as `file:line: text`.
    pub evidence: Vec<String>,
    /// The difference of its files.
    pub diff: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Decision {
    /// Commit the change.
    Accept,
    /// Drop the change for good.
    Reject,
}

#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DecidedProposal {
    pub id: String,
    /// `accepted` or `rejected`.
    pub decision: String,
    /// None if there was nothing to commit.
    pub commit: Option<String>,
    pub files: Vec<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct ProposalsInput {
    /// One proposal with its reasons and difference; without it, the list of those that wait.
    id: Option<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct DecideInput {
    /// The proposal, as `review_proposals` gives it.
    id: String,
    decision: Decision,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct ProposalsOutput {
    /// What waits; absent for one proposal.
    #[serde(skip_serializing_if = "Option::is_none")]
    items: Option<Vec<ProposalSummary>>,
    /// The one that was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    proposal: Option<ProposalDetail>,
}

/// The name of the tool that reads.
pub const REVIEW_PROPOSALS: &str = "review_proposals";

/// The name of the tool that writes: a client gets it only if its policy names it.
pub const REVIEW_DECIDE: &str = "review_decide";

/// Returns the two tools over a desk, the one that only reads first.
pub fn review_tools(desk: &Arc<dyn ReviewDesk>) -> Vec<ToolDescriptor> {
    vec![
        ToolDescriptor {
            name: REVIEW_PROPOSALS.to_owned(),
            title: "Review Proposals".to_owned(),
            description: "List changes of the context layer that wait for a person, or show one with its reasons and \
                          difference."
                .to_owned(),
            input_schema: schema_for::<ProposalsInput>(),
            output_schema: Some(schema_of_result(schema_for::<ProposalsOutput>())),
            effect: WriteEffect::ReadOnly,
            handler: Arc::new(Proposals(Arc::clone(desk))),
        },
        ToolDescriptor {
            name: REVIEW_DECIDE.to_owned(),
            title: "Review Decide".to_owned(),
            description: "Accept a proposal (one commit) or reject it for good. Only after the user has said which."
                .to_owned(),
            input_schema: schema_for::<DecideInput>(),
            output_schema: Some(schema_for::<DecidedProposal>()),
            effect: WriteEffect::Writes,
            handler: Arc::new(Decide(Arc::clone(desk))),
        },
    ]
}

struct Proposals(Arc<dyn ReviewDesk>);

#[async_trait]
impl ToolHandler for Proposals {
    async fn call(&self, arguments: Value, _: CallContext) -> Result<ToolOutput, ToolError> {
        let input: ProposalsInput = read(arguments)?;
        let desk = Arc::clone(&self.0);
        beside(move || {
            let output = match input.id {
                None => ProposalsOutput {
                    items: Some(desk.list()?),
                    proposal: None,
                },
                Some(id) => {
                    let mut proposal = desk.show(&id)?;
                    proposal.diff = shortened(&proposal.diff);
                    ProposalsOutput {
                        items: None,
                        proposal: Some(proposal),
                    }
                }
            };
            let value = serde_json::to_value(output);
            let value = value.map_err(|error| ToolError::new(error.to_string()))?;
            // Foreign texts.
            let value = noted(Contents::Data, value);
            Ok(ToolOutput::new(value.to_string(), value))
        })
        .await
    }
}

struct Decide(Arc<dyn ReviewDesk>);

#[async_trait]
impl ToolHandler for Decide {
    async fn call(&self, arguments: Value, _: CallContext) -> Result<ToolOutput, ToolError> {
        let input: DecideInput = read(arguments)?;
        let desk = Arc::clone(&self.0);
        beside(move || to_output(&desk.decide(&input.id, input.decision)?)).await
    }
}

/// Runs work that blocks on a thread of its own.
async fn beside(
    work: impl FnOnce() -> Result<ToolOutput, ToolError> + Send + 'static,
) -> Result<ToolOutput, ToolError> {
    let done = tokio::task::spawn_blocking(work).await;
    done.unwrap_or_else(|_| Err(ToolError::broke_down()))
}

fn shortened(difference: &str) -> String {
    let length = difference.chars().count();
    if length <= LONGEST_DIFFERENCE {
        return difference.to_owned();
    }
    let shown: String = difference.chars().take(LONGEST_DIFFERENCE).collect();
    let more = length - LONGEST_DIFFERENCE;
    format!("{shown}\n… ({more} more characters: `ktx review show` prints them)")
}

fn read<T: DeserializeOwned>(arguments: Value) -> Result<T, ToolError> {
    serde_json::from_value(arguments).map_err(|error| ToolError::new(error.to_string()))
}

fn to_output(value: &impl Serialize) -> Result<ToolOutput, ToolError> {
    let value = serde_json::to_value(value).map_err(|error| ToolError::new(error.to_string()))?;
    Ok(ToolOutput::new(value.to_string(), value))
}
