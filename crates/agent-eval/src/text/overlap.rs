//! Scores from shared tokens.

use std::collections::BTreeMap;

use super::{tokens, trivial_score};
use crate::count::{float, share};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RougeVariant {
    Words,
    Pairs,
    LongestSequence,
}

/// 2PR/(P+R) over the tokens as multisets.
pub fn f1_score(answer: &str, truth: &str) -> f64 {
    let (answer, truth) = (tokens(answer), tokens(truth));
    trivial_score(&answer, &truth).unwrap_or_else(|| overlap_f1(&answer, &truth, 1))
}

/// With up to four tokens, add-one smoothing from pairs on, and the brevity penalty.
pub fn bleu(answer: &str, truth: &str) -> f64 {
    let (answer, truth) = (tokens(answer), tokens(truth));
    if let Some(score) = trivial_score(&answer, &truth) {
        return score;
    }
    let longest = answer.len().min(4);
    let mut product = 1.0;
    for length in 1..=longest {
        let shared = shared(&answer, &truth, length);
        let all = answer.len() + 1 - length;
        product *= if length == 1 {
            share(shared, all)
        } else {
            share(shared + 1, all + 1)
        };
    }
    let brevity = if answer.len() > truth.len() {
        1.0
    } else {
        (1.0 - float(truth.len()) / float(answer.len())).exp()
    };
    brevity * product.powf(1.0 / float(longest))
}

/// F1 over n-grams, or over the longest common subsequence.
pub fn rouge(answer: &str, truth: &str, variant: RougeVariant) -> f64 {
    let (answer, truth) = (tokens(answer), tokens(truth));
    trivial_score(&answer, &truth).unwrap_or_else(|| match variant {
        RougeVariant::Words => overlap_f1(&answer, &truth, 1),
        RougeVariant::Pairs => overlap_f1(&answer, &truth, 2),
        RougeVariant::LongestSequence => {
            let (left, right) = (answer.len(), truth.len());
            let longest = longest_sequence(left, right, |one, other| answer[one] == truth[other]);
            share(2 * longest, left + right)
        }
    })
}

/// With P = m/a and R = m/t, 2PR/(P+R) is 2m/(a+t).
fn overlap_f1(answer: &[String], truth: &[String], length: usize) -> f64 {
    let grams = |tokens: &[String]| (tokens.len() + 1).saturating_sub(length);
    share(
        2 * shared(answer, truth, length),
        grams(answer) + grams(truth),
    )
}

/// Returns the size of the common multiset of n-grams.
fn shared(answer: &[String], truth: &[String], length: usize) -> usize {
    let mut free: BTreeMap<&[String], usize> = BTreeMap::new();
    for gram in truth.windows(length) {
        *free.entry(gram).or_default() += 1;
    }
    let mut shared = 0;
    for gram in answer.windows(length) {
        if let Some(count) = free.get_mut(gram).filter(|count| **count > 0) {
            *count -= 1;
            shared += 1;
        }
    }
    shared
}

/// Returns the length of the longest common subsequence; `is_same` compares by place.
pub(crate) fn longest_sequence(
    left: usize,
    right: usize,
    is_same: impl Fn(usize, usize) -> bool,
) -> usize {
    let mut row = vec![0; right + 1];
    for item in 0..left {
        let mut diagonal = 0;
        for other in 0..right {
            let above = row[other + 1];
            row[other + 1] = if is_same(item, other) {
                diagonal + 1
            } else {
                above.max(row[other])
            };
            diagonal = above;
        }
    }
    row[right]
}
