//! Ways around the rules (KTX-07).

use super::audit_all;

const PARENT: (&str, &str) = ("crates/scan/src/lib.rs", "//! Scans.\n\nmod part;\n");
const BACKENDS: (&str, &str) = (
    "crates/vocabulary/src/provider.rs",
    "//! Backends.\nfn names() {\n    config: \"vertex\",\n    config: \"kimi\",\n    Self::None => \"none\",\n}\n",
);
const NAMES: (&str, &str) = (
    "crates/vocabulary/src/lib.rs",
    "//! Names.\nmod provider;\n",
);
const MANIFEST: (&str, &str) = (
    "crates/scan/Cargo.toml",
    "[dependencies]\nktx-llm-runtime.workspace = true\n",
);

/// Rules that report a line in `scan`.
fn rules(line: &str) -> Vec<String> {
    let text = format!("//! A part.\n\n{line}\n");
    let findings = audit_all(&[PARENT, BACKENDS, NAMES, ("crates/scan/src/part.rs", &text)]);
    findings
        .lines()
        .filter_map(|finding| finding.strip_prefix("crates/scan/src/part.rs:3: "))
        .filter_map(|finding| Some(finding.split_once(": ")?.0.to_owned()))
        .collect()
}

#[track_caller]
fn check(expected: &str, lines: &[&str]) {
    for line in lines {
        assert_eq!(rules(line), [expected], "{line}");
    }
}

#[test]
fn a_child_cannot_be_spelt_around() {
    check(
        "spawns",
        &[
            "use std::process::Command;",
            "use std::process::{Command, Stdio};",
            "use std::process::*;",
            "fn f() { tokio::process::Command::new(a); }",
        ],
    );
    assert_eq!(
        rules("use std::process::Command as Child;"),
        ["renamed import", "spawns"]
    );
    check(
        "renamed import",
        &["use std::process as p;", "use tokio as t;"],
    );
    assert_eq!(rules("use std::process::{ExitCode, Stdio};"), [""; 0]);
}

#[test]
fn the_environment_cannot_be_spelt_around() {
    check(
        "reads the environment",
        &[
            "use std::env::var_os;",
            "use std::env::{var as lookup};",
            "use std::{env::{vars}, path::Path};",
            "use std::env::*;",
            "pub(crate) use std::env::var;",
        ],
    );
    check(
        "renamed import",
        &["use std::env as e;", "use std::{env as e, path::Path};"],
    );
    assert_eq!(rules("use std::env::consts;"), [""; 0]);
}

#[test]
fn files_cannot_be_spelt_around() {
    check(
        "writes files",
        &[
            "fn f() { std::fs::OpenOptions::new().write(true); }",
            "use std::fs::OpenOptions;",
            "fn f() { File::options().append(true); }",
            "use std::fs::{write as put};",
            "use tokio::fs::remove_file;",
            "use std::fs::*;",
        ],
    );
    check(
        "renamed import",
        &["use std::fs as disk;", "use std::fs::File as Handle;"],
    );
    assert_eq!(rules("use std::fs::{File, read_to_string};"), [""; 0]);
    assert_eq!(
        rules("use std::os::unix::fs::OpenOptionsExt as _;"),
        [""; 0]
    );
}

#[test]
fn sockets_cannot_be_spelt_around() {
    check(
        "opens sockets",
        &[
            "fn f() { tokio::net::TcpStream::connect(a); }",
            "use std::net::TcpListener;",
            "use std::net::{IpAddr, UdpSocket as Letters};",
            "use std::os::unix::net::UnixStream;",
            "use tokio::net::*;",
            "fn f() { tokio::net::lookup_host(a); }",
        ],
    );
    assert_eq!(rules("use std::net::{IpAddr, Ipv4Addr};"), [""; 0]);
    for home in ["connectors", "mcp-server"] {
        let path = format!("crates/{home}/src/lib.rs");
        let listens = "//! Listens.\nuse tokio::net::TcpListener;\n";
        assert_eq!(audit_all(&[(&path, listens)]), "", "{home}");
    }
}

