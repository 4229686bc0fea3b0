//! Remote dbt repositories.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use ktx_test_support::loopback::{Answer, Loopback, Request};
use ktx_test_support::sandbox::Sandbox;
use serde_json::Value;

use crate::claude::processes;
use crate::sources::{CONFIG, SCHEMA, locally, project, whole};
use crate::support::{check, commit, git, json as json_of, run, write};

fn repository(sandbox: &Sandbox) -> PathBuf {
    let folder = sandbox.home().join("shop");
    std::fs::create_dir_all(folder.join("transform/models")).expect("a folder");
    put(&folder, "transform/dbt_project.yml", "name: shop\n");
    put(&folder, "transform/models/schema.yml", SCHEMA);
    inside(sandbox, &["init", "--quiet", "--initial-branch=main"]);
    inside(sandbox, &["add", "."]);
    inside(sandbox, &["commit", "--quiet", "--message=first"]);
    inside(sandbox, &["branch", "empty"]);
    folder
}

fn put(folder: &Path, path: &str, text: &str) {
    std::fs::write(folder.join(path), text).expect("a file");
}

fn inside(sandbox: &Sandbox, words: &[&str]) -> String {
    sandbox.git("../home/shop", words).expect("git works")
}

fn configure(sandbox: &Sandbox, fields: &str) {
    let config = CONFIG.replace("    source_dir: dbt\n", fields);
    write(sandbox, "ktx.yaml", &config);
    commit(sandbox, "a repository");
}

/// A damaged copy is rebuilt; an old copy never replaces an unreachable repository.
#[test]
fn the_newest_commit_of_a_branch_is_read() {
    let sandbox = locally(project(&[]), &whole());
    let upstream = repository(&sandbox);
    let url = upstream.display().to_string();
    configure(
        &sandbox,
        &format!("    repo_url: {url}\n    branch: main\n    path: transform\n"),
    );
    let status = |answer: &Value| answer["results"][0]["units"][0]["status"].clone();
    let ingest = || json_of(&sandbox, "ingest shop-dbt --json");
    assert_eq!(status(&ingest()), "done");
    let asked = processes(&sandbox);
    assert_eq!(status(&ingest()), "unchanged");
    let copy = sandbox.work().join(".ktx/cache/repositories/shop-dbt");
    put(&copy, ".git/HEAD", "broken");
    put(&copy, "transform/models/mine.yml", "models: [{name: mine}]");
    assert_eq!(status(&ingest()), "unchanged");
    assert_eq!(processes(&sandbox), asked);
    put(
        &upstream,
        "transform/models/more.yml",
        "models: [{name: customers, description: Who buys.}]\n",
    );
    inside(&sandbox, &["add", "."]);
    inside(&sandbox, &["commit", "--quiet", "--message=second"]);
    assert_eq!(status(&ingest()), "done");
    let shard = sandbox
        .read("semantic-layer/warehouse/_schema/public.yaml")
        .unwrap();
    assert!(shard.contains("dbt: Who buys."), "{shard}");
    assert_eq!(git(&sandbox, &["status", "--porcelain"]), "");
    assert_eq!(git(&sandbox, &["stash", "list"]), "");

    std::fs::rename(&upstream, sandbox.home().join("moved")).expect("it moves");
    let printed = run(&sandbox, "ingest shop-dbt");
    assert_eq!(
        (printed.code, printed.stdout.as_str()),
        (Some(4), ""),
        "{printed}"
    );
    assert!(
        printed
            .stderr
            .contains("/shop` cannot be fetched\n  caused by: `git fetch` failed: "),
        "{printed}"
    );
}

#[test]
fn an_address_that_is_none_is_told() {
    for (fields, expected) in [
        (
            "    repo_url: --upload-pack=touch /tmp/x\n",
            "exit 3\n--- stderr\nProject: [SANDBOX]/work\nshop-dbt: fetching the repository\nerror: `--upload-pack=touch /tmp/x` is not a git repository URL\n",
        ),
        (
            "    repo_url: 'ext::sh -c touch% /tmp/x'\n",
            "exit 3\n--- stderr\nProject: [SANDBOX]/work\nshop-dbt: fetching the repository\nerror: `ext::sh -c touch% /tmp/x` is not a git repository URL\n",
        ),
        (
            "    repo_url: https://git.example/shop.git\n    branch: --force\n",
            "exit 3\n--- stderr\nProject: [SANDBOX]/work\nshop-dbt: fetching the repository\nerror: `--force` is not a branch name\n",
        ),
        (
            "    repo_url: http://git.example/shop.git\n    auth_token_ref: env:KTX_TEST_TOKEN\n",
            "exit 3\n--- stderr\nProject: [SANDBOX]/work\nshop-dbt: fetching the repository\nerror: a token is sent over HTTPS only, and `http://git.example/shop.git` uses another protocol\n",
        ),
        (
            "    repo_url: https://git.example/shop.git\n    path: ../../elsewhere\n",
            "exit 3\n--- stderr\nProject: [SANDBOX]/work\nshop-dbt: fetching the repository\nerror: `connections.shop-dbt.path` leads out of the repository\n",
        ),
    ] {
        let mut sandbox = locally(project(&[]), &whole());
        sandbox.set("KTX_TEST_TOKEN", "token-of-mine-123");
        configure(&sandbox, fields);
        check(&sandbox, "ingest shop-dbt", expected);
        assert_eq!(processes(&sandbox), 0);
    }
}

