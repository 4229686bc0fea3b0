//! Exports a catalog to the format.

use std::collections::{BTreeMap, BTreeSet};

use super::datatype;
use super::document::{AI_CONTEXT, LABEL, best, dialect_name, expressions, own_place, to_text};
use super::expand::expand;
use super::extension::{ColumnRest, DatasetRest, Extension, MetricRest, RelationshipRest, VERSION};
use super::wire::{CustomExtension, Dataset, Dimension, Document, Field, Metric, Model};
use super::{Exported, Fate, InterchangeError, Losses, OSI_VERSION, VENDOR, wire};
use ktx_semantic_layer::Catalog;
use ktx_semantic_layer::Composed;
use ktx_semantic_layer::SourceFile;
use ktx_semantic_layer::authored::{
    self, Authored, ColumnType, Descriptions, Relationship, Role, Standalone, Visibility,
};
use ktx_semantic_layer::{Join, Origin, Source};
use ktx_sql::deep::deep;

/// Writes one semantic model. Broken sources are omitted and reported.
pub fn export_osi(catalog: &Catalog, model: &str) -> Result<Exported, InterchangeError> {
    deep(|| exported(catalog, model))
}

fn exported(catalog: &Catalog, model: &str) -> Result<Exported, InterchangeError> {
    let mut exporter = Exporter {
        catalog,
        extension: Extension {
            version: VERSION,
            dialect: catalog.dialect().name().to_owned(),
            datasets: BTreeMap::new(),
            relationships: BTreeMap::new(),
            metrics: BTreeMap::new(),
            measures: BTreeMap::new(),
        },
        losses: Losses::default(),
    };
    exporter.broken();
    if dialect_name(catalog.dialect()) == super::document::ANSI {
        let message = format!(
            "expressions are those of {} and are called ANSI_SQL: the format does not know this dialect",
            catalog.dialect().name()
        );
        exporter
            .losses
            .add(model, "dialect", Fate::Extension, message);
    }
    let sources: Vec<(&Source, &Composed)> = catalog
        .sources()
        .iter()
        .filter(|source| source.problem.is_none())
        .filter_map(|source| Some((source, catalog.composed(&source.name)?)))
        .collect();
    let datasets = sources
        .iter()
        .map(|(source, composed)| exporter.dataset(source, composed))
        .collect();
    let relationships = exporter.relationships(&sources);
    let metrics = exporter.metrics(&sources);
    let data = serde_json::to_string(&exporter.extension)
        .map_err(|source| InterchangeError::Extension { source })?;
    let document = Document {
        version: OSI_VERSION.to_owned(),
        semantic_model: vec![Model {
            name: model.to_owned(),
            datasets,
            relationships,
            metrics,
            custom_extensions: vec![CustomExtension {
                vendor_name: VENDOR.to_owned(),
                data,
            }],
        }],
    };
    let text = to_text(&document).map_err(|source| InterchangeError::Write {
        name: model.to_owned(),
        source,
    })?;
    Ok(Exported {
        text,
        losses: exporter.losses.ordered(),
    })
}

struct Exporter<'a> {
    catalog: &'a Catalog,
    extension: Extension,
    losses: Losses,
}

