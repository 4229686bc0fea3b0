//! `ktx sl diff`.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use ktx_context_tools::ProjectContext;
use ktx_diagnostics::{Code, Exit, Failure, Severity};
use ktx_project_store::{History, ProjectPath};
use ktx_semantic_layer::{Catalog, Source, SourceFile};
use ktx_semantic_tools::{
    Change, Difference, Effect, FieldChange, Subject, diff, diff_json, diff_text,
};
use ktx_sql::Dialect;
use ktx_vocabulary::ConnectionId;
use serde_json::{Value, json};

use crate::cli::{DiffAlarm, SlDiffArgs};
use crate::compose;
use crate::connections;
use crate::invocation::OpenProject;
use crate::printer::{Mode, Printer};
use crate::report::{Outcome, Report as _};

struct SourceState {
    label: String,
    catalogs: BTreeMap<ConnectionId, Arc<Catalog>>,
}

struct ConnectionDifferences {
    connection: ConnectionId,
    differences: Vec<Difference>,
    unread: Vec<String>,
}

pub(crate) fn run(
    args: &SlDiffArgs,
    connection: Option<&str>,
    project: &OpenProject,
    context: &dyn ProjectContext,
    printer: &Printer,
) -> Outcome {
    let history = project.store.history()?;
    let from = args.from.as_deref().unwrap_or("HEAD");
    let before = committed(&history, from, project)?;
    let after = match &args.to {
        Some(revision) => committed(&history, revision, project)?,
        None => files(context)?,
    };
    let wanted = connection.map(ConnectionId::parse).transpose()?;
    let mut ids: BTreeSet<&ConnectionId> = before
        .catalogs
        .keys()
        .chain(after.catalogs.keys())
        .collect();
    if let Some(wanted) = &wanted {
        if !ids.contains(wanted) {
            connections::warehouse(&project.config, Some(wanted.as_str()))?;
        }
        ids.retain(|id| *id == wanted);
    }
    let empty = Arc::new(Catalog::load(Vec::new(), Dialect::Postgres));
    let mut all = Vec::new();
    for id in ids {
        let old = before.catalogs.get(id).unwrap_or(&empty);
        let new = after.catalogs.get(id).unwrap_or(&empty);
        all.push(compare(id, (&before.label, old), (&after.label, new)));
    }
    if let Some(source) = &args.source {
        known_somewhere(source, &before, &after)?;
        for compared in &mut all {
            compared
                .differences
                .retain(|difference| is_about(difference, source));
        }
    }
    print(&all, (&before.label, &after.label), printer)?;
    Ok(exit(&all, args.exit_code))
}

fn is_about(difference: &Difference, source: &str) -> bool {
    let was = match &difference.change {
        Change::Changed(fields) => fields
            .iter()
            .any(|field| field.field == "name" && field.old.as_deref() == Some(source)),
        Change::Added | Change::Removed => false,
    };
    difference.source == source || was
}

/// Uses the dialects of the current connections.
fn committed(history: &History, revision: &str, project: &OpenProject) -> Outcome<SourceState> {
    let commit = history.commit(revision)?;
    let folder = ProjectPath::parse("semantic-layer")
        .map_err(|error| Failure::from_error(Code::Internal, &error))?;
    let mut folders: BTreeMap<ConnectionId, Vec<SourceFile>> = BTreeMap::new();
    for (path, bytes) in history.files(&commit, &folder)? {
        let parts = path
            .as_str()
            .strip_prefix("semantic-layer/")
            .and_then(|rest| rest.split_once('/'));
        // Excludes review decisions and hidden files.
        let Some((connection, name)) = parts else {
            continue;
        };
        let is_hidden = name.split('/').any(|part| part.starts_with('.'));
        if let Ok(id) = ConnectionId::parse(connection)
            && !is_hidden
            && !name.starts_with("_review/")
        {
            let file = SourceFile::new(name, bytes);
            folders.entry(id).or_default().push(file);
        }
    }
    let catalogs = folders
        .into_iter()
        .map(|(id, files)| {
            let connection = project.config.connection(id.as_str());
            let dialect = connection
                .and_then(|connection| compose::dialect(connection.driver))
                .unwrap_or(Dialect::Postgres);
            (id, Arc::new(Catalog::load(files, dialect)))
        })
        .collect();
    Ok(SourceState {
        label: revision.to_owned(),
        catalogs,
    })
}

