//! The join graph of a catalog as a picture, as Mermaid text and as JSON.

mod json;
mod layout;
mod mermaid;
mod model;
mod svg;

use crate::catalog::Catalog;

/// The join graph as one SVG picture: facts at the left, what they look up to the right.
///
/// Crow's feet stand for many rows, bars for at most one. Where two facts meet, the source is marked
/// as a chasm point; where a join would repeat the rows of a source with measures, it is marked as
/// a fan-out. The same catalog always gives the same text.
pub fn draw_svg(catalog: &Catalog) -> String {
    let model = model::Model::of(catalog);
    svg::write(&model, &layout::layout(&model))
}

/// The join graph as a Mermaid `erDiagram`.
pub fn draw_mermaid(catalog: &Catalog) -> String {
    mermaid::write(&model::Model::of(catalog))
}

/// The join graph as JSON: `nodes`, `edges` and `warnings`.
pub fn graph_json(catalog: &Catalog) -> serde_json::Value {
    json::write(&model::Model::of(catalog))
}

#[cfg(test)]
mod tests;
