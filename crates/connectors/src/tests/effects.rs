//! Sends attacks to sessions without the static gate and lists their effects.
//!
//! Each text is sent as written, and aimed: absolute paths lead to a watched folder, hosts to a
//! watched listener.
#![expect(
    clippy::disallowed_methods,
    reason = "the tests remove what an attack has written"
)]

use std::collections::BTreeMap;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use ktx_warehouse::{Caps, QueryResult, WarehouseError};
use serde_json::Value;
use tempfile::TempDir;

const FILES: [&str; 2] = [
    include_str!("../../../../fixtures/readonly-sql/cases.jsonl"),
    include_str!("../../../../fixtures/readonly-sql/own.jsonl"),
];

#[derive(Debug, Clone)]
struct Attack {
    id: String,
    sql: String,
}

fn attacks(dialect: &str) -> Vec<Attack> {
    let text = |value: &Value, key: &str| value[key].as_str().unwrap().to_owned();
    let attacks: Vec<Attack> = FILES
        .iter()
        .flat_map(|file| file.lines())
        .map(|line| serde_json::from_str::<Value>(line).unwrap())
        .filter(|case| case["dialect"] == dialect && case["expect"] == "deny")
        .map(|case| Attack {
            id: text(&case, "id"),
            sql: text(&case, "sql"),
        })
        .collect();
    assert!(attacks.len() > 30, "{dialect}: {}", attacks.len());
    attacks
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StatementForms {
    Both,
    Aimed,
}

pub(crate) async fn fire<S: PartialEq>(
    dialect: &str,
    forms: StatementForms,
    send: impl AsyncFn(&str, &Caps) -> Result<QueryResult, WarehouseError>,
    state: impl AsyncFn() -> S,
) -> Vec<String> {
    let canary = FileCanary::new();
    // A session that refused everything would prove nothing.
    assert_eq!(
        send("SELECT 1", &Caps::default()).await.unwrap().rows.len(),
        1
    );
    let mut before = state().await;
    let (mut sent, mut refused, mut effects) = (0, 0, Vec::new());
    for attack in attacks(dialect) {
        for sql in canary.shots(&attack, forms) {
            let before_it = traces(&sql);
            let outcome = send(&sql, &caps()).await;
            sent += 1;
            refused += usize::from(outcome.is_err());
            let mut found = canary.effects();
            if traces(&sql) != before_it {
                found.push("changed a file that it names".to_owned());
            }
            let after = state().await;
            if after != before {
                found.push("changed the database".to_owned());
                before = after;
            }
            effects.extend(found.iter().map(|effect| format!("{} {effect}", attack.id)));
        }
    }
    eprintln!(
        "{dialect}: {sent} statements sent without the gate, {refused} refused by the session, {} \
         effects",
        effects.len()
    );
    effects
}

fn caps() -> Caps {
    Caps {
        timeout: Duration::from_millis(250),
        ..Caps::default()
    }
}

#[derive(Debug)]
struct FileCanary {
    folder: TempDir,
    listener: TcpListener,
    working_folder: Vec<PathBuf>,
}

type FileTrace = Option<(u64, SystemTime)>;

impl FileCanary {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        open_to_all(folder.path());
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        listener.set_nonblocking(true).unwrap();
        Self {
            folder,
            listener,
            working_folder: names(Path::new(".")),
        }
    }

    fn shots(&self, attack: &Attack, forms: StatementForms) -> Vec<String> {
        let aimed = self.aim(&attack.sql);
        match forms {
            StatementForms::Both if aimed != attack.sql => vec![attack.sql.clone(), aimed],
            StatementForms::Both | StatementForms::Aimed => vec![aimed],
        }
    }

    fn aim(&self, sql: &str) -> String {
        let host = format!("127.0.0.1:{}", self.listener.local_addr().unwrap().port());
        let folder = self.folder.path().display().to_string();
        let mut text = sql.to_owned();
        for scheme in ["http://", "https://"] {
            text = between(&text, scheme, &['/', '\'', '"'], &host);
        }
        for call in [
            "remote('",
            "remoteSecure('",
            "mysql('",
            "postgresql('",
            "mongodb('",
            "redis('",
        ] {
            text = between(&text, call, &['\''], &host);
        }
        let connect = host.replace(':', " port=");
        text = between(&text, "host=", &['\''], &connect);
        text = text.replace("'/", &format!("'{folder}/"));
        text.replace("/etc/", "/").replace("/tmp/x", "/x")
    }

    fn effects(&self) -> Vec<String> {
        let mut effects: Vec<String> = names(self.folder.path())
            .iter()
            .map(|path| {
                std::fs::remove_file(path).unwrap();
                "wrote a file".to_owned()
            })
            .collect();
        if names(Path::new(".")) != self.working_folder {
            effects.push("changed the working folder".to_owned());
        }
        while self.listener.accept().is_ok() {
            effects.push("reached the network".to_owned());
        }
        effects
    }
}

fn traces(sql: &str) -> BTreeMap<PathBuf, FileTrace> {
    sql.split(['\'', '"', ' '])
        .filter(|word| word.starts_with('/') && word.len() > 1)
        .map(PathBuf::from)
        .map(|path| {
            let trace = path
                .metadata()
                .ok()
                .map(|found| (found.len(), found.modified().unwrap()));
            (path, trace)
        })
        .collect()
}

fn open_to_all(folder: &Path) {
    use std::os::unix::fs::PermissionsExt as _;
    std::fs::set_permissions(folder, std::fs::Permissions::from_mode(0o777)).unwrap();
}

fn names(folder: &Path) -> Vec<PathBuf> {
    let mut names: Vec<PathBuf> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    names.sort();
    names
}

fn between(text: &str, before: &str, after: &[char], new: &str) -> String {
    let mut pieces = text.split(before);
    let mut result = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        let end = piece.find(after).unwrap_or(piece.len());
        result.push_str(before);
        result.push_str(new);
        result.push_str(&piece[end..]);
    }
    result
}
