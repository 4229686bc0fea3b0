//! Reads the passages with a word, and what they earn by it: BM25 without the weight of the
//! word.

use std::sync::Arc;

use rusqlite::{Connection, OptionalExtension as _, params};

use crate::lists::{Entry, Place, read_list};
use crate::postings::{Extents, Posting, Postings, StatePostings, Wanted};
use crate::schema::{self, Group, PassageRow, Segment, Size};

/// How much a repeated word adds.
const REPEATED: f64 = 0.9;

/// How much a long passage loses.
const LONG: f64 = 0.3;

pub(crate) struct Reading<'db> {
    pub(crate) db: &'db Connection,
    postings: &'db StatePostings<'db>,
    group: Group,
    extents: Arc<Extents>,
}

impl<'db> Reading<'db> {
    pub(crate) fn new(
        db: &'db Connection,
        postings: &'db StatePostings<'db>,
        group: Group,
    ) -> Result<Self, rusqlite::Error> {
        let extents = if let Some(extents) = postings.extents() {
            extents
        } else {
            let mut extents = Extents::default();
            for (segment, size) in schema::segments(db)? {
                if let Some(extent) = extents.get_mut(segment.group().place()) {
                    extent.segments.push(segment);
                    extent.size.passages += size.passages;
                    extent.size.words += size.words;
                }
            }
            let extents = Arc::new(extents);
            postings.put_extents(&extents);
            extents
        };
        Ok(Self {
            db,
            postings,
            group,
            extents,
        })
    }

    fn segments(&self) -> &[Segment] {
        let extent = self.extents.get(self.group.place());
        extent.map_or(&[], |extent| extent.segments.as_slice())
    }

    pub(crate) fn size(&self) -> Size {
        let extent = self.extents.get(self.group.place());
        extent.map(|extent| extent.size).unwrap_or_default()
    }

    pub(crate) fn postings(&self, wanted: Wanted) -> Result<Arc<Postings>, rusqlite::Error> {
        if let Some(known) = self.postings.get(self.group, &wanted) {
            return Ok(known);
        }
        let found = Arc::new(match &wanted {
            Wanted::Stem(stem) => self.stem(stem)?,
            Wanted::Beginning(beginning) => self.beginning(beginning)?,
            Wanted::Phrase(stems) => self.phrase(stems)?,
            Wanted::All(stems) => self.all(stems)?,
        });
        self.postings.put(self.group, wanted, &found);
        Ok(found)
    }

    fn stem(&self, stem: &str) -> Result<Postings, rusqlite::Error> {
        let mut statement = self
            .db
            .prepare_cached("SELECT entries FROM lists WHERE segment = ?1 AND stem = ?2")?;
        let mut collected = Collected::new(self.size());
        for segment in self.segments() {
            let list = statement.query_row(params![segment.0, stem], |row| {
                let list = row.get_ref(0)?.as_blob()?;
                read_list(*segment, list, &mut |entry| collected.add(&entry))
            });
            list.optional()?;
        }
        Ok(collected.postings)
    }

    fn beginning(&self, beginning: &str) -> Result<Postings, rusqlite::Error> {
        let mut statement = self.db.prepare_cached(
            "SELECT entries FROM lists WHERE segment = ?1 AND stem >= ?2 AND stem < ?2 || char(1114111)",
        )?;
        let mut all: Vec<Posting> = Vec::new();
        for segment in self.segments() {
            let mut rows = statement.query(params![segment.0, beginning])?;
            while let Some(row) = rows.next()? {
                let mut collected = Collected::new(self.size());
                let list = row.get_ref(0)?.as_blob()?;
                read_list(*segment, list, &mut |entry| collected.add(&entry))?;
                all.extend(collected.postings.all);
            }
        }
        all.sort_by_key(|one| one.passage);
        let mut postings = Postings::default();
        for same in all.chunk_by(|left, right| left.passage == right.passage) {
            let most = |share: fn(&Posting) -> f32| same.iter().map(share).fold(0.0, f32::max);
            if let Some(first) = same.first() {
                postings.push(Posting {
                    text: most(|one| one.text),
                    value: most(|one| one.value),
                    end: 0,
                    ..*first
                });
            }
        }
        Ok(postings)
    }

