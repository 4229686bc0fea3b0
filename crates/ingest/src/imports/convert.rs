//! Converts definitions into names and SQL of the semantic layer.

use std::collections::{BTreeMap, BTreeSet};

use ktx_context_sources::{
    Cardinality, ColumnKind, ComputedColumn, DefinitionKind, Fragment, MeasureDefinition,
    MeasureFormula, Model, ModelJoin, Moment, Purpose, SegmentDefinition, SourcePosition, Sql,
    WhyLeft, Window,
};
use ktx_semantic_layer::authored::Window as AuthoredWindow;
use ktx_semantic_layer::authored::{
    At, Column, Compare, ComparedAs, Cumulative, Found, Join, JoinSource, Measure, Meta, Ratio,
    Segment, SemiAdditive, WindowRecord,
};
use ktx_semantic_layer::sql::sql_text::{column_name, identifier};
use ktx_semantic_layer::{Catalog, ColumnType, Granularity, Relationship};

use super::needs::{DefinitionId, needs, parts};
use super::write::{EntryOrigin, ImportEntry, Item};
use super::{ImportReport, leave};

pub(super) struct Converter<'a> {
    pub(super) catalog: &'a Catalog,
    pub(super) tables: BTreeMap<&'a str, &'a str>,
    pub(super) writer: &'static str,
}

impl Converter<'_> {
    pub(super) fn time(&self, model: &Model, table: &str) -> Option<Meta> {
        let name = self.actual(table, model.time.as_deref()?);
        let pair = (Meta::from(self.writer), Meta::from(name));
        Some(Meta::Mapping(serde_yaml::Mapping::from_iter([pair])))
    }

    pub(super) fn entries(
        &self,
        model: &Model,
        table: &str,
        report: &mut ImportReport,
    ) -> Vec<ImportEntry> {
        let mut entries = Vec::new();
        let mut take = |entry: ImportEntry, item: Result<Item, String>| match item {
            Ok(item) => entries.push(ImportEntry { item, ..entry }),
            Err(reason) => leave(&entry, WhyLeft::NotTranslated, reason, report),
        };
        for column in &model.columns {
            let entry = ImportEntry {
                needs: needs(model, [&column.expr]),
                ..entry(DefinitionKind::Column, &column.name, &column.spot)
            };
            take(of(entry, model), self.column(column, table));
        }
        for join in &model.joins {
            let name = format!(
                "{} → {}",
                model.name,
                join.alias.as_ref().unwrap_or(&join.to)
            );
            let entry = entry(DefinitionKind::Join, &name, &join.spot);
            take(of(entry, model), self.join(join, table));
        }
        for measure in &model.measures {
            let entry = ImportEntry {
                purpose: measure.purpose,
                lost: measure.lost.clone(),
                needs: needs(model, parts(measure)),
                ..entry(DefinitionKind::Measure, &measure.name, &measure.spot)
            };
            take(of(entry, model), self.measure(measure, table));
        }
        for segment in &model.segments {
            let entry = ImportEntry {
                lost: segment.lost.clone(),
                needs: needs(model, [&segment.expr]),
                ..entry(DefinitionKind::Segment, &segment.name, &segment.spot)
            };
            take(of(entry, model), self.segment(segment, table));
        }
        entries
    }

    fn column(&self, column: &ComputedColumn, table: &str) -> Result<Item, String> {
        let kind = match column.kind {
            ColumnKind::Text => ColumnType::String,
            ColumnKind::Number => ColumnType::Number,
            ColumnKind::Time => ColumnType::Time,
            ColumnKind::Boolean => ColumnType::Boolean,
        };
        Ok(Item::Column(Box::new(Column {
            name: column.name.clone(),
            kind: Some(kind),
            role: None,
            visibility: None,
            descriptions: None,
            description: column.description.clone(),
            expr: Some(self.sql(&column.expr, table)?),
            natural_granularity: None,
            constraints: None,
            enum_values: None,
            tests: None,
        })))
    }

    fn join(&self, join: &ModelJoin, table: &str) -> Result<Item, String> {
        let to = self.table(&join.to)?;
        let mut equalities = Vec::new();
        for pair in &join.pairs {
            let own = self.column_sql(table, &pair.own)?;
            let other = self.column_sql(to, &pair.other)?;
            let role = join.alias.as_deref().unwrap_or(to);
            equalities.push(format!("{own} = {}.{other}", self.identifier(role)));
        }
        Ok(Item::Join(Join {
            to: to.to_owned(),
            on: equalities.join(" AND "),
            relationship: match join.cardinality {
                Cardinality::ManyToOne => Relationship::ManyToOne,
                Cardinality::OneToMany => Relationship::OneToMany,
                Cardinality::OneToOne => Relationship::OneToOne,
            },
            alias: join.alias.clone(),
            source: Some(JoinSource::Manual),
            weight: None,
            found: Found::default(),
        }))
    }

    fn measure(&self, measure: &MeasureDefinition, table: &str) -> Result<Item, String> {
        let filters: Vec<String> = measure
            .filters
            .iter()
            .map(|filter| self.sql(filter, table))
            .collect::<Result<_, _>>()?;
        let mut written = Measure {
            name: measure.name.clone(),
            expr: None,
            ratio: None,
            cumulative: None,
            compare: None,
            semi_additive: None,
            filter: all_of(filters),
            segments: Vec::new(),
            description: measure.description.clone(),
        };
        match &measure.formula {
            MeasureFormula::Expression(sql) => written.expr = Some(self.sql(sql, table)?),
            MeasureFormula::Snapshot {
                expression,
                moments,
                at,
                per,
            } => {
                written.expr = Some(self.sql(expression, table)?);
                written.semi_additive = Some(SemiAdditive {
                    dimension: self.actual(table, moments),
                    at: match at {
                        Moment::First => At::First,
                        Moment::Last => At::Last,
                    },
                    per: Some(per.iter().map(|name| self.actual(table, name)).collect()),
                });
            }
            MeasureFormula::Ratio {
                numerator,
                denominator,
            } => {
                written.ratio = Some(Ratio {
                    numerator: self.sql(numerator, table)?,
                    denominator: self.sql(denominator, table)?,
                });
            }
            MeasureFormula::Cumulative { measure, window } => {
                written.cumulative = Some(Cumulative {
                    measure: self.sql(measure, table)?,
                    window: authored(*window)?,
                });
            }
            MeasureFormula::Earlier {
                measure,
                count,
                unit,
            } => {
                written.compare = Some(Compare {
                    measure: self.sql(measure, table)?,
                    offset: Some(*count),
                    unit: Some(granularity(unit.name())?),
                    offset_to_grain: None,
                    answer: ComparedAs::Value,
                });
            }
        }
        Ok(Item::Measure(Box::new(written)))
    }

    fn segment(&self, segment: &SegmentDefinition, table: &str) -> Result<Item, String> {
        Ok(Item::Segment(Segment {
            name: segment.name.clone(),
            expr: self.sql(&segment.expr, table)?,
            description: segment.description.clone(),
        }))
    }

    fn sql(&self, sql: &Sql, table: &str) -> Result<String, String> {
        let mut text = String::new();
        for fragment in &sql.0 {
            match fragment {
                Fragment::Text(own) => text.push_str(own),
                Fragment::Column { model, name } => {
                    let of = self.prefix(model.as_deref(), table, &mut text)?;
                    let name = self.actual(of, name);
                    text.push_str(&column_name(self.catalog.dialect(), &name));
                }
                Fragment::Measure { model, name } => {
                    self.prefix(model.as_deref(), table, &mut text)?;
                    text.push_str(&self.identifier(name));
                }
            }
        }
        Ok(text)
    }

    fn prefix<'t>(
        &'t self,
        model: Option<&str>,
        table: &'t str,
        text: &mut String,
    ) -> Result<&'t str, String> {
        let Some(model) = model else {
            return Ok(table);
        };
        let other = self.table(model)?;
        if other != table {
            text.push_str(&self.identifier(other));
            text.push('.');
        }
        Ok(other)
    }

    fn table(&self, model: &str) -> Result<&str, String> {
        let table = self.tables.get(model).copied();
        table.ok_or_else(|| format!("no scan has found the table of `{model}`"))
    }

    fn identifier(&self, name: &str) -> String {
        identifier(self.catalog.dialect(), name)
    }

    /// Returns the column name in the case of the scan.
    fn actual(&self, table: &str, name: &str) -> String {
        let columns = self
            .catalog
            .source(table)
            .map_or(&[][..], |source| &source.columns);
        let exact = columns.iter().find(|column| column.name == name);
        let same = || {
            columns
                .iter()
                .find(|column| column.name.eq_ignore_ascii_case(name))
        };
        exact
            .or_else(same)
            .map_or(name, |column| &column.name)
            .to_owned()
    }

    fn column_sql(&self, table: &str, name: &str) -> Result<String, String> {
        let actual = self.actual(table, name);
        let source = self.catalog.source(table);
        let is_there = source.is_some_and(|source| {
            let mut columns = source.columns.iter();
            columns.any(|column| column.name == actual)
        });
        if is_there {
            Ok(column_name(self.catalog.dialect(), &actual))
        } else {
            Err(format!("`{table}` has no column `{name}`"))
        }
    }
}

