//! Tests how files are grouped into units.

use ktx_context_sources::dbt::units;
use ktx_context_sources::{Unit, split_long};

use crate::snapshot;

#[test]
fn a_small_project_is_one_unit() {
    let snapshot = snapshot(&[
        ("dbt_project.yml", "name: shop\n"),
        ("models/orders.sql", "select 1"),
        ("models/schema.yml", "models: [{name: orders}]"),
    ]);
    let units = units(&snapshot);
    assert_eq!(units.len(), 1);
    assert_eq!(units[0].key, "dbt-all");
    assert_eq!(units[0].files, ["models/orders.sql", "models/schema.yml"]);
    assert_eq!(units[0].dependencies, ["dbt_project.yml"]);
}

#[test]
fn an_empty_project_has_no_units() {
    assert_eq!(units(&snapshot(&[("dbt_project.yml", "")])), []);
}

#[test]
fn a_large_project_has_a_unit_for_each_yaml_file() {
    let filler = format!("select '{}'", "x".repeat(20_000));
    let names: Vec<String> = (0..30).map(|number| format!("m{number}")).collect();
    let mut files = vec![("dbt_project.yml".to_owned(), "name: shop\n".to_owned())];
    for name in &names {
        let yaml = format!("models: [{{name: {name}, description: \"{{{{ doc('{name}') }}}}\"}}]");
        files.push((format!("models/{name}.yml"), yaml));
        files.push((format!("models/{name}.sql"), filler.clone()));
    }
    let many = "models: [{name: m0}, {name: m1}, {name: m2}, {name: m3}]".to_owned();
    files.extend([
        ("models/a-b.yml".to_owned(), many.clone()),
        ("models/a_b.yml".to_owned(), many),
        ("models/settings.yml".to_owned(), "version: 2\n".to_owned()),
        ("models/broken.yml".to_owned(), "models: [".to_owned()),
        ("models/raw/lone.sql".to_owned(), filler.clone()),
        ("models/raw/other.sql".to_owned(), filler.clone()),
        ("models/raw/third.sql".to_owned(), filler),
        (
            "models/docs.md".to_owned(),
            "{% docs m7 %}Seven.{% enddocs %}".to_owned(),
        ),
    ]);
    let borrowed: Vec<(&str, &str)> = files
        .iter()
        .map(|(path, text)| (path.as_str(), text.as_str()))
        .collect();
    let snapshot = snapshot(&borrowed);
    let units = units(&snapshot);
    let find = |key: &str| units.iter().find(|unit| unit.key == key);
    let seven = find("dbt-models-m7").unwrap();
    assert_eq!(seven.files, ["models/m7.yml"]);
    assert_eq!(
        seven.dependencies,
        ["dbt_project.yml", "models/docs.md", "models/m7.sql"]
    );
    // Four files of 20 000 characters exceed the limit: the last ones become peers.
    let both = find("dbt-models-a-b").unwrap();
    assert_eq!(both.files, ["models/a-b.yml"]);
    assert_eq!(
        both.dependencies,
        ["dbt_project.yml", "models/m0.sql", "models/m1.sql"]
    );
    assert!(
        both.peers
            .starts_with(&["models/m2.sql".to_owned(), "models/m3.sql".to_owned()])
    );
    assert_eq!(find("dbt-models-a-b-2").unwrap().files, ["models/a_b.yml"]);
    assert_eq!(
        find("dbt-models-broken").unwrap().files,
        ["models/broken.yml"]
    );
    assert!(find("dbt-models-settings").is_none());
    let raw = find("dbt-sql-models-raw").unwrap();
    assert_eq!(raw.files, ["models/raw/lone.sql", "models/raw/other.sql"]);
    assert_eq!(
        find("dbt-sql-models-raw-2").unwrap().files,
        ["models/raw/third.sql"]
    );
    assert_eq!(units.len(), 30 + 3 + 2);
}

#[test]
fn versions_belong_to_their_model() {
    let filler = format!("select '{}'", "x".repeat(20_000));
    let yaml = "models: [{name: m, versions: [{v: 1}, {v: 2, defined_in: newest}]}]";
    let snapshot = snapshot(&[
        ("dbt_project.yml", "name: shop\n"),
        ("models/m.yml", yaml),
        ("models/m_v1.sql", &filler),
        ("models/newest.sql", &filler),
        ("models/other.sql", &filler),
    ]);
    let units = units(&snapshot);
    assert_eq!(
        units[0].dependencies,
        ["dbt_project.yml", "models/m_v1.sql", "models/newest.sql"]
    );
    assert_eq!(units[1].files, ["models/other.sql"]);
}

#[test]
fn a_file_that_is_too_long_is_read_in_parts() {
    let lines: Vec<String> = (0..9_000)
        .map(|number| format!("- list item {number} of a long list\n"))
        .collect();
    let long = lines.concat();
    let mut snapshot = snapshot(&[
        ("dbt_project.yml", "name: shop\n"),
        ("models/list.yml", &long),
        ("models/short.yml", "models: [{name: short}]\n"),
    ]);
    let units = units(&snapshot);
    let short: Vec<Unit> = units
        .iter()
        .filter(|unit| !unit.files.contains(&"models/list.yml".to_owned()))
        .cloned()
        .collect();
    let split = split_long(&mut snapshot, units, 200_000);
    let parts: Vec<&Unit> = split.iter().filter(|unit| !short.contains(unit)).collect();
    assert!(parts.len() > 3, "{parts:?}");
    let mut text = String::new();
    for (index, part) in parts.iter().enumerate() {
        assert!(
            part.key.ends_with(&format!("-part-{}", index + 1)),
            "{part:?}"
        );
        for path in part
            .files
            .iter()
            .filter(|path| path.starts_with("models/list.yml#"))
        {
            let piece = &snapshot.files[path];
            assert!(piece.chars().count() <= 60_000 && piece.ends_with('\n'));
            text.push_str(piece);
        }
    }
    assert_eq!(text, long);
    assert!(short.iter().all(|unit| split.contains(unit)));
}
