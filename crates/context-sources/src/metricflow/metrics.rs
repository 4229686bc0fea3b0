//! Translates metrics into measures of the semantic models that they aggregate.

use std::collections::BTreeMap;

use serde_yaml::{Mapping, Value};

use super::filters::{FilterScope, filter};
use super::inputs::{MetricInput, input, last_units, lost, substituted};
use super::older::OLDER_WINDOW;
use super::semantic_model::{AggregateBasis, Aggregation, SemanticModel, described};
use crate::definitions::{
    DefinitionKind, MeasureDefinition, MeasureFormula, Purpose, SkippedDefinition, SourcePosition,
    Sql, Unit, WhyLeft, Window,
};
use crate::yaml::{text, texts};

pub(super) struct Metric<'a> {
    pub(super) map: &'a Mapping,
    pub(super) spot: SourcePosition,
    pub(super) home: Option<String>,
}

pub(super) struct Translator<'a> {
    models: &'a [SemanticModel],
    metrics: &'a BTreeMap<String, Metric<'a>>,
    anchors: BTreeMap<String, Result<usize, String>>,
    pub(super) measures: BTreeMap<String, Vec<MeasureDefinition>>,
}

impl<'a> Translator<'a> {
    pub(super) const fn new(
        models: &'a [SemanticModel],
        metrics: &'a BTreeMap<String, Metric<'a>>,
    ) -> Self {
        Self {
            models,
            metrics,
            anchors: BTreeMap::new(),
            measures: BTreeMap::new(),
        }
    }

    /// Translates a metric once, and returns the index of its model.
    pub(super) fn metric(&mut self, name: &str) -> Result<usize, String> {
        if let Some(known) = self.anchors.get(name) {
            return known.clone();
        }
        let cycle = format!("`{name}` is built on itself");
        self.anchors.insert(name.to_owned(), Err(cycle));
        let done = self.translate(name);
        self.anchors.insert(name.to_owned(), done.clone());
        done
    }

    fn translate(&mut self, name: &str) -> Result<usize, String> {
        let metrics = self.metrics;
        let metric = metrics
            .get(name)
            .ok_or_else(|| format!("there is no metric `{name}`"))?;
        // The newer spelling omits this level.
        let params = metric.map.get("type_params").and_then(Value::as_mapping);
        let params = params.unwrap_or(metric.map);
        let filters = texts(metric.map, "filter").unwrap_or_default();
        let kind = text(metric.map, "type").unwrap_or_default().to_lowercase();
        match kind.as_str() {
            "simple" => self.simple(name, metric, params, &filters),
            "ratio" => self.ratio(name, metric, params, &filters),
            "derived" => self.derived(name, metric, params, &filters),
            "cumulative" => self.cumulative(name, metric, params, &filters),
            "conversion" => Err("a conversion metric has no counterpart".to_owned()),
            OLDER_WINDOW => Err("the window of an older metric has no counterpart".to_owned()),
            other => Err(format!("the metric type `{other}` is unknown")),
        }
    }

    fn simple(
        &mut self,
        name: &str,
        metric: &Metric<'a>,
        params: &'a Mapping,
        filters: &[String],
    ) -> Result<usize, String> {
        let own = params
            .get("metric_aggregation_params")
            .and_then(Value::as_mapping);
        if let Some(own) = own.or_else(|| params.contains_key("agg").then_some(params)) {
            return self.own_aggregation(name, metric, params, own, filters);
        }
        let input = input(params.get("measure")).ok_or("it names no measure")?;
        let (at, measure) = self.measure(&input.name)?;
        let filters = [&input.filters, filters].concat();
        let time = measure.time.as_deref();
        let (formula, predicates) = self.aggregate(at, &measure.aggregation, time, &filters)?;
        let own = described(metric.map).or_else(|| measure.description.clone());
        self.add(
            at,
            MeasureDefinition {
                name: name.to_owned(),
                formula,
                filters: predicates,
                description: own,
                lost: lost(input.map, measure.aggregation.counts()),
                spot: metric.spot.clone(),
                purpose: Purpose::Offered,
            },
        );
        Ok(at)
    }

