//! Writes the periods of an answer, and the parts over other periods.

use sqlparser::ast::Expr;

use super::Writer;
use super::part::{Pieces, group_clause, where_clause};
use crate::model::granularity::Granularity;
use crate::plan::levels::again_by;
use crate::plan::{Frame, Part, PartKind, Reading, Shift, Span, Spine, TimeAxis};
use crate::sql::sql_text::{
    By, as_period, identifier, instant, movable, movable_type, moved, truncate,
};

pub(super) struct PeriodNames {
    pub(super) table: String,
    pub(super) start: String,
    pub(super) digits: String,
    pub(super) filled: String,
}

impl PeriodNames {
    pub(super) fn new(fresh: &mut dyn FnMut(String) -> String) -> Self {
        Self {
            table: fresh("periods".to_owned()),
            start: fresh("period_start".to_owned()),
            digits: fresh("digits".to_owned()),
            filled: fresh("filled".to_owned()),
        }
    }
}

fn places(count: i64) -> usize {
    usize::try_from((count - 1).max(1).ilog10()).map_or(1, |places| places + 1)
}

impl Writer<'_, '_> {
    fn period(&self) -> String {
        let names = &self.inner.periods;
        format!(
            "{}.{}",
            identifier(self.dialect, &names.table),
            identifier(self.dialect, &names.start)
        )
    }

    /// To a type that can be shifted.
    pub(super) fn period_value(&self, sql: String) -> String {
        match &self.planned.time {
            Some(time) => movable(self.dialect, &sql, time.unit),
            None => sql,
        }
    }

    pub(super) fn periods(&self, time: &TimeAxis) -> Vec<(String, String)> {
        let names = &self.inner.periods;
        match &time.spine {
            Some(spine) => vec![
                (names.digits.clone(), self.digits()),
                (names.table.clone(), self.spine(time, spine)),
            ],
            None => vec![(names.table.clone(), self.occurring(time))],
        }
    }

    fn occurring(&self, time: &TimeAxis) -> String {
        let own = self
            .inner
            .dimensions
            .get(time.dimension)
            .map_or(String::new(), |name| identifier(self.dialect, name));
        let start = identifier(self.dialect, &self.inner.periods.start);
        let plain = self.planned.parts.iter().zip(&self.inner.parts);
        let selects: Vec<String> = plain
            .filter(|(part, _)| part.frame.is_plain())
            .map(|(_, name)| {
                format!(
                    "SELECT {own} AS {start}\nFROM {}",
                    identifier(self.dialect, name)
                )
            })
            .collect();
        let all = identifier(self.dialect, "occurring");
        format!(
            "SELECT DISTINCT {start}\nFROM (\n{}\n) AS {all}\nWHERE {start} IS NOT NULL",
            selects.join("\nUNION ALL\n")
        )
    }

    fn digits(&self) -> String {
        let digit = identifier(self.dialect, "digit");
        let rest = (1..10).map(|number| format!("UNION ALL SELECT {number}"));
        let all: Vec<String> = std::iter::once(format!("SELECT 0 AS {digit}"))
            .chain(rest)
            .collect();
        all.join("\n")
    }

    /// Numbers are built from digits: series functions are not universal, and some warehouses limit
    /// recursion.
    fn spine(&self, time: &TimeAxis, spine: &Spine) -> String {
        let digits = identifier(self.dialect, &self.inner.periods.digits);
        let places = ["ones", "tens", "hundreds", "thousands"]
            .into_iter()
            .take(places(spine.count));
        let mut sum: Vec<String> = Vec::new();
        let mut tables: Vec<String> = Vec::new();
        for (at, place) in places.enumerate() {
            let zeros = "0".repeat(at);
            let factor = if at == 0 {
                String::new()
            } else {
                format!("1{zeros} * ")
            };
            sum.push(format!("{factor}{place}.digit"));
            tables.push(format!("{digits} AS {place}"));
        }
        let first = instant(self.dialect, &spine.first, time.unit);
        let column = By::Column("numbers.period_number");
        let start = moved(self.dialect, &first, column, time.unit, time.unit);
        format!(
            "SELECT {} AS {}\nFROM (\nSELECT {} AS period_number\nFROM {}\n) AS numbers\nWHERE numbers.period_number < {}",
            as_period(self.dialect, &start, time.unit),
            identifier(self.dialect, &self.inner.periods.start),
            sum.join(" + "),
            tables.join("\nCROSS JOIN "),
            spine.count
        )
    }

