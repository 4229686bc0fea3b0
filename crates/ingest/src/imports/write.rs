//! One import file: the definitions of a source over one scanned table.

use std::collections::{BTreeMap, BTreeSet};

use ktx_context_sources::{DefinitionKind, Purpose, SourcePosition, WhyLeft};
use ktx_semantic_layer::authored::{Column, Join, Measure, Meta, Overlay, OverlayJoin, Segment};
use ktx_semantic_layer::{Catalog, JoinOrigin, Relationship};
use serde::Serialize;

use super::needs::{DefinitionId, Fate};
use super::{ImportReport, KnownLayer, PartialImport, leave};

#[derive(Debug, Clone)]
pub(super) struct ImportEntry {
    pub(super) kind: DefinitionKind,
    pub(super) name: String,
    pub(super) spot: SourcePosition,
    pub(super) purpose: Purpose,
    pub(super) lost: Vec<String>,
    pub(super) item: Item,
    pub(super) standing: EntryOrigin,
    pub(super) id: DefinitionId,
    pub(super) needs: BTreeSet<DefinitionId>,
}

#[derive(Debug, Clone)]
pub(super) enum Item {
    Column(Box<Column>),
    Join(Join),
    Measure(Box<Measure>),
    Segment(Segment),
    /// The semantic layer already has it.
    Known,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum EntryOrigin {
    Defined,
    /// From an earlier run; a part of the source could not be read.
    Kept,
}

#[derive(Debug, Clone)]
pub(super) struct ImportFile {
    table: String,
    time: Option<Meta>,
    pub(super) entries: Vec<ImportEntry>,
}

#[derive(Serialize)]
struct Wire<'a> {
    name: &'a str,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    columns: Vec<&'a Column>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    joins: Vec<&'a Join>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    measures: Vec<&'a Measure>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    segments: Vec<&'a Segment>,
    #[serde(skip_serializing_if = "Option::is_none")]
    default_time_dimension: Option<&'a Meta>,
}

impl ImportFile {
    pub(super) fn new(table: &str) -> Self {
        Self {
            table: table.to_owned(),
            time: None,
            entries: Vec::new(),
        }
    }

    pub(super) fn table(&self) -> &str {
        &self.table
    }

    pub(super) fn is_empty(&self) -> bool {
        self.time.is_none() && !self.entries.iter().any(ImportEntry::is_written)
    }

    pub(super) fn set_time(&mut self, time: Option<Meta>) {
        self.time = self.time.take().or(time);
    }

    /// Skips the entry if a person or another definition uses its name.
    pub(super) fn add(
        &mut self,
        mut entry: ImportEntry,
        known: &KnownLayer<'_>,
        report: &mut ImportReport,
    ) -> Fate {
        let reason = match (why_taken(&self.table, &mut entry, known), self.same(&entry)) {
            (Some(reason), _) => reason,
            (None, None) => {
                self.entries.push(entry);
                return Fate::Added;
            }
            (None, Some(known)) if known.says_the_same(&entry) => return Fate::Added,
            (None, Some(known)) => format!("`{}` defines another one of this name", known.spot),
        };
        leave(&entry, WhyLeft::Taken, reason, report);
        Fate::Left
    }

    fn same(&self, entry: &ImportEntry) -> Option<&ImportEntry> {
        self.entries
            .iter()
            .find(|known| known.kind == entry.kind && known.name.eq_ignore_ascii_case(&entry.name))
    }

    pub(super) fn keep(&mut self, earlier: Overlay) {
        self.set_time(earlier.default_time_dimension);
        let columns = earlier
            .columns
            .into_iter()
            .map(|column| (column.name.clone(), Item::Column(Box::new(column))));
        let joins = earlier
            .joins
            .into_iter()
            .filter_map(OverlayJoin::whole)
            .map(|join| (join.on.clone(), Item::Join(join)));
        let measures = earlier
            .measures
            .into_iter()
            .map(|measure| (measure.name.clone(), Item::Measure(Box::new(measure))));
        let segments = earlier
            .segments
            .into_iter()
            .map(|segment| (segment.name.clone(), Item::Segment(segment)));
        for (name, item) in columns.chain(joins).chain(measures).chain(segments) {
            let entry = ImportEntry {
                kind: item.kind(),
                name,
                spot: SourcePosition::new(),
                purpose: Purpose::Offered,
                lost: Vec::new(),
                id: DefinitionId::default(),
                needs: BTreeSet::new(),
                item,
                standing: EntryOrigin::Kept,
            };
            let is_there = self
                .entries
                .iter()
                .any(|known| known.item.conflicts_with(&entry.item));
            if !is_there {
                self.entries.push(entry);
            }
        }
    }