    fn own_aggregation(
        &mut self,
        name: &str,
        metric: &Metric<'a>,
        params: &'a Mapping,
        own: &'a Mapping,
        filters: &[String],
    ) -> Result<usize, String> {
        let model = text(own, "semantic_model").or_else(|| metric.home.clone());
        let model = model.ok_or("it names no semantic model")?;
        let at = self.models.iter().position(|one| one.name == model);
        let at = at.ok_or_else(|| format!("the table of `{model}` is not known"))?;
        let mut map = own.clone();
        if let Some(expr) = params.get("expr") {
            map.insert("expr".into(), expr.clone());
        }
        let aggregation = Aggregation::parse(&map, name);
        let time = text(own, "agg_time_dimension");
        let (formula, predicates) = self.aggregate(at, &aggregation, time.as_deref(), filters)?;
        self.add(
            at,
            MeasureDefinition {
                name: name.to_owned(),
                formula,
                filters: predicates,
                description: described(metric.map),
                lost: lost(Some(params), aggregation.counts()),
                spot: metric.spot.clone(),
                purpose: Purpose::Offered,
            },
        );
        Ok(at)
    }

    fn aggregate(
        &self,
        at: usize,
        aggregation: &Aggregation,
        time: Option<&str>,
        filters: &[String],
    ) -> Result<(MeasureFormula, Vec<Sql>), String> {
        let expression = aggregation.sql.clone()?;
        let predicates = self.predicates(at, time, filters)?;
        let Some(snapshot) = &aggregation.snapshot else {
            return Ok((MeasureFormula::Expression(expression), predicates));
        };
        let model = self.models.get(at).ok_or("the semantic model is gone")?;
        let plain = |name: &str| {
            let dimension = model.dimension(name).map(|dimension| &dimension.expr);
            let entity = || model.entity(name).map(|entity| &entity.expr);
            let expr = dimension.or_else(entity)?;
            expr.plain_column().map(str::to_owned)
        };
        let computed =
            |name: &String| format!("`{name}` of `non_additive_dimension` is not a column");
        let per: Option<Vec<String>> = snapshot.per.iter().map(|name| plain(name)).collect();
        let formula = MeasureFormula::Snapshot {
            expression,
            moments: plain(&snapshot.dimension).ok_or_else(|| computed(&snapshot.dimension))?,
            at: snapshot.at,
            per: per.ok_or("`window_groupings` names something that is not a column")?,
        };
        Ok((formula, predicates))
    }

    fn ratio(
        &mut self,
        name: &str,
        metric: &Metric<'a>,
        params: &'a Mapping,
        filters: &[String],
    ) -> Result<usize, String> {
        let side = |key: &str| input(params.get(key)).ok_or_else(|| format!("it has no `{key}`"));
        let (numerator, denominator) = (side("numerator")?, side("denominator")?);
        let anchors = [self.metric(&numerator.name), self.metric(&denominator.name)];
        if let [Ok(at), Ok(other)] = anchors
            && at == other
        {
            let (_, numerator) = self.input(name, &numerator, &[], "numerator")?;
            let (_, denominator) = self.input(name, &denominator, &[], "denominator")?;
            let formula = MeasureFormula::Ratio {
                numerator: Sql::measure(None, &numerator),
                denominator: Sql::measure(None, &denominator),
            };
            let predicates = self.predicates(at, None, filters)?;
            let definition = offered(name, metric, formula, Vec::new());
            self.add(
                at,
                MeasureDefinition {
                    filters: predicates,
                    ..definition
                },
            );
            return Ok(at);
        }
        let (at, numerator) = self.input(name, &numerator, filters, "numerator")?;
        let (other, denominator) = self.input(name, &denominator, filters, "denominator")?;
        let formula = MeasureFormula::Ratio {
            numerator: self.seen_from(at, at, &numerator),
            denominator: self.seen_from(at, other, &denominator),
        };
        self.add(at, offered(name, metric, formula, Vec::new()));
        Ok(at)
    }

