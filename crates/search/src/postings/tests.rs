//! Tests of postings.

use super::{Posting, Postings};
use crate::schema::PassageRow;

#[test]
fn seeks_the_first_posting_that_is_not_before_a_passage() {
    let mut postings = Postings::default();
    for number in 0..100_u32 {
        postings.push(Posting {
            passage: PassageRow(i64::from(number) * 3),
            text: 1.0,
            value: 0.0,
            end: 0,
        });
    }
    for wanted in 0..310 {
        let found = postings.all.iter().position(|one| one.passage.0 >= wanted);
        for from in [0, 1, 7] {
            let found = found.unwrap_or(100).max(from);
            assert_eq!(
                postings.seek(from, PassageRow(wanted)),
                found,
                "{wanted} {from}"
            );
        }
    }
}
