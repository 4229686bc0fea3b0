//! `ktx scan relationships`.

use ktx_diagnostics::Exit;
use ktx_scan::{Found, FoundLink, STATUSES};
use serde_json::{Value, json};

use crate::invocation::OpenProject;
use crate::links::load;
use crate::printer::{Mode, Printer};
use crate::report::Outcome;

pub(super) fn run(id: Option<&str>, project: &OpenProject, printer: &Printer) -> Outcome {
    let found = load(id, project, printer)?;
    let shown = select(&found, |link| STATUSES.contains(&link.link.status.as_str()));
    print("scan relationships", &shown, printer)?;
    if printer.mode != Mode::Json {
        for found in &found {
            let counts = STATUSES.map(|status| {
                let of = found.links.iter().filter(|link| link.link.status == status);
                format!("{} {status}", of.count())
            });
            printer.note(&format!(
                "{}: {} (scan {})",
                found.connection,
                counts.join(", "),
                found.sync_id
            ));
        }
    }
    Ok(Exit::Success)
}

pub(super) fn select(
    found: &[Found],
    wanted: impl Fn(&FoundLink) -> bool,
) -> Vec<(&Found, Vec<&FoundLink>)> {
    found
        .iter()
        .map(|found| {
            let links = found.links.iter().filter(|link| wanted(link)).collect();
            (found, links)
        })
        .collect()
}

pub(super) fn print(
    command: &str,
    shown: &[(&Found, Vec<&FoundLink>)],
    printer: &Printer,
) -> Outcome<()> {
    if printer.mode == Mode::Json {
        let items: Vec<Value> = shown
            .iter()
            .flat_map(|(found, links)| links.iter().map(|link| link.to_json(&found.connection)))
            .collect();
        return printer.json(&json!({
            "kind": "list",
            "data": { "items": items },
            "meta": { "command": command },
        }));
    }
    for (found, links) in shown {
        for link in links {
            match printer.mode {
                Mode::Pretty => block(found, link, printer)?,
                Mode::Plain | Mode::Json => line(found, link, printer)?,
            }
        }
    }
    Ok(())
}

fn line(found: &Found, one: &FoundLink, printer: &Printer) -> Outcome<()> {
    let link = &one.link;
    let cells = [
        found.connection.to_string(),
        status(one),
        link.key(),
        format!("{} -> {}", link.from, link.to),
        link.relationship_type.clone(),
        format!("{:.2}", link.confidence),
        link.source.clone(),
        link.evidence_text(),
        link.reasons.join("; "),
    ];
    let cells = cells.map(|cell| cell.replace(['\t', '\n', '\r'], " "));
    printer.line(&cells.join("\t"))
}

fn block(found: &Found, one: &FoundLink, printer: &Printer) -> Outcome<()> {
    let link = &one.link;
    printer.line(&format!(
        "{}  {} -> {}  {}",
        link.key(),
        link.from,
        link.to,
        link.relationship_type
    ))?;
    printer.line(&format!(
        "  {}: {}, confidence {:.2}, {}",
        found.connection,
        status(one),
        link.confidence,
        link.source
    ))?;
    printer.line(&format!("  {}", link.evidence_text()))?;
    for reason in &link.reasons {
        printer.line(&format!("  - {reason}"))?;
    }
    if let Some((_, decision)) = &one.decided
        && let Some(note) = &decision.note
    {
        printer.line(&format!("  note: {note}"))?;
    }
    Ok(())
}

fn status(one: &FoundLink) -> String {
    match one.pending() {
        Some(decided) => format!("{} ({decided} from the next scan on)", one.link.status),
        None => one.link.status.clone(),
    }
}