    pub(super) fn count(&self, report: &mut ImportReport) {
        let reported = self.entries.iter().filter(|entry| {
            entry.purpose == Purpose::Offered && entry.standing == EntryOrigin::Defined
        });
        for entry in reported {
            if entry.lost.is_empty() {
                report.exact += 1;
            } else {
                report.partly.push(PartialImport {
                    kind: entry.kind,
                    name: entry.name.clone(),
                    spot: entry.spot.clone(),
                    lost: entry.lost.clone(),
                });
            }
        }
    }

    pub(super) fn text(&self) -> String {
        let items = || self.entries.iter().map(|entry| &entry.item);
        let wire = Wire {
            name: &self.table,
            columns: items().filter_map(Item::column).collect(),
            joins: items().filter_map(Item::join).collect(),
            measures: items().filter_map(Item::measure).collect(),
            segments: items().filter_map(Item::segment).collect(),
            default_time_dimension: self.time.as_ref(),
        };
        // Texts and lists of texts always have a YAML form.
        serde_yaml::to_string(&wire).unwrap_or_default()
    }

    pub(super) fn drop_unused_inputs(&mut self) {
        let texts: BTreeMap<String, String> = self
            .entries
            .iter()
            .filter_map(|entry| {
                let measure = entry.item.measure()?;
                Some((measure.name.clone(), serde_yaml::to_string(measure).ok()?))
            })
            .collect();
        let unused: BTreeSet<String> = self
            .entries
            .iter()
            .filter(|entry| entry.purpose == Purpose::Input)
            .filter(|entry| {
                let mut others = texts.iter().filter(|(name, _)| **name != entry.name);
                !others.any(|(_, text)| text.contains(&entry.name))
            })
            .map(|entry| entry.name.clone())
            .collect();
        self.entries
            .retain(|entry| entry.purpose == Purpose::Offered || !unused.contains(&entry.name));
    }
}

impl ImportEntry {
    fn is_written(&self) -> bool {
        !matches!(self.item, Item::Known)
    }

    fn says_the_same(&self, other: &Self) -> bool {
        let text = |item: &Item| match item {
            Item::Column(column) => serde_yaml::to_string(column).ok(),
            Item::Join(join) => serde_yaml::to_string(join).ok(),
            Item::Measure(measure) => serde_yaml::to_string(measure).ok(),
            Item::Segment(segment) => serde_yaml::to_string(segment).ok(),
            Item::Known => None,
        };
        text(&self.item) == text(&other.item)
    }
}

impl Item {
    const fn kind(&self) -> DefinitionKind {
        match self {
            Self::Column(_) => DefinitionKind::Column,
            Self::Join(_) | Self::Known => DefinitionKind::Join,
            Self::Measure(_) => DefinitionKind::Measure,
            Self::Segment(_) => DefinitionKind::Segment,
        }
    }

    pub(super) const fn column(&self) -> Option<&Column> {
        match self {
            Self::Column(column) => Some(column),
            _ => None,
        }
    }

    pub(super) const fn join(&self) -> Option<&Join> {
        match self {
            Self::Join(join) => Some(join),
            _ => None,
        }
    }

    pub(super) const fn measure(&self) -> Option<&Measure> {
        match self {
            Self::Measure(measure) => Some(measure),
            _ => None,
        }
    }

    pub(super) const fn segment(&self) -> Option<&Segment> {
        match self {
            Self::Segment(segment) => Some(segment),
            _ => None,
        }
    }

    fn conflicts_with(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Column(own), Self::Column(other)) => own.name.eq_ignore_ascii_case(&other.name),
            (Self::Measure(own), Self::Measure(other)) => {
                own.name.eq_ignore_ascii_case(&other.name)
            }
            (Self::Segment(own), Self::Segment(other)) => {
                own.name.eq_ignore_ascii_case(&other.name)
            }
            (Self::Join(own), Self::Join(other)) => {
                own.to == other.to && own.on == other.on && own.alias == other.alias
            }
            _ => false,
        }
    }
}

