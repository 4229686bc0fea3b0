//! Tests of references and redaction.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::{Redactor, Secret, SecretRef, SecretSource, is_loopback, redact_url};

struct FixedSecrets {
    env: BTreeMap<&'static str, &'static str>,
    files: BTreeMap<&'static str, &'static str>,
}

impl SecretSource for FixedSecrets {
    fn env(&self, name: &str) -> Option<String> {
        self.env.get(name).map(|value| (*value).to_owned())
    }

    fn read(&self, path: &Path) -> std::io::Result<String> {
        let text = path.to_str().and_then(|path| self.files.get(path));
        text.map(|text| (*text).to_owned())
            .ok_or_else(|| std::io::ErrorKind::NotFound.into())
    }

    fn home(&self) -> Option<PathBuf> {
        Some(PathBuf::from("/home/ada"))
    }

    fn base(&self) -> PathBuf {
        PathBuf::from("/project")
    }
}

#[track_caller]
fn check(text: &str, expected: Result<&str, &str>) {
    let given = FixedSecrets {
        env: BTreeMap::from([("TOKEN", " abc\n"), ("BLANK", "  ")]),
        files: BTreeMap::from([
            ("/project/.ktx/secrets/db", "from-project\n"),
            ("/home/ada/key", "from-home"),
            ("/abs", ""),
        ]),
    };
    let found = SecretRef::parse(text).resolve(&given);
    let found = found
        .map(|secret| secret.expose().to_owned())
        .map_err(|error| error.to_string());
    assert_eq!(found, expected.map(str::to_owned).map_err(str::to_owned));
}

#[test]
fn references_resolve_relative_to_the_project() {
    check("env:TOKEN", Ok("abc"));
    check("env:BLANK", Err("environment variable `BLANK` is not set"));
    check("env:NOPE", Err("environment variable `NOPE` is not set"));
    check("file:.ktx/secrets/db", Ok("from-project"));
    check("file:~/key", Ok("from-home"));
    check("file:/abs", Err("secret file `/abs` is empty"));
    check(
        "file:gone",
        Err("secret file `/project/gone` cannot be read"),
    );
    check("plain", Ok("plain"));
}

#[test]
fn secrets_do_not_print() {
    assert_eq!(format!("{:?}", SecretRef::parse("hunter2")), "Literal(***)");
}

#[test]
fn redaction_hides_values_urls_and_tokens_and_repeats_itself() {
    assert_eq!(
        redact_url("at postgres://ada:p%40ss@db:5432/x?y and http://host/@a:b"),
        "at postgres://ada:***@db:5432/x?y and http://host/@a:b"
    );
    let mut redactor = Redactor::new();
    redactor.learn(&Secret::new("hunter2-value"));
    let once =
        redactor.redact("Authorization: Bearer abcdefghij, key sk-ant-0123456789, hunter2-value");
    assert_eq!(once, "Authorization: Bearer ***, key ***, ***");
    assert_eq!(redactor.redact(&once), once);
}

#[test]
fn a_known_value_inside_another_one_shows_no_part_of_it() {
    for values in [["Zz9a", "Zz9a-more"], ["Zz9a-more", "Zz9a"]] {
        let mut redactor = Redactor::new();
        for value in values {
            redactor.learn(&Secret::new(value));
        }
        assert_eq!(redactor.redact("x Zz9a-more Zz9a y"), "x *** *** y");
    }
}

#[test]
fn short_values_do_not_count_as_secrets() {
    let mut redactor = Redactor::new();
    for value in ["abc", "wxyz"] {
        redactor.learn(&Secret::new(value));
    }
    for (text, expected) in [
        ("abc wxyz", "abc ***"),
        (
            "Bearer Zz9456 Bearer Zz94567",
            "Bearer Zz9456 Bearer Zz94567",
        ),
        ("Bearer Zz945678", "Bearer ***"),
        (
            "API_TOKEN=Zz94567 API_TOKEN=Zz945678",
            "API_TOKEN=Zz94567 API_TOKEN=***",
        ),
        ("cookie: a=Zz945", "cookie: a=Zz945"),
        ("cookie: a=Zz9456", "cookie: ***"),
        ("password=Zz9 password=Zz94", "password=Zz9 password=***"),
    ] {
        assert_eq!(redactor.redact(text), expected);
    }
}

