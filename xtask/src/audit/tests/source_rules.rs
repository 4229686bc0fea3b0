//! Rules over Rust files and other texts. KTX-07.

use super::{audit, audit_all};
use crate::audit::call_sites;
use crate::audit::exceptions::{AuditException, apply};
use crate::audit::finding::Finding;
use crate::audit::source::Source;

const PARENT: (&str, &str) = ("crates/scan/src/lib.rs", "//! Scans.\n\nmod part;\n");

/// A product file of `crates/scan` with this body, and the file that declares it.
fn scan(body: &str) -> String {
    audit_all(&[
        PARENT,
        (
            "crates/scan/src/part.rs",
            &format!("//! A part.\n\n{body}\n"),
        ),
    ])
}

#[track_caller]
fn check(body: &str, expected: &str) {
    assert_eq!(scan(body), expected);
}

#[test]
fn a_file_opens_with_a_module_doc() {
    assert_eq!(
        audit("crates/scan/src/lib.rs", "mod part;\n"),
        "crates/scan/src/lib.rs:1: module doc: does not open with a `//!` line; \
         say in one sentence what the file is for"
    );
    assert_eq!(audit("crates/scan/src/lib.rs", "//! Scans.\n"), "");
}

#[test]
fn no_file_is_called_mod_rs() {
    assert_eq!(
        audit_all(&[PARENT, ("crates/scan/src/part/mod.rs", "//! A part.\n")]),
        "crates/scan/src/part/mod.rs: file layout: is a `mod.rs`; name it after its folder\n\
         crates/scan/src/part/mod.rs: orphan module: no file declares it, so it is never \
         compiled; add `mod mod;` to `crates/scan/src/part.rs`"
    );
}

#[test]
fn a_test_binary_beside_it_is_refused() {
    assert_eq!(
        audit("crates/scan/tests/scan.rs", "//! Tests.\n"),
        "crates/scan/tests/scan.rs: test layout: is a test binary of its own; \
         make it a module of `tests/it/main.rs`"
    );
    assert_eq!(audit("crates/scan/tests/it/main.rs", "//! Tests.\n"), "");
}

#[test]
fn a_test_in_a_program_would_never_run() {
    assert_eq!(
        audit(
            "crates/ktx/src/bin/ktx.rs",
            "//! The program.\n#[cfg(test)]\nmod t {\n    #[test]\n    fn t() {}\n}\n"
        ),
        "crates/ktx/src/bin/ktx.rs:4: test layout: a program holds a test, and programs have no test \
         build; move what it tests to the library"
    );
}

#[test]
fn a_test_file_that_nobody_declares_is_found() {
    let module = ("crates/scan/tests/it/live.rs", "//! Live.\n");
    assert_eq!(
        audit_all(&[
            ("crates/scan/tests/it/main.rs", "//! Tests.\n// mod live;\n"),
            module
        ]),
        "crates/scan/tests/it/live.rs: orphan module: no file declares it, so it is never \
         compiled; add `mod live;` to `crates/scan/tests/it/main.rs`"
    );
    assert_eq!(
        audit_all(&[
            ("crates/scan/tests/it/main.rs", "//! Tests.\nmod live;\n"),
            module
        ]),
        ""
    );
}

#[test]
fn an_ignored_test_is_refused() {
    assert_eq!(
        audit(
            "crates/scan/tests/it/main.rs",
            "//! Tests.\n#[ignore = \"slow\"]\nfn t() {}\n"
        ),
        "crates/scan/tests/it/main.rs:2: ignored test: a test is ignored; \
         make it pass, or delete it"
    );
}

#[test]
fn long_files_warn_and_then_fail_and_tests_do_not_count() {
    let lines = |count: usize| format!("//! Scans.\n{}", "const A: u8 = 0;\n".repeat(count));
    assert_eq!(audit("crates/scan/src/lib.rs", &lines(499)), "");
    assert_eq!(
        audit("crates/scan/src/lib.rs", &lines(500)),
        "crates/scan/src/lib.rs: warning: file size: 501 lines without tests; \
         split it by what its parts are about"
    );
    assert_eq!(
        audit("crates/scan/src/lib.rs", &lines(800)),
        "crates/scan/src/lib.rs: file size: 801 lines without tests; \
         split it by what its parts are about"
    );
    let tested = format!(
        "{}#[cfg(test)]\nmod t {{\n{}}}\n",
        lines(400),
        "use a;\n".repeat(500)
    );
    assert_eq!(audit("crates/scan/src/lib.rs", &tested), "");
    assert_eq!(audit("crates/scan/tests/it/main.rs", &lines(900)), "");
}

