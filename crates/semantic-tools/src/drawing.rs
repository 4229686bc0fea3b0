//! Draws the join graph of a catalog as SVG, Mermaid text and JSON.

mod json;
mod layout;
mod mermaid;
mod model;
mod svg;

use ktx_semantic_layer::Catalog;

/// Draws the join graph as one SVG picture: facts at the left, the sources that they look up to the
/// right.
///
/// Crow's feet mean many rows, bars at most one. A source where two facts meet is marked as a chasm
/// point; a join that would repeat the rows of a source with measures is marked as a fan-out. The
/// output depends only on the catalog.
pub fn draw_svg(catalog: &Catalog) -> String {
    let model = model::Model::of(catalog);
    svg::write(&model, &layout::layout(&model))
}

/// Draws the join graph as a Mermaid `erDiagram`.
pub fn draw_mermaid(catalog: &Catalog) -> String {
    mermaid::write(&model::Model::of(catalog))
}

/// Returns the join graph as JSON: `nodes`, `edges` and `warnings`.
pub fn graph_json(catalog: &Catalog) -> serde_json::Value {
    json::write(&model::Model::of(catalog))
}

#[cfg(test)]
mod tests;
