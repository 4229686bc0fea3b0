//! A canonical form of a file, independent of layout.

use std::borrow::Cow;

use serde_yaml::Value;

const SILENT_SETTINGS: [&str; 17] = [
    "analysis-paths",
    "asset-paths",
    "clean-targets",
    "config-version",
    "dispatch",
    "docs-paths",
    "flags",
    "log-path",
    "macro-paths",
    "on-run-end",
    "on-run-start",
    "packages-install-path",
    "profile",
    "query-comment",
    "require-dbt-version",
    "target-path",
    "version",
];

/// Returns the same text for two files with the same meaning: YAML without comments and layout,
/// with sorted keys; of a dbt project file, only the settings of models. Other files, and YAML that
/// cannot be parsed, stay unchanged.
pub fn canonical_text<'a>(path: &str, text: &'a str) -> Cow<'a, str> {
    let name = path.rsplit('/').next().unwrap_or(path);
    let Some((stem, "yml" | "yaml")) = name.rsplit_once('.') else {
        return Cow::Borrowed(text);
    };
    let Ok(mut value) = serde_yaml::from_str::<Value>(text) else {
        return Cow::Borrowed(text);
    };
    if let (Value::Mapping(settings), "dbt_project") = (&mut value, stem) {
        for name in SILENT_SETTINGS {
            settings.shift_remove(name);
        }
    }
    let mut canonical = String::new();
    write(&value, &mut canonical);
    Cow::Owned(canonical)
}

fn write(value: &Value, text: &mut String) {
    match value {
        Value::Mapping(map) => {
            let mut entries: Vec<(String, &Value)> = map
                .iter()
                .map(|(key, value)| {
                    let mut name = String::new();
                    write(key, &mut name);
                    (name, value)
                })
                .collect();
            entries.sort_by(|left, right| left.0.cmp(&right.0));
            text.push('{');
            for (key, value) in entries {
                text.push_str(&key);
                text.push(':');
                write(value, text);
                text.push(',');
            }
            text.push('}');
        }
        Value::Sequence(items) => {
            text.push('[');
            for item in items {
                write(item, text);
                text.push(',');
            }
            text.push(']');
        }
        Value::Tagged(tagged) => {
            text.push_str(&tagged.tag.to_string());
            text.push(' ');
            write(&tagged.value, text);
        }
        // Quotes distinguish a text from a number with the same characters.
        Value::String(word) => text.push_str(&serde_json::Value::from(word.as_str()).to_string()),
        Value::Null => text.push_str("null"),
        Value::Bool(flag) => text.push_str(&flag.to_string()),
        Value::Number(number) => text.push_str(&number.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn says_the_same(left: &str, right: &str) -> bool {
        canonical_text("models/schema.yml", left) == canonical_text("models/schema.yml", right)
    }

    #[test]
    fn comments_layout_and_the_order_of_keys_say_nothing() {
        let left = "# models\nmodels:\n  - {name: orders, description: \"One row\"}\n";
        let right = "models:\n- description: One row # per order\n  name: orders\n";
        assert!(says_the_same(left, right));
        assert!(!says_the_same(left, "models: []\n"));
        assert!(!says_the_same("a: [1, 2]", "a: [2, 1]"));
        assert!(!says_the_same("a: 1", "a: '1'"));
        assert!(!says_the_same("a: [", "a: [ "));
    }

    #[test]
    fn only_the_settings_of_models_count_in_a_dbt_project_file() {
        let text = |file: &str| canonical_text("shop/dbt_project.yml", file).into_owned();
        let project = "name: shop\nprofile: a\nmodels: {shop: {+schema: x}}\n";
        assert_eq!(
            text(project),
            text("models: {shop: {+schema: x}}\nname: shop\non-run-end: [grant]\n")
        );
        assert_ne!(text(project), text("name: shop\nmodels: {}\n"));
        insta::assert_snapshot!(text(project), @r#"{"models":{"shop":{"+schema":"x",},},"name":"shop",}"#);
    }

    #[test]
    fn other_files_stay_as_they_are() {
        assert_eq!(
            canonical_text("models/a.sql", "select 1 -- one"),
            "select 1 -- one"
        );
    }
}
