//! Translates Metabase's query language into SQL with references, if the translation is exact.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::definitions::{Fragment, Sql};

const DEEPEST: usize = 40;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct TableField {
    pub(super) name: String,
    pub(super) table: u64,
    pub(super) kind: String,
    /// True for a part of another column.
    pub(super) is_nested: bool,
    /// True if Metabase reads its values as another type.
    pub(super) is_cast: bool,
}

pub(super) struct Clauses<'a> {
    pub(super) fields: &'a BTreeMap<u64, TableField>,
    pub(super) table: u64,
    pub(super) expressions: BTreeMap<&'a str, &'a Value>,
    pub(super) metrics: &'a BTreeMap<u64, String>,
}

struct Clause<'a> {
    operator: &'a str,
    options: Option<&'a Value>,
    arguments: Vec<&'a Value>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sense {
    Is,
    IsNot,
}

impl<'a> Clause<'a> {
    fn parse(value: &'a Value) -> Option<Self> {
        let list = value.as_array()?;
        let operator = list.first()?.as_str()?;
        let rest: Vec<&Value> = list.iter().skip(1).collect();
        // The newer format has the options first, the older one last.
        if let Some(first) = rest.first().copied().filter(|first| first.is_object()) {
            return Some(Self {
                operator,
                options: Some(first),
                arguments: rest.get(1..).unwrap_or_default().to_vec(),
            });
        }
        let is_field = ["field", "expression", "metric"].contains(&operator);
        let options = rest.last().copied().filter(|last| last.is_object());
        let length = match (options, is_field) {
            (Some(_), _) => rest.len() - 1,
            (None, true) => rest.len().min(1),
            (None, false) => rest.len(),
        };
        Some(Self {
            operator,
            options,
            arguments: rest.get(..length).unwrap_or_default().to_vec(),
        })
    }

    fn option(&self, key: &str) -> Option<&'a Value> {
        self.options?.get(key).filter(|value| !value.is_null())
    }
}

