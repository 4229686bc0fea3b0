//! Maximum bipartite matching (Hopcroft and Karp).

use std::collections::VecDeque;

/// Returns each left item's partner. `edges` lists the possible partners, below `right`.
pub(crate) fn maximum_matching(edges: &[Vec<usize>], right: usize) -> Vec<Option<usize>> {
    let mut search = MatchingSearch {
        edges,
        of_left: vec![None; edges.len()],
        of_right: vec![None; right],
        level: vec![None; edges.len()],
        next: vec![0; edges.len()],
    };
    while search.set_levels() {
        search.next.fill(0);
        for left in 0..edges.len() {
            if search.of_left[left].is_none() {
                search.augment(left);
            }
        }
    }
    search.of_left
}

struct MatchingSearch<'e> {
    edges: &'e [Vec<usize>],
    of_left: Vec<Option<usize>>,
    of_right: Vec<Option<usize>>,
    /// Distance of a left item from the free ones.
    level: Vec<Option<usize>>,
    next: Vec<usize>,
}

impl MatchingSearch<'_> {
    /// Returns whether a free right item can be reached.
    fn set_levels(&mut self) -> bool {
        let mut queue = VecDeque::new();
        for (left, paired) in self.of_left.iter().enumerate() {
            self.level[left] = paired.is_none().then_some(0);
            if paired.is_none() {
                queue.push_back(left);
            }
        }
        let mut reaches = false;
        while let Some(left) = queue.pop_front() {
            for right in &self.edges[left] {
                match self.of_right[*right] {
                    None => reaches = true,
                    Some(after) if self.level[after].is_none() => {
                        self.level[after] = self.level[left].map(|level| level + 1);
                        queue.push_back(after);
                    }
                    Some(_) => {}
                }
            }
        }
        reaches
    }

    /// Augments one path. It is a list, so that its length costs no stack.
    fn augment(&mut self, first: usize) {
        let mut path: Vec<(usize, usize)> = Vec::new();
        let mut left = first;
        loop {
            let Some(right) = self.edges[left].get(self.next[left]).copied() else {
                // A dead end for later paths, too.
                self.level[left] = None;
                let Some((before, _)) = path.pop() else {
                    return;
                };
                left = before;
                continue;
            };
            self.next[left] += 1;
            match self.of_right[right] {
                None => {
                    path.push((left, right));
                    break;
                }
                Some(after)
                    if self.level[after].is_some()
                        && self.level[after] == self.level[left].map(|level| level + 1) =>
                {
                    path.push((left, right));
                    left = after;
                }
                Some(_) => {}
            }
        }
        for (left, right) in path {
            self.of_left[left] = Some(right);
            self.of_right[right] = Some(left);
        }
    }
}
