//! A search costs what it finds, not the size of the graph.

use super::*;
use crate::model::resolved::{Join, Origin, Relation};

fn many_to_one(to: &str, alias: Option<&str>) -> Join {
    Join {
        to: to.to_owned(),
        alias: alias.map(str::to_owned),
        relationship: Relationship::ManyToOne,
        on: String::new(),
        pairs: vec![(format!("{}_id", alias.unwrap_or(to)), "id".to_owned())],
        origin: JoinOrigin::Written,
        weight: None,
        counted: Counted::default(),
    }
}

fn source(name: &str, joins: Vec<Join>) -> Source {
    Source {
        name: name.to_owned(),
        path: format!("{name}.yaml"),
        origin: Origin::Standalone,
        relation: Relation::Table(name.to_owned()),
        grain: vec!["id".to_owned()],
        has_declared_grain: true,
        scanned_key: Vec::new(),
        columns: Vec::new(),
        joins,
        measures: Vec::new(),
        segments: Vec::new(),
        descriptions: BTreeMap::new(),
        problem: None,
        measure_places: crate::model::resolved::MeasurePlaces::default(),
    }
}

fn graph(sources: &[Source]) -> Graph {
    let by_name = sources
        .iter()
        .enumerate()
        .map(|(at, source)| (source.name.clone(), at))
        .collect();
    Graph::new(sources, &by_name)
}

fn names(graph: &Graph, path: &[Edge]) -> Vec<String> {
    path.iter()
        .map(|edge| graph.name(edge.to).to_owned())
        .collect()
}

#[test]
fn a_table_that_every_fact_looks_up_leads_to_none_of_them() {
    let mut sources = vec![source("calendar", Vec::new())];
    sources.extend((0..500).map(|n| {
        let joins = vec![many_to_one("calendar", None)];
        source(&format!("fact_{n}"), joins)
    }));
    let graph = graph(&sources);
    assert_eq!(graph.edges_from(0).len(), 500);
    assert_eq!(graph.safe_edges_from(0).count(), 0);
    assert_eq!(Routes::new(&graph, 0).nodes().collect::<Vec<_>>(), [0]);
    assert_eq!(Routes::new(&graph, 7).nodes().collect::<Vec<_>>(), [0, 7]);
}

#[test]
fn chains_may_be_longer_than_a_stack_is_deep() {
    const LENGTH: usize = 50_000;
    let name = |n: usize| format!("t{n}");
    let sources: Vec<Source> = (0..LENGTH)
        .map(|n| match n + 1 {
            LENGTH => source(&name(n), Vec::new()),
            next => source(&name(n), vec![many_to_one(&name(next), None)]),
        })
        .collect();
    let graph = graph(&sources);
    let there = Routes::new(&graph, 0).lookup(LENGTH - 1);
    assert!(matches!(there, Lookup::Path(path) if path.len() == LENGTH - 1));
    let back = Routes::new(&graph, LENGTH - 1).lookup(0);
    assert!(matches!(back, Lookup::Unsafe(path) if path.len() == LENGTH - 1));
}

#[test]
fn two_equally_short_paths_are_both_told() {
    let sources = [
        source(
            "visits",
            vec![many_to_one("doctors", None), many_to_one("rooms", None)],
        ),
        source("doctors", vec![many_to_one("wards", None)]),
        source("rooms", vec![many_to_one("wards", None)]),
        source("wards", vec![many_to_one("floors", None)]),
        source("floors", Vec::new()),
        source("parking", Vec::new()),
    ];
    let graph = graph(&sources);
    let routes = Routes::new(&graph, 0);
    let ambiguous: Vec<NodeId> = routes
        .nodes()
        .filter(|node| routes.is_ambiguous(*node))
        .collect();
    assert_eq!(ambiguous, [3, 4]);
    let Lookup::Ambiguous(one, other) = routes.lookup(4) else {
        panic!("{:?}", routes.lookup(4));
    };
    assert_eq!(names(&graph, &one), ["doctors", "wards", "floors"]);
    assert_eq!(names(&graph, &other), ["rooms", "wards", "floors"]);
    assert_eq!(routes.lookup(5), Lookup::Unreachable);
    assert!(matches!(routes.lookup(1), Lookup::Path(path) if path.len() == 1));
}

#[test]
fn a_join_declared_on_both_sides_is_as_safe_as_both_say() {
    let mut back = many_to_one("orders", None);
    back.pairs = vec![("id".to_owned(), "customers_id".to_owned())];
    let sources = [
        source("orders", vec![many_to_one("customers", None)]),
        source("customers", vec![back]),
    ];
    let graph = graph(&sources);
    let kinds = |node| -> Vec<Relationship> {
        let edges = graph.edges_from(node).iter();
        edges.map(|edge| edge.relationship).collect()
    };
    assert_eq!(kinds(0), [Relationship::OneToMany]);
    assert_eq!(kinds(1), [Relationship::OneToMany]);
}

#[test]
fn roles_take_over_look_ups_however_many_sources_there_are() {
    let mut sources = Vec::new();
    for n in 0..400 {
        let (depots, districts, start) = (
            format!("depots_{n}"),
            format!("districts_{n}"),
            format!("start_{n}"),
        );
        sources.push(source(
            &format!("trips_{n}"),
            vec![many_to_one(&depots, Some(&start))],
        ));
        sources.push(source(&depots, vec![many_to_one(&districts, None)]));
        sources.push(source(&districts, Vec::new()));
    }
    let graph = graph(&sources);
    assert_eq!(graph.nodes().count(), 400 * 5);
    let role = graph.node_id("START_399.districts_399").unwrap();
    let trips = graph.node_id("trips_399").unwrap();
    let Lookup::Path(path) = Routes::new(&graph, trips).lookup(role) else {
        panic!("no path to the role");
    };
    assert_eq!(
        names(&graph, &path),
        ["start_399", "start_399.districts_399"]
    );
    let district = graph.node_id("districts_399").unwrap();
    assert_eq!(graph.roles_of(district), [role]);
}