#[test]
fn a_function_over_the_limit_is_found_and_braces_in_strings_do_not_count() {
    let function = |lines: usize| format!("fn long() {{\n{}}}", "a(\"}\");\n".repeat(lines));
    check(&function(148), "");
    check(
        &function(149),
        "crates/scan/src/part.rs:3: function size: `long` has 151 lines; \
         name its steps and split it",
    );
}

#[test]
fn only_owners_spawn() {
    check(
        "fn f() { tokio::process::Command::new(\"git\"); }",
        "crates/scan/src/part.rs:3: spawns: `tokio::process::Command::new`; children belong to \
         `claude-code-adapter`, `project-store`, `mcp-client` and `mcp-server`",
    );
    check("fn f() { clap::Command::new(\"ktx\"); }", "");
    check("#[cfg(test)]\nfn f() { Command::new(\"git\"); }", "");
    check(
        "/// `Command::new` is forbidden here.\nfn f() { g(\"Command::new\"); }",
        "",
    );
    let spawns = "//! Git.\nfn f() { Command::new(\"git\"); }\n";
    assert_eq!(audit("crates/project-store/src/lib.rs", spawns), "");
}

#[test]
fn only_config_reads_the_environment() {
    let cure = "take the value from `config::env`";
    for call in ["var", "vars", "var_os", "temp_dir"] {
        check(
            &format!("fn f() {{ std::env::{call}(x); }}"),
            &format!("crates/scan/src/part.rs:3: reads the environment: `env::{call}`; {cure}"),
        );
    }
    let reads = "//! Variables.\nfn f() { std::env::var(\"HOME\"); }\n";
    assert_eq!(audit("crates/ktx/src/bin/ktx.rs", reads), "");
    let parent = ("crates/config/src/lib.rs", "//! Config.\npub mod env;\n");
    assert_eq!(
        audit_all(&[parent, ("crates/config/src/env.rs", reads)]),
        ""
    );
}

#[test]
fn only_the_store_writes_files() {
    check(
        "fn f() { std::fs::write(a, b); }\nfn g() { File::create(a); }",
        "crates/scan/src/part.rs:3: writes files: `fs::write`; write through `project-store`\n\
         crates/scan/src/part.rs:4: writes files: `File::create`; write through `project-store`",
    );
    check("fn f() { std::fs::read(a); std::fs::File::open(b); }", "");
}

#[test]
fn http_stays_in_the_adapters_and_connectors() {
    check(
        "use reqwest::Client;",
        "crates/scan/src/part.rs:3: speaks HTTP: `reqwest`; HTTP belongs to adapters, \
         connectors, context sources, embeddings and the MCP client",
    );
    let uses = "//! HTTP.\nuse reqwest::Client;\n";
    assert_eq!(audit("crates/provider-adapters/src/lib.rs", uses), "");
}

#[test]
fn product_code_does_not_panic() {
    let cure = "return an error that names the object";
    for (code, shown) in [
        ("a.unwrap()", ".unwrap()"),
        ("a.expect(\"b\")", ".expect(\""),
        ("panic!(\"b\")", "panic!"),
        ("todo!()", "todo!"),
    ] {
        check(
            &format!("fn f() {{ {code}; }}"),
            &format!("crates/scan/src/part.rs:3: may panic: `{shown}`; {cure}"),
        );
    }
    check(
        "fn f() { a.unwrap_or_default(); parser.expect(Token::Comma); }",
        "",
    );
    check("#[cfg(test)]\nmod t {\n    fn f() { a.unwrap(); }\n}", "");
}

#[test]
fn only_the_binary_prints() {
    check(
        "fn f() { println!(\"a\"); }",
        "crates/scan/src/part.rs:3: prints: `println!`; return the text; streams belong to `ktx`",
    );
    assert_eq!(
        audit(
            "crates/ktx/src/lib.rs",
            "//! A.\nfn f() { println!(\"a\"); }\n"
        ),
        ""
    );
}

