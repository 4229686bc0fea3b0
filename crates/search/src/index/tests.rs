//! Tests of synchronization and search on small corpora.
#![expect(clippy::disallowed_methods, reason = "the tests damage index files")]

use ktx_vocabulary::ConnectionId;

use super::{Index, SyncReport, UnitState};
use crate::document::{Document, Field, Kind, Section};
use crate::query::Query;

fn unit(name: &str, stamp: &str) -> UnitState {
    UnitState {
        unit: name.to_owned(),
        stamp: stamp.to_owned(),
    }
}

fn page(key: &str, summary: &str, body: &str) -> Document {
    Document::new(Kind::Wiki, key)
        .with(Field::Name, key)
        .with(Field::Description, summary)
        .with(Field::Body, body)
}

fn column(connection: &str, table: &str, name: &str, values: &str) -> Document {
    Document::new(Kind::Column, format!("{connection}/{table}.{name}"))
        .of(&ConnectionId::parse(connection).unwrap())
        .with(Field::Name, name)
        .with(Field::Display, format!("{table}.{name}"))
        .with(Field::SampleValue, values)
}

fn index_of(documents: &[Document]) -> Index {
    let mut index = Index::in_memory().unwrap();
    let units: Vec<UnitState> = (0..documents.len())
        .map(|at| unit(&at.to_string(), "1"))
        .collect();
    index
        .sync(&units, &mut |unit| {
            Some(vec![documents[unit.parse::<usize>().unwrap()].clone()])
        })
        .unwrap();
    index
}

fn corpus() -> Index {
    index_of(&[
        page(
            "net-revenue",
            "How net revenue is computed",
            "Refunds are subtracted from gross.",
        ),
        page(
            "churn",
            "Churned customers",
            "A customer who does not connect for 90 days. Ежемесячная выручка.",
        ),
        page("订单收入", "按月统计的订单收入", "退款后的净收入"),
        column("dw", "orders", "netAmount", ""),
        column("dw", "orders", "status", "shipped\nreturned"),
        column("crm", "accounts", "customer_status", "active\nchurned"),
    ])
}

fn check(query: &Query, expected: &[&str]) {
    let outcome = corpus().search(query).unwrap();
    let shown: Vec<String> = outcome
        .hits
        .iter()
        .map(|hit| {
            let lanes: Vec<&str> = hit.lanes.iter().map(|lane| lane.as_str()).collect();
            format!(
                "{} {} {} {} {} | {}",
                hit.kind.as_str(),
                hit.id,
                hit.score,
                hit.matched_on.as_str(),
                lanes.join("+"),
                hit.snippet.as_deref().unwrap_or("-")
            )
        })
        .collect();
    assert_eq!(shown, expected);
}

#[test]
fn finds_by_stem_and_tells_where_it_matched() {
    check(
        &Query::new("connecting", 10),
        &[
            "wiki churn 1 body lexical | A customer who does not <mark>connect</mark> for 90 days. Ежемесячная выручка.",
        ],
    );
    check(
        &Query::new("How is net-revenue computed?", 10),
        &[
            "wiki net-revenue 1 name lexical | <mark>net</mark>-<mark>revenue</mark>",
            "column dw/orders.netAmount 0.17 name lexical | <mark>net</mark>Amount",
        ],
    );
}

#[test]
fn finds_scripts_without_blanks_and_other_alphabets() {
    check(
        &Query::new("выручка", 10),
        &[
            "wiki churn 1 body lexical | A customer who does not connect for 90 days. Ежемесячная <mark>выручка</mark>.",
        ],
    );
    check(
        &Query::new("收入", 10),
        &["wiki 订单收入 1 name lexical | 订单<mark>收入</mark>"],
    );
    check(
        &Query::new("退款", 10),
        &["wiki 订单收入 1 body lexical | <mark>退款</mark>后的净收入"],
    );
}

#[test]
fn finds_parts_of_names_sampled_values_and_near_spellings() {
    check(
        &Query::new("mount", 10),
        &["column dw/orders.netAmount 1 name token | <mark>netAmount</mark>"],
    );
    check(
        &Query::new("shipped", 10),
        &["column dw/orders.status 1 sample_value dictionary | <mark>shipped</mark> returned"],
    );
    check(
        &Query::new("stauts", 10).of_kinds(&[Kind::Column]),
        &[
            "column dw/orders.status 1 name token | <mark>status</mark>",
            "column crm/accounts.customer_status 0.993 name token | customer_<mark>status</mark>",
        ],
    );
    check(
        &Query::new("custmer", 10).of_kinds(&[Kind::Column]),
        &["column crm/accounts.customer_status 1 name token | <mark>customer</mark>_status"],
    );
    check(&Query::new("!", 10), &[]);
    check(&Query::new("nothing-like-this", 10), &[]);
}

