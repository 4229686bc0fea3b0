//! Ingest of context sources: a model reads the files of a source unit by unit, writes down what
//! they mean, and then reconciles what the units wrote.
//!
//! Every unit works on a draft of the committed files with the checked tools of a capture. This
//! crate writes no files: the caller publishes the changes. This crate must never know backends,
//! the terminal or git, nor which kinds of context sources there are.

mod curate;
mod documents;
mod fingerprint;
mod ownership;
mod prompts;
mod proposal;
mod raw;
mod reconcile;
mod unit;

pub use curate::{
    CURATE_BATCH, CURATE_STEPS, CurateRequest, Curated, Decision, Fate, Open, curate,
};
pub use documents::{Action, Candidate, Found, Lane, Verdict, light, triage};
pub use fingerprint::fingerprint;
pub use ownership::{Divided, divide, is_own, marks};
pub use proposal::{Proposal, proposal_file, proposal_name, render_proposal};
pub use reconcile::{Artifacts, RECONCILE_STEPS, ReconcileRequest, reconcile};
pub use unit::{IngestError, LONGEST_UNIT, Run, UnitRequest, Worked, work_unit};