    fn derived(
        &mut self,
        name: &str,
        metric: &Metric<'a>,
        params: &'a Mapping,
        filters: &[String],
    ) -> Result<usize, String> {
        let expr = text(params, "expr").ok_or("it has no `expr`")?;
        let mut inputs = Vec::new();
        let listed = params
            .get("metrics")
            .or_else(|| params.get("input_metrics"));
        for value in listed.and_then(Value::as_sequence).into_iter().flatten() {
            let one = input(Some(value)).ok_or("one of its `metrics` has no name")?;
            let suffix = one.alias.clone().unwrap_or_else(|| one.name.clone());
            let (at, measure) = self.input(name, &one, filters, &suffix)?;
            inputs.push((suffix, at, measure));
        }
        let (_, at, _) = inputs.first().ok_or("it names no metrics")?;
        let at = *at;
        let named: BTreeMap<&str, Sql> = inputs
            .iter()
            .map(|(word, other, measure)| (word.as_str(), self.seen_from(at, *other, measure)))
            .collect();
        let formula = MeasureFormula::Expression(substituted(&expr, &named));
        self.add(at, offered(name, metric, formula, Vec::new()));
        Ok(at)
    }

    fn cumulative(
        &mut self,
        name: &str,
        metric: &Metric<'a>,
        params: &'a Mapping,
        filters: &[String],
    ) -> Result<usize, String> {
        let own = params
            .get("cumulative_type_params")
            .and_then(Value::as_mapping);
        let key = |key: &str| own.and_then(|own| own.get(key)).or_else(|| params.get(key));
        let window = match (key("window"), key("grain_to_date")) {
            (Some(window), _) if !window.is_null() => last_units(window)?,
            (_, Some(unit)) if !unit.is_null() => {
                let word = unit.as_str().unwrap_or_default();
                Window::ToDate(
                    Unit::parse(word).ok_or_else(|| format!("`{word}` is not a unit of time"))?,
                )
            }
            _ => Window::Unbounded,
        };
        let metric_key = key("metric").or_else(|| key("input_metric"));
        let based = metric_key.or_else(|| key("measure"));
        let based = input(based).ok_or("it names no measure")?;
        let (at, measure) = if metric_key.is_some() {
            self.input(name, &based, filters, "base")?
        } else {
            self.base(name, &based, filters)?
        };
        let mut lost = lost(based.map, AggregateBasis::Values);
        if key("period_agg").and_then(Value::as_str) != Some("last") {
            lost.push("a coarser period shows its last value".to_owned());
        }
        let formula = MeasureFormula::Cumulative {
            measure: Sql::measure(None, &measure),
            window,
        };
        self.add(at, offered(name, metric, formula, lost));
        Ok(at)
    }

    /// Adds the aggregate of a measure, unless a metric is identical.
    fn base(
        &mut self,
        parent: &str,
        based: &MetricInput<'a>,
        filters: &[String],
    ) -> Result<(usize, String), String> {
        let (at, measure) = self.measure(&based.name)?;
        if based.filters.is_empty() && filters.is_empty() && self.offers(&based.name) {
            return Ok((self.metric(&based.name)?, based.name.clone()));
        }
        let filters = [&based.filters, filters].concat();
        let time = measure.time.as_deref();
        let (formula, predicates) = self.aggregate(at, &measure.aggregation, time, &filters)?;
        let name = format!("{parent}__base");
        let definition = MeasureDefinition {
            name: name.clone(),
            formula,
            filters: predicates,
            description: measure.description.clone(),
            lost: Vec::new(),
            spot: measure.spot.clone(),
            purpose: Purpose::Input,
        };
        self.add(at, definition);
        Ok((at, name))
    }