fn entry(kind: DefinitionKind, name: &str, spot: &SourcePosition) -> ImportEntry {
    ImportEntry {
        kind,
        name: name.to_owned(),
        spot: spot.clone(),
        purpose: Purpose::Offered,
        lost: Vec::new(),
        item: Item::Known,
        standing: EntryOrigin::Defined,
        id: DefinitionId::default(),
        needs: BTreeSet::new(),
    }
}

fn of(entry: ImportEntry, model: &Model) -> ImportEntry {
    ImportEntry {
        id: DefinitionId::new(&model.name, entry.kind, &entry.name),
        ..entry
    }
}

fn all_of(mut filters: Vec<String>) -> Option<String> {
    if filters.len() > 1 {
        let each = filters.iter().map(|filter| format!("({filter})"));
        return Some(each.collect::<Vec<_>>().join(" and "));
    }
    filters.pop()
}

fn authored(window: Window) -> Result<Option<AuthoredWindow>, String> {
    let record = match window {
        Window::Unbounded => return Ok(None),
        Window::Last { count, unit } => WindowRecord {
            count: Some(count),
            unit: Some(granularity(unit.name())?),
            to_date: None,
        },
        Window::ToDate(unit) => WindowRecord {
            count: None,
            unit: None,
            to_date: Some(granularity(unit.name())?),
        },
    };
    Ok(Some(AuthoredWindow::Record(record)))
}

fn granularity(name: &str) -> Result<Granularity, String> {
    Granularity::parse(name).ok_or_else(|| format!("`{name}` is not a unit of periods"))
}
