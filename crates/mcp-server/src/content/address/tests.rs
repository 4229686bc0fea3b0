//! URIs survive a round trip.

use super::{Address, Place};

#[test]
fn names_of_all_kinds_survive() {
    for name in [
        "orders",
        "Sales Orders",
        "a/b?c#d",
        "größe",
        "100%",
        "..",
        "x.y",
    ] {
        let places = [
            Place::Page(name.to_owned()),
            Place::Source {
                connection: "shop".to_owned(),
                name: name.to_owned(),
            },
            Place::Schema(name.to_owned()),
            Place::Table {
                connection: "shop".to_owned(),
                table: name.to_owned(),
            },
        ];
        for place in places {
            let whole = Address::parse(&place.uri()).unwrap();
            assert_eq!((whole.place, whole.cursor), (place.clone(), None));
            let rest = Address::parse(&place.uri_from(name)).unwrap();
            assert_eq!((rest.place, rest.cursor), (place, Some(name.to_owned())));
        }
    }
}

#[test]
fn other_uris_name_nothing() {
    let wrong = [
        "",
        "ktx://",
        "ktx://wiki",
        "ktx://wiki/",
        "ktx://wiki/a/b",
        "ktx://wiki/a?b=c",
        "ktx://source/a",
        "ktx://schema/a/b/c",
        "ktx://wiki/%ff",
        "file:///etc/passwd",
        "KTX://wiki/a",
    ];
    for uri in wrong {
        assert!(Address::parse(uri).is_err(), "{uri}");
    }
}