impl Clauses<'_> {
    pub(super) fn aggregation(&self, value: &Value, depth: usize) -> Result<Sql, String> {
        let clause = opened(value, depth)?;
        let one = || {
            let argument = clause.arguments.first();
            self.value(argument.ok_or("an aggregation has no column")?, depth + 1)
        };
        let around = |before: &str, behind: &str| Ok(one()?.between(before, behind));
        match clause.operator {
            "aggregation-options" => {
                let inner = clause.arguments.first().ok_or("an aggregation is empty")?;
                self.aggregation(inner, depth + 1)
            }
            "count" if clause.arguments.is_empty() => Ok(Sql::text("count(*)")),
            "count" => around("count(", ")"),
            "distinct" => around("count(distinct ", ")"),
            "sum" => around("sum(", ")"),
            "avg" => around("avg(", ")"),
            "min" => around("min(", ")"),
            "max" => around("max(", ")"),
            "median" => around("median(", ")"),
            "count-where" => {
                let condition = clause.arguments.first().ok_or("a condition is missing")?;
                let condition = self.condition(condition, depth + 1)?;
                Ok(condition.between("sum(case when ", " then 1 else 0 end)"))
            }
            "sum-where" => {
                let condition = clause.arguments.get(1).ok_or("a condition is missing")?;
                let condition = self.condition(condition, depth + 1)?;
                let value = one()?;
                Ok(join([
                    condition.between("sum(case when ", " then "),
                    value.between("", " else 0 end)"),
                ]))
            }
            "metric" => {
                let id = clause.arguments.first().and_then(|id| id.as_u64());
                let name = id.and_then(|id| self.metrics.get(&id));
                let name = name.ok_or("it is built on a metric that was left out")?;
                Ok(Sql::measure(None, name))
            }
            "+" | "-" | "*" | "/" => {
                let sides = clause.arguments.iter().map(|side| match side {
                    Value::Number(number) => Ok(Sql::text(number.to_string())),
                    side => Ok(self.aggregation(side, depth + 1)?.between("(", ")")),
                });
                calculation(clause.operator, sides)
            }
            other => Err(format!("the aggregation `{other}` has no counterpart")),
        }
    }

    pub(super) fn value(&self, value: &Value, depth: usize) -> Result<Sql, String> {
        match value {
            Value::Number(number) => return Ok(Sql::text(number.to_string())),
            Value::String(text) => return literal(text).map(Sql::text),
            Value::Bool(truth) => return Ok(Sql::text(truth.to_string())),
            _ => {}
        }
        let clause = opened(value, depth)?;
        let all = || {
            clause
                .arguments
                .iter()
                .map(|one| self.value(one, depth + 1))
        };
        match clause.operator {
            "field" => self.field(&clause).map(|field| Sql::column(&field.name)),
            "expression" => {
                let name = clause.arguments.first().and_then(|name| name.as_str());
                let inner = name.and_then(|name| self.expressions.get(name));
                let inner = inner.ok_or("it names an unknown custom column")?;
                Ok(self.value(inner, depth + 1)?.between("(", ")"))
            }
            "value" => self.value(
                clause.arguments.first().ok_or("a value is empty")?,
                depth + 1,
            ),
            "+" | "-" | "*" | "/" => {
                let sides = all().map(|side| Ok(side?.between("(", ")")));
                calculation(clause.operator, sides)
            }
            "coalesce" | "abs" | "upper" | "lower" | "trim" => {
                let inner = between(all(), ", ")?;
                Ok(inner.between(&format!("{}(", clause.operator), ")"))
            }
            "case" | "if" => self.cases(&clause, depth),
            other => Err(format!("`{other}` has no counterpart")),
        }
    }

    fn cases(&self, clause: &Clause<'_>, depth: usize) -> Result<Sql, String> {
        let cases = clause.arguments.first().and_then(|cases| cases.as_array());
        let mut parts = vec![Sql::text("case")];
        for case in cases.ok_or("a `case` is empty")? {
            let (condition, value) = case.get(0).zip(case.get(1)).ok_or("a `case` is empty")?;
            let condition = self.condition(condition, depth + 1)?;
            parts.push(condition.between(" when ", " then "));
            parts.push(self.value(value, depth + 1)?);
        }
        let default = clause
            .option("default")
            .or(clause.arguments.get(1).copied());
        if let Some(default) = default {
            parts.push(self.value(default, depth + 1)?.between(" else ", ""));
        }
        parts.push(Sql::text(" end"));
        Ok(join(parts))
    }

    pub(super) fn condition(&self, value: &Value, depth: usize) -> Result<Sql, String> {
        let clause = opened(value, depth)?;
        let first = || clause.arguments.first().ok_or("a condition is empty");
        let one = || self.value(first()?, depth + 1);
        let around = |before: &str, behind: &str| Ok(one()?.between(before, behind));
        match clause.operator {
            "and" | "or" => {
                let sides = clause.arguments.iter().map(|side| {
                    let side = self.condition(side, depth + 1)?;
                    Ok(side.between("(", ")"))
                });
                between(sides, &format!(" {} ", clause.operator))
            }
            "not" => self.negated(first()?, depth + 1),
            "is-null" => around("", " is null"),
            "not-null" => around("", " is not null"),
            "=" | "!=" | "<" | "<=" | ">" | ">=" | "between" => self.comparison(&clause, depth),
            "starts-with" | "ends-with" | "contains" => self.like(&clause, Sense::Is, depth),
            "does-not-contain" => self.like(&clause, Sense::IsNot, depth),
            "segment" => Err("it names a segment, which is not read".to_owned()),
            "time-interval" | "relative-datetime" | "relative-time-interval" => {
                Err("its filter on a time that moves has no counterpart".to_owned())
            }
            other => Err(format!("the filter `{other}` has no counterpart")),
        }
    }

    fn comparison(&self, clause: &Clause<'_>, depth: usize) -> Result<Sql, String> {
        let (own, values) = clause
            .arguments
            .split_first()
            .ok_or("a condition is empty")?;
        self.check_moment(own, clause.operator)?;
        let left = self.value(own, depth + 1)?;
        let is_null = |value: &&Value| value.is_null();
        if let ([value], "=" | "!=") = (values, clause.operator)
            && is_null(value)
        {
            let negation = if clause.operator == "=" { "" } else { "not " };
            return Ok(left.between("", &format!(" is {negation}null")));
        }
        if values.is_empty() || values.iter().any(is_null) {
            return Err("a condition has no value".to_owned());
        }
        let right: Vec<Sql> = values
            .iter()
            .map(|value| self.value(value, depth + 1))
            .collect::<Result<_, _>>()?;
        match (clause.operator, right.as_slice()) {
            ("between", [from, to]) => Ok(join([
                left.between("", " between "),
                from.clone(),
                to.clone().between(" and ", ""),
            ])),
            ("=", [_, _, ..]) => {
                let list = between(right.into_iter().map(Ok), ", ")?;
                Ok(join([left, list.between(" in (", ")")]))
            }
            // Metabase keeps the rows without a value.
            ("!=", _) => {
                let list = between(right.into_iter().map(Ok), ", ")?;
                Ok(join([
                    left.clone().between("(", " not in ("),
                    list,
                    left.between(") or ", " is null)"),
                ]))
            }
            ("between", _) => Err("a `between` needs two values".to_owned()),
            (operator, [only]) => Ok(join([
                left,
                only.clone().between(&format!(" {operator} "), ""),
            ])),
            (operator, _) => Err(format!("`{operator}` needs one value")),
        }
    }

    /// Rejects comparisons of moments that Metabase turns into ranges.
    fn check_moment(&self, own: &Value, operator: &str) -> Result<(), String> {
        let clause = Clause::parse(own).filter(|clause| clause.operator == "field");
        let Some(clause) = clause else {
            return Ok(());
        };
        let kind = &self.field(&clause)?.kind;
        let is_moment = ["DateTime", "Time", "Instant"]
            .iter()
            .any(|word| kind.contains(word));
        if is_moment && !["<", ">="].contains(&operator) {
            return Err(format!(
                "only Metabase knows the range of its filter `{operator}` on a time"
            ));
        }
        Ok(())
    }

    fn negated(&self, value: &Value, depth: usize) -> Result<Sql, String> {
        let clause = opened(value, depth)?;
        match clause.operator {
            "and" | "or" => {
                let other = if clause.operator == "and" {
                    "or"
                } else {
                    "and"
                };
                let sides = clause.arguments.iter().map(|side| {
                    let side = self.negated(side, depth + 1)?;
                    Ok(side.between("(", ")"))
                });
                between(sides, &format!(" {other} "))
            }
            "not" => {
                let inner = clause.arguments.first().ok_or("a condition is empty")?;
                self.condition(inner, depth + 1)
            }
            "starts-with" | "ends-with" | "contains" => self.like(&clause, Sense::IsNot, depth),
            "does-not-contain" => self.like(&clause, Sense::Is, depth),
            _ => Ok(self.condition(value, depth)?.between("not (", ")")),
        }
    }

    /// Metabase's negated comparisons keep the rows without a value.
    fn like(&self, clause: &Clause<'_>, sense: Sense, depth: usize) -> Result<Sql, String> {
        let (own, values) = match clause.arguments.as_slice() {
            [own, values @ ..] if !values.is_empty() => (*own, values),
            _ => return Err(format!("`{}` needs a text", clause.operator)),
        };
        let is_named =
            Clause::parse(own).is_some_and(|own| ["field", "expression"].contains(&own.operator));
        if sense == Sense::IsNot && !is_named {
            return Err("only Metabase knows which empty values its filter keeps".to_owned());
        }
        let own = self.value(own, depth + 1)?;
        let is_exact = clause.option("case-sensitive").and_then(Value::as_bool) != Some(false);
        let case = if is_exact {
            LetterCase::Kept
        } else {
            LetterCase::Ignored
        };
        let compared = match case {
            LetterCase::Kept => own.clone(),
            LetterCase::Ignored => own.clone().between("lower(", ")"),
        };
        let each = values.iter().map(|value| {
            let pattern = pattern(clause.operator, value, case)?;
            Ok(match sense {
                Sense::Is => compared.clone().between("", &format!(" like {pattern}")),
                Sense::IsNot => join([
                    compared
                        .clone()
                        .between("(", &format!(" not like {pattern}) or ")),
                    own.clone().between("(", " is null)"),
                ]),
            })
        });
        match (sense, values) {
            (_, [_]) => between(each, ""),
            (Sense::Is, _) => between(each, " or "),
            (Sense::IsNot, _) => between(each.map(|one| Ok(one?.between("(", ")"))), " and "),
        }
    }

    pub(super) fn is_period(&self, value: &Value) -> bool {
        let clause = Clause::parse(value).filter(|clause| clause.operator == "field");
        clause.is_some_and(|clause| {
            let id = clause.arguments.first().and_then(|id| id.as_u64());
            let field = id.and_then(|id| self.fields.get(&id));
            let is_time = field.is_some_and(|field| {
                field.kind.contains("Date") || field.kind.contains("Time") || field.is_cast
            });
            is_time && clause.option("temporal-unit").is_some()
        })
    }

    fn field(&self, clause: &Clause<'_>) -> Result<&TableField, String> {
        let unit = clause.option("temporal-unit").and_then(Value::as_str);
        if unit.is_some_and(|unit| unit != "default") || clause.option("binning").is_some() {
            return Err("it compares parts of a column".to_owned());
        }
        if clause.option("join-alias").is_some() || clause.option("source-field").is_some() {
            return Err("it uses columns of other tables".to_owned());
        }
        let id = clause.arguments.first().and_then(|id| id.as_u64());
        let field = id.and_then(|id| self.fields.get(&id));
        let field = field.ok_or("it names a column that the server does not list")?;
        if field.table != self.table || field.is_nested {
            return Err("it uses columns of other tables".to_owned());
        }
        if field.is_cast {
            return Err(format!(
                "Metabase reads the column `{}` as another type",
                field.name
            ));
        }
        Ok(field)
    }
}

