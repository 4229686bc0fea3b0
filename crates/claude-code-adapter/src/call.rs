//! One call in progress.

use ktx_llm_runtime::{ReportedCost, RuntimeEvent, SourceSystem, UsageFact};
use tokio::time::Instant;

use crate::conversation::ConversationRecord;
use crate::host::Host;
use crate::report::Caller;
use crate::spares::SpareDemand;
use crate::unattributed::unattributed;

#[derive(Clone, Copy)]
pub(crate) struct RuntimeCall<'a> {
    pub(crate) host: &'a Host,
    pub(crate) caller: &'a Caller,
    pub(crate) demand: Option<&'a SpareDemand>,
    pub(crate) started: Instant,
}

impl RuntimeCall<'_> {
    /// Usage outside of messages, and the total cost (COG-14). One process serves one call.
    pub(crate) fn report_sums(&self, record: &ConversationRecord) {
        let Some(result) = &record.result else { return };
        let Caller { role, label, .. } = self.caller;
        let system = SourceSystem::LocalSession;
        let session = uuid::Uuid::new_v4().to_string();
        let mut message_ids: Vec<String> = record.counted.iter().cloned().collect();
        for (model, usage) in unattributed(&result.used, &record.used) {
            let fact = UsageFact::unattributed(system, *role, label, &session, &model, usage);
            message_ids.push(fact.message_id.clone());
            self.host.emit(RuntimeEvent::Usage(fact));
        }
        let is_reported =
            |dollars: &f64| *dollars > 0.0 || (*dollars == 0.0 && !message_ids.is_empty());
        let Some(dollars) = result.cost_usd.filter(is_reported) else {
            return;
        };
        self.host.emit(RuntimeEvent::CostReported(ReportedCost {
            source_system: system,
            role: *role,
            label: label.clone(),
            call: session,
            dollars,
            message_ids,
        }));
    }
}
