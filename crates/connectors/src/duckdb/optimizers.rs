//! DuckDB optimizers that give wrong results in some releases.

use adbc_core::error::Error;
use adbc_core::{Connection as _, Database as _, Driver as _, Statement as _};
use adbc_driver_manager::ManagedDriver;
use arrow_array::cast::AsArray as _;

/// DuckDB 2.0 treats similar joins as one subplan: numbers are wrong or statements fail.
const OF_2_0: &str = "common_subplan,compressed_materialization,statistics_propagation";

pub(super) const SETTING: &str = "disabled_optimizers";

pub(super) fn optimizers_to_disable(version: &str) -> Option<&'static str> {
    let mut numbers = version.trim_start_matches('v').split('.');
    let is_2_0 = numbers.next() == Some("2") && numbers.next() == Some("0");
    is_2_0.then_some(OF_2_0)
}

pub(super) fn version(driver: &mut ManagedDriver) -> Result<String, Error> {
    let database = driver.new_database()?;
    let mut session = database.new_connection()?;
    let mut statement = session.new_statement()?;
    statement.set_sql_query("SELECT version()")?;
    for batch in statement.execute()? {
        let batch = batch.map_err(Error::from)?;
        let texts = batch
            .columns()
            .first()
            .and_then(|column| column.as_string_opt::<i32>());
        if let Some(text) = texts.and_then(|texts| texts.iter().flatten().next()) {
            return Ok(text.to_owned());
        }
    }
    Ok(String::new())
}
