//! The search index's documents of pages, sources and scans.

use std::collections::BTreeMap;

use ktx_search::{Document, Field, Kind, Section};
use ktx_semantic_layer::{Catalog, Column, Join, Relation, Source, SourceSummary, Visibility};
use ktx_vocabulary::ConnectionId;
use ktx_wiki::{Page, Scope};

use crate::scans::Shown;
use crate::wire::{Payload, SourceItem, SourceList};

const PAGE_LETTERS: usize = 200_000;

pub(crate) fn of_page(page: &Page) -> Document {
    let front = &page.front_matter;
    let lists = [&front.tags, &front.sl_refs, &front.tables];
    let words: Vec<&str> = lists.into_iter().flatten().map(String::as_str).collect();
    let intent = front.intent.as_deref().unwrap_or_default();
    let mut document = Document::new(Kind::Wiki, page.key().as_str())
        .with(Field::Name, page.key().as_str())
        .with(Field::Display, page.title().unwrap_or_default())
        .with(Field::Description, page.summary())
        .with(Field::Comment, [words.join(" ").as_str(), intent].join(" "))
        .in_sections(sections(page))
        .carrying(payload(&Payload {
            path: Some(page.path.to_string()),
            ..Payload::default()
        }));
    document.owner = match page.scope() {
        Scope::Global => None,
        Scope::User(user) => Some(user.as_str().to_owned()),
    };
    document
}

fn sections(page: &Page) -> Vec<Section> {
    let mut left = PAGE_LETTERS;
    let mut sections = Vec::new();
    for section in page.sections() {
        let body: String = section.text.chars().take(left).collect();
        left -= body.chars().count();
        sections.push(Section {
            heading: section.headings.join(" › "),
            body,
        });
        if left == 0 {
            break;
        }
    }
    sections
}

pub(crate) fn of_catalog(
    connection: &ConnectionId,
    catalog: &Catalog,
    scan: Option<&Shown<'_>>,
) -> Vec<Document> {
    let items: BTreeMap<String, SourceItem> = catalog
        .list()
        .into_iter()
        .map(|summary| (summary.name.clone(), source_item(connection, summary)))
        .collect();
    let mut documents = Vec::new();
    for source in catalog.sources() {
        let read = scan.and_then(|scan| Some((scan, &scan.places().read_by(source)?.table)));
        let values = |column: &str| {
            read.map(|(scan, table)| scan.values(table, column).join("\n"))
                .unwrap_or_default()
        };
        let item = items.get(&source.name).cloned();
        let roles = role_names(catalog, source);
        documents.push(of_source(connection, (source, &roles), &values, item));
        documents.extend(source.measures.iter().map(|measure| {
            let filter = measure.filter.as_deref().unwrap_or_default();
            Document::new(Kind::Measure, format!("{}.{}", source.name, measure.name))
                .of(connection)
                .with(Field::Name, &measure.name)
                .with(Field::Display, format!("{}.{}", source.name, measure.name))
                .with(
                    Field::Description,
                    measure.description.clone().unwrap_or_default(),
                )
                .with(Field::Expr, [measure.expr.as_str(), filter].join(" "))
        }));
        documents.extend(shown(source).map(|column| {
            Document::new(Kind::Dimension, format!("{}.{}", source.name, column.name))
                .of(connection)
                .with(Field::Name, &column.name)
                .with(Field::Display, format!("{}.{}", source.name, column.name))
                .with(
                    Field::Description,
                    column.description.clone().unwrap_or_default(),
                )
                .with(Field::Expr, column.expr.clone().unwrap_or_default())
                .with(Field::SampleValue, values(&column.name))
        }));
    }
    documents
}

/// As queries name the target: `orders.billing_address`.
fn role_names(catalog: &Catalog, source: &Source) -> Vec<String> {
    let name = |join: &Join| {
        let alias = join.alias.clone();
        alias.or_else(|| catalog.join_name(&source.name, join))
    };
    source.joins.iter().filter_map(name).collect()
}

