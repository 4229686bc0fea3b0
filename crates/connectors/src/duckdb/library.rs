//! Locates and loads DuckDB's library.

use std::env::consts::{DLL_PREFIX, DLL_SUFFIX};
use std::path::{Component, Path, PathBuf};

use adbc_core::options::AdbcVersion;
use adbc_driver_manager::ManagedDriver;
use ktx_secrets::SecretRef;
use ktx_warehouse::{ErrorKind, WarehouseError};

use crate::file;
use crate::settings::ConnectionSettings;

const VARIABLE: &str = "KTX_DUCKDB_LIBRARY";

const ENTRY: &[u8] = b"duckdb_adbc_init";

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Library {
    pub(super) file: PathBuf,
    pub(super) origin: LibraryOrigin,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LibraryOrigin {
    Setting,
    Variable,
    System,
}

/// # Errors
/// Refuses a `library` that the cloned repository or another user could provide, because its code
/// runs in this process.
pub(super) fn locate(settings: &ConnectionSettings<'_>) -> Result<Library, WarehouseError> {
    if let Some(written) = settings.written(&["library"]) {
        let text = if written.starts_with("env:") {
            settings
                .resolve(&SecretRef::parse(&written), "library")?
                .expose()
                .to_owned()
        } else {
            written
        };
        let file = installed(settings, text.trim()).map_err(|what| {
            settings.wrong(&what).hint(format!(
                "a library is code: give the absolute path of one that you have installed \
                 outside of the project, or set `{VARIABLE}`"
            ))
        })?;
        return Ok(Library {
            file,
            origin: LibraryOrigin::Setting,
        });
    }
    let variable = settings
        .secrets()
        .env(VARIABLE)
        .filter(|value| !value.trim().is_empty());
    Ok(match variable {
        Some(path) => Library {
            file: PathBuf::from(path),
            origin: LibraryOrigin::Variable,
        },
        None => Library {
            file: PathBuf::from(format!("{DLL_PREFIX}duckdb{DLL_SUFFIX}")),
            origin: LibraryOrigin::System,
        },
    })
}

/// Returns the real path of a `library` that only the user or an administrator can have installed.
fn installed(settings: &ConnectionSettings<'_>, text: &str) -> Result<PathBuf, String> {
    let written = Path::new(text);
    let is_rooted = written.is_absolute() || written.starts_with("~");
    if !is_rooted
        || written
            .components()
            .any(|part| part == Component::ParentDir)
    {
        return Err("names a `library` of the project itself".to_owned());
    }
    let path = file::absolute(settings, text);
    let real = path
        .canonicalize()
        .map_err(|error| format!("names the `library` `{}`: {error}", path.display()))?;
    // These folders depend on the reading process.
    let is_moving = |path: &Path| ["/proc", "/dev"].iter().any(|root| path.starts_with(root));
    if is_moving(&path) || is_moving(&real) {
        return Err("names a `library` below `/proc` or `/dev`".to_owned());
    }
    if real.starts_with(clone_of(&settings.secrets().base())) {
        return Err("names a `library` of the project itself".to_owned());
    }
    match open_to_all(&real) {
        Ok(None) => Ok(real),
        Ok(Some(place)) => Err(format!(
            "names a `library` that any user can replace: any user can write to `{}`",
            place.display()
        )),
        Err(error) => Err(format!("names the `library` `{}`: {error}", path.display())),
    }
}

/// Returns the repository around the project, else the project.
fn clone_of(base: &Path) -> PathBuf {
    let real = base.canonicalize();
    let base = real.unwrap_or_else(|_| base.to_owned());
    let repository = base
        .ancestors()
        .find(|folder| folder.join(".git").exists())
        .map(Path::to_owned);
    repository.unwrap_or(base)
}

/// Returns the file or ancestor through which another user could replace the file.
#[cfg(unix)]
fn open_to_all(real: &Path) -> std::io::Result<Option<PathBuf>> {
    use std::os::unix::fs::PermissionsExt as _;
    const OTHERS_WRITE: u32 = 0o002;
    const ONLY_OWN_NAMES: u32 = 0o1000;
    for (steps, place) in real.ancestors().enumerate() {
        let mode = std::fs::metadata(place)?.permissions().mode();
        // For an ancestor, the sticky bit is enough.
        let is_kept = steps > 1 && mode & ONLY_OWN_NAMES != 0;
        if mode & OTHERS_WRITE != 0 && !is_kept {
            return Ok(Some(place.to_owned()));
        }
    }
    Ok(None)
}

#[cfg(not(unix))]
fn open_to_all(_: &Path) -> std::io::Result<Option<PathBuf>> {
    Ok(None)
}

pub(super) fn load(library: &Library) -> Result<ManagedDriver, WarehouseError> {
    let shown = library.file.display();
    ManagedDriver::load_dynamic_from_filename(
        library.file.as_os_str(),
        Some(ENTRY),
        AdbcVersion::V110,
    )
    .map_err(|error| {
        let reason = error.message.replace("Error with dynamic library: ", "");
        let what = match library.origin {
            LibraryOrigin::Setting => format!("the library `{shown}` of the key `library`"),
            LibraryOrigin::Variable => format!("the library `{shown}` of `{VARIABLE}`"),
            LibraryOrigin::System => format!("DuckDB's library `{shown}`"),
        };
        WarehouseError::new(
            ErrorKind::Config,
            format!("{what} cannot be loaded: {reason}"),
        )
        .hint(format!(
            "install `libduckdb` 1.5 or newer from https://duckdb.org/install, and name the file in \
             the key `library` or in `{VARIABLE}`, or put it where the system looks for libraries"
        ))
    })
}
