//! The warehouse: added with its secrets outside `ktx.yaml`, and reached once.

use ktx_config::Driver;

use super::super::connection::{add, find, probe};
use super::{State, Step};
use crate::cli::{ConnectionAddArgs, SetupArgs};
use crate::exit::Exit;
use crate::report::{Failure, Outcome};
use crate::session::{Opened, Session, load};

/// Adds, reaches or misses a warehouse.
pub(super) fn step(args: &SetupArgs, session: &Session, opened: &Opened) -> Outcome<Step> {
    if let Some(driver) = &args.database {
        return added(args, driver, session, opened);
    }
    if args.skip_databases {
        return Ok(Step::new(
            "database",
            State::Skipped,
            "nothing can be asked yet",
        ));
    }
    let warehouses: Vec<_> = opened.config.warehouses().collect();
    if warehouses.is_empty() {
        let step = Step::new(
            "database",
            State::Missing,
            "there is no warehouse connection",
        );
        return Ok(step
            .hint("`--database postgres --database-url env:DATABASE_URL` adds one")
            .hint("`--database sqlite --database-url data.sqlite` reads a file")
            .hint("`--skip-databases` does without"));
    }
    let mut names = Vec::new();
    for tested in probe(&warehouses, session, opened)? {
        tested.result?;
        names.push(tested.connection.id.to_string());
    }
    let detail = format!("{}: reached", names.join(", "));
    Ok(Step::new("database", State::Ready, detail))
}

/// A warehouse needs an address.
pub(super) fn fitting(args: &SetupArgs) -> Outcome<()> {
    match (&args.database, &args.database_url) {
        (Some(driver), None) => Err(Failure::new(
            Exit::Usage,
            "database_url_required",
            format!("`--database {driver}` needs `--database-url`"),
        )
        .hint("use `ktx connection add` to give host, user and password one by one")),
        _ => Ok(()),
    }
}

fn added(args: &SetupArgs, driver: &str, session: &Session, opened: &Opened) -> Outcome<Step> {
    let url = args.database_url.clone().unwrap_or_default();
    let is_file = matches!(Driver::parse(driver), Some(Driver::Sqlite | Driver::DuckDb));
    let (path, url) = if is_file {
        (Some(url), None)
    } else {
        (None, Some(url))
    };
    let id = args
        .database_connection_id
        .clone()
        .unwrap_or_else(|| usual_id(driver, opened));
    let entry = ConnectionAddArgs {
        id,
        driver: driver.to_owned(),
        url,
        path,
        schema: args.database_schema.clone(),
        ..ConnectionAddArgs::default()
    };
    if let Some(step) = known(args, &entry, session, opened)? {
        return Ok(step);
    }
    let entered = add::enter(&entry, session, opened)?;
    let id = entered.connection.id.to_string();
    let opened = load(&opened.dir, &session.environment)?;
    for tested in probe(&[find(&opened, &id)?], session, &opened)? {
        tested.result.map_err(|failure| {
            failure
                .hint("the connection stays in ktx.yaml")
                .hint(format!("run `ktx connection test {id}` again"))
        })?;
    }
    let mut step = Step::new("database", State::Done, format!("{id}: reached"));
    for note in entered.notes {
        step = step.hint(note);
    }
    Ok(step.hint("ktx.yaml is changed and not committed"))
}

/// The step for a database that is configured already: it is reached, and `ktx.yaml` stays. Another
/// id that is asked for by name is another connection.
fn known(
    args: &SetupArgs,
    entry: &ConnectionAddArgs,
    session: &Session,
    opened: &Opened,
) -> Outcome<Option<Step>> {
    let Some(standing) = add::standing(entry, session, opened)? else {
        return Ok(None);
    };
    let asked = args.database_connection_id.as_deref();
    if asked.is_some_and(|id| id != standing.id.as_str()) {
        return Ok(None);
    }
    for tested in probe(&[standing], session, opened)? {
        tested.result?;
    }
    let id = &standing.id;
    let mut step = Step::new("database", State::Ready, format!("{id}: reached"));
    if !args.database_schema.is_empty() {
        step = step.hint(format!(
            "its schemas stay as they are; change them under connections.{id} in ktx.yaml"
        ));
    }
    Ok(Some(step))
}

/// `sqlite-local`, `postgres-warehouse`; with a number when that is taken.
fn usual_id(driver: &str, opened: &Opened) -> String {
    let place = if driver == "sqlite" || driver == "duckdb" {
        "local"
    } else {
        "warehouse"
    };
    let first = format!("{driver}-{place}");
    let is_free = |id: &String| opened.config.connection(id).is_none();
    if is_free(&first) {
        return first;
    }
    // One of so many names is free.
    (2..opened.config.connections.len() + 3)
        .map(|number| format!("{first}-{number}"))
        .find(is_free)
        .unwrap_or(first)
}
