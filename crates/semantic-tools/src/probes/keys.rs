//! Probes of keys: grains and joins.

use ktx_semantic_layer::Part;

use super::{NotAsked, Probe, Probes, Side, Wanted, limited, rows_of, unique_sides};
use ktx_semantic_layer::Catalog;
use ktx_semantic_layer::sql::sql_text::{column_name, identifier};
use ktx_semantic_layer::{Join, Source};

/// A grain must distinguish rows without keys, a join never finds them.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Absent {
    Counts,
    IsLeftOut,
}

pub(super) fn grain(catalog: &Catalog, source: &Source, sample: u64, probes: &mut Probes) {
    if source.grain.is_empty() {
        return;
    }
    let claim = format!("one row per {}", source.grain.join(", "));
    let keys: Vec<&str> = source.grain.iter().map(String::as_str).collect();
    match repeated(catalog, source, &keys, (sample, Absent::Counts)) {
        Ok(sql) => probes.asked.push(Probe {
            source: source.name.clone(),
            part: Part::Grain,
            claim,
            sql,
            wanted: Wanted::NoRow { sample },
        }),
        Err(reason) => probes.not_asked.push(NotAsked {
            source: source.name.clone(),
            part: Part::Grain,
            reason,
        }),
    }
}

/// Checks whether the columns compare, and whether the join finds at most the declared number of
/// rows.
pub(super) fn join(
    catalog: &Catalog,
    source: &Source,
    at: usize,
    sample: u64,
    probes: &mut Probes,
) {
    let Some(join) = source.joins.get(at) else {
        return;
    };
    let Some(target) = catalog.source(&join.to) else {
        return;
    };
    match comparison(catalog, source, target, join) {
        Ok(sql) => probes.asked.push(Probe {
            source: source.name.clone(),
            part: Part::Join(at),
            claim: "the columns can be compared".to_owned(),
            sql,
            wanted: Wanted::Runs,
        }),
        Err(reason) => {
            probes.not_asked.push(NotAsked {
                source: source.name.clone(),
                part: Part::Join(at),
                reason,
            });
            return;
        }
    }
    for side in unique_sides(join) {
        let (found, keys): (&Source, Vec<&str>) = match side {
            Side::Own => (
                source,
                join.pairs.iter().map(|(own, _)| own.as_str()).collect(),
            ),
            Side::Target => (
                target,
                join.pairs.iter().map(|(_, other)| other.as_str()).collect(),
            ),
        };
        if let Ok(sql) = repeated(catalog, found, &keys, (sample, Absent::IsLeftOut)) {
            probes.asked.push(Probe {
                source: source.name.clone(),
                part: Part::Join(at),
                claim: format!("at most one row of {} per {}", found.name, keys.join(", ")),
                sql,
                wanted: Wanted::NoRow { sample },
            });
        }
    }
}

fn columns(catalog: &Catalog, source: &Source, keys: &[&str]) -> Result<Vec<String>, String> {
    if keys.is_empty() {
        return Err("it names no column".to_owned());
    }
    keys.iter()
        .map(|key| match source.column(key) {
            Some((_, column)) if column.expr.is_some() => Err(format!(
                "`{}.{key}` is computed, and only columns of the relation are looked at",
                source.name
            )),
            Some((_, column)) => Ok(column_name(catalog.dialect(), &column.name)),
            None => Err(format!("`{}` has no column `{key}`", source.name)),
        })
        .collect()
}

fn rows(catalog: &Catalog, source: &Source) -> Result<String, String> {
    rows_of(catalog.dialect(), source).ok_or_else(|| {
        "its query begins with common table expressions, which SQL Server allows at the top only"
            .to_owned()
    })
}

/// Selects a repeated key of the sample with its count.
fn repeated(
    catalog: &Catalog,
    source: &Source,
    keys: &[&str],
    (sample, absent): (u64, Absent),
) -> Result<String, String> {
    let dialect = catalog.dialect();
    let columns = columns(catalog, source, keys)?;
    let list = columns.join(", ");
    let condition = match absent {
        Absent::Counts => String::new(),
        Absent::IsLeftOut => {
            let present: Vec<String> = columns
                .iter()
                .map(|column| format!("{column} IS NOT NULL"))
                .collect();
            format!(" WHERE {}", present.join(" AND "))
        }
    };
    let from = format!("FROM {}{condition}", rows(catalog, source)?);
    let inner = limited(dialect, &list, &from, sample);
    let outer = format!(
        "FROM ({inner}) AS {} GROUP BY {list} HAVING COUNT(*) > 1",
        identifier(dialect, "sampled")
    );
    let what = format!(
        "{list}, COUNT(*) AS {}",
        identifier(dialect, "repeated_rows")
    );
    Ok(limited(dialect, &what, &outer, 1))
}

fn comparison(
    catalog: &Catalog,
    source: &Source,
    target: &Source,
    join: &Join,
) -> Result<String, String> {
    let dialect = catalog.dialect();
    let names = |of: &Source, side: Side| {
        let keys: Vec<&str> = join
            .pairs
            .iter()
            .map(|(own, other)| match side {
                Side::Own => own.as_str(),
                Side::Target => other.as_str(),
            })
            .collect();
        columns(catalog, of, &keys)
    };
    let (own, other) = (names(source, Side::Own)?, names(target, Side::Target)?);
    let sides = ["own_side", "other_side"].map(|name| identifier(dialect, name));
    let [left, right] = &sides;
    let conditions: Vec<String> = own
        .iter()
        .zip(&other)
        .map(|(own, other)| format!("{left}.{own} = {right}.{other}"))
        .collect();
    let side = |of: &Source, list: &[String], name: &str| -> Result<String, String> {
        let list = list.join(", ");
        Ok(format!(
            "(SELECT {list} FROM {}) AS {name}",
            rows(catalog, of)?
        ))
    };
    let rest = format!(
        "FROM {} JOIN {} ON {}",
        side(source, &distinct(&own), left)?,
        side(target, &distinct(&other), right)?,
        conditions.join(" AND ")
    );
    let what = own
        .first()
        .map_or_else(String::new, |column| format!("{left}.{column}"));
    Ok(limited(dialect, &what, &rest, 0))
}

fn distinct(names: &[String]) -> Vec<String> {
    let mut kept: Vec<String> = Vec::new();
    for name in names {
        if !kept.contains(name) {
            kept.push(name.clone());
        }
    }
    kept
}
