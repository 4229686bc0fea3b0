//! `ktx why`.

mod places;

use std::collections::BTreeMap;

use ktx_context_tools::{Reader, find_warehouse};
use ktx_diagnostics::{Code, Exit, Failure, nearest};
use ktx_ingest::{ThingKind, ThingVerdict, UnitRecord, Writer, unit_records, verdict_records};
use ktx_project_store::{History, Layout};
use ktx_vocabulary::ConnectionId;
use serde::Serialize;
use serde_json::json;

use self::places::{FileRange, Subject};
use crate::cli::WhyArgs;
use crate::invocation::Invocation;
use crate::opening::open_project;
use crate::printer::{Mode, Printer};
use crate::report::Outcome;
use crate::tables::Report as Table;

const SHORT: usize = 8;

#[derive(Debug, Serialize)]
struct Origin {
    file: String,
    lines: [usize; 2],
    parts: Vec<CommitLines>,
    /// Context source units that wrote to it.
    units: Vec<UnitRecord>,
    /// About what came from files that are gone.
    verdicts: Vec<ThingVerdict>,
}

#[derive(Debug, Serialize)]
struct CommitLines {
    lines: [usize; 2],
    commit: Option<String>,
    author: Option<String>,
    at: Option<String>,
    writer: Option<Writer>,
}

/// What the ledgers of the sources record.
struct Records {
    units: Vec<UnitRecord>,
    verdicts: Vec<(ConnectionId, ThingVerdict)>,
}

pub(crate) fn run(args: &WhyArgs, invocation: &Invocation) -> Outcome {
    let printer = invocation.printer(&args.output)?;
    let project = open_project(invocation, &printer)?;
    let layout = Layout::new(&project.dir);
    let subject = Subject {
        name: &args.subject,
    };
    let mut names = Vec::new();
    let mut found: Vec<FileRange> = places::page(subject, &layout)?.into_iter().collect();
    let wanted = args.connection_id.as_deref();
    if let Some(id) = wanted {
        find_warehouse(
            project.config.connections.values(),
            Some(id),
            Reader::Person,
        )?;
    }
    for warehouse in project.config.warehouses() {
        if wanted.is_none_or(|id| warehouse.id.as_str() == id) {
            found.extend(places::source(subject, &warehouse.id, &layout, &mut names)?);
        }
    }
    if found.is_empty() {
        return Err(unknown(subject, &layout, names));
    }
    let history = project.store.history()?;
    let sources = project.config.context_sources().map(|source| &source.id);
    let sources: Vec<&ConnectionId> = sources.collect();
    let records = Records {
        units: unit_records(&project.store, sources.iter().copied())?,
        verdicts: verdict_records(&project.store, sources)?,
    };
    let mut messages = BTreeMap::new();
    let mut origins = Vec::new();
    for place in found {
        origins.push(origin(subject, &place, &history, &mut messages, &records)?);
    }
    print(&args.subject, &origins, &printer)?;
    Ok(Exit::Success)
}

fn origin(
    subject: Subject<'_>,
    place: &FileRange,
    history: &History,
    messages: &mut BTreeMap<String, String>,
    records: &Records,
) -> Outcome<Origin> {
    let mut parts = Vec::new();
    for blamed in history.blame(&place.file, place.length)? {
        let first = blamed.first.max(place.lines.start);
        let last = blamed.last.min(place.lines.end - 1);
        if first > last {
            continue;
        }
        let mut part = CommitLines {
            lines: [first, last],
            commit: None,
            author: None,
            at: None,
            writer: None,
        };
        if let Some(commit) = blamed.commit {
            if !messages.contains_key(&commit.id) {
                messages.insert(commit.id.clone(), history.message(&commit.id)?);
            }
            part.writer = messages.get(&commit.id).map(|message| Writer::of(message));
            part.commit = Some(commit.id);
            part.author = Some(commit.author);
            part.at = Some(commit.at.to_string());
        }
        parts.push(part);
    }
    let path = place.file.as_str();
    let is_page = path.starts_with("wiki/");
    let source = subject.part().map_or(subject.name, |(source, _)| source);
    let wrote = |unit: &&UnitRecord| {
        if is_page {
            unit.pages.iter().any(|page| page == subject.page())
        } else {
            unit.sources.iter().any(|name| name == source)
        }
    };
    // Scans and imports write their own files; units write pages and overlays.
    let is_of_units = !path.contains("/_schema/") && !path.contains("/_imports/");
    let units = records.units.iter().filter(|_| is_of_units).filter(wrote);
    let is_about = |verdict: &&ThingVerdict| match verdict.kind {
        ThingKind::Page => is_page && verdict.name == subject.page(),
        _ if is_page => false,
        _ if subject.part().is_some() => verdict.name == subject.name,
        _ => verdict.name.split_once('.').map(|(source, _)| source) == Some(source),
    };
    let verdicts = records.verdicts.iter().map(|(_, verdict)| verdict);
    let verdicts = verdicts.filter(|_| is_of_units).filter(is_about);
    Ok(Origin {
        file: path.to_owned(),
        lines: [place.lines.start, place.lines.end - 1],
        parts,
        units: units.cloned().collect(),
        verdicts: verdicts.cloned().collect(),
    })
}