#[test]
fn the_clock_cannot_be_spelt_around() {
    check(
        "reads the clock",
        &[
            "fn f() { jiff::Timestamp::now(); }",
            "fn f() { let clock = Timestamp::now; }",
            "fn f() { jiff::Zoned::now(); }",
            "fn f() { SystemTime::now(); }",
            "fn f() { UNIX_EPOCH.elapsed(); }",
        ],
    );
    check(
        "renamed import",
        &["use jiff::Timestamp as Moment;", "use jiff as j;"],
    );
    assert_eq!(
        rules("use jiff::Timestamp;\nfn f() { Instant::now(); }"),
        [""; 0]
    );
}

#[test]
fn every_backend_and_every_alias_of_a_model_is_known() {
    check(
        "backend named",
        &[
            "const A: &str = \"vertex\";",
            "fn f() { if name == \"kimi\" {} }",
            "fn f() { name.starts_with(\"vertex\"); }",
        ],
    );
    check(
        "model name",
        &["const A: &str = \"sonnet\";", "const A: &str = \"haiku\";"],
    );
    assert_eq!(rules("const A: &str = \"none\";"), [""; 0]);
    assert_eq!(rules("const A: &str = \"a sonnet by Kimi\";"), [""; 0]);
}

#[test]
fn an_import_may_span_lines_and_tests_may_import() {
    let text = "//! A part.\n\nuse std::{\n    collections::BTreeMap,\n    env::{\n        var,\n    },\n};\n";
    assert_eq!(
        audit_all(&[PARENT, ("crates/scan/src/part.rs", text)]),
        "crates/scan/src/part.rs:3: reads the environment: `use std::env::var`; \
         take the value from `config::env`"
    );
    let test = "//! A part.\n#[cfg(test)]\nmod t {\n    use std::env::var;\n}\n";
    assert_eq!(audit_all(&[PARENT, ("crates/scan/src/part.rs", test)]), "");
}

/// KTX-01: by path, as a value, or by backend name.
#[test]
fn the_port_cannot_be_called_by_path() {
    for (line, entry) in [
        (
            "fn f() { LlmRuntime::generate_text(runtime, ModelRole::Triage); }",
            "generate_text (Triage)",
        ),
        (
            "fn f() { <R as LlmRuntime>::generate_object(r, ModelRole::Triage); }",
            "generate_object (Triage)",
        ),
        (
            "fn f() { ModelRole::Triage; a.map(LlmRuntime::run_agent_loop); }",
            "run_agent_loop (Triage)",
        ),
        (
            "fn f() { runtime.describe().name.starts_with(x); }",
            "describe (no model)",
        ),
    ] {
        let text = format!("//! A part.\n\n{line}\n");
        assert_eq!(
            audit_all(&[PARENT, MANIFEST, ("crates/scan/src/part.rs", &text)])
                .lines()
                .filter(|finding| finding.contains("call site"))
                .collect::<Vec<_>>(),
            [format!(
                "crates/scan/src/part.rs:3: call site: `crates/scan/src/part.rs: {entry}` is not \
                 listed; add the line to `fixtures/audit/call-sites.txt`"
            )],
        );
    }
}

#[test]
fn dependencies_are_compared_with_the_list() {
    let found = |list: &str, manifest: &str| -> Vec<String> {
        let files = [
            ("fixtures/audit/dependencies.txt", list),
            ("crates/scan/Cargo.toml", manifest),
        ];
        let findings = audit_all(&files);
        let of_the_rule = findings
            .lines()
            .filter(|line| line.contains("dependency list"));
        of_the_rule.map(str::to_owned).collect()
    };
    let list = "# ways out\nserde: *\nreqwest: connectors provider-adapters\n";
    assert_eq!(
        found(
            list,
            "[dependencies]\nserde.workspace = true\nreqwest.workspace = true\nureq.workspace = true\n"
        ),
        [
            "crates/scan/Cargo.toml: dependency list: `scan` may not ship with `reqwest`; \
             leave it to `connectors`, `provider-adapters`",
            "crates/scan/Cargo.toml: dependency list: `ureq` is not listed; add it to \
             `fixtures/audit/dependencies.txt`, with the crates that need it or `*`",
            "fixtures/audit/dependencies.txt: dependency list: `connectors` does not ship with \
             `reqwest`; take it off the list",
            "fixtures/audit/dependencies.txt: dependency list: `provider-adapters` does not ship with \
             `reqwest`; take it off the list",
        ]
    );
    assert_eq!(
        found(
            "serde: *\n",
            "[dev-dependencies]\nreqwest.workspace = true\n"
        ),
        [
            "fixtures/audit/dependencies.txt: dependency list: no crate ships with `serde`; \
          take it off the list"
        ]
    );
    let platform = "[target.'cfg(unix)'.dependencies]\nrustix.workspace = true\n";
    assert_eq!(found("rustix: scan\n", platform), [""; 0]);
}

