//! State that all calls of one runtime share.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

use ktx_llm_runtime::{EventSink, LlmError, RuntimeEvent};
use ktx_secrets::{Redactor, Secret};
use sysinfo::{MemoryRefreshKind, ProcessRefreshKind, ProcessesToUpdate, System};
use tokio::sync::{Mutex as AsyncMutex, MutexGuard, OnceCell, OwnedSemaphorePermit};
use tokio_util::future::FutureExt as _;
use tokio_util::sync::CancellationToken;

use crate::environment::secret_values;
use crate::limits::Limits;
use crate::process::Guard;
use crate::settings::ClaudeCodeSettings;
use crate::spares::Spares;
use crate::surface::usual_payer;
use crate::versions::version_warning;

/// Bytes, at the peak.
const CHILD_MEMORY: u64 = 450 * 1024 * 1024;

/// More bring no gain.
const MOST_CHILDREN: u64 = 8;

pub(crate) struct Host {
    pub(crate) settings: Arc<ClaudeCodeSettings>,
    pub(crate) guard: Arc<Guard>,
    pub(crate) spares: Spares,
    pub(crate) limits: Limits,
    events: Arc<dyn EventSink>,
    warm: AsyncMutex<Warmth>,
    swept: OnceCell<()>,
    redactor: Redactor,
    facts: Mutex<LearnedFacts>,
}

#[derive(Debug, Default)]
struct LearnedFacts {
    payer: Option<String>,
    version: Option<String>,
    warned: BTreeSet<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Warmth {
    Cold,
    Warm,
}

/// The first call runs alone until its surface is checked: a missing login fails once, and files
/// are read once.
pub(crate) struct WarmUp<'a> {
    guard: Option<MutexGuard<'a, Warmth>>,
}

impl WarmUp<'_> {
    pub(crate) fn not_needed() -> Self {
        Self { guard: None }
    }

    pub(crate) fn done(&mut self) {
        if let Some(mut guard) = self.guard.take() {
            *guard = Warmth::Warm;
        }
    }
}

impl Host {
    pub(crate) fn new(settings: ClaudeCodeSettings, events: Arc<dyn EventSink>) -> Self {
        let mut redactor = Redactor::new();
        for value in secret_values(&settings.environment) {
            redactor.learn(&Secret::new(value));
        }
        let places = settings
            .max_children
            .unwrap_or_else(|| children_for(available_memory()))
            .max(1);
        let settings = Arc::new(settings);
        let guard = Arc::new(Guard::new(&settings));
        Self {
            spares: Spares::new(
                Arc::clone(&settings),
                Arc::clone(&guard),
                places,
                Arc::clone(&events),
            ),
            guard,
            limits: Limits::new(Arc::clone(&settings)),
            settings,
            events,
            warm: AsyncMutex::new(Warmth::Cold),
            swept: OnceCell::new(),
            redactor,
            facts: Mutex::new(LearnedFacts::default()),
        }
    }

    pub(crate) async fn place(
        &self,
        cancel: &CancellationToken,
    ) -> Result<(OwnedSemaphorePermit, WarmUp<'_>), LlmError> {
        let waiting = async {
            let permit = self.spares.place().await;
            let guard = self.warm.lock().await;
            (permit, guard)
        };
        let Some((Some(permit), guard)) = waiting.with_cancellation_token(cancel).await else {
            return Err(LlmError::cancelled());
        };
        self.swept
            .get_or_init(async || {
                if let Some(state_dir) = &self.settings.state_dir {
                    crate::process::sweep(state_dir);
                }
            })
            .await;
        let guard = (*guard == Warmth::Cold).then_some(guard);
        Ok((permit, WarmUp { guard }))
    }

    pub(crate) fn events(&self) -> &dyn EventSink {
        &*self.events
    }

    pub(crate) fn emit(&self, event: RuntimeEvent) {
        self.events.event(event);
    }

    pub(crate) fn warn_once(&self, warning: String) {
        let first = self.facts().warned.insert(warning.clone());
        if first {
            self.emit(RuntimeEvent::Warning(warning));
        }
    }

    pub(crate) fn learn_payer(&self, payer: String) {
        self.facts().payer = Some(payer);
    }

    pub(crate) fn payer(&self) -> String {
        self.facts().payer.clone().unwrap_or_else(usual_payer)
    }

    pub(crate) fn learn_version(&self, version: &str) {
        self.facts().version = Some(version.to_owned());
        if let Some(warning) = version_warning(version) {
            self.warn_once(warning);
        }
    }

    pub(crate) fn version(&self) -> Option<String> {
        self.facts().version.clone()
    }

    pub(crate) fn redacted(&self, mut error: LlmError) -> LlmError {
        error.detail = error.detail.map(|detail| self.redactor.redact(&detail));
        error
    }

    fn facts(&self) -> std::sync::MutexGuard<'_, LearnedFacts> {
        self.facts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Unknown counts as unlimited.
fn children_for(memory: Option<u64>) -> usize {
    let fitting = memory.map_or(MOST_CHILDREN, |memory| memory / CHILD_MEMORY);
    usize::try_from(fitting.clamp(1, MOST_CHILDREN)).unwrap_or(1)
}

/// Bytes, without swapping.
fn available_memory() -> Option<u64> {
    let mut system = System::new().ok()?;
    system.refresh_memory_specifics(MemoryRefreshKind::nothing().with_ram());
    let machine = Some(system.available_memory()).filter(|bytes| *bytes > 0);
    let own = sysinfo::get_current_pid().ok()?;
    let only = ProcessesToUpdate::Some(&[own]);
    system.refresh_processes_specifics(only, false, ProcessRefreshKind::nothing());
    let group = system
        .process(own)
        .and_then(sysinfo::Process::cgroup_limits);
    within(machine, group.map(|group| (group.total_memory, group.rss)))
}

/// The smaller of machine and control group.
fn within(machine: Option<u64>, group: Option<(u64, u64)>) -> Option<u64> {
    let group = group.map(|(limit, used)| limit.saturating_sub(used));
    machine.into_iter().chain(group).min()
}

#[cfg(test)]
mod tests;
