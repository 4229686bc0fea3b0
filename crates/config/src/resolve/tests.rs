//! Value tests of the resolution.

use super::*;

#[track_caller]
fn check(
    flag: Option<&str>,
    variable: Option<&str>,
    expected: Result<(&str, ProjectDirOrigin), ResolveError>,
) {
    let exists = |path: &Path| path == Path::new("/a/ktx.yaml") || path == Path::new("/ktx.yaml");
    let found = project_dir(flag, variable, Path::new("/a/b/c"), exists);
    let expected = expected.map(|(dir, origin)| ResolvedProject {
        dir: PathBuf::from(dir),
        origin,
    });
    assert_eq!(found, expected);
}

#[test]
fn the_flag_wins_then_the_variable_then_the_nearest_folder() {
    check(Some("/x"), Some("/y"), Ok(("/x", ProjectDirOrigin::Flag)));
    check(Some("x"), None, Ok(("/a/b/c/x", ProjectDirOrigin::Flag)));
    check(None, Some("/y"), Ok(("/y", ProjectDirOrigin::Environment)));
    check(None, None, Ok(("/a", ProjectDirOrigin::Ancestor)));
}

#[test]
fn blank_values_are_errors() {
    check(Some(""), Some("/y"), Err(ResolveError::BlankFlag));
    check(None, Some(" "), Err(ResolveError::BlankVariable));
}

#[test]
fn without_any_project_it_is_the_current_folder() {
    let found = project_dir(None, None, Path::new("/a/b"), |_| false);
    assert_eq!(
        found,
        Ok(ResolvedProject {
            dir: PathBuf::from("/a/b"),
            origin: ProjectDirOrigin::CurrentFolder
        })
    );
}