    fn each(&self, stems: &[String]) -> Result<Vec<Arc<Postings>>, rusqlite::Error> {
        let lists = stems
            .iter()
            .map(|stem| self.postings(Wanted::Stem(stem.clone())));
        lists.collect()
    }

    fn phrase(&self, stems: &[String]) -> Result<Postings, rusqlite::Error> {
        let lists = self.each(stems)?;
        let mut found = Postings::default();
        in_all(&lists, &mut |passage, places| {
            let (first, at) = (lists.first(), places.first());
            let Some(posting) = first.zip(at).and_then(|(list, at)| list.all.get(*at)) else {
                return;
            };
            let weights = |starts: &mut dyn Iterator<Item = &u32>| {
                let weights = starts.map(|start| Place(*start).weight());
                weights.sum::<f64>()
            };
            let (starts, rest) = split(&lists, places);
            let count = weights(&mut starts.iter().filter(|start| follow(**start, &rest)));
            if count > 0.0 {
                let alone = weights(&mut starts.iter());
                let norm = alone * (REPEATED + 1.0) / f64::from(posting.text) - alone;
                found.push(Posting {
                    passage,
                    text: share(count, norm),
                    value: 0.0,
                    end: 0,
                });
            }
        });
        Ok(found)
    }

    fn all(&self, stems: &[String]) -> Result<Postings, rusqlite::Error> {
        let lists = self.each(stems)?;
        let mut found = Postings::default();
        in_all(&lists, &mut |passage, places| {
            let shares = lists
                .iter()
                .zip(places)
                .filter_map(|(list, at)| list.all.get(*at));
            let shares: Vec<f32> = shares.map(|one| one.text).collect();
            if shares.iter().all(|share| *share > 0.0) {
                found.push(Posting {
                    passage,
                    text: shares.iter().sum(),
                    value: 0.0,
                    end: 0,
                });
            }
        });
        Ok(found)
    }
}

struct Collected {
    postings: Postings,
    mean: f64,
}

impl Collected {
    fn new(size: Size) -> Self {
        let mean = number(size.words) / number(size.passages).max(1.0);
        Self {
            postings: Postings::default(),
            mean: mean.max(1.0),
        }
    }

    fn add(&mut self, entry: &Entry<'_>) {
        let (mut text, mut value) = (0.0, 0.0);
        for place in entry.places() {
            if place.is_of_values() {
                value += place.weight();
            } else {
                text += place.weight();
                self.postings.places.push(place.0);
            }
        }
        let length = f64::from(entry.words) / self.mean;
        let norm = REPEATED * (1.0 - LONG + LONG * length);
        let end = u32::try_from(self.postings.places.len()).unwrap_or(u32::MAX);
        self.postings.push(Posting {
            passage: entry.passage,
            text: share(text, norm),
            value: share(value, norm),
            end,
        });
    }
}

#[expect(clippy::cast_possible_truncation, reason = "a share needs few digits")]
fn share(count: f64, norm: f64) -> f32 {
    (count * (REPEATED + 1.0) / (count + norm)) as f32
}

fn number(count: i64) -> f64 {
    u32::try_from(count).map_or(f64::from(u32::MAX), f64::from)
}

/// Calls `found` with each passage that all lists have, and with its place in each.
fn in_all(lists: &[Arc<Postings>], found: &mut dyn FnMut(PassageRow, &[usize])) {
    let mut places = vec![0; lists.len()];
    let mut wanted = PassageRow(i64::MIN);
    'passages: loop {
        for (list, place) in lists.iter().zip(&mut places) {
            *place = list.seek(*place, wanted);
            let Some(posting) = list.all.get(*place) else {
                return;
            };
            if posting.passage > wanted {
                wanted = posting.passage;
                continue 'passages;
            }
        }
        found(wanted, &places);
        wanted = PassageRow(wanted.0 + 1);
    }
}

fn split<'l>(lists: &'l [Arc<Postings>], places: &[usize]) -> (&'l [u32], Vec<&'l [u32]>) {
    let mut all = lists
        .iter()
        .zip(places)
        .map(|(list, at)| list.places_of(*at));
    let first = all.next().unwrap_or_default();
    (first, all.collect())
}

fn follow(start: u32, rest: &[&[u32]]) -> bool {
    let mut next = start;
    rest.iter().all(|places| {
        next = next.saturating_add(Place::STEP);
        places.binary_search(&next).is_ok()
    })
}
