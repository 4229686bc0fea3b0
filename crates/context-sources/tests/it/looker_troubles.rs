//! Tests large, odd and broken Looker servers.

use std::collections::BTreeSet;

use ktx_context_sources::looker::{self, LookerCrawl, LookerScope};
use ktx_context_sources::{LeftOut, RestErrorKind, Unit};
use ktx_secrets::Secret;
use ktx_test_support::looker_fake::{CLIENT_ID, LookerFake, SECRET, TOKEN, dashboard, explore};
use serde_json::json;

use crate::looker::{at, crawl, lines, remembering, scope, server, units, wait};

#[test]
fn a_long_explore_is_read_in_parts() {
    let long = "x".repeat(3000);
    let names: Vec<String> = (10..40).map(|number| format!("f{number}")).collect();
    let fields: Vec<(&str, &str, &str, &str)> = names
        .iter()
        .map(|name| (name.as_str(), "string", "${TABLE}.a || ''", long.as_str()))
        .collect();
    let mut instance = server();
    instance.looks.clear();
    let wide = explore("shop_prod", "orders", "orders", &fields);
    instance.explores.insert(at("shop", "orders"), wide);
    let server = LookerFake::start(instance).expect("a server");
    let read = || crawl(&server, &scope(&["shop_prod"])).expect("a crawl");
    let before = read();
    insta::assert_snapshot!(lines(&units(&before)), @r"
    looker.warehouse.explore.shop.orders | explore shop.orders (part 1 of 3) | explores/shop/orders.yaml explores/shop/orders.fields-1.yaml
    looker.warehouse.explore.shop.orders.part-2 | explore shop.orders (part 2 of 3) | explores/shop/orders.fields-2.yaml | explores/shop/orders.yaml
    looker.warehouse.explore.shop.orders.part-3 | explore shop.orders (part 3 of 3) | explores/shop/orders.fields-3.yaml | explores/shop/orders.yaml
    looker.warehouse.dashboards.shop.orders | dashboards of shop.orders: Revenue | dashboards/7.yaml |  | explores/shop/orders.yaml explores/shop/orders.fields-1.yaml explores/shop/orders.fields-2.yaml explores/shop/orders.fields-3.yaml
    ");
    assert!(
        before
            .snapshot
            .files
            .values()
            .all(|text| text.chars().count() < 41_000)
    );
    server.change(|all| {
        let orders = all
            .explores
            .get_mut(&at("shop", "orders"))
            .expect("an explore");
        orders["fields"]["dimensions"][29]["sql"] = json!("${TABLE}.b || ''");
    });
    let after = read();
    let changed: Vec<&String> = after
        .snapshot
        .files
        .iter()
        .filter(|(path, text)| before.snapshot.files.get(*path) != Some(text))
        .map(|(path, _)| path)
        .collect();
    assert_eq!(changed, ["explores/shop/orders.fields-3.yaml"]);
}

#[test]
fn lists_are_read_to_their_end() {
    let mut instance = server();
    instance.dashboards = (1..=250)
        .map(|id| dashboard(&id.to_string(), "One of many", &[("shop", "orders", &[])]))
        .collect();
    let server = LookerFake::start(instance).expect("a server");
    let read = || crawl(&server, &scope(&["shop_prod"])).expect("a crawl");
    let before = units(&read());
    let of_dashboards = |units: &[Unit]| -> usize {
        let files = units.iter().flat_map(|unit| &unit.files);
        files.filter(|file| file.starts_with("dashboards/")).count()
    };
    assert_eq!((before.len(), of_dashboards(&before)), (15, 250));
    server.change(|all| {
        all.dashboards
            .push(dashboard("900", "New", &[("shop", "orders", &[])]));
    });
    let after = units(&read());
    assert_eq!(of_dashboards(&after), 251);
    assert_eq!(before[..13], after[..13]);
    assert_eq!(before[14], after[14]);
}

#[test]
fn unselected_content_is_not_read() {
    let mut instance = server();
    let mut personal = dashboard("20", "Of Ada", &[("shop", "orders", &[])]);
    personal["folder"] = json!({ "id": "4", "name": "Drafts" });
    let mut own = dashboard("21", "Of somebody", &[("shop", "orders", &[])]);
    own["folder"] = json!({ "id": "77", "name": "Hidden", "is_personal": true });
    let mut deleted = dashboard("22", "Old", &[("shop", "orders", &[])]);
    deleted["deleted"] = json!(true);
    let both: &[(&str, &str, &[&str])] = &[("crm", "people", &[]), ("shop", "orders", &[])];
    instance.dashboards.extend([
        personal,
        own,
        deleted,
        dashboard("23", "People", &[("crm", "people", &[])]),
        dashboard("24", "Both", both),
        dashboard("25", "Empty", &[]),
    ]);
    instance.models.push(("crm", vec!["crm"], vec!["people"]));
    instance
        .models
        .push(("any", vec![], vec!["people", "orders"]));
    let people = explore("crm", "people", "people", &[]);
    instance.explores.insert(at("any", "people"), people);
    let orders = explore("shop_prod", "orders", "orders", &[]);
    instance.explores.insert(at("any", "orders"), orders);
    let server = LookerFake::start(instance).expect("a server");
    let read = crawl(&server, &scope(&["shop_prod"])).expect("a crawl");
    let files: Vec<&String> = read.snapshot.files.keys().collect();
    assert_eq!(
        files,
        [
            "dashboards/24.yaml",
            "dashboards/7.yaml",
            "explores/any/orders.yaml",
            "explores/shop/orders.yaml",
            "looks/3.yaml",
        ]
    );
    assert_eq!(
        read.warnings,
        [
            "1 dashboards and looks use no mapped connection: they were not read",
            "the connection `crm` is mapped to no warehouse: what is about it was not read",
        ]
    );
    let asked = server.asked().join("\n");
    assert!(!asked.contains(&at("crm", "people")), "{asked}");
}

/// Dots, slashes and colons in foreign names never lead to another file or URL.
#[test]
fn odd_names_break_nothing() {
    let mut instance = server();
    instance.models = vec![("a.b::c/d", vec!["shop_prod"], vec!["x.y", "..", "é"])];
    let odd = explore("shop_prod", "x", "x", &[]);
    instance.explores.insert(
        "/lookml_models/a%2Eb%3A%3Ac%2Fd/explores/x%2Ey".to_owned(),
        odd.clone(),
    );
    instance.explores.insert(
        "/lookml_models/a%2Eb%3A%3Ac%2Fd/explores/%C3%A9".to_owned(),
        odd,
    );
    instance.dashboards = vec![dashboard(
        "a.b::board",
        "LookML",
        &[("a.b::c/d", "x.y", &[])],
    )];
    instance.looks.clear();
    let server = LookerFake::start(instance).expect("a server");
    let mut wanted = scope(&["shop_prod"]);
    let read = crawl(&server, &wanted).expect("a crawl");
    let files: Vec<String> = read.snapshot.files.keys().cloned().collect();
    assert_eq!(
        files,
        [
            "dashboards/a%2Eb%3A%3Aboard.yaml",
            "explores/a%2Eb%3A%3Ac%2Fd/%C3%A9.yaml",
            "explores/a%2Eb%3A%3Ac%2Fd/x%2Ey.yaml",
        ]
    );
    insta::assert_snapshot!(read.warnings.join("\n"), @"`explores/a%2Eb%3A%3Ac%2Fd/%2E%2E.yaml` was not read: Looker at 127.0.0.1 answered nothing: its name cannot be part of a URL");
    insta::assert_snapshot!(lines(&units(&read)), @r"
    looker.warehouse.explore.a%2Eb%3A%3Ac%2Fd.x%2Ey | explore a.b::c/d.x.y | explores/a%2Eb%3A%3Ac%2Fd/x%2Ey.yaml
    looker.warehouse.explore.a%2Eb%3A%3Ac%2Fd.%C3%A9 | explore a.b::c/d.é | explores/a%2Eb%3A%3Ac%2Fd/%C3%A9.yaml
    looker.warehouse.dashboards.a%2Eb%3A%3Ac%2Fd.x%2Ey | dashboards of a.b::c/d.x.y: LookML | dashboards/a%2Eb%3A%3Aboard.yaml |  | explores/a%2Eb%3A%3Ac%2Fd/x%2Ey.yaml
    ");
    wanted.earlier = files.into_iter().collect();
    server.change(|all| all.models[0].2.clear());
    let gone = crawl(&server, &wanted).expect("a crawl").snapshot.left_out;
    let gone: Vec<String> = gone.into_iter().map(|left| left.path).collect();
    assert_eq!(gone.len(), 3);
}

fn left(read: &LookerCrawl) -> String {
    let all = read.snapshot.left_out.iter();
    let all = all.map(|LeftOut { path, reason }| format!("{path}: {reason}"));
    all.collect::<Vec<_>>().join("\n")
}

#[test]
fn only_deleted_things_are_gone() {
    let mut instance = server();
    let board = |id: &str| dashboard(id, "Board", &[("shop", "orders", &[])]);
    instance.dashboards = ["1", "2", "3", "4", "5", "6"].map(board).into();
    instance.dashboards[0]["deleted"] = json!(true);
    instance.dashboards[3]["folder"] = json!({ "id": "3", "name": "Ada Lovelace" });
    instance.unlisted = ["5".to_owned()].into();
    instance.dashboards[5] = dashboard("6", "Board", &[("crm", "people", &[])]);
    instance.troubles = [
        ("/dashboards/2".to_owned(), 403),
        ("/dashboards/3".to_owned(), 500),
    ]
    .into();
    instance.models.push(("crm", vec!["crm"], vec!["people"]));
    instance.models[0].2.push("lost");
    let server = LookerFake::start(instance).expect("a server");
    let boards = (1..=7).map(|id| format!("dashboards/{id}.yaml"));
    let explores = [
        "shop/gone",
        "shop/lost",
        "crm/people",
        "shop/orders.fields-1",
    ];
    let explores = explores.map(|name| format!("explores/{name}.yaml"));
    let earlier: BTreeSet<String> = boards.chain(explores).collect();
    let scope = LookerScope {
        earlier,
        ..scope(&["shop_prod"])
    };
    let read = crawl(&server, &scope).expect("a crawl");
    insta::assert_snapshot!(left(&read), @r"
    dashboards/2.yaml: Looker at 127.0.0.1 answered 403 for `/dashboards/2`: Something is wrong
    dashboards/3.yaml: Looker at 127.0.0.1 answered 500 for `/dashboards/3`: Something is wrong
    dashboards/4.yaml: it is in the folder of a person
    dashboards/6.yaml: it shows nothing that is read
    dashboards/7.yaml: Looker at 127.0.0.1 answered 404 for `/dashboards/7`: Not found
    explores/crm/people.yaml: its connection `crm` is mapped to no warehouse
    explores/shop/gone.yaml: the server does not list it any more, or not for this key
    explores/shop/lost.yaml: Looker at 127.0.0.1 answered 404 for `/lookml_models/shop/explores/lost`: Not found
    ");
    assert!(read.snapshot.files.contains_key("dashboards/5.yaml"));
    assert!(!looker::facts(&read, &scope.connections).is_complete);
}

#[test]
fn a_failure_for_a_moment_changes_nothing() {
    let server = LookerFake::start(server()).expect("a server");
    let cache = tempfile::tempdir().expect("a folder");
    let read = || remembering(&server, &scope(&["shop_prod"]), &cache).expect("a crawl");
    let first = read();
    let troubles = [
        ("/dashboards/7", 403),
        ("/looks/3", 404),
        (&at("shop", "orders"), 422),
    ];
    let troubles = troubles.map(|(path, status)| (path.to_owned(), status));
    server.change(|all| all.troubles = troubles.into());
    let second = read();
    assert_eq!(second.snapshot, first.snapshot);
    insta::assert_snapshot!(second.warnings.join("\n"), @r"
    `explores/shop/orders.yaml` was not read, and counts as it was before: Looker at 127.0.0.1 answered 422 for `/lookml_models/shop/explores/orders`: Something is wrong
    `dashboards/7.yaml` was not read, and counts as it was before: Looker at 127.0.0.1 answered 403 for `/dashboards/7`: Something is wrong
    `looks/3.yaml` was not read, and counts as it was before: Looker at 127.0.0.1 answered 404 for `/looks/3`: Something is wrong
    ");
}

#[test]
fn a_broken_server_ends_the_crawl() {
    let mut instance = server();
    let board = |id: u32| dashboard(&id.to_string(), "Board", &[("shop", "orders", &[])]);
    instance.dashboards = (1..=9).map(board).collect();
    let paths = (1..=9).map(|id| (format!("/dashboards/{id}"), 503));
    instance.troubles = paths.collect();
    let server = LookerFake::start(instance).expect("a server");
    let error = crawl(&server, &scope(&["shop_prod"])).expect_err("a failure");
    assert_eq!(error.kind, RestErrorKind::Busy);
}

/// After a token expires, the client logs in again without repeating earlier reads.
#[test]
fn a_token_is_renewed_once() {
    let mut instance = server();
    instance.token_lasts = Some(3);
    let server = LookerFake::start(instance).expect("a server");
    let read = crawl(&server, &scope(&["shop_prod"])).expect("a crawl");
    assert_eq!(read.snapshot.files.len(), 3);
    let asked = server.asked();
    let logins = asked.iter().filter(|target| *target == "POST /login");
    assert_eq!(logins.count(), 3);
    // A token that never works is not requested again and again.
    server.change(|all| all.token_lasts = Some(0));
    let error = crawl(&server, &scope(&["shop_prod"])).expect_err("a failure");
    assert_eq!(error.kind, RestErrorKind::Auth);
    assert_eq!(server.asked().len(), asked.len() + 4);
}

#[test]
fn the_address_may_be_that_of_the_api() {
    let server = LookerFake::start(server()).expect("a server");
    for end in ["", "/", "/api", "/api/4.0", "/api/4.0/"] {
        let address = format!("{}{end}", server.address());
        let secret = Secret::new(SECRET);
        let rest = looker::client(&address, &Secret::new(CLIENT_ID), &secret).expect("a client");
        assert_eq!(
            wait(looker::user(&rest)),
            Ok("Ada Lovelace".to_owned()),
            "{address}"
        );
        let known = wait(looker::connections(&rest)).expect("connections");
        assert_eq!(known.len(), 2);
    }
}

#[test]
fn connections_are_those_of_models_for_a_small_key() {
    let mut instance = server();
    instance.troubles = [("/connections".to_owned(), 403)].into();
    let server = LookerFake::start(instance).expect("a server");
    let secret = Secret::new(SECRET);
    let rest = looker::client(&server.address(), &Secret::new(CLIENT_ID), &secret).expect("it");
    let known = wait(looker::connections(&rest)).expect("connections");
    assert_eq!(known, [("shop_prod".to_owned(), None)].into());
}

#[test]
fn a_wrong_secret_is_an_error_without_it() {
    let server = LookerFake::start(server()).expect("a server");
    let wrong = Secret::new("another-secret-0123456789");
    let rest = looker::client(&server.address(), &Secret::new(CLIENT_ID), &wrong).expect("it");
    let error = wait(looker::user(&rest)).expect_err("a wrong secret");
    assert_eq!(error.kind, RestErrorKind::Auth);
    assert_eq!(
        error.message,
        "Looker at 127.0.0.1 answered 401 for `/login`: Requires authentication."
    );
    assert!(!format!("{rest:?}").contains("another-secret"));
    assert!(!format!("{rest:?}").contains(TOKEN));
}

#[test]
fn a_key_that_is_taken_away_ends_the_crawl() {
    let mut instance = server();
    instance.token_lasts = Some(3);
    instance.logins_last = Some(1);
    let server = LookerFake::start(instance).expect("a server");
    let error = crawl(&server, &scope(&["shop_prod"])).expect_err("a failure");
    assert_eq!(error.kind, RestErrorKind::Auth);
    assert_eq!(
        error.message,
        "Looker at 127.0.0.1 answered 404 for `/login`: Not found"
    );
}