#[test]
fn redaction_hides_values_with_secret_names() {
    let redactor = Redactor::new();
    for (text, expected) in [
        (
            "ANTHROPIC_AUTH_TOKEN=Zz9envsecretvalue123 PATH=/usr/bin:/bin",
            "ANTHROPIC_AUTH_TOKEN=*** PATH=/usr/bin:/bin",
        ),
        (
            r#"{"accessToken":"Zz9json4567890","refreshToken": "Zz9refresh4567890","scopes":["a"]}"#,
            r#"{"accessToken":"***","refreshToken": "***","scopes":["a"]}"#,
        ),
        (
            r#"{\"accessToken\":\"Zz9json4567890\"}"#,
            r#"{\"accessToken\":\"***\"}"#,
        ),
        (
            "GET /v1?api_key=Zz9query4567890&x=1",
            "GET /v1?api_key=***&x=1",
        ),
        ("key AKIAIOSFODNN7EXAMPLE", "key ***"),
        ("glued:xsk-ant-api03-0123456789", "glued:x***"),
        ("KEY=sk-proj-0123456789", "KEY=***"),
        (
            "max_tokens=200000000 output_token=123456789",
            "max_tokens=200000000 output_token=123456789",
        ),
        (
            "unexpected token: identifier_name",
            "unexpected token: identifier_name",
        ),
        (
            "a task-list, risk-0123456789",
            "a task-list, risk-0123456789",
        ),
        ("ключ_token=ünïcödé-secret", "ключ_token=***"),
    ] {
        let once = redactor.redact(text);
        assert_eq!(once, expected);
        assert_eq!(redactor.redact(&once), once);
    }
}

#[test]
fn redaction_knows_headers_and_settings() {
    let redactor = Redactor::new();
    for (text, expected) in [
        ("x-api-key: Zz9header4567890", "x-api-key: ***"),
        (
            "> X-Api-Key: Zz9header4567890\r\n> host: a",
            "> X-Api-Key: ***\r\n> host: a",
        ),
        (
            r#"curl -H "x-api-key: Zz9header4567890" -d x"#,
            r#"curl -H "x-api-key: ***" -d x"#,
        ),
        (
            "{ 'x-api-key': 'Zz9 with blanks' }",
            "{ 'x-api-key': '***' }",
        ),
        ("private-token: Zz9header4567890", "private-token: ***"),
        (
            "Authorization: Basic dXNlcjpwYXNz",
            "Authorization: Basic ***",
        ),
        (
            "authorization=Basic dXNlcjpwYXNz; x",
            "authorization=Basic ***; x",
        ),
        (
            r#""Authorization":"Basic dXNlcjpwYXNz","a":1"#,
            r#""Authorization":"Basic ***","a":1"#,
        ),
        (
            "Proxy-Authorization: Zz9plain4567",
            "Proxy-Authorization: ***",
        ),
        (
            r#"Authorization: Digest username="ada", response="Zz9digest""#,
            "Authorization: Digest ***",
        ),
        ("Authorization: Bearer abc", "Authorization: Bearer ***"),
        ("Cookie: session=Zz9; theme=dark", "Cookie: ***"),
        (
            "set-cookie: session=Zz9cookie; Path=/\nnext",
            "set-cookie: ***\nnext",
        ),
        ("password: hunter2", "password: ***"),
        ("password=hunter2 user=ada", "password=*** user=ada"),
        ("PGPASSWORD: 12345678", "PGPASSWORD: ***"),
        ("`password`: correcthorse", "`password`: ***"),
        (
            r#"{"password": "two words \" more", "a": 1}"#,
            r#"{"password": "***", "a": 1}"#,
        ),
        (
            r#"{\"password\": \"two words\", \"a\": 1}"#,
            r#"{\"password\": \"***\", \"a\": 1}"#,
        ),
        ("pwd: Zz9!", "pwd: ***"),
        ("password: env:PGPASSWORD", "password: env:PGPASSWORD"),
        ("password: ", "password: "),
        ("the password:\nis wrong", "the password:\nis wrong"),
        ("authorization: required", "authorization: required"),
        ("the access_token: malformed", "the access_token: malformed"),
        ("input_tokens: 123456789", "input_tokens: 123456789"),
        ("cookie: disabled", "cookie: disabled"),
    ] {
        let once = redactor.redact(text);
        assert_eq!(once, expected);
        assert_eq!(redactor.redact(&once), once);
    }
}

