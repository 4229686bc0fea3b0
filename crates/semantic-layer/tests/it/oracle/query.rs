//! Random questions as queries for the compiler.

use serde_json::{Value, json};

use super::calendar;
use super::filter::{Comparison, Filter};
use super::measures::{MEASURES, Measure};
use super::question::{Asked, Beside, Dimension, Question, RowBeside};
use super::world::{Cell, World};

impl Question {
    /// Dimensions, then values.
    fn column(&self, world: &World, column: usize) -> String {
        let node = |node: usize| world.nodes.get(node).map_or("", |node| node.name.as_str());
        match self.dimensions.get(column) {
            Some(Dimension::Text(one)) => format!("{}.txt", node(*one)),
            Some(Dimension::Flag(one)) => format!("{}.flag", node(*one)),
            Some(Dimension::Number(one)) => format!("{}.num", node(*one)),
            Some(Dimension::IsLarge(one)) => format!("{}.is_large", node(*one)),
            Some(Dimension::Key {
                node: one, column, ..
            }) => {
                format!("{}.{}", node(*one), world.column_name(*one, *column))
            }
            Some(Dimension::Time(one, unit)) => format!("{}.at:{}", node(*one), unit.name()),
            None => {
                let at = column - self.dimensions.len();
                match self.asked.get(at) {
                    Some(Asked::Measure(table, measure)) => {
                        format!("t{table}.{}", measure_name(*measure))
                    }
                    _ => format!("m{at}"),
                }
            }
        }
    }

    fn inside(&self, world: &World, at: Option<usize>) -> String {
        self.within(at)
            .map_or_else(String::new, |at| format!(", {}", self.column(world, at)))
    }

    fn measure(&self, world: &World, at: usize, asked: Asked) -> Value {
        let name =
            |node: usize| -> &str { world.nodes.get(node).map_or("", |node| node.name.as_str()) };
        match asked {
            Asked::Measure(table, measure) => json!(format!("t{table}.{}", measure_name(measure))),
            Asked::Ratio(left, right) => {
                json!({"expr": format!("t{left}.total / t{right}.cnt"), "name": format!("m{at}")})
            }
            Asked::Difference(left, right) => {
                json!({"expr": format!("t{left}.total - t{right}.total"), "name": format!("m{at}")})
            }
            Asked::Mixed(left, measure, right) => json!({
                "expr": format!("t{left}.{} - 2 * t{right}.cnt + 1", measure_name(measure)), "name": format!("m{at}"),
            }),
            Asked::Product(table, node) => json!({
                "expr": format!("sum({}.num * t{table}.num)", name(node)), "name": format!("m{at}"),
            }),
            Asked::Share(table, within) => json!({
                "expr": format!("share(t{table}.total{})", self.inside(world, within)), "name": format!("m{at}"),
            }),
            Asked::RowBefore(table, beside) => {
                let function = match beside {
                    RowBeside::Previous => "previous_row",
                    RowBeside::Change => "row_change",
                    RowBeside::Growth => "row_growth",
                };
                json!({"expr": format!("{function}(t{table}.total)"), "name": format!("m{at}")})
            }
            Asked::Rank(table, within) => json!({
                "expr": format!("rank(t{table}.total{})", self.inside(world, within)), "name": format!("m{at}"),
            }),
        }
    }

    pub(super) fn json(&self, world: &World) -> Value {
        let name =
            |node: usize| -> &str { world.nodes.get(node).map_or("", |node| node.name.as_str()) };
        let asked = self.asked.iter().enumerate();
        let measures = asked.map(|(at, asked)| self.measure(world, at, *asked));
        let dimensions = self.dimensions.iter().map(|dimension| match dimension {
            Dimension::Text(node) => json!(format!("{}.txt", name(*node))),
            Dimension::Flag(node) => json!(format!("{}.flag", name(*node))),
            Dimension::Number(node) => json!(format!("{}.num", name(*node))),
            Dimension::IsLarge(node) => json!(format!("{}.is_large", name(*node))),
            Dimension::Key { node, column, .. } => {
                json!(format!(
                    "{}.{}",
                    name(*node),
                    world.column_name(*node, *column)
                ))
            }
            Dimension::Time(node, unit) => {
                json!({"field": format!("{}.at", name(*node)), "granularity": unit.name()})
            }
        });
        let filters = self.filters.iter().map(|filter| match filter {
            Filter::Text(node, text) => format!("{}.txt = '{text}'", name(*node)),
            Filter::Above(node, number) => format!("{}.num > {number}", name(*node)),
            Filter::Time(node, comparison, day) => {
                let sign = match comparison {
                    Comparison::From => ">=",
                    Comparison::After => ">",
                    Comparison::Before => "<",
                    Comparison::To => "<=",
                };
                // Every other day is a typed literal.
                let date = if day % 2 == 0 { "DATE " } else { "" };
                format!("{}.at {sign} {date}'{}'", name(*node), calendar::text(*day))
            }
            Filter::TimeOrText(node, day) => format!(
                "{node}.at >= '{}' or {node}.txt = 'a'",
                calendar::text(*day),
                node = name(*node)
            ),
            Filter::Lacks(node) => format!("{}.lacks = 'none'", name(*node)),
            Filter::Key(node, column, cell) => {
                let value = match cell {
                    Cell::Integer(number) => number.to_string(),
                    Cell::Text(text) => format!("'{text}'"),
                };
                let column = world.column_name(*node, *column);
                format!("{}.{column} = {value}", name(*node))
            }
            Filter::Flag(node, true) => format!("{}.flag", name(*node)),
            Filter::Flag(node, false) => format!("{}.flag = false", name(*node)),
            Filter::NotText(node, text) => format!("not ({}.txt = '{text}')", name(*node)),
            Filter::NoTextOr(one, other, number) => format!(
                "{}.txt is null or {}.num > {number}",
                name(*one),
                name(*other)
            ),
            Filter::MeasureAbove(table, measure, number) => {
                format!("t{table}.{} > {number}", measure_name(*measure))
            }
            Filter::EitherAbove(one, other, number) => {
                format!("t{one}.total > {number} or t{other}.total > {number}")
            }
        });
        let segments = self.segments.iter().map(|table| format!("t{table}.of_a"));
        let mut query = json!({
            "measures": measures.collect::<Vec<_>>(),
            "dimensions": dimensions.collect::<Vec<_>>(),
            "filters": filters.collect::<Vec<_>>(),
            "fill": self.fill,
            "limit": self.top.map_or(1_000_000, |(_, _, count)| count),
        });
        let fields = query.as_object_mut().expect("an object");
        if let Some(include_empty) = self.include_empty {
            fields.insert("include_empty".to_owned(), json!(include_empty));
        }
        match self.beside {
            Beside::Nothing => None,
            Beside::Totals => fields.insert("totals".to_owned(), json!(true)),
            Beside::Others => fields.insert("others".to_owned(), json!(true)),
        };
        if let Some(at) = self.per {
            fields.insert("limit_per".to_owned(), json!([self.column(world, at)]));
        }
        if !self.segments.is_empty() {
            fields.insert("segments".to_owned(), json!(segments.collect::<Vec<_>>()));
        }
        if let Some((column, downwards, _)) = self.top {
            let direction = if downwards { "desc" } else { "asc" };
            let field = self.column(world, column);
            let order = json!([{"field": field, "direction": direction}]);
            fields.insert("order_by".to_owned(), order);
        }
        query
    }
}

fn measure_name(measure: Measure) -> &'static str {
    MEASURES.get(measure).expect("a measure").0
}
