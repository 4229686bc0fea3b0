//! Limits of an agent that another agent asks.

use std::sync::Arc;

use ktx_agent_session::Agent;
use ktx_llm_runtime::{EventSink, RuntimeEvent};
use ktx_usage_ledger::{AgentShare, Ceiling, Limits, UsageRecorder};

use crate::commands::agent::turns::lower_limits;
use crate::compose::RecordingSink;

/// Counts the use of one agent and its delegates, and reports it to the command.
pub(in crate::commands::agent) struct AgentSink {
    outer: Arc<dyn RecordingSink>,
    share: AgentShare,
}

impl std::fmt::Debug for AgentSink {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AgentSink")
            .field("share", &self.share)
            .finish_non_exhaustive()
    }
}

impl AgentSink {
    /// `outer` counts for the asking agent.
    pub(in crate::commands::agent) fn new(
        agent: &Agent,
        outer: Arc<dyn RecordingSink>,
    ) -> Arc<Self> {
        let own = lower_limits(Limits::default(), agent);
        let ceiling = Ceiling {
            cost: own.cost,
            tokens: own.tokens,
        };
        Arc::new(Self {
            outer,
            share: AgentShare::new(&agent.name, ceiling),
        })
    }
}

impl RecordingSink for AgentSink {
    fn recorder(&self) -> &Arc<UsageRecorder> {
        self.outer.recorder()
    }

    fn shares(&self) -> Vec<AgentShare> {
        let mut shares = self.outer.shares();
        shares.push(self.share.clone());
        shares
    }
}

impl EventSink for AgentSink {
    fn event(&self, event: RuntimeEvent) {
        if let RuntimeEvent::Usage(fact) = &event {
            let cost = self.recorder().cost_of(fact);
            self.share.meter().add(fact, cost);
        }
        self.outer.event(event);
    }
}

/// Returns the limits for a delegate, which has its own time.
pub(in crate::commands::agent) fn limits_beside(command: Limits, agent: &Agent) -> Limits {
    let own = lower_limits(Limits::default(), agent);
    Limits {
        time: command.time.into_iter().chain(own.time).min(),
        ..command
    }
}
