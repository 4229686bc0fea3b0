//! Parses and resolves every expression of a source.

use super::Findings;
use crate::model::error::{ErrorKind, QueryError};
use crate::model::part::Part;
use crate::model::resolved::Source;
use crate::names::{MeasureAt, Names, bound};
use crate::plan::atoms::Evaluator;

pub(super) fn check(names: Names<'_>, source: &Source, found: &mut Findings<'_>) {
    let Some(node) = names.catalog.graph.node_id(&source.name) else {
        return;
    };
    for column in source.columns.iter().filter(|column| column.expr.is_some()) {
        if let Err(error) = names.own_column(node, &column.name) {
            let part = Part::Column(column.name.clone());
            found.refused(
                (source, &part),
                &format!("column `{}`", column.name),
                &error,
            );
        }
    }
    let evaluator = Evaluator::new(names, &[], Vec::new());
    for (at, join) in source.joins.iter().enumerate() {
        let weight = join.weight.iter();
        for error in weight.filter_map(|text| evaluator.source_predicate(node, text).err()) {
            let what = format!("the `weight` of join `{}`", join.on);
            found.refused((source, &Part::Join(at)), &what, &error);
        }
    }
    for segment in &source.segments {
        if let Err(error) = evaluator.source_predicate(node, &segment.expr) {
            let part = Part::Segment(segment.name.clone());
            found.refused(
                (source, &part),
                &format!("segment `{}`", segment.name),
                &error,
            );
        }
    }
    for measure in &source.measures {
        let mut evaluator = Evaluator::new(names, &[], Vec::new());
        let at = MeasureAt { node, measure };
        let tree = evaluator.predefined(at, &[]).and_then(|tree| {
            if bound::atoms(&tree).is_empty() {
                let message = format!("`{}` aggregates nothing", measure.expr);
                return Err(QueryError::new(ErrorKind::NotAMeasure, message));
            }
            Ok(tree)
        });
        if let Err(error) = tree {
            let part = Part::Measure(measure.name.clone());
            found.refused(
                (source, &part),
                &format!("measure `{}`", measure.name),
                &error,
            );
        }
    }
}