    /// For each combination of the other dimensions.
    pub(super) fn filled(&self, time: &TimeAxis) -> String {
        let stacked = identifier(self.dialect, &self.inner.stacked);
        let all: Vec<String> = self
            .inner
            .dimensions
            .iter()
            .map(|name| identifier(self.dialect, name))
            .collect();
        let others: Vec<&String> = all
            .iter()
            .enumerate()
            .filter_map(|(at, name)| (at != time.dimension).then_some(name))
            .collect();
        let mut columns: Vec<String> = all
            .iter()
            .enumerate()
            .map(|(at, name)| {
                if at == time.dimension {
                    format!("{} AS {name}", self.period())
                } else {
                    format!("others.{name}")
                }
            })
            .collect();
        for (at, atom) in self.planned.atoms.iter().enumerate() {
            let null = self.absent(at, atom.kind);
            columns.push(format!("{null} AS {}", self.atom_name(at)));
        }
        let marks = self.inner.marks.values();
        let marks: Vec<String> = marks
            .map(|mark| identifier(self.dialect, &mark.own))
            .collect();
        let no_marks = marks
            .iter()
            .map(|mark| format!("{} AS {mark}", self.no_mark()));
        columns.extend(no_marks);
        let table = identifier(self.dialect, &self.inner.periods.table);
        let mut from = table;
        if !others.is_empty() {
            let others: Vec<&str> = others.into_iter().map(String::as_str).collect();
            from = format!(
                "{from}\nCROSS JOIN (\nSELECT DISTINCT {}\nFROM {stacked}\n) AS others",
                others.join(", ")
            );
        }
        let own = self.planned.atoms.iter().enumerate();
        let own: Vec<String> = all
            .into_iter()
            .chain(own.map(|(at, _)| self.atom_name(at)))
            .chain(marks)
            .collect();
        format!(
            "SELECT {}\nFROM {stacked}\nUNION ALL\nSELECT {}\nFROM {from}",
            own.join(", "),
            columns.join(", ")
        )
    }

    /// The group's period is from the periods table, rows are from every period in the frame.
    pub(super) fn frame(&self, frame: Frame, pieces: Pieces) -> Pieces {
        let Some(time) = self.planned.time.as_ref().filter(|_| !frame.is_plain()) else {
            return pieces;
        };
        let mut pieces = pieces;
        if let Some(own) = pieces.dimensions.get_mut(time.dimension) {
            let rows = std::mem::replace(own, self.period());
            pieces.filters.extend(self.within(frame, time, &rows));
            pieces.from = format!(
                "{}\nCROSS JOIN {}",
                pieces.from,
                identifier(self.dialect, &self.inner.periods.table)
            );
        }
        pieces
    }

    fn within(&self, frame: Frame, time: &TimeAxis, rows: &str) -> Vec<String> {
        if frame.reading(time.unit) == Some(Reading::Days) {
            return self.within_days(frame, time, rows);
        }
        let back = |from: &str, count: u32, unit| {
            let by = By::Fixed(-i64::from(count));
            moved(self.dialect, from, by, unit, time.unit)
        };
        let mut end = self.period();
        for shift in frame.shifts.iter() {
            end = match shift {
                Shift::Back(count, unit) => back(&end, count, unit),
                Shift::ToStart(unit) => self.start_of(&end, unit, time.unit),
            };
        }
        match frame.span {
            Span::Filtered | Span::Whole => vec![format!("{rows} = {end}")],
            Span::Unbounded => vec![format!("{rows} <= {end}")],
            Span::Last(count, unit) => {
                let before = back(&end, count, unit);
                vec![format!("{rows} <= {end}"), format!("{rows} > {before}")]
            }
            Span::ToDate(unit) => {
                let start = self.start_of(&end, unit, time.unit);
                vec![format!("{rows} <= {end}"), format!("{rows} >= {start}")]
            }
        }
    }

