//! Formats committed results.

use ktx_ingest::{Committed, Truncation};

pub(crate) fn warnings(committed: &Committed) -> Vec<String> {
    let skipped = committed.skipped.iter().map(|skipped| {
        let reason = crate::skipped_files::reason(skipped.reason);
        format!("`{}` was left as it is: {reason}", skipped.path)
    });
    skipped
        .chain(committed.truncation.map(truncation_text))
        .collect()
}

fn truncation_text(truncation: Truncation) -> String {
    match truncation {
        Truncation::Turns(steps) => {
            format!("the model was stopped after {steps} turns; ktx keeps what it had written")
        }
        Truncation::PageQuota => {
            "the run wrote its maximum number of pages (`max_knowledge_creates_per_run`, \
                        `max_knowledge_updates_per_run`)"
                .to_owned()
        }
    }
}
