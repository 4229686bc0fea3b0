//! The cached listing of `ktx sl` equals the files.

use std::time::{Duration, SystemTime};

use ktx_test_support::sandbox::Sandbox;

use crate::support::{ORDERS, run, shop, write};

const PATH: &str = "semantic-layer/warehouse/orders.yaml";

fn kept(sandbox: &Sandbox) -> std::path::PathBuf {
    sandbox.work().join(".ktx/state/listings/warehouse.json")
}

/// Waits, because programs cannot set the change time back.
fn age(sandbox: &Sandbox) {
    use std::os::unix::fs::MetadataExt as _;

    let folder = sandbox.work().join("semantic-layer/warehouse");
    for path in ["orders.yaml", "_schema/public.yaml"] {
        let metadata = std::fs::metadata(folder.join(path)).unwrap();
        let changed = u64::try_from(metadata.ctime()).unwrap() + 1;
        let old = SystemTime::UNIX_EPOCH + Duration::from_secs(changed + 2);
        while let Ok(rest) = old.duration_since(SystemTime::now()) {
            std::thread::sleep(rest + Duration::from_millis(1));
        }
    }
}

fn listed(sandbox: &Sandbox) -> String {
    let printed = run(sandbox, "sl");
    assert_eq!(printed.code, Some(0), "{printed}");
    printed.stdout
}

#[test]
fn a_kept_listing_is_used_until_a_file_changes() {
    let sandbox = shop();
    age(&sandbox);
    let first = listed(&sandbox);
    assert_eq!(
        first,
        "warehouse\tcustomers\tcolumns=4\tmeasures=0\tjoins=2\nwarehouse\torders\tcolumns=5\tmeasures=2\tjoins=1\nwarehouse\tregions\tcolumns=2\tmeasures=0\tjoins=1\n"
    );
    // A word added to the cache appears.
    let text = std::fs::read_to_string(kept(&sandbox)).unwrap();
    std::fs::write(kept(&sandbox), text.replace("\"regions\"", "\"kept\"")).unwrap();
    assert_eq!(listed(&sandbox), first.replace("regions", "kept"));
    write(
        &sandbox,
        PATH,
        &ORDERS.replace("order_count", "orders_made"),
    );
    assert_eq!(listed(&sandbox), first);
    write(&sandbox, "semantic-layer/warehouse/new.yaml", "name: [");
    assert!(listed(&sandbox).contains("new"));
}

#[test]
fn an_edit_within_the_same_tick_of_the_clock_is_seen() {
    let sandbox = shop();
    let first = listed(&sandbox);
    // Only the change time differs.
    let path = sandbox.work().join(PATH);
    let young = SystemTime::now();
    let set = |text: &str| {
        let file = std::fs::File::options().write(true).open(&path).unwrap();
        std::io::Write::write_all(&mut &file, text.as_bytes()).unwrap();
        file.set_modified(young).unwrap();
    };
    set(ORDERS);
    assert_eq!(listed(&sandbox), first);
    set(&ORDERS.replace("segments:\n", "#egments:\n").replace(
        "  - name: paid\n    expr: status = 'paid'\n",
        "# - name: paid\n#   expr: status = 'paid'\n",
    ));
    let shown = run(&sandbox, "sl --json").stdout;
    assert!(shown.contains("\"measureCount\": 2"), "{shown}");
    set(&ORDERS.replace("name: order_count", "nome: order_count"));
    assert_ne!(listed(&sandbox), first);
}

#[test]
fn a_broken_listing_is_made_anew() {
    let sandbox = shop();
    let first = run(&sandbox, "sl");
    for broken in ["", "no listing", "\u{0}\u{0}"] {
        std::fs::write(kept(&sandbox), broken).unwrap();
        assert_eq!(run(&sandbox, "sl"), first);
    }
    std::fs::remove_file(kept(&sandbox)).unwrap();
    std::fs::create_dir(kept(&sandbox)).unwrap();
    assert_eq!(run(&sandbox, "sl"), first);
}

/// A search for such a word names the command.
#[test]
fn lists_and_searches_are_commands_and_near_misses_are_told() {
    let sandbox = shop();
    assert_eq!(run(&sandbox, "sl list").stdout, listed(&sandbox));
    assert_eq!(
        run(&sandbox, "sl search orders").stdout,
        run(&sandbox, "sl orders").stdout
    );
    let printed = run(&sandbox, "sl grap");
    assert!(
        printed
            .stderr
            .contains("note: searching for `grap`; to run the command, write `ktx sl graph`\n"),
        "{printed}"
    );
    let printed = run(&sandbox, "wiki serch");
    assert!(
        printed.stderr.contains("write `ktx wiki search`\n"),
        "{printed}"
    );
    for line in [
        "sl --connection warehouse list",
        "sql --connection-id warehouse 'SELECT 1'",
    ] {
        let printed = run(&sandbox, line);
        assert_eq!(printed.code, Some(0), "{printed}");
    }
}

#[test]
fn people_see_no_marks_and_no_json() {
    let sandbox = shop();
    let printed = run(&sandbox, "sl search orders --output pretty");
    assert_eq!(printed.code, Some(0), "{printed}");
    assert!(!printed.stdout.contains("<mark>"), "{printed}");
    let query = "sl query --measure 'count(orders.*)' --output pretty";
    let printed = run(&sandbox, query);
    assert!(
        printed.stdout.starts_with("WITH orders_part AS ("),
        "{printed}"
    );
    let printed = run(&sandbox, &format!("{query} --execute"));
    assert!(printed.stdout.starts_with("count_orders\n"), "{printed}");
}
