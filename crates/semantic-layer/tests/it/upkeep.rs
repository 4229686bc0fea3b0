//! Tests of formatting and drawing whole models.

use ktx_semantic_layer::{Catalog, SourceFile, diff, draw_svg, format_source, source_schema};
use ktx_sql::Dialect;

use crate::fixtures;

const MODELS: [&str; 3] = ["clinic", "fleet", "ledger"];

#[test]
fn formatting_a_model_changes_nothing_but_its_looks() {
    for model in MODELS {
        let files = fixtures::model_files(model);
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
fn the_schema_accepts_the_sources_of_every_model() {
    let validator = jsonschema::draft7::new(&source_schema()).expect("a schema");
    for file in MODELS.into_iter().flat_map(fixtures::model_files) {
        let value: serde_json::Value = serde_yaml::from_slice(&file.bytes).expect("YAML");
        let errors: Vec<String> = validator
            .iter_errors(&value)
            .map(|error| error.to_string())
            .collect();
        assert_eq!(errors, Vec::<String>::new(), "{}", file.path);
    }
}

#[test]
fn a_model_is_drawn_with_a_box_for_every_source_and_role() {
    for (model, boxes) in [("clinic", 8), ("fleet", 9)] {
        let picture = draw_svg(&fixtures::model(model, Dialect::Sqlite));
        assert_eq!(picture.matches("<rect x=").count(), boxes, "{model}");
    }
}
