//! `ktx sl fmt` and `ktx sl conformance` over untidy folders.

use std::os::unix::fs::symlink;

use serde_json::json;

use crate::support::{run, sandbox, shop, write};

const UNTIDY: &str = "\n\nname: odd\nsql: select id from orders\ngrain: [id]\ncolumns:\n  - {name: id, type: number}\n";

/// Two links to `.` form an infinite tree.
#[test]
fn only_files_that_are_loaded_are_formatted_and_each_bad_one_is_named() {
    let sandbox = shop();
    assert_eq!(run(&sandbox, "sl fmt").code, Some(0));
    let folder = sandbox.work().join("semantic-layer/warehouse");
    let out = sandbox.home().join("out.yaml");
    std::fs::write(&out, UNTIDY).unwrap();
    symlink(".", folder.join("a")).unwrap();
    symlink(".", folder.join("b")).unwrap();
    symlink(&out, folder.join("leak.yaml")).unwrap();
    write(&sandbox, "semantic-layer/warehouse/.odd.yaml", UNTIDY);
    write(&sandbox, "semantic-layer/warehouse/odd.yaml", UNTIDY);
    std::fs::write(folder.join("latin.yaml"), b"name: caf\xe9\n").unwrap();
    check!(&sandbox, "sl fmt", @r"
exit 3
formatted semantic-layer/warehouse/odd.yaml
--- stderr
Project: [SANDBOX]/work
error: semantic-layer/warehouse/a: is a link to a folder and is not read
error: semantic-layer/warehouse/b: is a link to a folder and is not read
error: semantic-layer/warehouse/leak.yaml: is a link that leads out of the project and is not read
error: semantic-layer/warehouse/latin.yaml: cannot be read: stream did not contain valid UTF-8
");
    assert_eq!(std::fs::read_to_string(out).unwrap(), UNTIDY);
    assert_eq!(
        std::fs::read_to_string(folder.join(".odd.yaml")).unwrap(),
        UNTIDY
    );
}

#[test]
fn a_folder_of_sources_with_a_link_to_itself_is_refused() {
    let sandbox = sandbox();
    write(&sandbox, "sources/odd.yaml", UNTIDY);
    let folder = sandbox.work().join("sources");
    symlink(".", folder.join("a")).unwrap();
    symlink(".", folder.join("b")).unwrap();
    let request = json!({ "op": "validate", "dialect": "sqlite", "sources_dir": folder });
    let printed = sandbox
        .run_with_input(&["sl", "conformance"], &request.to_string())
        .unwrap();
    assert!(
        printed
            .stdout
            .contains("sources/a: is a link to a folder and is not read"),
        "{printed}"
    );
}