#[test]
fn a_part_of_a_name_never_outranks_the_name() {
    let index = index_of(&[
        page("eingang", "", "Der Eingang."),
        page(
            "wareneingang-wareneingang",
            "Wareneingang",
            "Wareneingang im Wareneingang.",
        ),
        page("other", "", "zzz"),
    ]);
    let hits = index.search(&Query::new("Eingang", 5)).unwrap().hits;
    let shown: Vec<String> = hits
        .iter()
        .map(|hit| format!("{} {:?}", hit.id, hit.lanes))
        .collect();
    assert_eq!(
        shown,
        ["eingang [Lexical]", "wareneingang-wareneingang [Token]"]
    );
}

#[test]
fn tells_what_has_little_of_the_query_from_what_fits() {
    let index = index_of(&[
        page("net-revenue", "Net revenue", "Refunds are subtracted."),
        page("league", "", "The tables of the league."),
        page("other", "", "zzz"),
        page("more", "", "yyy"),
    ]);
    let check = |query: &str, expected: &[&str]| {
        let hits = index.search(&Query::new(query, 5)).unwrap().hits;
        let shown: Vec<String> = hits
            .iter()
            .map(|hit| format!("{} {}", hit.id, hit.confidence.as_str()))
            .collect();
        assert_eq!(shown, expected, "{query}");
    };
    check("net revenue", &["net-revenue fits"]);
    check("how is net revenue computed?", &["net-revenue fits"]);
    check("football bundesliga standings table", &["league weak"]);
    check("guitar tuning", &[]);
}

fn section(heading: &str, body: &str) -> Section {
    Section {
        heading: heading.to_owned(),
        body: body.to_owned(),
    }
}

#[test]
fn a_section_of_a_long_page_answers_for_the_page() {
    let filler = "Nothing about it stands here, in many words. ".repeat(40);
    let long = Document::new(Kind::Wiki, "handbook")
        .with(Field::Name, "handbook")
        .in_sections([
            section("", &filler),
            section(
                "Goods › Cartridges",
                "Gas cartridges lie behind the fire door.",
            ),
            section("Rota", &filler),
        ]);
    let short = page("gas-prices", "", "The price of gas, and a door.");
    let index = index_of(&[long, short, page("other", "", "zzz")]);
    let hits = index
        .search(&Query::new(
            "where are gas cartridges, behind which door?",
            5,
        ))
        .unwrap()
        .hits;
    let shown: Vec<String> = hits
        .iter()
        .map(|hit| {
            let section = hit.section.as_deref().unwrap_or("-");
            format!(
                "{} {section}: {}",
                hit.id,
                hit.snippet.as_deref().unwrap_or("-")
            )
        })
        .collect();
    assert_eq!(
        shown,
        [
            "handbook Goods › Cartridges: <mark>Gas</mark> <mark>cartridges</mark> lie <mark>behind</mark> the fire <mark>door</mark>.",
            "gas-prices -: <mark>gas</mark>-prices",
        ]
    );
}

#[test]
fn restricts_kinds_and_connections() {
    let dw = ConnectionId::parse("dw").unwrap();
    check(
        &Query::new("status churned", 10)
            .of_kinds(&[Kind::Column])
            .in_connection(Some(&dw)),
        &["column dw/orders.status 1 name lexical | <mark>status</mark>"],
    );
    check(
        &Query::new("status", 1).of_kinds(&[Kind::Column]),
        &["column dw/orders.status 1 name lexical | <mark>status</mark>"],
    );
}

#[test]
fn shows_private_documents_to_their_owner_only() {
    let mut own = page("notes", "private notes", "");
    own.owner = Some("ann".to_owned());
    let index = index_of(&[own]);
    let count = |query: &Query| index.search(query).unwrap().hits.len();
    assert_eq!(count(&Query::new("notes", 5)), 0);
    assert_eq!(count(&Query::new("notes", 5).for_user("bob")), 0);
    assert_eq!(count(&Query::new("notes", 5).for_user("ann")), 1);
}

