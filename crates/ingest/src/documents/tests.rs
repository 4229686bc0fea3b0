//! Tests that sections join to the whole document and that candidates cite existing sections.

use super::{Action, Candidate, SECTION, sections, supported};

#[test]
fn sections_begin_at_headings_and_lose_nothing() {
    let long = format!("{}\n", "word ".repeat(400)).repeat(6);
    let text = format!("intro\n# One\ntext\n## Two\n{long}# Three");
    let found = sections(&text);
    assert_eq!(found.concat(), text);
    assert!(found.iter().all(|part| part.chars().count() <= SECTION));
    let begins: Vec<&str> = found.iter().map(|part| &part[..5]).collect();
    assert_eq!(
        begins,
        ["intro", "# One", "## Tw", "word ", "word ", "# Thr"]
    );
    assert_eq!(sections(" \n\n"), Vec::<&str>::new());
}

fn candidate(key: &str, numbers: &[usize], durability: u8) -> Candidate {
    Candidate {
        key: key.to_owned(),
        topic: "refunds".to_owned(),
        assertion: "Refunds are not revenue.".to_owned(),
        rationale: "sums".to_owned(),
        sections: numbers.to_vec(),
        page: None,
        action: Action::Create,
        durability,
        authority: 1,
        reuse: 1,
        novelty: 0,
        risk: 1,
    }
}

#[test]
fn a_candidate_needs_a_section_and_a_score() {
    let sections = ["# A\n", "# B\n"];
    let all = vec![
        candidate("kept", &[2, 9, 2], 3),
        candidate("kept", &[1], 3),
        candidate("nowhere", &[0, 7], 3),
        candidate("worth-nothing", &[1], 0),
        candidate("beyond-the-scale", &[1], 200),
        candidate("sixth", &[1], 3),
    ];
    let found = supported(all, &sections);
    let kept: Vec<(&str, &[usize], &str)> = found
        .candidates
        .iter()
        .map(|(found, words)| {
            (
                found.key.as_str(),
                found.sections.as_slice(),
                words.as_str(),
            )
        })
        .collect();
    assert_eq!(
        kept,
        [
            ("kept", [2].as_slice(), "# B\n"),
            ("beyond-the-scale", [1].as_slice(), "# A\n"),
        ]
    );
    assert_eq!(found.dropped, 4);
}
