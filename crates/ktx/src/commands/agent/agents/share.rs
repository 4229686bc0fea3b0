//! What an agent uses that another one asks: its own limits count that, and nothing else of the command.

use std::sync::Arc;

use ktx_agent_session::Agent;
use ktx_llm_runtime::{EventSink, RuntimeEvent};
use ktx_usage_ledger::{Ceiling, Limits, Share, UsageRecorder};

use crate::commands::agent::turns::lower_limits;
use crate::compose::RecordingSink;

/// Counts what one agent uses, and those that it asks, beside what the command counts.
pub(in crate::commands::agent) struct AgentSink {
    outer: Arc<dyn RecordingSink>,
    share: Share,
}

impl std::fmt::Debug for AgentSink {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AgentSink")
            .field("share", &self.share)
            .finish_non_exhaustive()
    }
}

impl AgentSink {
    /// For an agent that is about to be asked; `outer` counts for the agent that asks.
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
            share: Share::new(&agent.name, ceiling),
        })
    }
}

impl RecordingSink for AgentSink {
    fn recorder(&self) -> &Arc<UsageRecorder> {
        self.outer.recorder()
    }

    fn shares(&self) -> Vec<Share> {
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

/// The limits of a command for an agent that another one asks, which has its own time.
pub(in crate::commands::agent) fn limits_beside(command: Limits, agent: &Agent) -> Limits {
    let own = lower_limits(Limits::default(), agent);
    Limits {
        time: command.time.into_iter().chain(own.time).min(),
        ..command
    }
}
