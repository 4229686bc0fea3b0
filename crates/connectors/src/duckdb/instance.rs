//! A read-only DuckDB instance, shared by concurrent operations.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use adbc_core::options::{OptionDatabase, OptionValue};
use adbc_core::{Connection as _, Database as _, Driver as _, Statement as _};
use adbc_driver_manager::{ManagedConnection, ManagedDatabase};
use ktx_sql::Dialect;
use ktx_warehouse::WarehouseError;

use super::error::{self, ErrorMapper};
use super::library::{self, Library};
use super::optimizers;
use super::{FILE, error::map};
use crate::file;
use crate::settings::{ConnectionSettings, UTC};

const MEMORY: &str = "2GB";

const THREADS: usize = 4;

#[derive(Debug)]
pub(super) struct DuckDbEngine {
    pub(super) path: PathBuf,
    library: Library,
    memory: String,
    pub(super) timezone: String,
    open: Mutex<Weak<Instance>>,
}

pub(super) struct Instance {
    database: ManagedDatabase,
}

impl std::fmt::Debug for Instance {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Instance").finish_non_exhaustive()
    }
}

impl Instance {
    pub(super) fn connect(&self) -> Result<ManagedConnection, adbc_core::error::Error> {
        self.database.new_connection()
    }
}

impl DuckDbEngine {
    pub(super) fn new(path: PathBuf, library: Library, memory: String, timezone: String) -> Self {
        Self {
            path,
            library,
            memory,
            timezone,
            open: Mutex::new(Weak::new()),
        }
    }

    /// Blocks.
    pub(super) fn instance(&self) -> Result<Arc<Instance>, WarehouseError> {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(instance) = open.upgrade() {
            return Ok(instance);
        }
        file::inspect(&self.path, &FILE)?;
        let mut driver = library::load(&self.library)?;
        let version = optimizers::version(&mut driver)
            .map_err(|error| error::opening(&error, &self.path, &self.library))?;
        let database = driver
            .new_database_with_opts(self.options(optimizers::optimizers_to_disable(&version)))
            .map_err(|error| error::opening(&error, &self.path, &self.library))?;
        let instance = Arc::new(Instance { database });
        // Before 1.5, sessions cannot be interrupted, so no deadline would hold.
        instance
            .connect()
            .and_then(|session| session.get_cancel_handle().try_cancel())
            .map_err(|error| error::opening(&error, &self.path, &self.library))?;
        self.settle(&instance)?;
        *open = Arc::downgrade(&instance);
        Ok(instance)
    }

    /// Sets the time zone and locks the configuration. An extension provides time zones, so this is
    /// not possible when the file opens.
    fn settle(&self, instance: &Instance) -> Result<(), WarehouseError> {
        let failed = |error| error::opening(&error, &self.path, &self.library);
        let mut session = instance.connect().map_err(failed)?;
        let zone = Dialect::DuckDb.literal(&self.timezone);
        match set(&mut session, &format!("SET GLOBAL TimeZone = {zone}")) {
            // Without time zones DuckDB uses UTC.
            Err(error) if self.timezone == UTC && error.message.contains("unrecognized") => {}
            set => set.map_err(failed)?,
        }
        set(&mut session, "SET GLOBAL lock_configuration = true").map_err(failed)
    }

    #[cfg(test)]
    pub(super) fn is_idle(&self) -> bool {
        let open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        open.strong_count() == 0
    }

    fn options(&self, turned_off: Option<&str>) -> Vec<(OptionDatabase, OptionValue)> {
        let threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        let mut options = vec![
            ("path", self.path.to_string_lossy().into_owned()),
            ("access_mode", "read_only".to_owned()),
            // Disables spilling. DuckDB requires this before external access is disabled.
            ("temp_directory", String::new()),
            // Blocks files, network, extensions and secrets.
            ("enable_external_access", "false".to_owned()),
            ("autoinstall_known_extensions", "false".to_owned()),
            ("autoload_known_extensions", "false".to_owned()),
            ("allow_community_extensions", "false".to_owned()),
            ("memory_limit", self.memory.clone()),
            ("threads", threads.clamp(1, THREADS).to_string()),
            // Keeps the types of 128-bit numbers, bits and zoned times.
            ("arrow_lossless_conversion", "true".to_owned()),
        ];
        options.extend(turned_off.map(|names| (optimizers::SETTING, names.to_owned())));
        let option = |(key, value): (&str, String)| {
            (
                OptionDatabase::Other(key.to_owned()),
                OptionValue::String(value),
            )
        };
        options.into_iter().map(option).collect()
    }

    pub(super) fn wrong(
        &self,
        error: &adbc_core::error::Error,
        stop: &crate::stop::StopSignal,
    ) -> WarehouseError {
        map(&error.message, &ErrorMapper(&self.path), stop)
    }
}

fn set(session: &mut ManagedConnection, sql: &str) -> Result<(), adbc_core::error::Error> {
    let mut statement = session.new_statement()?;
    statement.set_sql_query(sql)?;
    statement.execute_update().map(|_| ())
}

pub(super) fn memory(settings: &ConnectionSettings<'_>) -> Result<String, WarehouseError> {
    let Some(text) = settings.written(&["memory_limit"]) else {
        return Ok(MEMORY.to_owned());
    };
    let compact: String = text.split_whitespace().collect();
    let unit = compact.trim_start_matches(|letter: char| letter.is_ascii_digit());
    let number = compact.strip_suffix(unit).unwrap_or_default();
    let is_number = number.parse::<u32>().is_ok_and(|number| number > 0);
    let is_unit = ["kb", "mb", "gb", "tb", "kib", "mib", "gib", "tib"]
        .contains(&unit.to_ascii_lowercase().as_str());
    if is_number && is_unit {
        return Ok(compact);
    }
    Err(settings
        .wrong(&format!("has the `memory_limit` `{text}`"))
        .hint("write a whole number and a unit, such as `4GB`"))
}