impl Exporter<'_> {
    fn broken(&mut self) {
        for summary in self.catalog.list() {
            if summary.is_broken {
                self.losses.add(
                    summary.name,
                    "broken_source",
                    Fate::Dropped,
                    format!("`{}` has errors", summary.path),
                );
            }
        }
    }

    fn dataset(&mut self, source: &Source, composed: &Composed) -> Dataset {
        let written = &composed.source;
        self.source_losses(source, composed);
        let mut rest = self.rest_of(written);
        let mut fields = Vec::new();
        for column in &written.columns {
            let texts = column.descriptions.as_ref();
            let kind = source.column(&column.name).map(|(_, column)| column.kind);
            let expression = column.expr.as_ref().unwrap_or(&column.name);
            fields.push(Field {
                name: column.name.clone(),
                expression: expressions(self.catalog.dialect(), expression.clone()),
                dimension: Dimension {
                    is_time: kind == Some(ColumnType::Time) || column.role == Some(Role::Time),
                },
                label: own_place(texts, LABEL),
                description: best(texts, column.description.as_ref()),
                datatype: kind.and_then(datatype::written),
                ai_context: own_place(texts, AI_CONTEXT),
            });
            let mut of_column = ColumnRest::of(column);
            of_column.kind = kind;
            of_column.descriptions = kept_texts(texts, column.description.as_ref());
            let place = format!("{}.{}", source.name, column.name);
            self.text_losses(&place, of_column.descriptions.as_ref());
            self.column_losses(&source.name, &column.name, &of_column);
            rest.columns.insert(column.name.clone(), of_column);
        }
        self.text_losses(&source.name, rest.descriptions.as_ref());
        self.extension.datasets.insert(source.name.clone(), rest);
        let texts = written.descriptions.as_ref();
        Dataset {
            name: source.name.clone(),
            source: written
                .table
                .clone()
                .or_else(|| written.sql.clone())
                .unwrap_or_default(),
            primary_key: source.grain.clone(),
            description: best(texts, written.description.as_ref()),
            ai_context: own_place(texts, AI_CONTEXT),
            fields,
        }
    }

    /// The format has room for one author.
    fn text_losses(&mut self, place: &str, texts: Option<&Descriptions>) {
        if let Some(texts) = texts.filter(|texts| texts.0.len() > 1) {
            let writers: Vec<&str> = texts.0.keys().map(String::as_str).collect();
            self.losses.add(
                place,
                "descriptions",
                Fate::Extension,
                format!("of the texts by {} one is said", writers.join(", ")),
            );
        }
    }

    fn rest_of(&mut self, written: &Standalone) -> DatasetRest {
        let name = &written.name;
        for segment in &written.segments {
            self.losses.add(
                format!("{name}.{}", segment.name),
                "segment",
                Fate::Extension,
                "the format has no segments",
            );
        }
        if written.sql.is_some() {
            self.losses.add(
                name,
                "sql_source",
                Fate::Extension,
                "the query stands where the format wants the name of a table",
            );
        }
        let metas = [
            ("source_type", written.source_type.is_some()),
            (
                "default_time_dimension",
                written.default_time_dimension.is_some(),
            ),
            ("tags", written.tags.is_some()),
            ("owners", written.owners.is_some()),
            ("freshness", written.freshness.is_some()),
            ("exposures", written.exposures.is_some()),
            ("usage", written.usage.is_some()),
        ];
        for (construct, _) in metas.into_iter().filter(|(_, is_there)| *is_there) {
            let message = format!("the format has no `{construct}`");
            self.losses.add(name, construct, Fate::Extension, message);
        }
        DatasetRest {
            is_query: written.sql.is_some(),
            descriptions: kept_texts(written.descriptions.as_ref(), written.description.as_ref()),
            source_type: written.source_type.clone(),
            default_time_dimension: written.default_time_dimension.clone(),
            tags: written.tags.clone(),
            owners: written.owners.clone(),
            freshness: written.freshness.clone(),
            exposures: written.exposures.clone(),
            usage: written.usage.clone(),
            segments: written.segments.clone(),
            columns: BTreeMap::new(),
        }
    }

    /// The composed source no longer shows what composition consumed.
    fn source_losses(&mut self, source: &Source, composed: &Composed) {
        if composed.origin == Origin::Standalone {
            if composed.source.inherits_columns_from.is_some() {
                self.losses.add(
                    &source.name,
                    "inherits_columns_from",
                    Fate::Rewritten,
                    "what is inherited is written out",
                );
            }
            return;
        }
        let text = self.catalog.file_text(&composed.path);
        let overlay = text.map(|text| authored::read(&SourceFile::new(&composed.path, text)));
        let Some(Ok(Authored::Overlay(overlay))) = overlay else {
            return;
        };
        for on in &overlay.disable_joins {
            self.losses.add(
                &source.name,
                "disabled_join",
                Fate::Rewritten,
                format!("the disabled join `{on}` is left out"),
            );
        }
        let excluded = overlay
            .joins
            .iter()
            .filter(|join| join.exclude == Some(true));
        for join in excluded {
            let to = &join.to;
            self.losses.add(
                &source.name,
                "disabled_join",
                Fate::Rewritten,
                format!("the excluded join to `{to}` is left out"),
            );
        }
        for column in &overlay.exclude_columns {
            self.losses.add(
                format!("{}.{column}", source.name),
                "excluded_column",
                Fate::Rewritten,
                "the excluded column is left out",
            );
        }
    }

    fn column_losses(&mut self, source: &str, column: &str, rest: &ColumnRest) {
        let place = format!("{source}.{column}");
        if let Some(visibility @ (Visibility::Hidden | Visibility::Internal)) = rest.visibility {
            let word = if visibility == Visibility::Hidden {
                "hidden"
            } else {
                "internal"
            };
            self.losses.add(
                &place,
                "visibility",
                Fate::Extension,
                format!("other programs show this {word} column"),
            );
        }
        let metas = [
            ("natural_granularity", rest.natural_granularity.is_some()),
            ("constraints", rest.constraints.is_some()),
            ("enum_values", rest.enum_values.is_some()),
            ("tests", rest.tests.is_some()),
        ];
        for (construct, _) in metas.into_iter().filter(|(_, is_there)| *is_there) {
            let message = format!("the format has no `{construct}`");
            self.losses.add(&place, construct, Fate::Extension, message);
        }
    }

    /// Lists each join once, read from the side that looks up.
    fn relationships(&mut self, sources: &[(&Source, &Composed)]) -> Vec<wire::Relationship> {
        let names: BTreeSet<&str> = sources
            .iter()
            .map(|(source, _)| source.name.as_str())
            .collect();
        let mut joins: Vec<(wire::Relationship, RelationshipRest)> = Vec::new();
        for (source, _) in sources {
            for join in &source.joins {
                if names.contains(join.to.as_str()) {
                    joins.push(read_from_the_finer_side(source, join));
                } else {
                    self.losses.add(
                        format!("{}.{}", source.name, join.to),
                        "join",
                        Fate::Dropped,
                        "its target is not exported",
                    );
                }
            }
        }
        joins.sort_by_key(|(relationship, rest)| {
            let key = (
                relationship.from.clone(),
                relationship.to.clone(),
                relationship.from_columns.clone(),
                relationship.to_columns.clone(),
            );
            let declared_elsewhere = rest.declared_by != relationship.from;
            (key, rest.alias.clone(), declared_elsewhere)
        });
        // A scan writes a join on both sides.
        joins.dedup_by(|(second, other), (first, rest)| {
            let is_same = second.from == first.from
                && second.to == first.to
                && second.from_columns == first.from_columns
                && second.to_columns == first.to_columns
                && other.alias == rest.alias;
            rest.both_sides |= is_same && other.declared_by != rest.declared_by;
            is_same
        });
        let mut taken: BTreeSet<String> = BTreeSet::new();
        let mut all = Vec::new();
        for (mut relationship, rest) in joins {
            let base = match &rest.alias {
                Some(alias) => format!("{}_to_{alias}", relationship.from),
                None => format!("{}_to_{}", relationship.from, relationship.to),
            };
            relationship.name = free_name(&base, &mut taken);
            self.join_losses(&relationship, &rest);
            let is_plain = rest.alias.is_none()
                && rest.relationship == Relationship::ManyToOne
                && !rest.both_sides
                && rest.declared_by == relationship.from;
            if !is_plain {
                self.extension
                    .relationships
                    .insert(relationship.name.clone(), rest);
            }
            all.push(relationship);
        }
        all
    }

    fn join_losses(&mut self, relationship: &wire::Relationship, rest: &RelationshipRest) {
        let place = format!("{}.{}", relationship.from, relationship.name);
        if let Some(alias) = &rest.alias {
            self.losses.add(
                &place,
                "join_alias",
                Fate::Extension,
                format!("the format has no roles: `{alias}` is only the relationship's name"),
            );
        }
        if rest.relationship == Relationship::OneToOne {
            self.losses.add(
                &place,
                "one_to_one",
                Fate::Extension,
                "the format says only that many rows have one",
            );
        }
    }

    fn metrics(&mut self, sources: &[(&Source, &Composed)]) -> Vec<Metric> {
        let mut uses: BTreeMap<&str, usize> = BTreeMap::new();
        for measure in sources.iter().flat_map(|(source, _)| &source.measures) {
            *uses.entry(&measure.name).or_default() += 1;
        }
        let mut taken: BTreeSet<String> = BTreeSet::new();
        let mut metrics = Vec::new();
        for (source, composed) in sources {
            for (measure, written) in source.measures.iter().zip(&composed.source.measures) {
                let place = format!("{}.{}", source.name, measure.name);
                let expanded = match expand(self.catalog, source, measure) {
                    Ok(expanded) => expanded,
                    Err(reason) => {
                        self.losses.add(&place, "measure", Fate::Extension, reason);
                        let rest = self.extension.measures.entry(source.name.clone());
                        rest.or_default().push(written.clone());
                        continue;
                    }
                };
                for (construct, message) in expanded.rewritten {
                    self.losses.add(&place, construct, Fate::Rewritten, message);
                }
                let is_only = uses.get(measure.name.as_str()) == Some(&1);
                let base = if is_only {
                    measure.name.clone()
                } else {
                    format!("{}_{}", source.name, measure.name)
                };
                let name = free_name(&base, &mut taken);
                if name != measure.name {
                    let message = format!("metrics have no source: it is called `{name}`");
                    self.losses
                        .add(&place, "measure_name", Fate::Extension, message);
                }
                let rest = MetricRest {
                    source: source.name.clone(),
                    expression: expanded.expression.clone(),
                    measure: written.clone(),
                };
                self.extension.metrics.insert(name.clone(), rest);
                metrics.push(Metric {
                    name,
                    expression: expressions(self.catalog.dialect(), expanded.expression),
                    description: measure.description.clone(),
                });
            }
        }
        metrics
    }
}

