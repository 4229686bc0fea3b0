//! Ingest of context sources and notes: a model reads the files of a source unit by unit, writes
//! down what they mean, and then reconciles what the units wrote. Every model loop works on a draft
//! of the committed files; its result is one commit and one row of the journal. This crate must
//! never know backends, the terminal, or which kinds of context sources there are.

mod artifacts;
mod authorship;
mod committed_files;
mod curate;
mod documents;
mod error;
mod estimate;
mod events;
mod fingerprint;
mod imports;
mod journal;
mod ledger;
mod merging;
mod notes;
mod ownership;
mod plan;
mod policy;
mod prompts;
mod proposal;
mod proposals;
mod raw;
mod reconcile;
mod report;
mod run;
mod run_store;
mod source_run;
mod stages;
mod transcripts;
mod unit;
mod verdict;
mod work_item;

pub use authorship::{UnitRecord, Writer, unit_records};
pub use curate::{Decision, Fate};
pub use documents::{Lane, Verdict};
pub use error::{Failed, IngestError, Stop};
pub use estimate::{PlannedUnit, UnitNeed, planned_units};
pub use events::{Event, EventSink, Task, Turn};
pub use imports::{ImportReport, PartialImport};
pub use journal::known_files;
pub use ledger::UnitOutcome;
pub use notes::{AfterFailure, Note, NoteEvent, NoteProgress, NotesRequest, capture_notes};
pub use plan::{ModelNeed, Plan, ROLES};
pub use policy::{WhyHeld, changes_basis, measures};
pub use proposals::{ProposalState, WaitingProposal, accept, reject, waiting_proposals};
pub use report::{
    CurationReport, EvictionReport, FactsReport, Judgement, LoopReport, Reading, SourceReport,
    UnitReport,
};
pub use run::{IngestRequest, Model, Start, UnavailableModel, ingest};
pub use run_store::{Committed, Origin, RunStore};
pub use source_run::UsableModel;
pub use stages::facts::{FactsReports, FactsSource, Imports, copy_facts, remove_orphans};
pub use verdict::{DecidedBy, EvictionVerdict, Thing, ThingKind, ThingVerdict, verdict_records};
pub use work_item::Truncation;
