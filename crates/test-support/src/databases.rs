//! Databases with known links, as SQLite scripts.
#![expect(
    clippy::expect_used,
    reason = "numbers and texts of a generated database fit, or the test has no database"
)]

pub mod generator;
pub mod schemas;
pub mod shapes;
pub mod styles;

use std::collections::BTreeSet;

use crate::databases::generator::Truth;

pub const WRITTEN: &[(&str, &str)] = &[
    ("bikes", include_str!("databases/written/bikes.sql")),
    ("cars", include_str!("databases/written/cars.sql")),
    ("claims", include_str!("databases/written/claims.sql")),
    ("clinic", include_str!("databases/written/clinic.sql")),
    ("depot", include_str!("databases/written/depot.sql")),
    ("dogs", include_str!("databases/written/dogs.sql")),
    ("ferries", include_str!("databases/written/ferries.sql")),
    ("forum", include_str!("databases/written/forum.sql")),
    ("league", include_str!("databases/written/league.sql")),
    ("movies", include_str!("databases/written/movies.sql")),
    ("papers", include_str!("databases/written/papers.sql")),
    ("school", include_str!("databases/written/school.sql")),
    ("tenants", include_str!("databases/written/tenants.sql")),
    ("tennis", include_str!("databases/written/tennis.sql")),
    ("tienda", include_str!("databases/written/tienda.sql")),
    ("werkstatt", include_str!("databases/written/werkstatt.sql")),
];

/// Databases that list their links.
pub const QUESTIONED: &[(&str, &str)] = &[
    (
        "answers",
        include_str!("../../../fixtures/questions/answers.sql"),
    ),
    (
        "biblioteca",
        include_str!("../../../fixtures/questions/biblioteca.sql"),
    ),
    (
        "campus",
        include_str!("../../../fixtures/questions/campus.sql"),
    ),
    (
        "cinema",
        include_str!("../../../fixtures/questions/cinema.sql"),
    ),
    (
        "clinique",
        include_str!("../../../fixtures/questions/clinique.sql"),
    ),
    (
        "cycles",
        include_str!("../../../fixtures/questions/cycles.sql"),
    ),
    (
        "freight",
        include_str!("../../../fixtures/questions/freight.sql"),
    ),
    (
        "staffing",
        include_str!("../../../fixtures/questions/staffing.sql"),
    ),
    (
        "support",
        include_str!("../../../fixtures/questions/support.sql"),
    ),
    (
        "trading",
        include_str!("../../../fixtures/questions/trading.sql"),
    ),
    ("ward", include_str!("../../../fixtures/questions/ward.sql")),
];

/// Parses lines `-- link: child.column+column -> parent.column+column`.
pub fn truth_of(script: &str) -> BTreeSet<Truth> {
    let side = |text: &str| {
        let (table, columns) = text.split_once('.')?;
        Some((
            table.to_owned(),
            columns.split('+').map(str::to_owned).collect::<Vec<_>>(),
        ))
    };
    let links = script
        .lines()
        .filter_map(|line| line.strip_prefix("-- link: "));
    links
        .filter_map(|link| {
            let (from, to) = link.split_once(" -> ")?;
            let ((from, own), (to, other)) = (side(from)?, side(to)?);
            Some((from, own, to, other))
        })
        .collect()
}