#[test]
fn reads_and_writes_only_what_changed() {
    let mut index = Index::in_memory().unwrap();
    let mut read = Vec::new();
    let mut sync = |index: &mut Index, units: &[UnitState], body: &str| {
        let report = index
            .sync(units, &mut |unit| {
                read.push(unit.to_owned());
                Some(vec![
                    page(unit, "steady", ""),
                    page(&format!("{unit}-2"), body, ""),
                ])
            })
            .unwrap();
        (report, std::mem::take(&mut read))
    };
    let names = |names: &[&str]| {
        names
            .iter()
            .map(|name| (*name).to_owned())
            .collect::<Vec<_>>()
    };
    let first = [unit("a", "1"), unit("b", "1")];
    assert_eq!(
        sync(&mut index, &first, "old"),
        (
            SyncReport {
                scanned: 2,
                read: 2,
                updated: 4,
                deleted: 0
            },
            names(&["a", "b"])
        )
    );
    assert_eq!(
        sync(&mut index, &first, "new"),
        (
            SyncReport {
                scanned: 2,
                read: 0,
                updated: 0,
                deleted: 0
            },
            names(&[])
        )
    );
    assert_eq!(
        sync(&mut index, &[unit("a", "1"), unit("b", "2")], "new"),
        (
            SyncReport {
                scanned: 2,
                read: 1,
                updated: 1,
                deleted: 0
            },
            names(&["b"])
        )
    );
    assert_eq!(
        sync(&mut index, &[unit("b", "2")], "new"),
        (
            SyncReport {
                scanned: 1,
                read: 0,
                updated: 0,
                deleted: 2
            },
            names(&[])
        )
    );
    let hits = index
        .search(&Query::new("steady old new", 10))
        .unwrap()
        .hits;
    let ids: Vec<&str> = hits.iter().map(|hit| hit.id.as_str()).collect();
    assert_eq!(ids, ["b", "b-2"]);
}

#[test]
fn a_file_survives_reopening_and_another_version_is_rebuilt() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("search.sqlite");
    let units = [unit("a", "1")];
    let mut index = Index::open(&path).unwrap();
    index
        .sync(&units, &mut |_| Some(vec![page("a", "alpha", "")]))
        .unwrap();
    let again = Index::open(&path).unwrap();
    assert_eq!(again.search(&Query::new("alpha", 5)).unwrap().hits.len(), 1);
    again.db.pragma_update(None, "user_version", 99).unwrap();
    let fresh = Index::open(&path).unwrap();
    assert_eq!(fresh.search(&Query::new("alpha", 5)).unwrap().hits.len(), 0);
}

#[test]
fn a_damaged_file_is_distinguished_from_a_busy_one() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("search.sqlite");
    std::fs::write(
        &path,
        "no database, but long enough to be taken for one".repeat(100),
    )
    .unwrap();
    let error = Index::open(&path).unwrap_err();
    assert_eq!((error.is_damaged(), error.is_busy()), (true, false));
    std::fs::remove_file(&path).unwrap();
    let mut index = Index::open(&path).unwrap();
    let pages: Vec<_> = (0..200)
        .map(|at| page(&format!("page-{at}"), "alpha", &"beta ".repeat(200)))
        .collect();
    index
        .sync(&[unit("a", "1")], &mut |_| Some(pages.clone()))
        .unwrap();
    drop(index);
    let mut bytes = std::fs::read(&path).unwrap();
    let middle = bytes.len() / 2;
    bytes[4096..middle].fill(0xaa);
    std::fs::write(&path, bytes).unwrap();
    let error = Index::open(&path)
        .and_then(|index| index.search(&Query::new("alpha", 5)))
        .unwrap_err();
    assert_eq!((error.is_damaged(), error.is_busy()), (true, false));
}

#[test]
fn a_file_that_lost_a_table_is_rebuilt() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("search.sqlite");
    let index = Index::open(&path).unwrap();
    index.db.execute_batch("DROP TABLE documents").unwrap();
    let again = Index::open(&path).unwrap();
    assert_eq!(again.search(&Query::new("alpha", 5)).unwrap().hits, []);
}

