//! Finds pages that name lost tables, sources or pages.

use std::collections::BTreeSet;
use std::sync::Arc;

use ktx_diagnostics::{LineIndex, Location};
use ktx_semantic_layer::Source;
use ktx_wiki::{Page, ReferenceTarget, SlReference, code_references, links, parse_key};

use super::{DriftClass, DriftConnection, DriftFinding};

/// File names look like references.
const FILE_ENDINGS: [&str; 12] = [
    "csv", "ipynb", "json", "md", "parquet", "py", "rs", "sh", "sql", "txt", "yaml", "yml",
];

pub(super) fn check(
    connections: &[DriftConnection],
    pages: &[Arc<Page>],
    findings: &mut Vec<DriftFinding>,
) {
    let keys: BTreeSet<&str> = pages.iter().map(|page| page.key().as_str()).collect();
    let targets = Targets { connections, keys };
    for page in pages {
        let mut checked = PageCheck {
            page,
            lines: LineIndex::new(page.text()),
            findings,
        };
        checked.front_matter(&targets);
        checked.body(&targets);
    }
}

struct Targets<'a> {
    connections: &'a [DriftConnection],
    keys: BTreeSet<&'a str>,
}

impl Targets<'_> {
    fn sources<'s>(
        &'s self,
        connection: Option<&'s str>,
        name: &'s str,
    ) -> impl Iterator<Item = &'s Source> {
        let asked = self
            .connections
            .iter()
            .filter(move |one| connection.is_none_or(|id| one.id.as_str() == id));
        asked.filter_map(move |one| one.catalog.source(name))
    }

    fn is_unreadable(&self, name: &str) -> bool {
        let mut connections = self.connections.iter();
        connections.any(|one| one.catalog.is_unreadable(name))
    }

    fn resolves(&self, reference: &SlReference) -> bool {
        let connection = reference.connection.as_deref();
        self.is_unreadable(&reference.source)
            || self
                .sources(connection, &reference.source)
                .any(|source| match &reference.entity {
                    None => true,
                    Some(entity) => has_entity(source, entity),
                })
    }

    /// `None` if an unknown scan may have it.
    fn has_table(&self, name: &str) -> Option<bool> {
        let mut is_unknown = self.connections.is_empty();
        for connection in self.connections {
            match connection.whole_scan() {
                Some(scan) if !scan.places().named(name).is_empty() => return Some(true),
                Some(scan) => is_unknown |= !scan.left_out.is_empty(),
                None => is_unknown = true,
            }
        }
        (!is_unknown).then_some(false)
    }
}

fn has_entity(source: &Source, entity: &str) -> bool {
    let first = entity.split('.').next().unwrap_or(entity);
    let is_join = |name: &str| {
        let mut joins = source.joins.iter();
        joins.any(|join| join.to == name || join.alias.as_deref() == Some(name))
    };
    source.column(entity).is_some()
        || source.measure(entity).is_some()
        || source.segment(entity).is_some()
        || is_join(first)
}

struct PageCheck<'a> {
    page: &'a Page,
    lines: LineIndex<'a>,
    findings: &'a mut Vec<DriftFinding>,
}

impl PageCheck<'_> {
    fn add(&mut self, offset: usize, class: DriftClass, message: String, hint: String) {
        let location = Location {
            file: self.page.path.to_string(),
            position: Some(self.lines.position(offset)),
        };
        self.findings
            .push(DriftFinding::at(location, class, message, hint));
    }

    fn item(&self, field: &str, text: &str) -> usize {
        self.page.item_offset(field, text).unwrap_or_default()
    }

    fn front_matter(&mut self, targets: &Targets<'_>) {
        let front = &self.page.front_matter;
        for table in &front.tables {
            if targets.has_table(table) == Some(false) {
                let (message, hint) = lost_table(table);
                self.add(
                    self.item("tables", table),
                    DriftClass::LostTable,
                    message,
                    hint,
                );
            }
        }
        for text in &front.sl_refs {
            let reference = SlReference::parse(text);
            let older = reference.older();
            let resolves = targets.resolves(&reference)
                || older.is_some_and(|reference| targets.resolves(&reference));
            if !resolves {
                let message = format!("`sl_refs` names `{text}`, which no semantic source has");
                let hint = "correct the entry or remove it; `ktx sl list` lists the sources";
                let offset = self.item("sl_refs", text);
                self.add(
                    offset,
                    DriftClass::BrokenReference,
                    message,
                    hint.to_owned(),
                );
            }
        }
        for key in &front.refs {
            if !targets.keys.contains(key.as_str()) {
                let offset = self.item("refs", key);
                self.add_link(offset, key);
            }
        }
    }

    fn add_link(&mut self, offset: usize, key: &str) {
        let message = format!("the link to `{key}` leads to no page");
        let hint = format!(
            "create the page, or remove the link; `ktx wiki search {key}` finds similar pages"
        );
        self.add(offset, DriftClass::BrokenLink, message, hint);
    }

    fn body(&mut self, targets: &Targets<'_>) {
        let start = self.page.text().len() - self.page.body().len();
        for link in links(self.page.body()) {
            let key = parse_key(&link.target).ok();
            let is_there = key.is_some_and(|key| targets.keys.contains(key.as_str()));
            if !is_there {
                self.add_link(start + link.span.start, &link.target);
            }
        }
        for reference in code_references(self.page.body()) {
            let offset = start + reference.span.start;
            let connection = reference.connection.as_deref();
            match &reference.target {
                ReferenceTarget::Table(name) => {
                    if targets.has_table(name) == Some(false) {
                        let (message, hint) = lost_table(name);
                        self.add(offset, DriftClass::LostTable, message, hint);
                    }
                }
                ReferenceTarget::Source(name) => {
                    if !targets.is_unreadable(name)
                        && targets.sources(connection, name).next().is_none()
                    {
                        let message = format!("no semantic source is called `{name}`");
                        let hint = "correct the name; `ktx sl list` lists the sources".to_owned();
                        self.add(offset, DriftClass::BrokenReference, message, hint);
                    }
                }
                ReferenceTarget::Dotted { source, entity } => {
                    let mut sources = targets.sources(connection, source).peekable();
                    let is_source = sources.peek().is_some();
                    let is_file = FILE_ENDINGS.contains(&entity.as_str());
                    if is_source && !is_file && !sources.any(|source| has_entity(source, entity)) {
                        let message = format!("`{source}` has nothing that is called `{entity}`");
                        let hint =
                            format!("correct the name; `ktx sl read {source}` shows what it has");
                        self.add(offset, DriftClass::BrokenReference, message, hint);
                    }
                }
            }
        }
    }
}

fn lost_table(name: &str) -> (String, String) {
    (
        format!("no scan has the table `{name}`"),
        "name the table that replaced it, or remove the mention".to_owned(),
    )
}