fn shown(source: &Source) -> impl Iterator<Item = &Column> {
    source
        .columns
        .iter()
        .filter(|column| column.visibility == Visibility::Public)
}

fn of_source(
    connection: &ConnectionId,
    (source, roles): (&Source, &[String]),
    values: &dyn Fn(&str) -> String,
    item: Option<SourceItem>,
) -> Document {
    let mut names: Vec<&str> = Vec::new();
    let mut texts: Vec<&str> = Vec::new();
    for column in shown(source) {
        names.push(&column.name);
        texts.extend(column.description.as_deref());
    }
    for measure in &source.measures {
        names.push(&measure.name);
        texts.extend(measure.description.as_deref());
    }
    for segment in &source.segments {
        names.push(&segment.name);
        texts.extend(segment.description.as_deref());
    }
    names.extend(roles.iter().map(String::as_str));
    let table = match &source.relation {
        Relation::Table(table) => table.as_str(),
        Relation::Sql(_) => "",
    };
    let values: Vec<String> = shown(source).map(|column| values(&column.name)).collect();
    Document::new(Kind::SemanticSource, &source.name)
        .of(connection)
        .with(Field::Name, &source.name)
        .with(Field::Display, table)
        .with(Field::Description, source.description().unwrap_or_default())
        .with(Field::SampleValue, values.join("\n"))
        .with(Field::Body, [names.join(" "), texts.join("\n")].join("\n"))
        .carrying(payload(&Payload {
            source: item,
            ..Payload::default()
        }))
}

fn source_item(connection: &ConnectionId, summary: SourceSummary) -> SourceItem {
    SourceItem {
        connection_id: connection.to_string(),
        name: summary.name,
        path: source_path(connection, &summary.path),
        description: summary.description,
        column_count: summary.column_count,
        measure_count: summary.measure_count,
        join_count: summary.join_count,
    }
}

pub(crate) fn source_list(connection: &ConnectionId, catalog: &Catalog) -> SourceList {
    let items = catalog.list().into_iter();
    let diagnostics = catalog.diagnostics().iter().cloned().map(|mut found| {
        if let Some(location) = &mut found.location {
            location.file = source_path(connection, &location.file);
        }
        found
    });
    SourceList {
        items: items
            .map(|summary| source_item(connection, summary))
            .collect(),
        diagnostics: diagnostics.collect(),
    }
}

fn source_path(connection: &ConnectionId, path: &str) -> String {
    format!("semantic-layer/{connection}/{path}")
}

pub(crate) fn of_scan(connection: &ConnectionId, scan: &Shown<'_>) -> Vec<Document> {
    let mut documents = Vec::new();
    for table in scan.tables() {
        let display = table.table.to_string();
        let columns: Vec<&ktx_warehouse::Column> = scan.columns(table).collect();
        let names: Vec<&str> = columns.iter().map(|column| column.name.as_str()).collect();
        let place = Payload {
            table: Some(table.table.clone()),
            ..Payload::default()
        };
        documents.push(
            Document::new(Kind::Table, &display)
                .of(connection)
                .with(Field::Name, &table.table.name)
                .with(Field::Display, &display)
                .with(Field::Comment, table.comment.clone().unwrap_or_default())
                .with(Field::Body, names.join(" "))
                .carrying(payload(&place)),
        );
        documents.extend(columns.into_iter().map(|column| {
            Document::new(Kind::Column, format!("{display}.{}", column.name))
                .of(connection)
                .with(Field::Name, &column.name)
                .with(
                    Field::Display,
                    format!("{}.{}", table.table.name, column.name),
                )
                .with(Field::Comment, column.comment.clone().unwrap_or_default())
                .with(
                    Field::SampleValue,
                    scan.values(&table.table, &column.name).join("\n"),
                )
                .carrying(payload(&Payload {
                    column: Some(column.name.clone()),
                    ..place.clone()
                }))
        }));
    }
    documents
}

fn payload(payload: &Payload) -> String {
    // Texts always have a JSON form.
    serde_json::to_string(payload).unwrap_or_default()
}