#[test]
fn while_another_process_writes_the_last_index_answers() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("search.sqlite");
    let mut index = Index::open(&path).unwrap();
    assert!(index.is_empty().unwrap());
    index
        .sync(&[unit("a", "1")], &mut |_| {
            Some(vec![page("a", "alpha", "")])
        })
        .unwrap();
    let other = Index::open(&path).unwrap();
    other.db.execute_batch("BEGIN IMMEDIATE").unwrap();
    let error = index
        .sync(&[unit("a", "2")], &mut |_| {
            Some(vec![page("a", "beta", "")])
        })
        .unwrap_err();
    assert_eq!((error.is_damaged(), error.is_busy()), (false, true));
    assert!(!index.is_empty().unwrap());
    let found = |index: &Index, word: &str| index.search(&Query::new(word, 5)).unwrap().hits.len();
    assert_eq!((found(&index, "alpha"), found(&index, "beta")), (1, 0));
    other.db.execute_batch("ROLLBACK").unwrap();
    // The file is not locked during reads, so another process may write.
    index
        .sync(&[unit("a", "2")], &mut |_| {
            other.db.execute_batch("BEGIN IMMEDIATE; ROLLBACK").unwrap();
            Some(vec![page("a", "beta", "")])
        })
        .unwrap();
    assert_eq!((found(&index, "alpha"), found(&index, "beta")), (0, 1));
}

#[test]
fn an_unreadable_unit_keeps_its_documents_and_is_read_again() {
    let mut index = Index::in_memory().unwrap();
    index
        .sync(&[unit("a", "1")], &mut |_| {
            Some(vec![page("a", "alpha", "")])
        })
        .unwrap();
    index.sync(&[unit("a", "2")], &mut |_| None).unwrap();
    assert_eq!(index.search(&Query::new("alpha", 5)).unwrap().hits.len(), 1);
    index
        .sync(&[unit("a", "2")], &mut |_| {
            Some(vec![page("a", "beta", "")])
        })
        .unwrap();
    assert_eq!(index.search(&Query::new("alpha", 5)).unwrap().hits.len(), 0);
}

fn contents(index: &Index) -> Vec<String> {
    let check = "INSERT INTO letters(letters) VALUES ('integrity-check')";
    index.db.execute(check, []).unwrap();
    let size = "SELECT 'size ' || sum(passages) || ' ' || sum(words) FROM segments";
    let size: Option<String> = index.db.query_row(size, [], |row| row.get(0)).unwrap();
    let stems = "SELECT DISTINCT stem FROM lists ORDER BY stem";
    let mut stems = index.db.prepare(stems).unwrap();
    let stems = stems.query_map([], |row| row.get(0)).unwrap();
    let stems: Result<Vec<String>, _> = stems.collect();
    let hits = index
        .search(&Query::new("page alpha beta gamma delta", 100))
        .unwrap()
        .hits;
    let hits = hits
        .into_iter()
        .map(|hit| format!("{} {} {:?}", hit.id, hit.score, hit.snippet));
    let size = size.filter(|size| size != "size 0 0");
    size.into_iter().chain(stems.unwrap()).chain(hits).collect()
}

#[test]
fn any_sequence_of_changes_leads_to_the_index_that_a_fresh_one_would_be() {
    let words = ["alpha", "beta", "gamma", "delta", ""];
    let mut index = Index::in_memory().unwrap();
    let mut state = 7_u64;
    let mut units: std::collections::BTreeMap<u64, u64> = std::collections::BTreeMap::new();
    for _ in 0..60 {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        let (unit, version) = ((state >> 33) % 6, (state >> 40) % 9);
        if version == 0 {
            units.remove(&unit);
        } else {
            units.insert(unit, version);
        }
        let states: Vec<UnitState> = units
            .iter()
            .map(|(unit, version)| UnitState {
                unit: unit.to_string(),
                stamp: version.to_string(),
            })
            .collect();
        let mut read = |name: &str| {
            let number: u64 = name.parse().unwrap();
            let version = units[&number];
            let pages = (0..version % 4).map(|page_number| {
                let word = words[usize::try_from((version + page_number) % 5).unwrap()];
                page(&format!("page-{name}-{page_number}"), word, "alpha")
            });
            Some(pages.collect())
        };
        index.sync(&states, &mut read).unwrap();
        let mut fresh = Index::in_memory().unwrap();
        fresh.sync(&states, &mut read).unwrap();
        assert_eq!(contents(&index), contents(&fresh));
    }
}