/// By import, by path and from a folder; also unlisted and missing modules.
#[test]
fn modules_use_only_what_is_before_them_in_the_order() {
    let manifest = "[package.metadata.ktx]\norder = [\"low\", \"middle\", \"high\", \"gone\"]\n";
    let root = "//! A.\nmod low;\nmod middle;\nmod high;\nmod stray;\nuse crate::high::Top;\n";
    let low = "//! A.\nuse crate::{high::Top, middle::M};\nfn f() { super::high::g(); }\n";
    let middle = "//! A.\nmod part;\nuse crate::low::L;\nuse super::low::L;\n\
                  #[cfg(test)]\nmod t {\n    use crate::high::Top;\n}\n";
    let part = "//! A.\nfn f() { super::super::high::g(); super::high::own(); crate::low::l(); }\n";
    let findings = audit_all(&[
        ("crates/scan/Cargo.toml", manifest),
        ("crates/scan/src/lib.rs", root),
        ("crates/scan/src/low.rs", low),
        ("crates/scan/src/middle.rs", middle),
        ("crates/scan/src/middle/part.rs", part),
        ("crates/scan/src/high.rs", "//! A.\n"),
        ("crates/scan/src/stray.rs", "//! A.\n"),
    ]);
    let of_the_rule: Vec<&str> = findings
        .lines()
        .filter(|line| line.contains("module order"))
        .collect();
    assert_eq!(
        of_the_rule,
        [
            "crates/scan/Cargo.toml: module order: there is no module `gone`; take it out of `order`",
            "crates/scan/src/low.rs:2: module order: `low` uses `high`, which is above it; \
             move the shared part down",
            "crates/scan/src/low.rs:2: module order: `low` uses `middle`, which is above it; \
             move the shared part down",
            "crates/scan/src/low.rs:3: module order: `low` uses `high`, which is above it; \
             move the shared part down",
            "crates/scan/src/middle/part.rs:2: module order: `middle` uses `high`, which is above it; \
             move the shared part down",
            "crates/scan/src/stray.rs: module order: `stray` has no place in the order of its crate; \
             add it to `order` in `crates/scan/Cargo.toml`",
        ]
    );
}

/// A module can use its own parts.
#[test]
fn modules_of_an_independent_folder_do_not_use_each_other() {
    let manifest = "[package]\nname = \"ktx\"\n[package.metadata.ktx]\nfloor = 8\nindependent = [\"commands\", \"gone\"]\n";
    let findings = audit_all(&[
        ("crates/ktx/Cargo.toml", manifest),
        (
            "crates/ktx/src/commands.rs",
            "//! Commands.\nmod scan;\nmod sl;\nuse scan::run;\n",
        ),
        (
            "crates/ktx/src/commands/scan.rs",
            "//! Scan.\nuse super::sl::envelope;\nuse crate::printer::Mode;\nfn f() { crate::commands::sl::g() }\n",
        ),
        (
            "crates/ktx/src/commands/sl.rs",
            "//! Sources.\nmod diff;\nuse diff::run;\n",
        ),
        (
            "crates/ktx/src/commands/sl/diff.rs",
            "//! Diff.\nuse super::envelope;\nuse super::super::scan::{self, lines};\n",
        ),
    ]);
    let found: Vec<&str> = findings
        .lines()
        .filter(|line| line.contains("independent modules"))
        .collect();
    let cure = "move the shared part out of `commands`";
    assert_eq!(
        found,
        [
            "crates/ktx/Cargo.toml: independent modules: there is no module `gone` with modules of its own; take it \
             out of `independent`"
                .to_owned(),
            format!(
                "crates/ktx/src/commands/scan.rs:2: independent modules: `commands::scan` uses `commands::sl`; {cure}"
            ),
            format!(
                "crates/ktx/src/commands/scan.rs:4: independent modules: `commands::scan` uses `commands::sl`; {cure}"
            ),
            format!(
                "crates/ktx/src/commands/sl/diff.rs:3: independent modules: `commands::sl` uses `commands::scan`; {cure}"
            ),
        ]
    );
}
