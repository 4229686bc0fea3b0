//! A run over context sources, one after another.

use std::cell::{Cell, OnceCell};
use std::sync::Arc;

use ktx_context_tools::ProjectContext;
use ktx_diagnostics::Failure;
use ktx_vocabulary::RunId;
use tokio_util::future::FutureExt as _;
use tokio_util::sync::CancellationToken;

use crate::error::{Failed, IngestError, Stop};
use crate::events::{EventSink, Progress};
use crate::proposals::waiting_proposals;
use crate::report::{FactsReport, Reading, SourceReport};
use crate::run_store::RunStore;
use crate::source_run::{SourceRun, UsableModel};
use crate::stages::reconciliation::Units;
use crate::stages::{curation, eviction, ledger, reconciliation, triage, units};
use crate::unit::LoopContext;
use ktx_context_sources::{PageQuota, Source};
use ktx_memory::Quota;

#[derive(Debug, Clone)]
pub enum Model {
    Absent,
    Unwanted,
    Unavailable(UnavailableModel),
    /// Possibly usable: its first call decides.
    Usable(UsableModel),
}

#[derive(Debug, Clone)]
pub struct UnavailableModel {
    pub failure: Failure,
    /// `None` if each source reports the failure.
    pub stop: Option<Stop>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Start {
    Tried,
    /// An earlier part of the command has stopped the run: sources are only reported.
    Stopped,
}

pub struct IngestRequest<'a> {
    pub run_store: &'a RunStore,
    pub context: Arc<dyn ProjectContext>,
    pub model: Model,
    pub run_id: RunId,
    pub events: EventSink,
    pub start: Start,
    pub cancel: CancellationToken,
}

impl std::fmt::Debug for IngestRequest<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("IngestRequest")
            .field("model", &self.model)
            .field("run_id", &self.run_id)
            .field("start", &self.start)
            .finish_non_exhaustive()
    }
}

/// Lets the model read the units of sources one after another, under the project's lock. `sources`
/// come with the results of [`crate::copy_facts`]. A failed source does not stop the others; a
/// model that cannot be used or that stops midway stops all. Each source has a report.
pub async fn ingest(
    request: IngestRequest<'_>,
    sources: Vec<(Source, Result<FactsReport, Failed>)>,
) -> Result<Vec<SourceReport>, IngestError> {
    let engine = Engine {
        is_usable: Cell::new(false),
        request,
    };
    let mut is_stopped = engine.request.start == Start::Stopped;
    let mut reports = Vec::new();
    for (source, facts) in sources {
        let mut report = SourceReport::new(&source, facts);
        if !is_stopped {
            report.stopped = engine.read(&source, &mut report).await.err();
        }
        report.name_units(&source);
        is_stopped |= report.stop().is_some();
        reports.push(report);
    }
    if let Model::Usable(model) = &engine.request.model {
        // After Ctrl-C, do not wait any more.
        let settling = model.runtime.settle();
        settling
            .with_cancellation_token(&engine.request.cancel)
            .await;
    }
    let proposals = waiting_proposals(engine.request.run_store.store())?;
    for report in &mut reports {
        let own = proposals.iter();
        let own = own.filter(|proposal| proposal.source == report.source);
        report.proposals = own.cloned().collect();
    }
    Ok(reports)
}

struct Engine<'a> {
    request: IngestRequest<'a>,
    is_usable: Cell<bool>,
}

impl Engine<'_> {
    async fn read(&self, source: &Source, report: &mut SourceReport) -> Result<(), Failed> {
        let model = match &self.request.model {
            Model::Usable(model) => model,
            Model::Unavailable(UnavailableModel { failure, stop }) => {
                return Err(Failed {
                    error: IngestError::Runtime(failure.clone()),
                    stop: *stop,
                });
            }
            Model::Absent if source.has_facts => {
                report.reading = Reading::FactsOnly;
                return Ok(());
            }
            Model::Absent => return Err(IngestError::NoModel.into()),
            Model::Unwanted => {
                report.reading = Reading::FactsWanted;
                return Ok(());
            }
        };
        let request = &self.request;
        let mut run = SourceRun {
            source,
            model,
            run_store: request.run_store,
            quota: source.documents.map(quota),
            progress: Progress::new(&source.id, &request.events),
            context: LoopContext {
                source: source.id.clone(),
                warehouse: source.warehouse.clone(),
                context: Arc::clone(&request.context),
                runtime: Arc::clone(&model.runtime),
                run_id: request.run_id.clone(),
                cancel: request.cancel.clone(),
            },
            is_usable: &self.is_usable,
            items: OnceCell::new(),
        };
        let result = stages(&mut run, report).await;
        report.turns = run.progress.turns();
        let recorded = ledger::bring_up_to_date(&run).map_err(Failed::from);
        result.and(recorded)
    }
}

async fn stages(run: &mut SourceRun<'_>, report: &mut SourceReport) -> Result<(), Failed> {
    report.warnings.extend(ledger::drop_expired(run)?);
    report.warnings.extend(ledger::take_over(run)?);
    run.journal().look_for_gone(&run.source.snapshot)?;
    units::require_model(run).await?;
    let judgements = triage::judge(run).await?;
    report.units = units::read(run, judgements).await;
    if report.stop().is_none() {
        // Not earlier: a unit may continue a page from a removed file.
        report.eviction = eviction::evict(run).await?;
    }
    if report.stop().is_none() {
        report.curation = curation::curate_all(run).await?;
    }
    if report.stop().is_none() {
        let units = match report.failures_of_reading().next() {
            None => Units::Read,
            Some(_) => Units::SomeFailed,
        };
        report.reconciliation =
            reconciliation::reconcile_pending(run, units, report.eviction.as_ref()).await?;
    }
    Ok(())
}

const fn quota(pages: PageQuota) -> Quota {
    Quota {
        creates: pages.creates,
        updates: pages.updates,
    }
}
