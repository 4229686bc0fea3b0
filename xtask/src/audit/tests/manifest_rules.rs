//! Rules over manifests and licences.

use std::collections::BTreeSet;
use std::path::Path;

use serde_json::{Value, json};

use super::audit;
use crate::audit::licences;
use crate::audit::manifests::{Package, check_packages, check_unused};
use crate::repository::TextFile;

fn package(name: &str, ktx: &Value, dependencies: &[(&str, Option<&str>)]) -> Value {
    let folder = name.strip_prefix("ktx-").unwrap_or(name);
    json!({
        "name": name,
        "manifest_path": format!("/r/crates/{folder}/Cargo.toml"),
        "metadata": { "ktx": ktx },
        "dependencies": dependencies
            .iter()
            .map(|(name, kind)| json!({ "name": name, "kind": kind, "optional": false }))
            .collect::<Vec<_>>(),
    })
}

#[track_caller]
fn check(packages: &[Value], expected: &[&str]) {
    let packages = Package::all(&json!({ "packages": packages }), Path::new("/r")).unwrap();
    let findings: Vec<String> = check_packages(&packages)
        .iter()
        .map(ToString::to_string)
        .collect();
    assert_eq!(findings, expected);
}

#[test]
fn dependencies_point_strictly_downwards() {
    let scan = |edge| package("ktx-scan", &json!({ "floor": 4 }), &[edge]);
    let ingest = package("ktx-ingest", &json!({ "floor": 6 }), &[]);
    check(
        &[scan(("ktx-ingest", None)), ingest.clone()],
        &[
            "crates/scan/Cargo.toml: floor: `ktx-scan` (floor 4) may not depend on `ktx-ingest` \
           (floor 6); move the shared part down",
        ],
    );
    check(&[scan(("ktx-ingest", Some("dev"))), ingest], &[]);
    let search = package("ktx-search", &json!({ "floor": 4 }), &[]);
    check(
        &[scan(("ktx-search", None)), search],
        &[
            "crates/scan/Cargo.toml: floor: `ktx-scan` (floor 4) may not depend on `ktx-search` \
           (floor 4); move the shared part down",
        ],
    );
}

#[test]
fn a_test_crate_is_only_a_dev_dependency() {
    let support = package(
        "ktx-test-support",
        &json!({ "floor": 1, "test-only": true }),
        &[],
    );
    let scan = |kind| {
        package(
            "ktx-scan",
            &json!({ "floor": 4 }),
            &[("ktx-test-support", kind)],
        )
    };
    check(
        &[scan(None), support.clone()],
        &[
            "crates/scan/Cargo.toml: floor: `ktx-test-support` is only for tests; \
           move it to `[dev-dependencies]`",
        ],
    );
    check(&[scan(Some("dev")), support], &[]);
}

#[test]
fn every_package_stands_on_a_floor_and_is_named_after_its_folder() {
    let mut stray = package("ktx-scan", &json!({}), &[]);
    stray["name"] = json!("scanner");
    check(
        &[stray],
        &[
            "crates/scan/Cargo.toml: name: the package is called `scanner`; call it `ktx-scan`",
            "crates/scan/Cargo.toml: floor: `scanner` has no floor; \
             add `floor = N` under `[package.metadata.ktx]`",
        ],
    );
    check(&[package("ktx", &json!({ "floor": 8 }), &[])], &[]);
}

#[test]
fn optional_dependencies_are_refused_and_xtask_knows_no_product() {
    let mut scan = package("ktx-scan", &json!({ "floor": 4 }), &[("serde", None)]);
    scan["dependencies"][0]["optional"] = json!(true);
    let mut xtask = package(
        "xtask",
        &json!({ "floor": 0 }),
        &[("ktx-scan", Some("dev"))],
    );
    xtask["manifest_path"] = json!("/r/xtask/Cargo.toml");
    check(
        &[scan, xtask],
        &[
            "crates/scan/Cargo.toml: features: `serde` is optional; \
             one build, one behaviour: always depend on it, or never",
            "xtask/Cargo.toml: floor: xtask may not depend on `ktx-scan`; \
             every chore would compile it; read its files instead",
        ],
    );
}

const GOOD: &str = "[package]
name = 'ktx-scan'
version.workspace = true
edition.workspace = true
rust-version.workspace = true
license.workspace = true
repository.workspace = true
publish.workspace = true
[dependencies]
serde.workspace = true
[lints]
workspace = true
";

