//! Files that a commit skipped because the user changed them.

use ktx_project_store::{PublishResult, SkipReason, SkippedFile};
use serde_json::{Value, json};

pub(crate) fn left_alone(skipped: &SkippedFile, command: &str) -> String {
    format!(
        "warning: `{}` was left as it is: {}; {}",
        skipped.path,
        reason(skipped.reason),
        next_step(command)
    )
}

pub(crate) fn add_left_alone(item: &mut Value, published: Option<&PublishResult>, command: &str) {
    let skipped = published.map_or(&[][..], |published| &published.skipped);
    if let (false, Value::Object(item)) = (skipped.is_empty(), item) {
        let files = skipped.iter().map(|skipped| {
            json!({
                "path": skipped.path.as_str(),
                "reason": reason(skipped.reason),
                "hint": next_step(command),
            })
        });
        item.insert("skipped".to_owned(), Value::Array(files.collect()));
    }
}

fn next_step(command: &str) -> String {
    format!("commit or revert your change, then run `{command}` again")
}

pub(crate) const fn reason(reason: SkipReason) -> &'static str {
    match reason {
        SkipReason::Changed => "you have changed it",
        SkipReason::Staged => "you have staged a change to it",
    }
}
