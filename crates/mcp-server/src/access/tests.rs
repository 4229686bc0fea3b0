//! Which requests are admitted.

use http::header::{HeaderMap, HeaderName};
use http::{StatusCode, Uri};
use ktx_secrets::Secret;

use super::Access;

fn access() -> Access {
    Access::new(
        &["ktx.example.com".to_owned(), "box:8080".to_owned()],
        &["https://app.example.com".to_owned()],
        Some(&Secret::new("open sesame")),
    )
}

fn headers(pairs: &[(&str, &str)]) -> HeaderMap {
    let pair = |(name, value): &(&str, &str)| {
        let name: HeaderName = name.parse().expect("a name");
        (name, value.parse().expect("a value"))
    };
    pairs.iter().map(pair).collect()
}

fn looked(pairs: &[(&str, &str)]) -> u16 {
    let looked = access().look(&Uri::from_static("/mcp"), &headers(pairs));
    looked.map_or_else(|refused| refused.status.as_u16(), |()| 200)
}

#[test]
fn a_host_is_this_machine_or_one_that_is_allowed() {
    let hosts = [
        "localhost",
        "LOCALHOST:7878",
        "127.0.0.1:1",
        "[::1]:7878",
        "[::1]",
        "ktx.example.com",
        "ktx.example.com:443",
        "box:8080",
        "box:8081",
        "box",
        "example.com",
        "localhost.example.com",
        "127.0.0.1.example.com",
        "user@localhost",
        "local host",
        "",
    ];
    let looked: Vec<(&str, u16)> = hosts
        .into_iter()
        .map(|host| (host, looked(&[("host", host)])))
        .collect();
    assert_eq!(
        looked,
        [
            ("localhost", 200),
            ("LOCALHOST:7878", 200),
            ("127.0.0.1:1", 200),
            ("[::1]:7878", 200),
            ("[::1]", 200),
            ("ktx.example.com", 200),
            ("ktx.example.com:443", 200),
            ("box:8080", 200),
            ("box:8081", 403),
            ("box", 403),
            ("example.com", 403),
            ("localhost.example.com", 403),
            ("127.0.0.1.example.com", 403),
            ("user@localhost", 403),
            ("local host", 400),
            ("", 400),
        ]
    );
    assert_eq!(self::looked(&[]), 400);
}

#[test]
fn an_origin_is_absent_or_allowed_letter_for_letter() {
    let origins = [
        "https://app.example.com",
        "https://app.example.com:443",
        "http://app.example.com",
        "http://localhost:3000",
        "null",
    ];
    let looked = origins.map(|origin| looked(&[("host", "localhost"), ("origin", origin)]));
    assert_eq!(looked, [200, 403, 403, 403, 403]);
}

#[test]
fn a_token_is_shown_whole() {
    let shown = [
        "Bearer open sesame",
        "bearer open sesame",
        "Bearer open sesam",
        "Bearer open sesame!",
        "Basic open sesame",
        "open sesame",
        "Bearer",
    ];
    let admitted = shown.map(|shown| {
        access()
            .admit(&headers(&[("authorization", shown)]))
            .is_ok()
    });
    assert_eq!(admitted, [true, true, false, false, false, false, false]);
    let refused = access().admit(&HeaderMap::new()).expect_err("no token");
    assert_eq!(refused.status, StatusCode::UNAUTHORIZED);
    assert!(Access::new(&[], &[], None).admit(&HeaderMap::new()).is_ok());
    assert!(!format!("{:?}", access()).contains("sesame"));
}
