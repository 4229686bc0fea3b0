//! The parts of a release that are data.

use serde_json::json;

use super::mcp::{manifest, registry_entry};
use super::program::Platform;
use super::sbom::bill;

#[test]
fn a_platform_is_named_as_each_kind_of_package_wants() {
    let program = b"\0GLIBC_2.2.5\0GLIBC_2.34\0GLIBC_2.9\0";
    let linux = Platform::new("x86_64-unknown-linux-gnu", program).unwrap();
    assert_eq!(linux.npm(), ["linux", "x64"]);
    assert_eq!(linux.wheel_tag(), "manylinux_2_34_x86_64");
    let fields = linux.debian().unwrap();
    assert_eq!(fields.architecture, "amd64");
    assert_eq!(fields.depends, "libc6 (>= 2.34), git");

    let mac = Platform::new("aarch64-apple-darwin", b"").unwrap();
    assert_eq!(mac.npm(), ["darwin", "arm64"]);
    assert_eq!(mac.wheel_tag(), "macosx_11_0_arm64");
    assert!(mac.debian().is_err());
}

#[test]
fn no_package_is_made_for_an_unknown_machine() {
    let error = |triple, program: &[u8]| Platform::new(triple, program).unwrap_err().to_string();
    assert_eq!(
        error("x86_64-pc-windows-msvc", b""),
        "no package is made for the system of `x86_64-pc-windows-msvc`"
    );
    assert_eq!(
        error("riscv64gc-unknown-linux-gnu", b"GLIBC_2.34"),
        "no package is made for the processor of `riscv64gc-unknown-linux-gnu`"
    );
    assert_eq!(
        error("x86_64-unknown-linux-gnu", b"static"),
        "the program names no version of glibc"
    );
}

#[test]
fn the_bill_lists_what_is_linked_and_nothing_else() {
    let package = |name: &str, license: &str| json!({"id": name, "name": name, "version": "1.0.0", "license": license});
    let edge =
        |name: &str, kind: serde_json::Value| json!({"pkg": name, "dep_kinds": [{"kind": kind}]});
    let metadata = json!({
        "packages": [
            package("ktx", "Apache-2.0"), package("a", "MIT/Apache-2.0"), package("b", "MIT"),
            package("built", "MIT"), package("tested", "MIT"),
        ],
        "resolve": { "nodes": [
            { "id": "ktx", "deps": [edge("a", json!(null)), edge("tested", json!("dev"))] },
            { "id": "a", "deps": [edge("b", json!(null)), edge("built", json!("build"))] },
            { "id": "b", "deps": [] },
        ] },
    });
    let component = |kind: &str, name: &str, license: &str| {
        let url = format!("pkg:cargo/{name}@1.0.0");
        json!({
            "type": kind, "bom-ref": url, "name": name, "version": "1.0.0", "purl": url,
            "licenses": [{"expression": license}],
        })
    };
    let expected = json!({
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": { "component": component("application", "ktx", "Apache-2.0") },
        "components": [
            component("library", "a", "MIT OR Apache-2.0"),
            component("library", "b", "MIT"),
        ],
    });
    assert_eq!(bill(&metadata).unwrap(), expected);
}

#[test]
fn clients_of_mcp_start_the_program_in_a_project() {
    let linux = Platform::new("x86_64-unknown-linux-gnu", b"\0GLIBC_2.34\0").unwrap();
    let manifest = manifest("1.2.3", &linux);
    assert_eq!(
        json!([
            manifest["version"],
            manifest["server"],
            manifest["compatibility"]
        ]),
        json!([
            "1.2.3",
            {
                "type": "binary",
                "entry_point": "server/ktx",
                "mcp_config": {
                    "command": "${__dirname}/server/ktx",
                    "args": ["--project-dir", "${user_config.project}", "mcp", "stdio"],
                },
            },
            { "platforms": ["linux"] },
        ])
    );
    let package = &registry_entry("1.2.3")["packages"][0];
    assert_eq!(
        json!([
            package["identifier"],
            package["version"],
            package["transport"]
        ]),
        json!(["@ktx-dev/ktx", "1.2.3", { "type": "stdio" }])
    );
}