/// Metabase divides whole numbers as fractions, and returns nothing for a division by zero.
fn calculation(
    operator: &str,
    sides: impl Iterator<Item = Result<Sql, String>>,
) -> Result<Sql, String> {
    if operator != "/" {
        return between(sides, &format!(" {operator} "));
    }
    let sides: Vec<Sql> = sides.collect::<Result<_, _>>()?;
    let (first, others) = sides.split_first().ok_or("a part of it is empty")?;
    let others = others.iter().cloned();
    let others = others.map(|side| side.between(" * 1.0 / nullif(", ", 0)"));
    Ok(join(std::iter::once(first.clone()).chain(others)))
}

fn opened(value: &Value, depth: usize) -> Result<Clause<'_>, String> {
    if depth > DEEPEST {
        return Err("it is nested too deeply".to_owned());
    }
    Clause::parse(value).ok_or_else(|| "a part of it has an unknown form".to_owned())
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LetterCase {
    Kept,
    Ignored,
}

fn pattern(operator: &str, value: &Value, case: LetterCase) -> Result<String, String> {
    let text = value.as_str().ok_or("a text is missing")?;
    if text.contains(['%', '_']) {
        return Err(format!(
            "the text `{text}` has a sign that `like` reads otherwise"
        ));
    }
    let text = match case {
        LetterCase::Kept => text.to_owned(),
        LetterCase::Ignored => text.to_lowercase(),
    };
    literal(&match operator {
        "starts-with" => format!("{text}%"),
        "ends-with" => format!("%{text}"),
        _ => format!("%{text}%"),
    })
}

/// Rejects backslashes: some databases treat them as escapes.
fn literal(text: &str) -> Result<String, String> {
    if text.contains('\\') {
        return Err("one of its texts has a backslash".to_owned());
    }
    Ok(format!("'{}'", text.replace('\'', "''")))
}

fn join(parts: impl IntoIterator<Item = Sql>) -> Sql {
    let fragments = parts.into_iter().flat_map(|part| part.0);
    Sql(fragments
        .filter(|one| *one != Fragment::Text(String::new()))
        .collect())
}

fn between(
    parts: impl Iterator<Item = Result<Sql, String>>,
    separator: &str,
) -> Result<Sql, String> {
    let mut all = Vec::new();
    for part in parts {
        if !all.is_empty() {
            all.push(Sql::text(separator));
        }
        all.push(part?);
    }
    if all.is_empty() {
        return Err("a part of it is empty".to_owned());
    }
    Ok(join(all))
}
