//! The output of `ktx sl validate`.

use ktx_diagnostics::counted;
use ktx_semantic_layer::Finding;
use ktx_semantic_tools::{LiveFinding, LiveReport, Severity, SkippedCheck};
use ktx_vocabulary::ConnectionId;
use serde_json::{Value, json};

use super::ConnectionFindings;
use crate::printer::Printer;
use crate::report::Outcome;

pub(super) fn print(
    name: Option<&str>,
    checked: &[ConnectionFindings],
    printer: &Printer,
) -> Outcome<()> {
    for checked in checked {
        let id = &checked.connection.id;
        for finding in &checked.warnings {
            printer.note(&format!("warning: {}", shown(id, finding)));
        }
        for finding in &checked.errors {
            printer.note(&format!("error: {}", shown(id, finding)));
        }
        let (mut errors, mut warnings) = (checked.errors.len(), checked.warnings.len());
        if let Some(live) = &checked.live {
            print_live(id, live, printer);
            errors += live.count(Severity::Error);
            warnings += live.count(Severity::Warning);
        }
        if errors > 0 {
            let (errors, warnings) = (counted(errors, "error"), counted(warnings, "warning"));
            printer.line(&format!("{id}: {errors}, {warnings}"))?;
        } else {
            match (name, checked.sources) {
                (Some(name), _) => {
                    printer.line(&format!("Valid semantic-layer source: {id}/{name}"))?;
                }
                (None, 1) => printer.line(&format!("{id}: 1 source is valid"))?,
                (None, sources) => printer.line(&format!("{id}: {sources} sources are valid"))?,
            }
        }
        if let Some(live) = &checked.live {
            printer.line(&format!("{id}: {}", asked(live)))?;
        }
    }
    Ok(())
}

fn asked(live: &LiveReport) -> String {
    if live.unreachable.is_some() {
        return format!(
            "the warehouse could not be looked at after {}",
            counted(live.asked, "question")
        );
    }
    let mut text = format!(
        "the warehouse answered {}, keys in at most {} rows of each source",
        counted(live.asked, "question"),
        live.sample
    );
    if !live.not_looked_at.is_empty() {
        text = format!("{text}; {} not looked at", live.not_looked_at.len());
    }
    if !live.not_checked.is_empty() {
        text = format!("{text}; {} not checked", live.not_checked.len());
    }
    text
}

fn print_live(id: &ConnectionId, live: &LiveReport, printer: &Printer) {
    for finding in &live.findings {
        let word = finding.severity.name();
        printer.note(&format!(
            "{word}: semantic-layer/{id}/{}: {}: {}",
            finding.location, finding.kind, finding.message
        ));
    }
    for skipped in &live.not_looked_at {
        printer.note(&format!(
            "not looked at: {id}/{}: {}: {}",
            skipped.source, skipped.about, skipped.reason
        ));
    }
    for skipped in &live.not_checked {
        printer.note(&format!(
            "not checked: {id}/{}: {}: {}",
            skipped.source, skipped.about, skipped.reason
        ));
    }
    if let Some(reason) = &live.unreachable {
        printer.note(&format!("could not look: {id}: {}", reason.message));
        if let Some(hint) = &reason.hint {
            printer.note(&format!("hint: {hint}"));
        }
    }
}

fn shown(connection: &ConnectionId, finding: &Finding) -> String {
    let path = finding.path.as_deref().unwrap_or_default();
    format!(
        "semantic-layer/{connection}/{path}: {}: {}",
        finding.kind.as_str(),
        finding.message
    )
}

pub(super) fn to_json(name: Option<&str>, checked: &[ConnectionFindings]) -> Value {
    let items: Vec<Value> = checked
        .iter()
        .map(|checked| {
            let mut item = json!({
                "connectionId": checked.connection.id.as_str(),
                "sourceName": name,
                "sourceCount": checked.sources,
                "valid": checked.errors.is_empty()
                    && !checked.live.as_ref().is_some_and(LiveReport::has_errors),
                "errors": checked.errors,
                "warnings": checked.warnings,
            });
            if let Some(live) = &checked.live {
                item["live"] = live_json(&checked.connection.id, live);
            }
            item
        })
        .collect();
    crate::lists::envelope(&items, "sl validate")
}

fn live_json(id: &ConnectionId, live: &LiveReport) -> Value {
    let is_whole = live.not_looked_at.is_empty() && live.not_checked.is_empty();
    let looked = match (&live.unreachable, is_whole) {
        (Some(_), _) => "could_not_look",
        (None, false) => "partly",
        (None, true) => "everything",
    };
    let findings: Vec<Value> = live
        .findings
        .iter()
        .map(|finding| finding_json(id, finding))
        .collect();
    let shown = |skipped: &SkippedCheck| json!({ "source": skipped.source, "about": skipped.about, "reason": skipped.reason });
    let skipped: Vec<Value> = live.not_looked_at.iter().map(shown).collect();
    let unchecked: Vec<Value> = live.not_checked.iter().map(shown).collect();
    json!({
        "looked": looked,
        "questions": live.asked,
        "sample": live.sample,
        "findings": findings,
        "notLookedAt": skipped,
        "notChecked": unchecked,
        "reason": live.unreachable.as_ref().map(|reason| &reason.message),
        "hint": live.unreachable.as_ref().and_then(|reason| reason.hint.as_ref()),
    })
}

fn finding_json(id: &ConnectionId, finding: &LiveFinding) -> Value {
    let position = finding.location.position;
    json!({
        "severity": finding.severity.name(),
        "kind": finding.kind,
        "message": finding.message,
        "source": finding.source,
        "path": format!("semantic-layer/{id}/{}", finding.location.file),
        "line": position.map(|position| position.line),
        "column": position.map(|position| position.column),
    })
}
