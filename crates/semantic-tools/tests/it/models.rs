//! Tests of formatting and drawing whole models.

use std::path::Path;

use ktx_semantic_layer::{Catalog, SourceFile};
use ktx_semantic_tools::{diff, draw_svg, format_source};
use ktx_sql::Dialect;

fn model_files(model: &str) -> Vec<SourceFile> {
    let models =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/semantic-layer-cases/models");
    std::fs::read_dir(models.join(model).join("sources"))
        .expect("the sources folder")
        .map(|entry| {
            let entry = entry.expect("an entry");
            let bytes = std::fs::read(entry.path()).expect("a source file");
            SourceFile::new(entry.file_name().to_string_lossy(), bytes)
        })
        .collect()
}

#[test]
fn formatting_a_model_changes_nothing_but_its_looks() {
    for model in ["clinic", "fleet", "ledger"] {
        let files = model_files(model);
        let formatted: Vec<SourceFile> = files
            .iter()
            .map(|file| {
                let text = std::str::from_utf8(&file.bytes).expect("UTF-8");
                let text = format_source(text, &file.path).expect("formats");
                SourceFile::new(file.path.as_str(), text)
            })
            .collect();
        assert_ne!(files, formatted, "{model}");
        let old = Catalog::load(files, Dialect::Sqlite);
        let new = Catalog::load(formatted, Dialect::Sqlite);
        assert_eq!(old.sources(), new.sources(), "{model}");
        assert_eq!(diff(&old, &new), [], "{model}");
    }
}

#[test]
fn a_model_is_drawn_with_a_box_for_every_source_and_role() {
    for (model, boxes) in [("clinic", 8), ("fleet", 9)] {
        let picture = draw_svg(&Catalog::load(model_files(model), Dialect::Sqlite));
        assert_eq!(picture.matches("<rect x=").count(), boxes, "{model}");
    }
}
