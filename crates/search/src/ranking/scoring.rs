//! Scores documents by the lists of passages with their words.

use super::{COVERED, ScoredDocument, Share, TOGETHER, TermList, TermLists};
use crate::lanes::LaneSet;
use crate::schema::{DocumentRow, MAX_SECTIONS, PassageRow};

/// Keeps rounding errors from dropping documents.
const ROUNDING: f64 = 1e-9;

struct Cursor {
    list: TermList,
    at: usize,
}

/// What a document has of a list.
#[derive(Clone, Copy, Default)]
struct Earned {
    score: f64,
    is_there: bool,
}

impl Cursor {
    const fn new(list: TermList) -> Self {
        Self { list, at: 0 }
    }

    /// Calls `found` with each passage of the document and its score. Documents must ascend.
    fn earned(&mut self, row: DocumentRow, found: &mut dyn FnMut(PassageRow, f64)) -> Earned {
        let postings = &self.list.postings;
        self.at = postings.seek(self.at, row.passage(0));
        let last = row.passage(MAX_SECTIONS + 1);
        let mut earned = Earned::default();
        while let Some(posting) = postings.all.get(self.at).filter(|one| one.passage <= last) {
            self.at += 1;
            let share = f64::from(self.list.share.of(posting));
            if share > 0.0 {
                let score = self.list.weight * share;
                earned.is_there = true;
                earned.score = earned.score.max(score.min(self.list.most));
                found(posting.passage, score);
            }
        }
        earned
    }
}

/// Returns the least score of a document with one of the words.
pub(super) fn least(lists: &[TermList]) -> f64 {
    let mut least = f64::MAX;
    for list in lists {
        let all = list
            .postings
            .all
            .iter()
            .filter(|one| list.share.of(one) > 0.0);
        let all: Vec<_> = all.collect();
        let documents =
            all.chunk_by(|left, right| left.passage.document() == right.passage.document());
        for same in documents {
            let best = same
                .iter()
                .map(|one| list.share.of(one))
                .fold(0.0, f32::max);
            least = least.min(list.weight * f64::from(best));
        }
    }
    least
}

pub(super) fn scored(
    mut terms: Vec<TermLists>,
    phrases: Vec<TermList>,
    least_covered: f64,
) -> Vec<ScoredDocument> {
    let asked: f64 = terms.iter().map(|term| term.weight).sum();
    terms.sort_by(|left, right| right.weight.total_cmp(&left.weight));
    let rows = candidates(&terms, least_covered * asked);
    let mut terms: Vec<Vec<Cursor>> = terms
        .into_iter()
        .map(|term| term.lists.into_iter().map(Cursor::new).collect())
        .collect();
    let mut phrases: Vec<Cursor> = phrases.into_iter().map(Cursor::new).collect();
    let mut documents = Vec::with_capacity(rows.len());
    let mut passages: Vec<(PassageRow, f64)> = Vec::new();
    for row in rows {
        passages.clear();
        let mut document = ScoredDocument {
            row,
            score: 0.0,
            covered: 0.0,
            lanes: LaneSet::default(),
            best: None,
        };
        for term in &mut terms {
            add_term(term, &mut document, &mut passages);
        }
        document.covered = (document.covered / asked).min(1.0);
        if document.covered < least_covered {
            continue;
        }
        for phrase in &mut phrases {
            document.score += phrase.earned(row, &mut |_, _| {}).score;
        }
        let best = best_of(&mut passages);
        document.best = best.map(|(passage, _)| passage);
        document.score += TOGETHER * best.map_or(0.0, |(_, score)| score);
        document.score *= 1.0 - COVERED + COVERED * document.covered;
        documents.push(document);
    }
    documents
}

/// Returns the documents that can cover this weight: those with a word of the heaviest terms. The
/// others together weigh too little.
fn candidates(terms: &[TermLists], least: f64) -> Vec<DocumentRow> {
    let mut rest: f64 = terms.iter().map(|term| term.weight).sum();
    let mut rows = Vec::new();
    for term in terms {
        if rest < least - ROUNDING {
            break;
        }
        rest -= term.weight;
        for list in &term.lists {
            let mut last = None;
            for posting in &list.postings.all {
                let row = posting.passage.document();
                if last != Some(row) && list.share.of(posting) > 0.0 {
                    last = Some(row);
                    rows.push(row);
                }
            }
        }
    }
    // Merges the ascending lists.
    rows.sort();
    rows.dedup();
    rows
}

/// The best list of a term counts.
fn add_term(
    lists: &mut [Cursor],
    document: &mut ScoredDocument,
    passages: &mut Vec<(PassageRow, f64)>,
) {
    let (mut score, mut covered) = (0.0, 0.0);
    let start = passages.len();
    for cursor in lists {
        let counts = cursor.list.counts_in_passages;
        let is_value = cursor.list.share == Share::Value;
        let earned = cursor.earned(document.row, &mut |passage, earned| {
            if !counts {
                return;
            }
            // Only the best form of a word counts.
            let known = passages
                .iter_mut()
                .skip(start)
                .find(|(one, _)| *one == passage);
            match known {
                Some((_, known)) if is_value => *known += earned,
                Some((_, known)) => *known = known.max(earned),
                None => passages.push((passage, earned)),
            }
        });
        if earned.is_there {
            document.lanes = document.lanes.with(LaneSet::of(cursor.list.lane));
            if earned.score > score {
                score = earned.score;
                covered = cursor.list.weight;
            }
        }
    }
    document.score += score;
    document.covered += covered;
}

/// Of equal passages, the first.
fn best_of(passages: &mut [(PassageRow, f64)]) -> Option<(PassageRow, f64)> {
    passages.sort_by_key(|(passage, _)| *passage);
    let mut best: Option<(PassageRow, f64)> = None;
    for same in passages.chunk_by(|left, right| left.0 == right.0) {
        let score: f64 = same.iter().map(|(_, score)| score).sum();
        if let Some((passage, _)) = same.first()
            && best.is_none_or(|(_, most)| score > most)
        {
            best = Some((*passage, score));
        }
    }
    best
}
