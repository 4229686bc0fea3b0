//! Reads metrics as definitions of measures, and entities as joins.

use std::collections::BTreeMap;

use serde_yaml::Mapping;

use super::embedded;
use super::metrics::{Metric, Translator};
use super::older;
use super::semantic_model::{EntityKind, SemanticModel};
use crate::definitions::{
    Cardinality, ColumnKind, ColumnPair, ComputedColumn, DefinitionKind, Definitions, Model,
    ModelJoin, SkippedDefinition, SourcePosition, WhyLeft, spot_of,
};
use crate::facts::{TableLocation, Writer};
use crate::snapshot::Snapshot;
use crate::yaml::{mapping, maps, text};

/// Further `generated` files come from a tool; `table` finds the table of a semantic model by its
/// YAML.
pub(crate) fn definitions(
    snapshot: &Snapshot,
    generated: &BTreeMap<String, Mapping>,
    mut table: impl FnMut(&Mapping) -> Option<TableLocation>,
) -> Definitions {
    let files = snapshot.files.iter();
    let read = files
        .filter(|(path, _)| crate::folder::is_yaml(path))
        .filter_map(|(path, body)| Some((path.as_str(), body.as_str(), mapping(path, body).ok()?)));
    let generated = generated
        .iter()
        .map(|(path, map)| (path.as_str(), "", map.clone()));
    let read: Vec<(&str, &str, Mapping)> = read
        .chain(generated)
        .map(|(path, body, map)| (path, body, older::rewritten(map)))
        .collect();
    let mut models = Vec::new();
    let mut metrics = BTreeMap::new();
    let mut left = Vec::new();
    for (path, body, map) in &read {
        for one in maps(map, "semantic_models") {
            let place = table(one);
            models.extend(place.and_then(|place| SemanticModel::parse(path, body, one, place)));
        }
        for one in maps(map, "metrics") {
            add_metric(&mut metrics, one, None, |name| {
                spot_of(path, body, "metrics", name)
            });
        }
        for name in maps(map, "saved_queries")
            .into_iter()
            .filter_map(|one| text(one, "name"))
        {
            left.push(SkippedDefinition {
                why: WhyLeft::NoPlace,
                kind: DefinitionKind::SavedQuery,
                spot: spot_of(path, body, "saved_queries", &name),
                reason: "the semantic layer has no place for questions that are asked again"
                    .to_owned(),
                name,
            });
        }
        // dbt's newer spelling: semantics beside the columns of a model.
        for one in maps(map, "models") {
            let Some(home) = embedded::name(one) else {
                continue;
            };
            let place = table(&embedded::reference(one));
            let parsed = place.and_then(|place| SemanticModel::embedded(path, body, one, place));
            models.extend(parsed);
            for metric in maps(one, "metrics") {
                add_metric(&mut metrics, metric, Some(home.clone()), |name| {
                    spot_of(path, body, "models", name)
                });
            }
        }
    }
    let mut seen = std::collections::BTreeSet::new();
    models.retain(|model| seen.insert(model.name.clone()));
    let mut translator = Translator::new(&models, &metrics);
    for name in metrics.keys() {
        if let Err(reason) = translator.metric(name) {
            left.push(SkippedDefinition {
                why: WhyLeft::NotTranslated,
                kind: DefinitionKind::Measure,
                name: name.clone(),
                spot: metrics
                    .get(name)
                    .map_or_else(String::new, |metric| metric.spot.clone()),
                reason,
            });
        }
    }
    translator.implied_metrics(&mut left);
    let mut measures = translator.measures;
    let models = models.iter().map(|model| Model {
        name: model.name.clone(),
        table: model.table.clone(),
        time: time_column(model),
        columns: columns(model),
        joins: joins(model, &models),
        measures: measures.remove(&model.name).unwrap_or_default(),
        segments: Vec::new(),
    });
    Definitions {
        writer: Writer::MetricFlow,
        models: models.collect(),
        left,
    }
}

fn add_metric<'a>(
    metrics: &mut BTreeMap<String, Metric<'a>>,
    map: &'a Mapping,
    home: Option<String>,
    spot: impl FnOnce(&str) -> SourcePosition,
) {
    if let Some(name) = text(map, "name") {
        let spot = spot(&name);
        metrics.entry(name).or_insert(Metric { map, spot, home });
    }
}

fn time_column(model: &SemanticModel) -> Option<String> {
    let named = model.time.as_deref()?;
    let dimension = model.dimension(named)?;
    dimension.expr.plain_column().map(str::to_owned)
}

fn columns(model: &SemanticModel) -> Vec<ComputedColumn> {
    let computed = model
        .dimensions
        .iter()
        .filter(|dimension| dimension.expr.plain_column().is_none());
    let computed = computed.map(|dimension| ComputedColumn {
        name: dimension.name.clone(),
        kind: if dimension.is_time {
            ColumnKind::Time
        } else {
            ColumnKind::Text
        },
        expr: dimension.expr.clone(),
        description: dimension.description.clone(),
        spot: dimension.spot.clone(),
    });
    computed.collect()
}

fn joins(model: &SemanticModel, all: &[SemanticModel]) -> Vec<ModelJoin> {
    let mut joins = Vec::new();
    let foreign = model
        .entities
        .iter()
        .filter(|entity| entity.kind == EntityKind::Foreign);
    for entity in foreign {
        let Some(own) = entity.expr.plain_column() else {
            continue;
        };
        for other in all.iter().filter(|other| other.table != model.table) {
            let key = other.entity(&entity.name);
            let key = key.filter(|key| key.kind == EntityKind::Unique);
            let Some(key) = key.and_then(|key| key.expr.plain_column()) else {
                continue;
            };
            joins.push(ModelJoin {
                to: other.name.clone(),
                alias: None,
                pairs: vec![ColumnPair {
                    own: own.to_owned(),
                    other: key.to_owned(),
                }],
                cardinality: Cardinality::ManyToOne,
                spot: entity.spot.clone(),
            });
        }
    }
    joins
}