    fn input(
        &mut self,
        parent: &str,
        input: &MetricInput<'a>,
        more: &[String],
        suffix: &str,
    ) -> Result<(usize, String), String> {
        let at = self
            .metric(&input.name)
            .map_err(|reason| because(&input.name, &reason))?;
        let filters = [&input.filters, more].concat();
        let offset = input.map.and_then(|map| map.get("offset_window"));
        if input
            .map
            .is_some_and(|map| map.contains_key("offset_to_grain"))
        {
            return Err("its `offset_to_grain` is not imported: write a `compare` with `offset_to_grain` in an overlay".to_owned());
        }
        if filters.is_empty() && offset.is_none() {
            return Ok((at, input.name.clone()));
        }
        let measure = Sql::measure(None, &input.name);
        let formula = match offset {
            None => MeasureFormula::Expression(measure),
            Some(offset) => match last_units(offset)? {
                Window::Last { count, unit } => MeasureFormula::Earlier {
                    measure,
                    count,
                    unit,
                },
                Window::Unbounded | Window::ToDate(_) => {
                    return Err("its `offset_window` is not a number of units".to_owned());
                }
            },
        };
        let name = format!("{parent}__{suffix}");
        let definition = MeasureDefinition {
            name: name.clone(),
            formula,
            filters: self.predicates(at, None, &filters)?,
            description: None,
            lost: Vec::new(),
            spot: self
                .metrics
                .get(parent)
                .map_or_else(String::new, |metric| metric.spot.clone()),
            purpose: Purpose::Input,
        };
        self.add(at, definition);
        Ok((at, name))
    }

    /// Adds the metrics that measures request with `create_metric`.
    pub(super) fn implied_metrics(&mut self, left: &mut Vec<SkippedDefinition>) {
        for (at, model) in self.models.iter().enumerate() {
            let implied = model.measures.iter().filter(|measure| measure.is_metric);
            for measure in implied.filter(|one| !self.metrics.contains_key(&one.name)) {
                let time = measure.time.as_deref();
                match self.aggregate(at, &measure.aggregation, time, &[]) {
                    Ok((formula, filters)) => self.add(
                        at,
                        MeasureDefinition {
                            name: measure.name.clone(),
                            formula,
                            filters,
                            description: measure.description.clone(),
                            lost: Vec::new(),
                            spot: measure.spot.clone(),
                            purpose: Purpose::Offered,
                        },
                    ),
                    Err(reason) => left.push(SkippedDefinition {
                        why: WhyLeft::NotTranslated,
                        kind: DefinitionKind::Measure,
                        name: measure.name.clone(),
                        spot: measure.spot.clone(),
                        reason,
                    }),
                }
            }
        }
    }

    fn offers(&self, name: &str) -> bool {
        let Some(Metric { map, .. }) = self.metrics.get(name) else {
            return false;
        };
        let params = map.get("type_params").and_then(Value::as_mapping);
        let own = params.and_then(|params| input(params.get("measure")));
        !map.contains_key("filter")
            && text(map, "type").is_some_and(|kind| kind.eq_ignore_ascii_case("simple"))
            && own.is_some_and(|own| own.name == name && own.filters.is_empty())
    }

    fn measure(&self, name: &str) -> Result<(usize, &'a super::semantic_model::Measure), String> {
        let found = self.models.iter().enumerate().find_map(|(at, model)| {
            let mut measures = model.measures.iter();
            Some((at, measures.find(|measure| measure.name == name)?))
        });
        found
            .ok_or_else(|| format!("no semantic model with a known table has the measure `{name}`"))
    }

    fn predicates(
        &self,
        at: usize,
        time: Option<&str>,
        filters: &[String],
    ) -> Result<Vec<Sql>, String> {
        let home = self.models.get(at).ok_or("the semantic model is gone")?;
        let scope = FilterScope {
            models: self.models,
            home,
            time: time.or(home.time.as_deref()),
        };
        filters.iter().map(|text| filter(text, scope)).collect()
    }

    fn seen_from(&self, at: usize, of: usize, measure: &str) -> Sql {
        let other = self.models.get(of).filter(|_| at != of);
        Sql::measure(other.map(|model| model.name.as_str()), measure)
    }

    fn add(&mut self, at: usize, definition: MeasureDefinition) {
        if let Some(model) = self.models.get(at) {
            let measures = self.measures.entry(model.name.clone()).or_default();
            measures.push(definition);
        }
    }
}

fn because(name: &str, reason: &str) -> String {
    format!("`{name}`, which it is built on, was left out: {reason}")
}

fn offered(
    name: &str,
    metric: &Metric<'_>,
    formula: MeasureFormula,
    lost: Vec<String>,
) -> MeasureDefinition {
    MeasureDefinition {
        name: name.to_owned(),
        formula,
        filters: Vec::new(),
        description: described(metric.map),
        lost,
        spot: metric.spot.clone(),
        purpose: Purpose::Offered,
    }
}