#[test]
fn no_call_site_names_a_provider_a_program_or_a_model() {
    check(
        "const A: &str = \"https://api.anthropic.com/v1\";",
        "crates/scan/src/part.rs:3: provider host: `api.anthropic.com`; \
         call a model only through `LlmRuntime`",
    );
    check(
        "const A: &str = \"claude-sonnet-4-5\";",
        "crates/scan/src/part.rs:3: model name: `claude-sonnet-4-5`; \
         ask for a role; the catalogue knows the models",
    );
    let spawns = "//! Git.\nfn f() { Command::new(\"claude\"); }\n";
    assert_eq!(
        audit("crates/project-store/src/lib.rs", spawns),
        "crates/project-store/src/lib.rs:2: spawns claude: `Command::new(\"claude`; \
         the `claude` program belongs to `claude-code-adapter`"
    );
    assert_eq!(audit("crates/claude-code-adapter/src/lib.rs", spawns), "");
}

/// KTX-06: the runtime is built in one place and injected; no other code knows which backend runs.
#[test]
fn only_compose_names_a_backend_or_an_adapter() {
    let code = "use ktx_connectors::open;\nconst A: Backend = Backend::ClaudeCode;\n";
    check(
        code,
        "crates/scan/src/part.rs:3: adapter outside compose.rs: `ktx_connectors`; \
         take the port; only `compose.rs` builds its implementation\n\
         crates/scan/src/part.rs:4: backend named: `ClaudeCode`; \
         ask `LlmRuntime::describe`; only `compose.rs` knows which backend runs",
    );
    let parent = ("crates/ktx/src/lib.rs", "//! The program.\nmod compose;\n");
    let compose = format!("//! Builds adapters.\n{code}");
    assert_eq!(
        audit_all(&[parent, ("crates/ktx/src/compose.rs", &compose)]),
        ""
    );
}

/// C-01: the adapter does not name the permission bypasses, not even in a comment.
#[test]
fn the_adapter_does_not_name_permission_bypasses() {
    assert_eq!(
        audit(
            "crates/claude-code-adapter/src/lib.rs",
            "//! Never bypassPermissions.\n"
        ),
        "crates/claude-code-adapter/src/lib.rs:1: permission bypass: the file names \
         `bypasspermissions`; the adapter answers every permission question itself"
    );
    assert_eq!(
        audit(
            "crates/claude-code-adapter/src/lib.rs",
            "//! Drives `claude`.\n"
        ),
        ""
    );
}

#[test]
fn machine_paths_and_registry_hosts_are_found_in_any_text() {
    assert_eq!(
        audit("README.md", "see `/root/.ktx` and /home/jane/x\n"),
        "README.md:1: machine path: `/root/` is a place on one machine; \
         use a relative path, or `/srv/project` in an example"
    );
    assert_eq!(
        audit("README.md", "from https://registry.npmjs.org/ktx\n"),
        "README.md:1: registry host: `registry.npmjs.org` is a registry's host; \
         name the package, not where it is fetched"
    );
    assert_eq!(
        audit("README.md", "/home/you/shop, https://a.example/work/x\n"),
        ""
    );
}

#[test]
fn requirements_and_the_ids_that_tests_name_are_compared() {
    let list = (
        "fixtures/audit/requirements.txt",
        "# ids\nKTX-1\nKTX-10 text\nCOG-1\nCOG-2 open\nCOG-3 open # later\n",
    );
    let tests = (
        "crates/scan/tests/it/main.rs",
        "//! Tests.\n/// KTX-10, COG-1, COG-3, KTX-77, DM-5\nfn t() {}\n",
    );
    assert_eq!(
        audit_all(&[list, tests]),
        "crates/scan/tests/it/main.rs:2: requirements: `KTX-77` is not listed; \
         correct the id, or add it to `fixtures/audit/requirements.txt`\n\
         fixtures/audit/requirements.txt: requirements: 1 without a test: KTX-1; \
         name the id in the doc comment of its test\n\
         fixtures/audit/requirements.txt: requirements: a test names `COG-3`, which is listed as \
         open; take the word `open` off its line"
    );
}