/// git's server with a password, or a redirect to another host.
fn serve(root: &Path, request: &Request) -> Answer {
    // `x-access-token:token-of-mine-123`
    let login = "Basic eC1hY2Nlc3MtdG9rZW46dG9rZW4tb2YtbWluZS0xMjM=";
    if request.headers.get("authorization").map(String::as_str) != Some(login) {
        return Answer::new(401, "text/plain", "who are you?")
            .header("www-authenticate", "Basic realm=\"git\"");
    }
    let (method, target) = request.target.split_once(' ').expect("a request line");
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let header = |name: &str| request.headers.get(name).cloned().unwrap_or_default();
    let mut child = Command::new("git")
        .arg("http-backend")
        .env("GIT_PROJECT_ROOT", root)
        .env("GIT_HTTP_EXPORT_ALL", "1")
        .env("GIT_PROTOCOL", header("git-protocol"))
        .env("HTTP_CONTENT_ENCODING", header("content-encoding"))
        .env("REQUEST_METHOD", method)
        .env("PATH_INFO", path)
        .env("QUERY_STRING", query)
        .env("CONTENT_TYPE", header("content-type"))
        .env("CONTENT_LENGTH", request.body.len().to_string())
        .env("REMOTE_USER", "ada")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("git starts");
    let mut input = child.stdin.take().expect("a pipe");
    input.write_all(&request.body).expect("git reads");
    drop(input);
    let output = child.wait_with_output().expect("git ends").stdout;
    let end = output
        .windows(4)
        .position(|bytes| bytes == b"\r\n\r\n")
        .expect("headers");
    let head = String::from_utf8_lossy(&output[..end]).into_owned();
    let mut answer = Answer::new(200, "", &output[end + 4..]);
    answer.headers.clear();
    for line in head.lines() {
        let (name, value) = line.split_once(": ").expect("a header");
        if name == "Status" {
            answer.status = value[..3].parse().expect("a status");
        } else {
            answer = answer.header(name, value);
        }
    }
    answer
}

/// Redirects to other hosts are not followed.
#[test]
fn a_token_opens_a_repository_and_is_kept_nowhere() {
    let mut sandbox = locally(project(&[]), &whole());
    let upstream = repository(&sandbox);
    let root = upstream.parent().expect("a folder").to_owned();
    let host = Loopback::start(move |request, _| serve(&root, request)).expect("a host");
    let elsewhere = format!("{}/shop/.git", host.address());
    let door = Loopback::start(move |request, _| {
        let (_, path) = request.target.split_once("/shop/.git").expect("a path");
        Answer::new(302, "text/plain", "").header("location", &format!("{elsewhere}{path}"))
    })
    .expect("a door");
    let fields = |address: &str| {
        format!(
            "    repo_url: {address}/shop/.git\n    path: transform\n    auth_token_ref: env:SHOP_TOKEN\n"
        )
    };
    configure(&sandbox, &fields(&host.address()));
    let printed = run(&sandbox, "ingest shop-dbt");
    assert_eq!(printed.code, Some(4), "{printed}");
    assert!(
        printed
            .stderr
            .contains("`connections.shop-dbt.auth_token_ref` has no value"),
        "{printed}"
    );
    sandbox.set("SHOP_TOKEN", "token-of-mine-123");
    let printed = run(&sandbox, "ingest shop-dbt --debug");
    assert_eq!(printed.code, Some(0), "{printed}");
    assert!(!format!("{printed}").contains("token-of-mine"), "{printed}");
    for file in crate::support::tree(&sandbox) {
        let text = String::from_utf8_lossy(&file.1).into_owned();
        assert!(!text.contains("token-of-mine"), "{}", file.0);
    }
    let copy = sandbox.work().join(".ktx/cache/repositories/shop-dbt/.git");
    for name in ["config", "FETCH_HEAD"] {
        let text = std::fs::read_to_string(copy.join(name)).expect("git's file");
        assert!(!text.contains("token-of-mine"), "{text}");
    }
    let asked = host.requests().len();
    configure(&sandbox, &fields(&door.address()));
    let printed = run(&sandbox, "ingest shop-dbt");
    assert_eq!(printed.code, Some(4), "{printed}");
    assert_eq!(host.requests().len(), asked);
    sandbox.set("SHOP_TOKEN", "another-token-456");
    configure(&sandbox, &fields(&host.address()));
    let printed = run(&sandbox, "ingest shop-dbt");
    assert_eq!(printed.code, Some(4), "{printed}");
    assert!(!format!("{printed}").contains("another-token"), "{printed}");
}