fn files(context: &dyn ProjectContext) -> Outcome<SourceState> {
    let catalogs = compose::block_on(|_| async {
        let mut catalogs = BTreeMap::new();
        for id in context.source_folders().await? {
            let catalog = context.catalog(&id).await?;
            catalogs.insert(id, catalog);
        }
        Ok(catalogs)
    })?;
    Ok(SourceState {
        label: "the files".to_owned(),
        catalogs,
    })
}

fn compare(
    connection: &ConnectionId,
    (before, old): (&str, &Catalog),
    (after, new): (&str, &Catalog),
) -> ConnectionDifferences {
    let mut differences = diff(old, new);
    // Sources unreadable in one state, and joins to them, are neither added nor removed.
    let broken: [BTreeSet<String>; 2] = [broken_files(old), broken_files(new)];
    let is_unread = |name: &str| {
        let lost = |catalog: &Catalog, elsewhere: &BTreeSet<String>| {
            let mut files = catalog.files_of(name).into_iter();
            files.any(|file| elsewhere.contains(file))
        };
        let [in_old, in_new] = &broken;
        let by_name = old.is_unreadable(name) || new.is_unreadable(name);
        by_name || lost(old, in_new) || lost(new, in_old)
    };
    differences.retain(|difference| match difference.subject {
        Subject::Source => !is_unread(&difference.source),
        Subject::Join => ![old, new]
            .iter()
            .any(|catalog| is_unread(&target(catalog, difference))),
        Subject::Column | Subject::Measure | Subject::Segment => true,
    });
    join_renamed(&mut differences, old, new);
    let mut unread = Vec::new();
    for (label, catalog) in [(before, old), (after, new)] {
        unread.extend(
            unreadable_files(catalog)
                .into_iter()
                .map(|found| format!("{label}: semantic-layer/{connection}/{found}")),
        );
    }
    ConnectionDifferences {
        connection: connection.clone(),
        differences,
        unread,
    }
}

fn target(catalog: &Catalog, difference: &Difference) -> String {
    let source = catalog.source(&difference.source);
    let mut joins = source.into_iter().flat_map(|source| &source.joins);
    let join = joins.find(|join| join.alias.as_deref() == Some(&difference.name));
    join.map_or_else(|| difference.name.clone(), |join| join.to.clone())
}

fn broken_files(catalog: &Catalog) -> BTreeSet<String> {
    let list = catalog.list().into_iter();
    let broken = list.filter(|summary| summary.origin.is_none());
    broken.map(|summary| summary.path).collect()
}

fn unreadable_files(catalog: &Catalog) -> Vec<String> {
    let broken = broken_files(catalog);
    let is_of_broken = |file: &str| broken.contains(file);
    catalog
        .diagnostics()
        .iter()
        .filter(|found| found.severity == Severity::Error)
        .filter(|found| {
            let location = found.location.as_ref();
            location.is_some_and(|location| is_of_broken(&location.file))
        })
        .map(ToString::to_string)
        .collect()
}

fn join_renamed(differences: &mut Vec<Difference>, old: &Catalog, new: &Catalog) {
    let of = |change: &Change, catalog: &'_ Catalog| -> Vec<Source> {
        differences
            .iter()
            .filter(|found| found.subject == Subject::Source && found.change == *change)
            .filter_map(|found| catalog.source(&found.name).cloned())
            .collect()
    };
    let (gone, mut added) = (of(&Change::Removed, old), of(&Change::Added, new));
    for before in gone {
        let same = |after: &Source| meaning(&before, &after.name) == meaning(after, &after.name);
        let Some(at) = added.iter().position(same) else {
            continue;
        };
        let after = added.swap_remove(at);
        differences.retain(|found| {
            found.subject != Subject::Source
                || (found.name != before.name && found.name != after.name)
        });
        differences.push(Difference {
            source: after.name.clone(),
            subject: Subject::Source,
            name: after.name.clone(),
            change: Change::Changed(vec![FieldChange {
                field: "name",
                old: Some(before.name.clone()),
                new: Some(after.name),
            }]),
            effect: Effect::Queries,
        });
    }
    differences.sort_by(|left, right| {
        (&left.source, left.subject, &left.name).cmp(&(&right.source, right.subject, &right.name))
    });
}