#[test]
fn an_exception_covers_one_rule_at_one_place_and_may_not_go_stale() {
    let finding = |path| Finding::file(path, "spawns", "`Command::new`".to_owned(), "do not");
    let exception = |place| AuditException {
        rule: "spawns",
        place,
        reason: "it must",
    };
    let exceptions = [exception("crates/a/"), exception("crates/c/src/lib.rs")];
    let kept = apply(
        vec![finding("crates/a/src/x.rs"), finding("crates/b/src/x.rs")],
        &exceptions,
    );
    assert_eq!(
        kept.iter().map(ToString::to_string).collect::<Vec<_>>(),
        [
            "crates/b/src/x.rs: spawns: `Command::new`; do not",
            "crates/c/src/lib.rs: stale exception: the exception from `spawns` (it must) covers \
             nothing; delete it from `xtask/src/audit/exceptions.rs`",
        ]
    );
}

/// KTX-01: every use of the port is listed with its role.
#[test]
fn call_sites_show_the_role_beside_them() {
    let text = "//! A.\nfn f() {\n    let role = ModelRole::Triage;\n    runtime\n        \
                .generate_text(request)\n}\n#[cfg(test)]\nfn t() { a.probe() }\n\
                fn g() { generate_typed::<Vec<Verdict>>(runtime, request) }\n";
    let sites = |path| {
        call_sites::of(&Source::new(path, text))
            .iter()
            .map(ToString::to_string)
            .collect::<Vec<_>>()
    };
    assert_eq!(
        sites("crates/scan/src/part.rs"),
        [
            "crates/scan/src/part.rs:5: generate_text (Triage)",
            "crates/scan/src/part.rs:9: generate_typed (Triage)",
        ]
    );
    assert_eq!(
        sites("crates/llm-runtime/src/part.rs"),
        Vec::<String>::new()
    );
    let text = "//! A.\nimpl LlmRuntime for Counted {\n    fn f() { self.inner.probe() }\n}\n";
    assert_eq!(
        call_sites::of(&Source::new("crates/usage-ledger/src/a.rs", text))
            .iter()
            .map(ToString::to_string)
            .collect::<Vec<_>>(),
        ["crates/usage-ledger/src/a.rs:3: probe (handed on)"]
    );
}

#[test]
fn every_pattern_compiles() {
    assert_eq!(
        (
            super::super::effects::patterns(),
            super::super::backends::patterns()
        ),
        (8, 5)
    );
}

/// KTX-01: an unlisted call, a missing call and a call far from its role are failures.
#[test]
fn calls_are_compared_with_the_list() {
    let manifest = (
        "crates/scan/Cargo.toml",
        "[dependencies]\nktx-llm-runtime.workspace = true\n",
    );
    let code = "//! Scans.\nfn f() { runtime.generate_text(ModelRole::Triage) }\n";
    let found = |list: &str, code: &str| -> Vec<String> {
        let files = [
            manifest,
            ("fixtures/audit/call-sites.txt", list),
            ("crates/scan/src/lib.rs", code),
        ];
        let findings = audit_all(&files);
        let of_the_rule = findings.lines().filter(|line| line.contains("call site:"));
        of_the_rule.map(str::to_owned).collect()
    };
    let listed = "# calls\ncrates/scan/src/lib.rs: generate_text (Triage)\n";
    assert_eq!(found(listed, code), Vec::<String>::new());
    assert_eq!(
        found("", code),
        [
            "crates/scan/src/lib.rs:2: call site: `crates/scan/src/lib.rs: generate_text (Triage)` \
             is not listed; add the line to `fixtures/audit/call-sites.txt`"
        ]
    );
    assert_eq!(
        found(listed, "//! Scans.\n"),
        [
            "fixtures/audit/call-sites.txt: call site: `crates/scan/src/lib.rs: generate_text \
             (Triage)` is not a call; delete the line"
        ]
    );
    let far = "//! Scans.\nfn f() { runtime.generate_text(request) }\n";
    assert_eq!(
        found(
            "crates/scan/src/lib.rs: generate_text (no role nearby)\n",
            far
        ),
        [
            "crates/scan/src/lib.rs:2: call site: `generate_text` without a role nearby; \
             name the `ModelRole` beside the call"
        ]
    );
    let set = "//! Scans.\nfn f() {\n    runtime.generate_text(Request {\n        \
               role: self.settings.role,\n    })\n}\n";
    let listed = "crates/scan/src/lib.rs: generate_text (from the settings)\n";
    assert_eq!(found(listed, set), Vec::<String>::new());
}
