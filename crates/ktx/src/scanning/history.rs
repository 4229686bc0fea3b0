//! Output about past queries.

use ktx_scan::HistoryRead;
use ktx_vocabulary::ConnectionId;
use serde_json::{Value, json};

use super::ScanResult;
use crate::report::Outcome;

pub(crate) fn is_missing(results: &[(ConnectionId, Outcome<ScanResult>)]) -> bool {
    let scanned = results
        .iter()
        .filter_map(|(_, result)| result.as_ref().ok());
    scanned
        .map(|scanned| &scanned.outcome.history)
        .any(|read| matches!(read, HistoryRead::Unavailable(_) | HistoryRead::NotRun))
}

/// `None` if not requested.
pub(crate) const fn status(read: &HistoryRead) -> Option<&'static str> {
    match read {
        HistoryRead::NotWanted => None,
        HistoryRead::NotRun => Some("not-run"),
        HistoryRead::Read => Some("done"),
        HistoryRead::Unavailable(_) => Some("skipped"),
    }
}

/// The format of KTX 0.12.
pub(crate) fn step(read: &HistoryRead) -> Option<Value> {
    let mut step = json!({ "operation": "query-history", "status": status(read)? });
    if let (HistoryRead::Unavailable(reason), Some(step)) = (read, step.as_object_mut()) {
        step.insert("detail".to_owned(), json!(reason));
    }
    Some(step)
}
