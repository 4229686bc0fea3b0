//! Tests that libraries never come from a cloned repository.

use std::fs::Permissions;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};

use ktx_config::Driver;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::duckdb::library::{LibraryOrigin, locate};
use crate::settings::{Clock, ConnectionSettings};
use crate::tests::{Secrets, connection, lines};

struct Machine {
    _folder: TempDir,
    root: PathBuf,
}

impl Machine {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        // The temporary folder can be a symbolic link.
        let root = folder.path().canonicalize().unwrap();
        let machine = Self {
            _folder: folder,
            root,
        };
        for place in ["clone/.git", "clone/project", "installed", "shared"] {
            std::fs::create_dir_all(machine.path(place)).unwrap();
        }
        machine
    }

    fn path(&self, place: &str) -> PathBuf {
        self.root.join(place)
    }

    #[expect(
        clippy::disallowed_methods,
        reason = "a library that a test lays out needs no atomic write"
    )]
    fn library(&self, place: &str) -> PathBuf {
        let path = self.path(place);
        std::fs::write(&path, "code").unwrap();
        path
    }

    fn locate(
        &self,
        project: &str,
        fields: Value,
        variable: Option<&str>,
    ) -> Result<(PathBuf, LibraryOrigin), String> {
        let variables = variable.map(|value| ("KTX_DUCKDB_LIBRARY".to_owned(), value.to_owned()));
        let secrets = Secrets {
            base: self.path(project),
            variables: variables.into_iter().collect(),
            ..Secrets::default()
        };
        let connection = connection(Driver::DuckDb, fields);
        locate(&ConnectionSettings::new(
            &connection,
            &secrets,
            Clock::new(0),
        ))
        .map(|library| (library.file, library.origin))
        .map_err(|error| lines(&error))
    }
}

fn refusal(what: &str) -> String {
    format!(
        "connection_config\nconnection `warehouse` {what}\na library is code: give the absolute path of \
         one that you have installed outside of the project, or set `KTX_DUCKDB_LIBRARY`"
    )
}

fn mode(path: &Path, bits: u32) {
    std::fs::set_permissions(path, Permissions::from_mode(bits)).unwrap();
}

#[test]
fn the_key_comes_before_the_variable_and_the_system() {
    let machine = Machine::new();
    let installed = machine.library("installed/libduckdb.so");
    let key = json!({"library": installed});
    assert_eq!(
        machine.locate("clone/project", key, Some("/usr/lib/d.so")),
        Ok((installed, LibraryOrigin::Setting))
    );
    assert_eq!(
        machine.locate("clone/project", json!({}), Some("/usr/lib/d.so")),
        Ok((PathBuf::from("/usr/lib/d.so"), LibraryOrigin::Variable))
    );
    let name = format!(
        "{}duckdb{}",
        std::env::consts::DLL_PREFIX,
        std::env::consts::DLL_SUFFIX
    );
    assert_eq!(
        machine.locate("clone/project", json!({}), None),
        Ok((PathBuf::from(name), LibraryOrigin::System))
    );
    assert_eq!(
        machine.locate("clone/project", json!({"library": "~/lib/d.so"}), None),
        Err(refusal(
            "names the `library` `/srv/home/lib/d.so`: No such file or directory (os error 2)"
        ))
    );
}

#[test]
fn nothing_that_came_with_the_project_is_loaded_however_it_is_written() {
    let machine = Machine::new();
    let inside = machine.library("clone/project/evil.so");
    let beside = machine.library("clone/evil.so");
    symlink(machine.path("clone/project"), machine.path("work")).unwrap();
    symlink(&inside, machine.path("installed/link.so")).unwrap();
    let own = Err(refusal("names a `library` of the project itself"));
    let around = format!("{}/installed/../clone/evil.so", machine.root.display());
    for (project, path) in [
        ("clone/project", "./evil.so".to_owned()),
        ("clone/project", "~/../evil.so".to_owned()),
        ("clone/project", around),
        ("clone/project", inside.display().to_string()),
        ("clone/project", beside.display().to_string()),
        (
            "clone/project",
            machine.path("installed/link.so").display().to_string(),
        ),
        ("work", inside.display().to_string()),
        ("work", machine.path("work/evil.so").display().to_string()),
    ] {
        let found = machine.locate(project, json!({"library": path}), None);
        assert_eq!(found, own, "{path}");
    }
}

#[test]
fn nothing_is_loaded_that_moves_or_that_every_user_may_replace() {
    let machine = Machine::new();
    let locate = |path: &Path| machine.locate("clone/project", json!({"library": path}), None);
    let moving = Err(refusal("names a `library` below `/proc` or `/dev`"));
    assert_eq!(locate(Path::new("/proc/self/cwd/Cargo.toml")), moving);
    assert_eq!(locate(Path::new("/dev/null")), moving);
    let replaced = |place: &Path| {
        Err(refusal(&format!(
            "names a `library` that any user can replace: any user can write to `{}`",
            place.display()
        )))
    };
    let shared = machine.library("shared/d.so");
    mode(&machine.path("shared"), 0o1777);
    assert_eq!(locate(&shared), replaced(&machine.path("shared")));
    mode(&machine.path("shared"), 0o755);
    assert_eq!(
        locate(&shared),
        Ok((shared.clone(), LibraryOrigin::Setting))
    );
    mode(&shared, 0o666);
    assert_eq!(locate(&shared), replaced(&shared));
}
