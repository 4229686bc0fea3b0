//! The public cases and models.

use std::path::{Path, PathBuf};

use ktx_semantic_layer::{Catalog, SourceFile};
use ktx_sql::Dialect;
use serde_json::Value;

pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/semantic-layer-cases")
}

/// By file name, then order.
pub(crate) fn cases() -> Vec<Value> {
    let mut files: Vec<PathBuf> = std::fs::read_dir(root().join("cases"))
        .expect("the cases folder")
        .map(|entry| entry.expect("an entry").path())
        .collect();
    files.sort();
    let mut all = Vec::new();
    for file in files {
        let text = std::fs::read_to_string(&file).expect("a case file");
        let cases: Vec<Value> = serde_json::from_str(&text).expect("a list of cases");
        all.extend(cases);
    }
    all
}

pub(crate) fn model_files(model: &str) -> Vec<SourceFile> {
    let folder = root().join("models").join(model).join("sources");
    std::fs::read_dir(folder)
        .expect("the sources folder")
        .map(|entry| {
            let entry = entry.expect("an entry");
            let bytes = std::fs::read(entry.path()).expect("a source file");
            SourceFile::new(entry.file_name().to_string_lossy(), bytes)
        })
        .collect()
}

pub(crate) fn model(model: &str, dialect: Dialect) -> Catalog {
    Catalog::load(model_files(model), dialect)
}

pub(crate) fn model_data(model: &str) -> Value {
    let path = root().join("models").join(model).join("data.json");
    let text = std::fs::read_to_string(path).expect("the data file");
    serde_json::from_str(&text).expect("JSON data")
}

pub(crate) fn folder(files: &[(&str, &str)]) -> Catalog {
    let files = files
        .iter()
        .map(|(path, text)| SourceFile::new(*path, *text))
        .collect();
    Catalog::load(files, Dialect::Sqlite)
}
