//! Where DuckDB's library is, and how it is loaded.

use std::env::consts::{DLL_PREFIX, DLL_SUFFIX};
use std::path::{Path, PathBuf};

use adbc_core::options::AdbcVersion;
use adbc_driver_manager::ManagedDriver;
use ktx_secrets::SecretRef;
use ktx_warehouse::{ErrorKind, WarehouseError};

use crate::file;
use crate::settings::Settings;

/// The variable that names the library for all connections.
const VARIABLE: &str = "KTX_DUCKDB_LIBRARY";

/// The function of the library that hands the ADBC driver out.
const ENTRY: &[u8] = b"duckdb_adbc_init";

/// Which library is loaded, and who said so.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Library {
    /// A path, or a bare name for the system's loader.
    pub(super) file: PathBuf,
    pub(super) origin: Origin,
}

/// Who named the library.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Origin {
    /// The key `library` of the connection.
    Setting,
    /// [`VARIABLE`].
    Variable,
    /// Nobody: the system's loader looks for it.
    System,
}

/// Finds out which library to load; loads nothing.
///
/// # Errors
/// A `library` that is relative or lies inside the project is refused: what is loaded runs as part of
/// this program, and a project comes from wherever it was cloned from.
pub(super) fn locate(settings: &Settings<'_>) -> Result<Library, WarehouseError> {
    if let Some(written) = settings.written(&["library"]) {
        let text = if written.starts_with("env:") {
            settings
                .resolve(&SecretRef::parse(&written), "library")?
                .expose()
                .to_owned()
        } else {
            written
        };
        let path = Path::new(text.trim());
        let is_rooted = path.is_absolute() || path.starts_with("~");
        let path = file::absolute(settings, text.trim());
        if !is_rooted || path.starts_with(settings.secrets().base()) {
            return Err(settings
                .wrong("names a `library` of the project itself")
                .hint(format!(
                    "a library is code: give the absolute path of one that you have installed \
                     outside of the project, or set `{VARIABLE}`"
                )));
        }
        return Ok(Library {
            file: path,
            origin: Origin::Setting,
        });
    }
    let variable = settings
        .secrets()
        .env(VARIABLE)
        .filter(|value| !value.trim().is_empty());
    Ok(match variable {
        Some(path) => Library {
            file: PathBuf::from(path),
            origin: Origin::Variable,
        },
        None => Library {
            file: PathBuf::from(format!("{DLL_PREFIX}duckdb{DLL_SUFFIX}")),
            origin: Origin::System,
        },
    })
}

/// Loads the library; the second time this is cheap.
pub(super) fn load(library: &Library) -> Result<ManagedDriver, WarehouseError> {
    let shown = library.file.display();
    ManagedDriver::load_dynamic_from_filename(
        library.file.as_os_str(),
        Some(ENTRY),
        AdbcVersion::V110,
    )
    .map_err(|error| {
        let said = error.message.replace("Error with dynamic library: ", "");
        let what = match library.origin {
            Origin::Setting => format!("the library `{shown}` of the key `library`"),
            Origin::Variable => format!("the library `{shown}` of `{VARIABLE}`"),
            Origin::System => format!("DuckDB's library `{shown}`"),
        };
        WarehouseError::new(
            ErrorKind::Config,
            format!("{what} cannot be loaded: {said}"),
        )
        .hint(format!(
            "install `libduckdb` 1.5 or newer from https://duckdb.org/install, and name the file in \
             the key `library` or in `{VARIABLE}`, or put it where the system looks for libraries"
        ))
    })
}
