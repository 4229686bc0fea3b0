//! Tests of database URLs.

use super::{DatabaseUrl, decode, parse};

fn show(url: &DatabaseUrl) -> String {
    let or_dash = |part: &Option<String>| part.clone().unwrap_or_else(|| "-".to_owned());
    let password = url
        .password
        .as_ref()
        .map_or("-", |password| password.expose());
    let parameters: Vec<String> = url
        .parameters
        .iter()
        .map(|(name, value)| format!("{name}={value}"))
        .collect();
    format!(
        "{} {} {password} {} {} {} [{}]",
        url.scheme,
        or_dash(&url.user),
        or_dash(&url.host),
        or_dash(&url.port),
        or_dash(&url.database),
        parameters.join(" ")
    )
}

#[track_caller]
fn check(text: &str, expected: &str) {
    assert_eq!(
        parse(text).as_ref().map_or_else(|| "none".to_owned(), show),
        expected
    );
}

#[test]
fn takes_urls_apart() {
    check("postgres://u:p@h:5/d", "postgres u p h 5 d []");
    check(
        "PostgreSQL://h/d?SSLmode=require&a=b%20c#x",
        "postgresql - - h - d [a=b c sslmode=require]",
    );
    check("mysql://u@h", "mysql u - h - - []");
    check("mysql://u:@h/", "mysql u - h - - []");
    check("postgres://", "postgres - - - - - []");
    check("h:5/d", "none");
}

#[test]
fn keeps_odd_passwords() {
    check("postgres://u:p%40%3A%25@h/d", "postgres u p@:% h - d []");
    check("postgres://u:p@x:y@h/d", "postgres u p@x:y h - d []");
    check("postgres://u:100%@h/d", "postgres u 100% h - d []");
}

#[test]
fn strips_brackets_from_ipv6_addresses() {
    check("postgres://u:p@[::1]:5/d", "postgres u p ::1 5 d []");
    check("postgres://[fe80::2]/d", "postgres - - fe80::2 - d []");
}

#[test]
fn finds_encoded_socket_paths() {
    check(
        "postgres://u@%2Fvar%2Frun/d",
        "postgres u - /var/run - d []",
    );
}

#[test]
fn leaves_broken_escapes_alone() {
    assert_eq!(decode("%zz%+1%4"), "%zz%+1%4");
    assert_eq!(decode("%ff"), "%ff");
    assert_eq!(decode("caf%C3%A9"), "café");
}
