//! METEOR without synonyms.

use super::{stem, tokens, trivial_score};
use crate::count::{float, share};

/// Aligns equal tokens, then equal stems; the score falls with the number of chunks.
///
/// A token takes the leftmost free match after the previous match, else the leftmost free one.
pub fn meteor(answer: &str, truth: &str) -> f64 {
    let (answer, truth) = (tokens(answer), tokens(truth));
    trivial_score(&answer, &truth).unwrap_or_else(|| aligned_score(&answer, &truth))
}

fn aligned_score(answer: &[String], truth: &[String]) -> f64 {
    let mut alignment = Alignment::between(answer.len(), truth.len());
    alignment.extend(answer, truth);
    let stems = |tokens: &[String]| -> Vec<String> { tokens.iter().map(|it| stem(it)).collect() };
    alignment.extend(&stems(answer), &stems(truth));
    let matched = alignment.places.iter().flatten().count();
    if matched == 0 {
        return 0.0;
    }
    let precision = share(matched, answer.len());
    let recall = share(matched, truth.len());
    let mean = 10.0 * precision * recall / (recall + 9.0 * precision);
    let breaks = float(alignment.chunks()) / float(matched);
    mean * (1.0 - 0.5 * breaks.powi(3))
}

struct Alignment {
    /// The truth's token for each answer token.
    places: Vec<Option<usize>>,
    taken: Vec<bool>,
}

impl Alignment {
    fn between(answer: usize, truth: usize) -> Self {
        Self {
            places: vec![None; answer],
            taken: vec![false; truth],
        }
    }

    fn extend(&mut self, answer: &[String], truth: &[String]) {
        let mut after = 0;
        for (index, token) in answer.iter().enumerate() {
            if self.places[index].is_none() {
                let fits = |place: &usize| !self.taken[*place] && truth[*place] == *token;
                let right = (after..truth.len()).find(fits);
                let place = right.or_else(|| (0..after).find(fits));
                if let Some(place) = place {
                    self.taken[place] = true;
                    self.places[index] = Some(place);
                }
            }
            if let Some(place) = self.places[index] {
                after = place + 1;
            }
        }
    }

    fn chunks(&self) -> usize {
        let mut chunks = 0;
        let mut next = None;
        for place in &self.places {
            if place.is_some() && *place != next {
                chunks += 1;
            }
            next = place.map(|place| place + 1);
        }
        chunks
    }
}
