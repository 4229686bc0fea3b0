//! `ktx ingest --plan`.

use ktx_diagnostics::{Exit, counted};
use ktx_ingest::{Plan, PlannedUnit, UnitNeed};
use ktx_llm_runtime::TokenUsage;
use ktx_vocabulary::ModelRole;
use serde_json::{Value, json};

use super::sources::{self, PlannedSource};
use crate::compose;
use crate::invocation::CommandContext;
use crate::printer::Mode;
use crate::report::{Outcome, Report as _};
use crate::tables::Report;

/// Asks no model and changes no project file.
pub(super) fn run(plan: &Plan<'_>, target: Option<&str>, context: CommandContext<'_>) -> Outcome {
    let planned = sources::read(&plan.sources, target, context).planned(context)?;
    let prices = Prices::new(context)?;
    if context.printer.mode == Mode::Json {
        context.printer.json(&envelope(&planned, plan, &prices))?;
    } else {
        print(&planned, plan, &prices, context)?;
    }
    let failed = planned.iter().any(|(_, units)| units.is_err());
    Ok(if failed { Exit::Partial } else { Exit::Success })
}

struct Prices {
    model: Option<String>,
    /// US dollars per thousand tokens; `None` without a list price.
    of_thousand: Option<f64>,
}

impl Prices {
    fn new(context: CommandContext<'_>) -> Outcome<Self> {
        let project = context.project;
        let backend = project.config.llm.backend;
        let model = project.config.model(ModelRole::CandidateExtraction);
        let table = compose::prices(project)?;
        let location = compose::location(context.invocation, &project.dir, &project.config)?;
        let usage = TokenUsage {
            input: 1000,
            ..TokenUsage::default()
        };
        let at = context.invocation.now.to_string();
        let place = compose::BackendLocation {
            backend,
            location: location.as_deref(),
        };
        let cost = model.and_then(|model| compose::list_price(place, model, &usage, &at, &table));
        Ok(Self {
            model: model.map(str::to_owned),
            of_thousand: cost.map(|cost| cost.amount.dollars()),
        })
    }

    #[expect(clippy::cast_precision_loss, reason = "an estimate in dollars")]
    fn dollars(&self, tokens: u64) -> Option<f64> {
        Some(self.of_thousand? * tokens as f64 / 1000.0)
    }

    fn shown(&self, tokens: u64) -> String {
        let dollars = self.dollars(tokens);
        dollars.map_or_else(|| "unknown".to_owned(), |dollars| format!("${dollars:.4}"))
    }
}

const fn tokens(unit: &PlannedUnit) -> u64 {
    match unit.need {
        UnitNeed::Known => 0,
        UnitNeed::Asked { tokens } => tokens,
    }
}

fn all(planned: &[PlannedSource]) -> impl Iterator<Item = &PlannedUnit> {
    let read = planned.iter().filter_map(|(_, units)| units.as_ref().ok());
    read.flatten()
}

fn print(
    planned: &[PlannedSource],
    plan: &Plan<'_>,
    prices: &Prices,
    context: CommandContext<'_>,
) -> Outcome<()> {
    let printer = context.printer;
    let mut table = Report::new(["Source", "Unit", "Tokens", "Price"]);
    for warehouse in &plan.warehouses {
        table.row([warehouse.id.as_str(), "scan", "", "not known before"]);
    }
    for (id, units) in planned {
        table.row([id.as_str(), "facts and definitions", "0", "free"]);
        for unit in units.iter().flatten() {
            let name = unit.label.as_deref().unwrap_or(&unit.key);
            let (count, price) = match unit.need {
                UnitNeed::Known => ("0".to_owned(), "free, known".to_owned()),
                UnitNeed::Asked { tokens } => (tokens.to_string(), prices.shown(tokens)),
            };
            table.row([id.as_str(), name, &count, &price]);
        }
    }
    table.print(printer)?;
    for (_, units) in planned {
        if let Err(failure) = units {
            printer.notes(failure.to_text().trim_end());
        }
    }
    let asked = all(planned)
        .filter(|unit| unit.need != UnitNeed::Known)
        .count();
    let total: u64 = all(planned).map(tokens).sum();
    let model = prices.model.as_deref().unwrap_or("no model");
    printer.note(&format!(
        "{} to read with {model}: about {total} tokens if each is read once, {} at list price; every turn of a \
         unit reads it again, from the cache where there is one",
        counted(asked, "unit"),
        prices.shown(total)
    ));
    Ok(())
}

fn envelope(planned: &[PlannedSource], plan: &Plan<'_>, prices: &Prices) -> Value {
    let sources: Vec<Value> = planned
        .iter()
        .map(|(id, units)| match units {
            Ok(units) => {
                let units = units.iter().map(|unit| {
                    json!({
                        "unitKey": unit.key,
                        "label": unit.label,
                        "known": unit.need == UnitNeed::Known,
                        "tokens": tokens(unit),
                        "usd": prices.dollars(tokens(unit)),
                    })
                });
                json!({ "connectionId": id.as_str(), "units": units.collect::<Vec<_>>() })
            }
            Err(failure) => json!({ "connectionId": id.as_str(), "error": failure.message }),
        })
        .collect();
    let total: u64 = all(planned).map(tokens).sum();
    let warehouses: Vec<&str> = plan.warehouses.iter().map(|one| one.id.as_str()).collect();
    json!({
        "kind": "ingest.plan",
        "data": {
            "model": prices.model,
            "warehouses": warehouses,
            "sources": sources,
            "tokens": total,
            "usd": prices.dollars(total),
        },
    })
}