#[test]
fn knows_which_hosts_are_this_machine() {
    let hosts = ["localhost", "LOCALHOST", "db.localhost", "127.9.9.9", "::1"];
    assert!(hosts.into_iter().all(is_loopback));
    assert!(
        !["10.0.0.1", "localhost.example.com", "0.0.0.0", ""]
            .into_iter()
            .any(is_loopback)
    );
}

#[test]
fn the_values_of_options_are_hidden() {
    let cases = [
        ("psql --password x --host h", "psql --password *** --host h"),
        ("tool --password=x", "tool --password=***"),
        (
            "tool --db-password 'two words' -v",
            "tool --db-password '***' -v",
        ),
        ("tool --token=\"a b\"", "tool --token=\"***\""),
        (
            r#"["tool", "--api-key", "x", "-v"]"#,
            r#"["tool", "--api-key", "***", "-v"]"#,
        ),
        (
            r#"{\"args\": [\"--password\", \"x\"]}"#,
            r#"{\"args\": [\"--password\", \"***\"]}"#,
        ),
        ("tool --password=-x", "tool --password=***"),
        ("tool --password --host h", "tool --password --host h"),
        ("tool --password <PASSWORD>", "tool --password <PASSWORD>"),
        (
            "tool --password env:PASSWORD",
            "tool --password env:PASSWORD",
        ),
        ("tool --max-tokens 1500", "tool --max-tokens 1500"),
        (
            "give `--password`, not a word",
            "give `--password`, not a word",
        ),
        ("tool --password", "tool --password"),
    ];
    for (text, expected) in cases {
        assert_eq!(crate::Redactor::new().redact(text), expected, "{text}");
    }
}

/// RFC 7468. Certificates and public keys are not secrets.
#[test]
fn private_keys_are_hidden() {
    let cases = [
        (
            "key:\n-----BEGIN RSA PRIVATE KEY-----\nMIIEpAIB+/x=\nAAAA\n-----END RSA PRIVATE KEY-----\nrest",
            "key:\n***\nrest",
        ),
        (
            r#"{"k": "-----BEGIN PRIVATE KEY-----\nMIIE\n-----END PRIVATE KEY-----\n", "x": 1}"#,
            r#"{"k": "***\n", "x": 1}"#,
        ),
        (
            "-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1r\nZXk=",
            "***",
        ),
        ("-----BEGIN PRIVATE KEY----- MIIE [cut]", "***[cut]"),
        (
            "-----BEGIN PRIVATE KEY-----\nA\n-----END PRIVATE KEY-----, -----BEGIN EC PRIVATE KEY-----\nB\n-----END EC PRIVATE KEY-----.",
            "***, ***.",
        ),
        (
            "-----BEGIN CERTIFICATE-----\nMIIE\n-----END CERTIFICATE-----",
            "-----BEGIN CERTIFICATE-----\nMIIE\n-----END CERTIFICATE-----",
        ),
        ("a -----BEGIN here", "a -----BEGIN here"),
    ];
    for (text, expected) in cases {
        assert_eq!(crate::Redactor::new().redact(text), expected, "{text}");
    }
}