/// Returns why the semantic layer cannot take an entry. Marks an existing join as known.
fn why_taken(table: &str, entry: &mut ImportEntry, known: &KnownLayer<'_>) -> Option<String> {
    let catalog = known.catalog;
    if let Item::Measure(own) = &entry.item
        && let Some((file, other)) = known
            .imported
            .get(&(table.to_owned(), own.name.to_lowercase()))
    {
        if formula(own) == formula(other) {
            entry.item = Item::Known;
            return None;
        }
        return Some(format!(
            "`{file}` defines the measure in another way, which counts"
        ));
    }
    let source = catalog.source(table)?;
    let file = source.path.split('#').next().unwrap_or(&source.path);
    let is_same = |name: &str| name.eq_ignore_ascii_case(&entry.name);
    match &entry.item {
        Item::Column(_) if source.columns.iter().any(|one| is_same(&one.name)) => {
            Some("the table has a column of this name".to_owned())
        }
        Item::Measure(_) if source.measures.iter().any(|one| is_same(&one.name)) => Some(format!(
            "`{file}` defines a measure of this name, which counts"
        )),
        Item::Segment(_) if source.segments.iter().any(|one| is_same(&one.name)) => Some(format!(
            "`{file}` defines a segment of this name, which counts"
        )),
        Item::Join(join) => match known_join(table, join, catalog) {
            JoinComparison::New => None,
            JoinComparison::Same => {
                entry.item = Item::Known;
                None
            }
            JoinComparison::Other(relationship) => Some(format!(
                "the semantic layer has the join as `{relationship}`"
            )),
        },
        _ => None,
    }
}

fn formula(measure: &Measure) -> Option<String> {
    let bare = Measure {
        description: None,
        ..measure.clone()
    };
    serde_yaml::to_string(&bare).ok()
}

enum JoinComparison {
    New,
    Same,
    Other(&'static str),
}

fn known_join(table: &str, join: &Join, catalog: &Catalog) -> JoinComparison {
    let pairs = |on: &str| -> BTreeSet<[String; 2]> {
        let equalities = on.split(" AND ");
        let sides = equalities.filter_map(|equality| equality.split_once(" = "));
        let bare = |side: &str| {
            side.rsplit('.')
                .next()
                .unwrap_or(side)
                .trim()
                .to_lowercase()
        };
        sides.map(|(own, other)| [bare(own), bare(other)]).collect()
    };
    let wanted = pairs(&join.on);
    let known = |from: &str, to: &str| {
        let joins = catalog.source(from).map_or(&[][..], |source| &source.joins);
        joins
            .iter()
            .filter(move |known| known.to == to && known.alias == join.alias)
            .map(|known| {
                let pairs = known
                    .pairs
                    .iter()
                    .map(|(own, other)| [own.to_lowercase(), other.to_lowercase()]);
                (pairs.collect::<BTreeSet<_>>(), known)
            })
            .collect::<Vec<_>>()
    };
    let turned: BTreeSet<[String; 2]> = wanted
        .iter()
        .map(|[own, other]| [other.clone(), own.clone()])
        .collect();
    let there = known(table, &join.to)
        .into_iter()
        .find(|(pairs, _)| *pairs == wanted)
        .map(|(_, known)| (known.relationship, known.origin));
    let back = known(&join.to, table)
        .into_iter()
        .find(|(pairs, _)| *pairs == turned)
        .map(|(_, known)| (known.relationship.inverted(), known.origin));
    match there.or(back) {
        None => JoinComparison::New,
        Some((relationship, _)) if relationship == join.relationship => JoinComparison::Same,
        // A key may prove more than the source says.
        Some((relationship, JoinOrigin::Declared)) if relationship.is_safe() => {
            JoinComparison::Same
        }
        // A scan can infer a key from values that only do not repeat yet.
        Some((Relationship::OneToOne, origin)) if origin.is_inferred() => JoinComparison::New,
        Some((relationship, _)) => JoinComparison::Other(relationship.name()),
    }
}
