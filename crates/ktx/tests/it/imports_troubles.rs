//! Sources with damaged parts: reported once, earlier imports stay, the rest is imported.

use ktx_test_support::sandbox::Sandbox;

use crate::imports::{project, wrong};
use crate::support::{commit, run, transcript, write};

const MANIFEST: &str = "models/artifacts/manifest.json";

fn imports(sandbox: &Sandbox) -> Vec<String> {
    let folder = sandbox
        .work()
        .join("semantic-layer/warehouse/_imports/shop");
    let entries = std::fs::read_dir(folder).expect("imports");
    let mut texts: Vec<String> = entries
        .map(|entry| std::fs::read_to_string(entry.expect("an entry").path()).expect("a file"))
        .collect();
    texts.sort();
    texts
}

#[test]
fn a_manifest_that_cannot_be_read_is_named_and_takes_nothing_away() {
    let connection = "dbt, source_dir: models, manifest: models/artifacts/manifest.json, catalog: models/artifacts/catalog.json";
    let sandbox = project("manifest", connection);
    assert_eq!(run(&sandbox, "ingest --facts").code, Some(0));
    let (manifest, before) = (
        sandbox.read(MANIFEST).expect("a manifest"),
        imports(&sandbox),
    );
    let half = manifest.split_at(manifest.len() / 2).0.to_owned();
    let mut told = String::new();
    for damaged in [
        half,
        manifest.replace("/manifest/v12.json", "/manifest/v4.json"),
        manifest.replace("/manifest/v12.json", "/manifest/next.json"),
    ] {
        assert_ne!(damaged, manifest);
        write(&sandbox, MANIFEST, &damaged);
        told.push_str(&transcript(&run(&sandbox, "ingest --facts")));
        assert_eq!(imports(&sandbox), before, "{told}");
        assert_eq!(wrong(&sandbox, "manifest"), "");
    }
    insta::assert_snapshot!(told, @r"
    exit 0
    Source	Unit	Status	Pages	Sources	Commit
    shop	facts of 1 table	done	-	-	[COMMIT]
    shop	2 definitions	0 imported	-	-	-
    --- stderr
    Project: [SANDBOX]/work
    warning: shop: models/schema.yml:18:14: `schema` was left out: undefined value
    warning: shop: models/schema.yml: `orders` was left out: its SQL computes its alias
    warning: shop: models/schema.yml:12:19: `description` was left out: who is unknown
    warning: shop: `models/artifacts/manifest.json` was not read: it is not whole or not an artifact of dbt (EOF while parsing a value at line 465 column 19)
    warning: shop: no scan has found buyers, payments; if they exist, run `ktx scan`
    shop: models/schema.yml:41: measure `revenue` was not imported: no semantic model with a known table has the measure `amount`
    shop: models/schema.yml:43: saved query `monthly_revenue` was not imported: the semantic layer has no place for questions that are asked again
    exit 0
    Source	Unit	Status	Pages	Sources	Commit
    shop	facts of 1 table	done	-	-	nothing changed
    shop	2 definitions	0 imported	-	-	-
    --- stderr
    Project: [SANDBOX]/work
    warning: shop: models/schema.yml:18:14: `schema` was left out: undefined value
    warning: shop: models/schema.yml: `orders` was left out: its SQL computes its alias
    warning: shop: models/schema.yml:12:19: `description` was left out: who is unknown
    warning: shop: `models/artifacts/manifest.json` was not read: it is a manifest of version 4, and ktx reads versions 9 to 12
    warning: shop: no scan has found buyers, payments; if they exist, run `ktx scan`
    shop: models/schema.yml:41: measure `revenue` was not imported: no semantic model with a known table has the measure `amount`
    shop: models/schema.yml:43: saved query `monthly_revenue` was not imported: the semantic layer has no place for questions that are asked again
    exit 0
    Source	Unit	Status	Pages	Sources	Commit
    shop	facts of 1 table	done	-	-	nothing changed
    shop	2 definitions	0 imported	-	-	-
    --- stderr
    Project: [SANDBOX]/work
    warning: shop: models/schema.yml:18:14: `schema` was left out: undefined value
    warning: shop: models/schema.yml: `orders` was left out: its SQL computes its alias
    warning: shop: models/schema.yml:12:19: `description` was left out: who is unknown
    warning: shop: `models/artifacts/manifest.json` was not read: its version `https://schemas.getdbt.com/dbt/manifest/next.json` is not known
    warning: shop: no scan has found buyers, payments; if they exist, run `ktx scan`
    shop: models/schema.yml:41: measure `revenue` was not imported: no semantic model with a known table has the measure `amount`
    shop: models/schema.yml:43: saved query `monthly_revenue` was not imported: the semantic layer has no place for questions that are asked again
    ");
}

/// Each file counts once.
#[test]
fn circular_includes_are_named_and_the_rest_is_imported() {
    let sandbox = project("lookml", "lookml, source_dir: models");
    for (file, includes) in [
        ("orders.view.lkml", "others.view"),
        ("others.view.lkml", "orders.view"),
    ] {
        let path = format!("models/{file}");
        let text = sandbox.read(&path).expect("a view");
        write(
            &sandbox,
            &path,
            &format!("{text}\ninclude: \"{includes}\"\n"),
        );
    }
    let printed = run(&sandbox, "ingest --facts");
    let told = transcript(&printed);
    let about = told
        .lines()
        .filter(|line| line.contains("includes") || line.contains("definitions"));
    insta::assert_snapshot!(about.collect::<Vec<_>>().join("\n"), @r"
    shop	34 definitions	27 imported	-	-	-
    warning: shop: orders.view.lkml: it includes itself through `others.view.lkml`; each file counts once
    ");
    assert_eq!(wrong(&sandbox, "lookml"), "");
}

#[test]
fn a_measure_over_a_taken_name_is_left() {
    let sandbox = project("cube", "cube, source_dir: models");
    let own = "name: orders\nmeasures:\n  - {name: paid_revenue, expr: count(*)}\n";
    write(&sandbox, "semantic-layer/warehouse/orders.yaml", own);
    commit(&sandbox, "a measure of a person");
    let told = transcript(&run(&sandbox, "ingest --facts"));
    let about = told
        .lines()
        .filter(|line| line.contains("paid") || line.contains("definitions"));
    insta::assert_snapshot!(about.collect::<Vec<_>>().join("\n"), @r"
    shop	20 definitions	12 imported	-	-	-
    shop: orders.yml:22: measure `paid_revenue` was not imported: `orders.yaml` defines a measure of this name, which counts
    shop: orders.yml:24: measure `paid_share` was not imported: it is built on `paid_revenue`, whose name another definition has
    ");
    let file = "semantic-layer/warehouse/_imports/shop/orders.yaml";
    let imported = sandbox.read(file).expect("an import");
    assert!(!imported.contains("paid_share"), "{imported}");
}