fn print(subject: &str, origins: &[Origin], printer: &Printer) -> Outcome<()> {
    if printer.mode == Mode::Json {
        return printer.json(&json!({
            "kind": "why",
            "data": { "name": subject, "places": origins },
        }));
    }
    for origin in origins {
        let [first, last] = origin.lines;
        printer.line(&format!("{}:{first}-{last}", origin.file))?;
        let mut table = Table::new(["lines", "written by", "date", "commit"]);
        for part in &origin.parts {
            let [first, last] = part.lines;
            let date = part.at.as_deref().and_then(|at| at.get(..10));
            let commit = part.commit.as_deref().and_then(|id| id.get(..SHORT));
            table.row([
                &format!("{first}-{last}"),
                &writer(part),
                date.unwrap_or_default(),
                commit.unwrap_or_default(),
            ]);
        }
        table.print(printer)?;
        for unit in &origin.units {
            let files = unit.files.join(", ");
            printer.line(&format!(
                "unit {} of {} was read from {files}",
                unit.unit, unit.source
            ))?;
        }
        for verdict in &origin.verdicts {
            printer.line(&format!(
                "{}: {} when {} was gone: {}",
                verdict.thing(),
                verdict.verdict.name(),
                verdict.gone.join(", "),
                verdict.reason
            ))?;
        }
    }
    Ok(())
}

fn writer(part: &CommitLines) -> String {
    let author = part.author.as_deref().unwrap_or_default();
    match &part.writer {
        None => "you, not committed yet".to_owned(),
        Some(Writer::Scan { warehouse }) => format!("the scan of {warehouse}"),
        Some(Writer::Facts { source }) => format!("facts of {source}"),
        Some(Writer::Unit { source, unit }) => format!("unit {unit} of {source}"),
        Some(Writer::Curation { source }) => format!("curation of {source}"),
        Some(Writer::Eviction { source }) => format!("files of {source} that are gone"),
        Some(Writer::Reconciliation { source }) => format!("reconciliation of {source}"),
        Some(Writer::Note { noted_by }) => format!("a note of {noted_by}"),
        Some(Writer::Demo) => "the sample project".to_owned(),
        Some(Writer::Person { title }) => format!("{author}: {title}"),
    }
}

fn unknown(subject: Subject<'_>, layout: &Layout, mut names: Vec<String>) -> Failure {
    let folder = layout.wiki_global();
    let pages = ktx_project_store::list(&folder).unwrap_or_default();
    names.extend(pages.iter().filter_map(|page| {
        let key = page.strip_prefix(&folder).ok()?.to_str()?;
        Some(key.strip_suffix(".md")?.to_owned())
    }));
    names.sort();
    names.dedup();
    let failure = Failure::new(
        Code::UnknownSubject,
        format!(
            "no page, source, measure or column is named `{}`",
            subject.name
        ),
    );
    match nearest(subject.name, names.iter().map(String::as_str)).first() {
        Some(near) => failure.hint(format!("did you mean `ktx why {near}`?")),
        None => failure.hint("`ktx wiki list` and `ktx sl list` list what there is"),
    }
}