/// Without display text.
fn meaning(source: &Source, name: &str) -> String {
    let mut other = source.clone();
    other.name = String::new();
    other.path = String::new();
    other.descriptions = BTreeMap::new();
    let text = format!("{other:?}");
    text.replace(&format!("{}.", source.name), &format!("{name}."))
}

fn known_somewhere(source: &str, before: &SourceState, after: &SourceState) -> Outcome<()> {
    let names: BTreeSet<String> = before
        .catalogs
        .values()
        .chain(after.catalogs.values())
        .flat_map(|catalog| catalog.list())
        .map(|summary| summary.name)
        .collect();
    if names.contains(source) {
        return Ok(());
    }
    let failure = Failure::new(
        Code::UnknownSource,
        format!("no semantic source `{source}` in either state"),
    )
    .ending(Exit::Config);
    let near = ktx_diagnostics::nearest(source, names.iter().map(String::as_str));
    Err(match near.first() {
        Some(near) => failure.hint(format!("did you mean `{near}`?")),
        None => failure.hint("run `ktx sl` for all sources"),
    })
}

fn print(
    all: &[ConnectionDifferences],
    (from, to): (&str, &str),
    printer: &Printer,
) -> Outcome<()> {
    let differences = || all.iter().flat_map(|compared| &compared.differences);
    if printer.mode == Mode::Json {
        return printer.json(&to_json(all, (from, to)));
    }
    for compared in all {
        for reason in &compared.unread {
            printer.note(&format!("warning: not compared: {reason}"));
        }
        if !compared.differences.is_empty() {
            printer.line(&format!("{}: {from} -> {to}", compared.connection))?;
            printer.page(&diff_text(&compared.differences))?;
        }
    }
    let count = differences().count();
    let unread = all.iter().any(|compared| !compared.unread.is_empty());
    if count == 0 {
        let part = if unread { " in what could be read" } else { "" };
        printer.note(&format!(
            "no difference in meaning between {from} and {to}{part}"
        ));
        return Ok(());
    }
    let numbers: Vec<String> = differences()
        .filter(|difference| difference.can_change_numbers())
        .map(named)
        .collect();
    let word = if count == 1 { "" } else { "s" };
    if numbers.is_empty() && unread {
        printer.line(&format!(
            "{count} difference{word}; whether numbers can change is not known: files could not be read"
        ))
    } else if numbers.is_empty() {
        printer.line(&format!("{count} difference{word}; no number can change"))
    } else {
        let numbers = numbers.join(", ");
        let more = if unread {
            ", and by files that could not be read"
        } else {
            ""
        };
        printer.line(&format!(
            "{count} difference{word}; numbers can change by {numbers}{more}"
        ))
    }
}

fn named(difference: &Difference) -> String {
    if difference.subject == Subject::Source {
        return format!("source {}", difference.source);
    }
    let lost = match (difference.loses_measure(), &difference.change) {
        (true, Change::Removed) => " (removed)",
        (true, _) => " (can no longer be computed)",
        (false, _) => "",
    };
    format!(
        "{} {}.{}{lost}",
        difference.subject.name(),
        difference.source,
        difference.name
    )
}

fn to_json(all: &[ConnectionDifferences], (from, to): (&str, &str)) -> Value {
    let mut items = Vec::new();
    for compared in all {
        let Value::Array(found) = diff_json(&compared.differences) else {
            continue;
        };
        for mut item in found {
            item["connectionId"] = json!(compared.connection.as_str());
            items.push(item);
        }
    }
    let unread: Vec<&String> = all.iter().flat_map(|compared| &compared.unread).collect();
    let mut envelope = crate::lists::envelope(&items, "sl diff");
    envelope["data"]["notCompared"] = json!(unread);
    envelope["meta"]["from"] = json!(from);
    envelope["meta"]["to"] = json!(to);
    envelope
}

fn exit(all: &[ConnectionDifferences], alarm: Option<DiffAlarm>) -> Exit {
    let Some(alarm) = alarm else {
        return Exit::Success;
    };
    let counts = |difference: &Difference| match alarm {
        DiffAlarm::Any => true,
        DiffAlarm::Numbers => difference.can_change_numbers(),
    };
    if all.iter().any(|compared| !compared.unread.is_empty()) {
        Exit::Config
    } else if all
        .iter()
        .any(|compared| compared.differences.iter().any(counts))
    {
        Exit::Failure
    } else {
        Exit::Success
    }
}
