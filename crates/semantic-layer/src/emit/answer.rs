//! The stage that computes windows over all groups, before filters on measures drop some.

use std::ops::ControlFlow;

use ktx_sql::Dialect;
use sqlparser::ast::{Expr, Value, VisitorMut};

use super::{Body, Writer};
use crate::names::bound::Printer;
use crate::plan::group_functions::{has_window, window_of};
use crate::plan::{GroupWindow, Planned, WindowFunction};
use crate::sql::sql_text::{as_real, identifier};

pub(super) struct AnswerNames {
    stage: String,
    measures: Vec<String>,
    filters: Vec<String>,
}

impl AnswerNames {
    pub(super) fn new(planned: &Planned<'_>, fresh: &mut impl FnMut(String) -> String) -> Self {
        if !is_staged(planned) {
            return Self {
                stage: String::new(),
                measures: Vec::new(),
                filters: Vec::new(),
            };
        }
        let count = planned.measures.len();
        Self {
            stage: fresh("answer".to_owned()),
            measures: (1..=count).map(|at| fresh(format!("m{at}"))).collect(),
            filters: (1..=planned.group_filters.len())
                .map(|at| fresh(format!("f{at}")))
                .collect(),
        }
    }
}

pub(super) fn is_staged(planned: &Planned<'_>) -> bool {
    let measures = planned.measures.iter().map(|measure| &measure.tree);
    let filters = planned.group_filters.iter().map(|(_, tree)| tree);
    measures.chain(filters).any(has_window)
}

impl Writer<'_, '_> {
    fn answer(&self, from: &str, measures: &[String], filters: &[String]) -> (String, String) {
        let dialect = self.dialect;
        let names = &self.inner.answer;
        let dimensions = self.inner.dimensions.iter();
        let dimensions = dimensions.map(|name| identifier(dialect, name));
        let values = measures.iter().zip(&names.measures);
        let values = values.map(|(sql, name)| format!("{sql} AS {}", identifier(dialect, name)));
        let tests = filters.iter().zip(&names.filters);
        let tests = tests.map(|(sql, name)| {
            let name = identifier(dialect, name);
            format!("CASE WHEN {sql} THEN 1 ELSE 0 END AS {name}")
        });
        let columns: Vec<String> = dimensions.chain(values).chain(tests).collect();
        let sql = format!(
            "SELECT {}\nFROM {}",
            columns.join(", "),
            identifier(dialect, from)
        );
        (names.stage.clone(), sql)
    }

    pub(super) fn staged(&self, mut body: Body) -> Body {
        body.tables
            .push(self.answer(&body.from, &body.measures, &body.filters));
        let names = &self.inner.answer;
        let quoted = |name: &String| identifier(self.dialect, name);
        let filters = names.filters.iter();
        Body {
            measures: names.measures.iter().map(quoted).collect(),
            filters: filters
                .map(|name| format!("{} = 1", quoted(name)))
                .collect(),
            from: names.stage.clone(),
            ..body
        }
    }

    pub(super) fn with_windows(&self, mut tree: Expr, printer: &Printer<'_>) -> Expr {
        let mut spelling = Spelling {
            writer: self,
            printer,
        };
        let flow = ktx_sql::visit_mut(&mut tree, &mut spelling);
        debug_assert!(flow.is_continue());
        tree
    }

    fn window(&self, window: &GroupWindow, value: &str) -> String {
        let dimension = |at: &usize| {
            let name = self.inner.dimensions.get(*at).map_or("", String::as_str);
            identifier(self.dialect, name)
        };
        let within: Vec<String> = window.within.iter().map(dimension).collect();
        let partition = if within.is_empty() {
            String::new()
        } else {
            format!("PARTITION BY {}", within.join(", "))
        };
        match window.function {
            WindowFunction::Share => {
                let whole = as_real(self.dialect, value);
                format!("({whole} / NULLIF(SUM({value}) OVER ({partition}), 0))")
            }
            WindowFunction::Rank => {
                let last = format!("CASE WHEN {value} IS NULL THEN 1 ELSE 0 END");
                let order = spaced(&partition, &format!("ORDER BY {last}, {value} DESC"));
                format!("CASE WHEN {value} IS NOT NULL THEN RANK() OVER ({order}) END")
            }
            WindowFunction::PreviousRow => {
                let along = window.along.as_ref().map(dimension).unwrap_or_default();
                let order = format!(
                    "ORDER BY CASE WHEN {along} IS NULL THEN 1 ELSE 0 END, {along} \
                     ROWS BETWEEN 1 PRECEDING AND 1 PRECEDING"
                );
                // ClickHouse returns 0 over no rows.
                let value = match self.dialect {
                    Dialect::ClickHouse => format!("toNullable({value})"),
                    _ => value.to_owned(),
                };
                let order = spaced(&partition, &order);
                format!("CASE WHEN {along} IS NOT NULL THEN MAX({value}) OVER ({order}) END")
            }
            WindowFunction::RunningTotal => {
                let along = window.along.as_ref().map(dimension).unwrap_or_default();
                let order = spaced(
                    &partition,
                    &format!("ORDER BY {along} ROWS UNBOUNDED PRECEDING"),
                );
                // Rows without a time are in no total.
                format!(
                    "CASE WHEN {along} IS NOT NULL THEN SUM(CASE WHEN {along} IS NOT NULL THEN {value} END) \
                     OVER ({order}) END"
                )
            }
        }
    }
}

fn spaced(partition: &str, order: &str) -> String {
    format!("{partition} {order}").trim_start().to_owned()
}

struct Spelling<'w, 'p, 'a> {
    writer: &'w Writer<'p, 'a>,
    printer: &'w Printer<'w>,
}

impl VisitorMut for Spelling<'_, '_, '_> {
    type Break = ();

    fn post_visit_expr(&mut self, tree: &mut Expr) -> ControlFlow<()> {
        if let Some((number, measure)) = window_of(tree)
            && let Some(window) = self.writer.planned.windows.get(number)
        {
            let text = self.writer.window(window, &self.printer.print(measure));
            *tree = Expr::value(Value::Placeholder(text));
        }
        ControlFlow::Continue(())
    }
}
