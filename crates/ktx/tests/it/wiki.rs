//! `ktx wiki`.

use crate::support::{SHOP, project, run, unscanned, write};

#[test]
fn pages_are_listed() {
    let sandbox = unscanned(SHOP);
    check!(&sandbox, "wiki", @r"
exit 0
GLOBAL	revenue	Revenue counts paid orders only
GLOBAL	test-customers	Which customers are not real
--- stderr
Project: [SANDBOX]/work
");
    check!(&sandbox, "wiki --output pretty", @r"
exit 0
revenue         Revenue counts paid orders only
test-customers  Which customers are not real
--- stderr
Project: [SANDBOX]/work
");
    check!(&sandbox, "wiki --json --limit 1", @r#"
exit 0
{
  "kind": "list",
  "data": {
    "items": [
      {
        "key": "revenue",
        "path": "wiki/global/revenue.md",
        "scope": "GLOBAL",
        "summary": "Revenue counts paid orders only"
      }
    ]
  },
  "meta": {
    "command": "wiki list"
  }
}
"#);
    write(
        &sandbox,
        "wiki/user/ada/revenue.md",
        "---\nsummary: What Ada thinks of revenue\n---\nMine.\n",
    );
    check!(&sandbox, "wiki --user-id ada", @r"
exit 0
USER	revenue	What Ada thinks of revenue
GLOBAL	test-customers	Which customers are not real
--- stderr
Project: [SANDBOX]/work
");
    check!(&sandbox, "wiki read revenue --user-id ada", @r"
exit 0
---
summary: What Ada thinks of revenue
---
Mine.
--- stderr
Project: [SANDBOX]/work
");
    check!(&sandbox, "wiki --user-id ../ada", @r"
exit 2
--- stderr
Project: [SANDBOX]/work
error: unsafe user id `../ada`: use letters, digits, `_`, `-`, `.` and `@`
");
}

#[test]
fn pages_are_found_by_their_words() {
    let sandbox = unscanned(SHOP);
    check!(&sandbox, "wiki paid orders", @r"
exit 0
score=1	GLOBAL	revenue	Revenue counts paid orders only
--- stderr
Project: [SANDBOX]/work
");
    check!(&sandbox, "wiki --output pretty customers", @r"
exit 0
test-customers  (lexical)
    Which customers are not real
revenue  (lexical)
    Revenue counts paid orders only
--- stderr
Project: [SANDBOX]/work
");
    check!(&sandbox, "wiki paid --json", @r#"
exit 0
{
  "kind": "list",
  "data": {
    "items": [
      {
        "key": "revenue",
        "path": "wiki/global/revenue.md",
        "scope": "GLOBAL",
        "summary": "Revenue counts paid orders only",
        "score": 1.0,
        "matchReasons": [
          "lexical"
        ],
        "lanes": [
          {
            "lane": "lexical",
            "status": "available",
            "requestedCandidatePoolLimit": 33,
            "effectiveCandidatePoolLimit": 33,
            "returnedCandidateCount": 1,
            "weight": 1.0
          },
          {
            "lane": "dictionary",
            "status": "available",
            "requestedCandidatePoolLimit": 33,
            "effectiveCandidatePoolLimit": 33,
            "returnedCandidateCount": 0,
            "weight": 1.0
          },
          {
            "lane": "token",
            "status": "available",
            "requestedCandidatePoolLimit": 33,
            "effectiveCandidatePoolLimit": 33,
            "returnedCandidateCount": 0,
            "weight": 0.8
          },
          {
            "lane": "semantic",
            "status": "skipped",
            "requestedCandidatePoolLimit": 33,
            "effectiveCandidatePoolLimit": 33,
            "returnedCandidateCount": 0,
            "weight": 1.0,
            "reason": "embedding_unconfigured"
          }
        ]
      }
    ]
  },
  "meta": {
    "command": "wiki search"
  }
}
"#);
    check!(&sandbox, "wiki zebra", @r"
exit 0
--- stderr
Project: [SANDBOX]/work
nothing found for `zebra`; run `ktx wiki` for all pages
");
    check!(&sandbox, "wiki zebra --json", @r#"
exit 0
{
  "kind": "list",
  "data": {
    "items": []
  },
  "meta": {
    "command": "wiki search"
  }
}
--- stderr
nothing found for `zebra`; run `ktx wiki` for all pages
"#);
}

#[test]
fn a_page_is_printed_as_it_is() {
    let sandbox = unscanned(SHOP);
    check!(&sandbox, "wiki read revenue", @r"
exit 0
---
summary: Revenue counts paid orders only
tags: [finance, revenue]
refs: [test-customers]
sl_refs: [warehouse.orders]
---
# Revenue

Test customers never count; see [[test-customers]].
--- stderr
Project: [SANDBOX]/work
");
    check!(&sandbox, "wiki read revenue --json", @r##"
exit 0
{
  "key": "revenue",
  "scope": "GLOBAL",
  "summary": "Revenue counts paid orders only",
  "content": "# Revenue\n\nTest customers never count; see [[test-customers]].\n",
  "tags": [
    "finance",
    "revenue"
  ],
  "refs": [
    "test-customers"
  ],
  "slRefs": [
    "warehouse.orders"
  ]
}
"##);
}

#[test]
fn a_page_that_is_not_there_is_named() {
    let sandbox = unscanned(SHOP);
    check!(&sandbox, "wiki read finance/revenue", @r"
exit 2
--- stderr
Project: [SANDBOX]/work
error: unsafe wiki key `finance/revenue`: keys are flat, of letters, digits, `_` and `-`

hint: use `finance-revenue`
");
    check!(&sandbox, "wiki read revenu", @r"
exit 3
--- stderr
Project: [SANDBOX]/work
error: there is no wiki page `revenu`

hint: use one of `revenue`
");
    check!(&sandbox, "wiki read zebra --json", @r#"
exit 3
{
  "error": {
    "code": "page_not_found",
    "message": "there is no wiki page `zebra`",
    "hint": "find pages with `ktx wiki`"
  }
}
"#);
}

#[test]
fn a_project_without_pages_says_how_to_write_one() {
    let sandbox = project();
    check!(&sandbox, "wiki", @r"
exit 0
--- stderr
Project: [SANDBOX]/work
no wiki pages; write one to wiki/global/<key>.md
");
    check!(&sandbox, "wiki --json", @r#"
exit 0
{
  "kind": "list",
  "data": {
    "items": []
  },
  "meta": {
    "command": "wiki list"
  }
}
--- stderr
no wiki pages; write one to wiki/global/<key>.md
"#);
}

/// A page in the wrong folder is neither listed nor found.
#[test]
fn a_page_in_a_sub_folder_is_named() {
    let sandbox = project();
    write(
        &sandbox,
        "wiki/global/finance/revenue.md",
        "Revenue is net.\n",
    );
    write(&sandbox, "wiki/global/finance/chart.png", "no page\n");
    let told = "warning: `wiki/global/finance/revenue.md` is not read: pages must be in `wiki/global/` itself, not in a \
                folder below it\n";
    for line in ["wiki", "wiki list", "wiki search revenue"] {
        let printed = run(&sandbox, line);
        assert_eq!(printed.code, Some(0), "{printed}");
        assert_eq!(printed.stderr.matches(told).count(), 1, "{printed}");
        assert!(!printed.stderr.contains("chart.png"), "{printed}");
    }
}
