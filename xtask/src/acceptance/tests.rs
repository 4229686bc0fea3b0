//! The scripts and their page.

use super::*;

#[test]
fn the_page_lists_every_script() {
    let repository = Repository::locate().unwrap();
    let found: Vec<String> = scripts(&repository)
        .unwrap()
        .iter()
        .map(|script| file_name(script))
        .collect();
    let page = repository.root().join(FOLDER).join("README.md");
    let page = std::fs::read_to_string(page).unwrap();
    let mut listed: Vec<String> = page
        .lines()
        .filter_map(|line| line.strip_prefix("| `")?.split_once('`'))
        .map(|(name, _)| name.to_owned())
        .collect();
    listed.sort();
    assert_eq!(found, listed);
}

#[test]
fn an_unknown_script_is_an_error() {
    let repository = Repository::locate().unwrap();
    assert_eq!(
        run(&repository, Programs::Built, Some("no-such"))
            .unwrap_err()
            .to_string(),
        "no script `no-such` in `fixtures/acceptance`"
    );
}