    fn start_of(&self, period: &str, unit: Granularity, grain: Granularity) -> String {
        let native = movable_type(self.dialect, grain);
        let start = truncate(self.dialect, period, unit, native);
        movable(self.dialect, &start, grain)
    }

    /// True if a part distinguishes rows by days, but the answer has longer periods.
    pub(super) fn is_by_days(&self, frame: Frame, dimension: usize) -> bool {
        let time = self.planned.time.as_ref();
        time.is_some_and(|time| {
            time.dimension == dimension && frame.reading(time.unit) == Some(Reading::Days)
        })
    }

    /// The frame ends with the period's last day.
    fn within_days(&self, frame: Frame, time: &TimeAxis, rows: &str) -> Vec<String> {
        let day = Granularity::Day;
        let period = self.period();
        let next = moved(self.dialect, &period, By::Fixed(1), time.unit, time.unit);
        let shifts = frame.shifts.iter().filter_map(|shift| match shift {
            Shift::Back(count, unit) => Some((count, unit)),
            Shift::ToStart(_) => None,
        });
        let shifts: Vec<(u32, Granularity)> = shifts.collect();
        // Months can move the start of a period, but not most other days.
        let back = |from: &str, more: Option<(u32, Granularity)>| {
            let mut all = shifts.clone();
            all.extend(more);
            all.sort_by_key(|(_, unit)| *unit);
            all.into_iter().fold(from.to_owned(), |at, (count, unit)| {
                let by = By::Fixed(-i64::from(count));
                moved(self.dialect, &at, by, unit, day)
            })
        };
        let end = back(&next, None);
        let first = match frame.span {
            Span::Unbounded => None,
            Span::Filtered | Span::Whole => Some(back(&period, None)),
            Span::Last(count, unit) => Some(back(&next, Some((count, unit)))),
            Span::ToDate(unit) => {
                let last = moved(self.dialect, &end, By::Fixed(-1), day, day);
                Some(self.start_of(&last, unit, day))
            }
        };
        let first = first.map(|first| format!("{rows} >= {first}"));
        std::iter::once(format!("{rows} < {end}"))
            .chain(first)
            .collect()
    }

    /// `None` if an aggregate cannot be applied to its own results.
    pub(super) fn regrouped(&self, part: &Part, by_period: &str) -> Option<String> {
        let time = self.planned.time.as_ref()?;
        if part.kind != PartKind::Groups || part.frame.is_plain() {
            return None;
        }
        let mut again: Vec<String> = Vec::new();
        for at in &part.atoms {
            let function = again_by(&self.planned.atoms.get(*at)?.call)?;
            let name = self.atom_name(*at);
            again.push(format!("{function}(by_period.{name}) AS {name}"));
        }
        let names: Vec<String> = self
            .inner
            .dimensions
            .iter()
            .map(|name| identifier(self.dialect, name))
            .collect();
        let pieces = Pieces {
            dimensions: names
                .iter()
                .map(|name| format!("by_period.{name}"))
                .collect(),
            from: format!("(\n{by_period}\n) AS by_period"),
            filters: Vec::new(),
            weight: None,
        };
        debug_assert!(time.dimension < names.len());
        let pieces = self.frame(part.frame, pieces);
        let mut columns = self.dimension_columns(&pieces);
        columns.extend(again);
        columns.extend(self.mark_column());
        Some(
            [
                format!("SELECT {}\nFROM {}", columns.join(", "), pieces.from),
                where_clause(&pieces.filters),
                group_clause(&pieces.dimensions),
            ]
            .concat(),
        )
    }
}

pub(super) fn is_first(name: &str) -> Expr {
    Expr::BinaryOp {
        left: Box::new(crate::sql::expression::raw(name)),
        op: sqlparser::ast::BinaryOperator::Eq,
        right: Box::new(crate::sql::build::digit("1")),
    }
}