#[test]
fn finds_words_of_many_scripts() {
    let found = |text: &str, query: &str| {
        let index = index_of(&[page("it", "", text), page("other", "", "zzz")]);
        let hits = index.search(&Query::new(query, 5)).unwrap().hits;
        hits.iter().map(|hit| hit.id.clone()).collect::<Vec<_>>()
    };
    let check =
        |text: &str, query: &str| assert_eq!(found(text, query), ["it"], "{query} in {text}");
    check("le café du coin", "CAFE");
    check("Umsätze nach Straße", "umsatze");
    check("मासिक राजस्व हिन्दी", "हिन्दी");
    check("إيرادات شهرية", "إيرادات");
    check("הכנסות חודשיות", "הכנסות");
    check("รายได้ต่อเดือน", "รายได้");
    check("月次売上レポート", "売上");
    check("월별 매출 보고서", "매출");
    check("Ежемесячная ВЫРУЧКА", "выручка");
    check("μηνιαία έσοδα", "ΈΣΟΔΑ");
    assert_eq!(found("le café", "bière"), Vec::<String>::new());
}

#[test]
fn no_query_is_an_error() {
    let index = corpus();
    let long = "word ".repeat(5000);
    let queries = [
        "",
        " ",
        "\"",
        "\"\"\"",
        "*",
        "a*",
        "NEAR(a b)",
        "name:x",
        "{name}: x",
        "^x",
        "x + y",
        "\0",
        "a\0b",
        "'; drop",
        "😀",
        "\u{200d}",
        "²",
        "-",
        "--",
        "AND",
        "OR NOT",
        "\u{ffff}",
        "ｆｕｌｌ",
        long.as_str(),
    ];
    for query in queries {
        for limit in [0, 1, 50, usize::MAX / 2, usize::MAX] {
            let outcome = index.search(&Query::new(query, limit));
            assert!(
                outcome.is_ok_and(|outcome| outcome.hits.len() <= limit),
                "{query:?}"
            );
        }
    }
}

/// Cached rows are never those of another state or file.
#[test]
fn kept_rows_follow_the_index() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("search.sqlite");
    let keys: Vec<String> = (0..600).map(|number| format!("page-{number}")).collect();
    let fill = |index: &mut Index, skipped: usize| {
        let kept = keys.iter().skip(skipped);
        let units: Vec<UnitState> = kept.map(|key| unit(key, "1")).collect();
        index
            .sync(&units, &mut |key| {
                Some(vec![page(key, "Revenue", &format!("only {key}"))])
            })
            .unwrap();
        units
    };
    let find = |index: &Index, text: &str| -> Vec<String> {
        let outcome = index.search(&Query::new(text, 700)).unwrap();
        outcome.hits.into_iter().map(|hit| hit.id).collect()
    };
    let mut index = Index::open(&path).unwrap();
    fill(&mut index, 0);
    let beside = index.address().open().unwrap();
    for _ in 0..2 {
        assert_eq!(find(&index, "revenue").len(), 600);
        assert_eq!(find(&beside, "revenue").len(), 600);
    }
    let units = fill(&mut index, 100);
    assert_eq!(find(&beside, "revenue").len(), 500);
    let digest = super::Digest::of(&units);
    let queries = [(Query::new("revenue", 3), super::Meaning::Unconfigured)];
    let held = |digest: &super::Digest| {
        let answers = beside.search_held(digest, queries.clone().into_iter());
        answers.unwrap().map(|answers| answers.len())
    };
    assert_eq!(held(&digest), Some(1));
    assert_eq!(held(&super::Digest::of(&units[1..])), None);
    let address = index.address();
    drop((index, beside));
    for ending in ["", "-wal", "-shm"] {
        std::fs::remove_file(format!("{}{ending}", path.display())).unwrap_or_default();
    }
    let mut again = address.open().unwrap();
    fill(&mut again, 550);
    fill(&mut again, 100);
    assert_eq!(find(&again, "revenue page-599")[0], "page-599");
    assert_eq!(find(&again, "revenue").len(), 500);
}

#[test]
fn words_of_little_meaning_do_not_find_a_page_alone() {
    let index = index_of(&[
        page(
            "cameras",
            "How long films stay",
            "We keep them as long as needed.",
        ),
        page(
            "tickets",
            "",
            "A ticket is valid for an hour, another one for a day.",
        ),
        page("trams", "", "The long tram has four doors."),
    ]);
    let found = |text: &str| -> Vec<String> {
        let hits = index.search(&Query::new(text, 10)).unwrap().hits;
        hits.into_iter().map(|hit| hit.id).collect()
    };
    assert_eq!(found("how long may I use a ticket?"), ["tickets"]);
    assert_eq!(found("how long"), ["cameras", "trams"]);
    assert_eq!(found("another ticket"), ["tickets"]);
    assert_eq!(found("one long tram"), ["trams", "cameras"]);
}
