//! Field names and kinds of connections.

use crate::Driver;
use crate::spec::{Field, Shape, driver_fields};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FieldKind {
    /// Can look like a number or boolean.
    Text,
    /// A reference, never the secret itself.
    Secret,
    Texts,
    Other,
}

pub fn field_names(driver: Driver) -> impl Iterator<Item = &'static str> {
    driver_fields(driver).iter().map(|field| field.name)
}

/// Accepts every spelling of a field; `None` if the driver does not know it.
pub fn field_kind(driver: Driver, path: &[&str]) -> Option<FieldKind> {
    let (first, below) = path.split_first()?;
    let field = driver_fields(driver)
        .iter()
        .find(|field| field.accepts(first))?;
    kind(&field.shape, below)
}

fn kind(shape: &Shape, path: &[&str]) -> Option<FieldKind> {
    match (shape, path.split_first()) {
        (Shape::Object(fields) | Shape::OpenObject(fields), Some((first, below))) => {
            let field: &Field = fields.iter().find(|field| field.accepts(first))?;
            kind(&field.shape, below)
        }
        (Shape::Map(_, inner), Some((_, below))) => kind(inner, below),
        (Shape::Nullable(inner), _) => kind(inner, path),
        (Shape::Either(shapes), Some(_)) => shapes.iter().find_map(|shape| kind(shape, path)),
        (_, Some(_)) => None,
        (Shape::Secret, None) => Some(FieldKind::Secret),
        (Shape::Text | Shape::LooseText | Shape::Reference | Shape::Choice(_), None) => {
            Some(FieldKind::Text)
        }
        (Shape::Texts | Shape::TextOrTexts | Shape::FunctionNames, None) => Some(FieldKind::Texts),
        (_, None) => Some(FieldKind::Other),
    }
}

#[cfg(test)]
mod tests;