#[test]
fn a_manifest_inherits_what_the_workspace_says() {
    assert_eq!(audit("crates/scan/Cargo.toml", GOOD), "");
    let own = GOOD.replace("license.workspace = true", "license = 'MIT'");
    assert_eq!(
        audit("crates/scan/Cargo.toml", &own),
        "crates/scan/Cargo.toml: inherited: `license` is its own; write `license.workspace = true`"
    );
    let no_lints = GOOD.replace("[lints]\nworkspace = true\n", "");
    assert_eq!(
        audit("crates/scan/Cargo.toml", &no_lints),
        "crates/scan/Cargo.toml: inherited: the lints of the workspace do not apply; \
         write `[lints]` with `workspace = true`"
    );
}

#[test]
fn versions_and_features_stand_in_the_workspace() {
    let cure = "put its version and features into `[workspace.dependencies]`";
    for own in [
        "serde = '1'",
        "serde = { workspace = true, features = ['derive'] }",
    ] {
        assert_eq!(
            audit(
                "crates/scan/Cargo.toml",
                &GOOD.replace("serde.workspace = true", own)
            ),
            format!(
                "crates/scan/Cargo.toml: dependency: `serde` says more than \
                 `workspace = true`; {cure}"
            )
        );
    }
    let tests =
        format!("{GOOD}[dev-dependencies]\nrmcp = {{ workspace = true, features = ['client'] }}\n");
    assert_eq!(audit("crates/scan/Cargo.toml", &tests), "");
    let platform = format!("{GOOD}[target.'cfg(unix)'.dependencies]\nrustix = '1'\n");
    assert_eq!(
        audit("crates/scan/Cargo.toml", &platform),
        format!(
            "crates/scan/Cargo.toml: dependency: `rustix` says more than \
             `workspace = true`; {cure}"
        )
    );
    assert_eq!(
        audit(
            "crates/scan/Cargo.toml",
            &format!("{GOOD}[features]\na = []\n")
        ),
        "crates/scan/Cargo.toml: features: the manifest has `[features]`; \
         one build, one behaviour: decide at run time"
    );
}

#[test]
fn an_entry_that_no_member_uses_is_a_warning() {
    let file = |path: &str, text: &str| TextFile {
        path: path.to_owned(),
        text: text.to_owned(),
    };
    let root = file(
        "Cargo.toml",
        "[workspace.dependencies]\nserde = '1'\ntoml = '1'\n",
    );
    let findings = check_unused(&[root, file("crates/scan/Cargo.toml", GOOD)]);
    assert_eq!(
        findings.iter().map(ToString::to_string).collect::<Vec<_>>(),
        ["Cargo.toml: warning: unused dependency: no member uses `toml`; delete the line"]
    );
}

#[test]
fn licence_expressions_are_evaluated() {
    let allowed: BTreeSet<String> = ["MIT", "ISC", "Apache-2.0 WITH LLVM-exception"]
        .map(str::to_owned)
        .into();
    for (expression, permitted) in [
        ("MIT", true),
        ("GPL-3.0", false),
        ("GPL-3.0 OR MIT", true),
        ("MIT/GPL-3.0", true),
        ("MIT AND GPL-3.0", false),
        ("(GPL-3.0 OR MIT) AND ISC", true),
        ("GPL-3.0 AND MIT OR ISC", true),
        ("Apache-2.0 WITH LLVM-exception", true),
        ("Apache-2.0", false),
        ("(MIT", false),
        ("", false),
    ] {
        assert_eq!(
            (expression, licences::permits(expression, &allowed)),
            (expression, permitted)
        );
    }
}

#[test]
fn a_package_under_another_licence_is_found_against_the_list_of_deny_toml() {
    let allowed = licences::allowed("[licenses]\nallow = ['MIT']\n").unwrap();
    let metadata = json!({ "packages": [
        { "name": "a", "version": "1.0.0", "license": "MIT" },
        { "name": "b", "version": "2.0.0", "license": "GPL-3.0" },
        { "name": "c", "version": "3.0.0", "license": null },
    ] });
    let cure = "replace the package, or allow the licence in `deny.toml` with a reason";
    assert_eq!(
        licences::check(&metadata, &allowed)
            .iter()
            .map(ToString::to_string)
            .collect::<Vec<_>>(),
        [
            format!("Cargo.lock: licence: b 2.0.0 is under `GPL-3.0`; {cure}"),
            format!("Cargo.lock: licence: c 3.0.0 is under `none`; {cure}"),
        ]
    );
}
