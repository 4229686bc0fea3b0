//! The schema agrees with the check, and all defaults are valid.

use std::fs;
use std::path::Path;

use jsonschema::Validator;

use super::*;
use crate::check;
use crate::spec::CASE_FILE;

fn fixtures() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/agents")
}

fn validator() -> Validator {
    jsonschema::draft7::new(&schema()).expect("a good schema")
}

/// HOLO-10.
#[test]
fn the_schema_and_the_check_agree_on_every_fixture() {
    /// Faults that a schema cannot express.
    const BEYOND: [&str; 7] = [
        "is not a regular expression",
        "is there twice",
        "a key in a committed file is public",
        "is not valid: use",
        "fields; write 5",
        "there is no time zone",
        "use an address",
    ];
    let validator = validator();
    let mut seen = 0;
    for entry in fs::read_dir(fixtures()).expect("fixtures") {
        let path = entry.expect("a fixture").path();
        if path.extension().is_none_or(|ending| ending != "yaml") {
            continue;
        }
        let text = fs::read_to_string(&path).expect("a text");
        let Ok(loaded) = ktx_config::yaml::load_text(&text, "a.yaml") else {
            continue;
        };
        let found = check::check(
            &loaded.value,
            &ValueShape::Object(ROOT),
            &loaded.places,
            &[],
        );
        let errors = found
            .faults
            .iter()
            .filter(|fault| fault.severity == ktx_diagnostics::Severity::Error);
        let errors: Vec<String> = errors.map(ToString::to_string).collect();
        let refused: Vec<String> = validator
            .iter_errors(&loaded.value)
            .map(|error| format!("{}: {error}", error.instance_path()))
            .collect();
        let is_beyond = |error: &String| BEYOND.iter().any(|text| error.contains(text));
        let agree = match (errors.is_empty(), refused.is_empty()) {
            (true, accepts) => accepts,
            (false, true) => errors.iter().all(is_beyond),
            (false, false) => true,
        };
        assert!(agree, "{}: {errors:#?} {refused:#?}", path.display());
        seen += 1;
    }
    assert!(seen > 20, "{seen}");
}

#[test]
fn every_default_is_valid() {
    fn walk(fields: &[Field], count: &mut usize) {
        for field in fields {
            if let AbsentEffect::Default(json) = field.absent {
                let value: Value = serde_json::from_str(json).expect(field.name);
                let rule = shape(&field.shape);
                assert!(
                    jsonschema::draft7::is_valid(&rule, &value),
                    "{}",
                    field.name
                );
                *count += 1;
            }
            below(&field.shape, count);
        }
    }
    fn below(shape: &ValueShape, count: &mut usize) {
        match shape {
            ValueShape::Object(fields) => walk(fields, count),
            ValueShape::List(list) => below(&list.item, count),
            ValueShape::Short(short) => below(&short.full, count),
            ValueShape::OneOrMore(item) => below(item, count),
            ValueShape::Tagged(tagged) => variants(tagged.variants, count),
            ValueShape::Keyed(inner) => variants(inner, count),
            _ => {}
        }
    }
    fn variants(list: &[Variant], count: &mut usize) {
        for variant in list {
            match variant.body {
                VariantBody::Fields(groups) => groups.iter().for_each(|fields| walk(fields, count)),
                VariantBody::Tagged(inner) => variants(inner.variants, count),
                VariantBody::Refused { .. } => {}
            }
        }
    }
    let mut count = 0;
    walk(ROOT, &mut count);
    walk(CASE_FILE, &mut count);
    assert!(count > 150, "{count}");
}
