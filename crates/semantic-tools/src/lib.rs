//! Compares, draws, formats and exchanges semantic sources, and checks them against their
//! warehouse.

mod diff;
mod drawing;
mod format;
mod interchange;
mod live;
mod probes;

pub use diff::{Change, Difference, Effect, FieldChange, Subject, diff, diff_json, diff_text};
pub use drawing::{draw_mermaid, draw_svg, graph_json};
pub use format::format_source;
pub use interchange::{
    Exported, Fate, Imported, ImportedSource, InterchangeError, Loss, OSI_VERSION, Replaced,
    export_osi, import_osi, replace_source,
};
pub use live::{
    LiveCheck, LiveFinding, LiveReport, Severity, SkippedCheck, StatementLog, StatementOutcome,
};
pub use probes::{NotAsked, Probe, Probes, Wanted, probes, relation_probe};