/// `None` if the exported text is the only one.
fn kept_texts(texts: Option<&Descriptions>, plain: Option<&String>) -> Option<Descriptions> {
    let texts = texts?;
    let mut known = texts.0.clone();
    known.remove(AI_CONTEXT);
    known.remove(LABEL);
    let is_plain = known.len() == usize::from(known.contains_key("user")) && plain.is_none();
    (!is_plain).then(|| {
        let mut kept = texts.clone();
        kept.0 = known;
        kept
    })
}

fn read_from_the_finer_side(
    source: &Source,
    join: &Join,
) -> (wire::Relationship, RelationshipRest) {
    let own: Vec<String> = join.pairs.iter().map(|(own, _)| own.clone()).collect();
    let other: Vec<String> = join.pairs.iter().map(|(_, other)| other.clone()).collect();
    let (from, to, from_columns, to_columns) = match join.relationship {
        Relationship::OneToMany => (&join.to, &source.name, other, own),
        Relationship::ManyToOne | Relationship::OneToOne => (&source.name, &join.to, own, other),
    };
    let relationship = wire::Relationship {
        name: String::new(),
        from: from.clone(),
        to: to.clone(),
        from_columns,
        to_columns,
    };
    let rest = RelationshipRest {
        declared_by: source.name.clone(),
        relationship: join.relationship,
        both_sides: false,
        alias: join.alias.clone(),
    };
    (relationship, rest)
}

fn free_name(base: &str, taken: &mut BTreeSet<String>) -> String {
    let mut name = base.to_owned();
    let mut number = 2;
    while !taken.insert(name.clone()) {
        name = format!("{base}_{number}");
        number += 1;
    }
    name
}
