//! Draws the join graph of a catalog as SVG, Mermaid text and JSON.

mod json;
mod layout;
mod mermaid;
mod model;
mod svg;

use ktx_semantic_layer::Catalog;

/// Draws facts at the left and their look-ups to the right.
///
/// Crow's feet mean many rows, bars at most one. Chasm points (where two facts meet) and fan-outs
/// (joins that repeat rows of a source with measures) are marked. The output depends only on the
/// catalog.
pub fn draw_svg(catalog: &Catalog) -> String {
    let model = model::Model::of(catalog);
    svg::write(&model, &layout::layout(&model))
}

pub fn draw_mermaid(catalog: &Catalog) -> String {
    mermaid::write(&model::Model::of(catalog))
}

/// `nodes`, `edges` and `warnings`.
pub fn graph_json(catalog: &Catalog) -> serde_json::Value {
    json::write(&model::Model::of(catalog))
}

#[cfg(test)]
mod tests;
