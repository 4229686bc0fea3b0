//! Tests of project paths.

use super::*;

#[test]
fn only_paths_inside_the_project_are_good() {
    for good in [
        "ktx.yaml",
        "wiki/global/a b.md",
        ".ktx/prompts/x",
        ".gitignore",
        "größe",
    ] {
        assert_eq!(
            ProjectPath::parse(good).map(|path| path.to_string()),
            Ok(good.to_owned())
        );
    }
    for bad in [
        "",
        "/etc",
        "a//b",
        "a/",
        "..",
        "a/../b",
        "./a",
        ".git/config",
        "a/.GIT/x",
        "a\\b",
        "a\0",
    ] {
        let error = ProjectPath::parse(bad).map_err(|error| error.to_string());
        assert_eq!(error, Err(format!("unsafe project path `{bad}`")));
    }
}

#[test]
fn paths_of_files_are_relative_to_their_project() {
    let root = Path::new("/p");
    let found = ProjectPath::inside(root, Path::new("/p/wiki/a.md"));
    assert_eq!(
        found.map(|path| path.under(root)),
        Ok(PathBuf::from("/p/wiki/a.md"))
    );
    assert!(ProjectPath::inside(root, Path::new("/q/a.md")).is_err());
    assert!(ProjectPath::inside(root, root).is_err());
}
