//! Decides which moments fire: a pure function.

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

/// A firing up to this late is always on time.
pub const ON_TIME: SignedDuration = SignedDuration::from_mins(5);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CatchUp {
    /// The newest one fires late if it is not older than this.
    Within(SignedDuration),
    Never,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum WhySkipped {
    /// No process looked at the clock.
    Missed,
    /// The previous firing was not over.
    Overlap,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Skipped {
    pub agent: String,
    pub name: String,
    pub reason: WhySkipped,
    pub first: Timestamp,
    pub last: Timestamp,
    pub count: usize,
}

impl Skipped {
    /// Sums up moments, oldest first.
    pub(super) fn of(
        agent: &str,
        name: &str,
        reason: WhySkipped,
        moments: &[Timestamp],
    ) -> Option<Self> {
        Some(Self {
            agent: agent.to_owned(),
            name: name.to_owned(),
            reason,
            first: *moments.first()?,
            last: *moments.last()?,
            count: moments.len(),
        })
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Span {
    pub(super) began: Timestamp,
    /// `None` while it runs.
    pub(super) ended: Option<Timestamp>,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) struct Planned {
    pub(super) due: Option<Timestamp>,
    pub(super) skipped: Vec<(WhySkipped, Vec<Timestamp>)>,
}

/// Decides the moments since the last tick, oldest first.
pub(super) fn plan(
    moments: &[Timestamp],
    now: Timestamp,
    before: Option<Span>,
    catch_up: CatchUp,
) -> Planned {
    let overlaps = |moment: &Timestamp| {
        before.is_some_and(|before| {
            *moment > before.began && before.ended.is_none_or(|end| *moment <= end)
        })
    };
    let (overlapping, mut missed): (Vec<Timestamp>, Vec<Timestamp>) =
        moments.iter().copied().partition(overlaps);
    let longest = match catch_up {
        CatchUp::Within(longest) => longest.max(ON_TIME),
        CatchUp::Never => ON_TIME,
    };
    let due = missed.pop_if(|newest| now.duration_since(*newest) <= longest);
    let skipped = [
        (WhySkipped::Missed, missed),
        (WhySkipped::Overlap, overlapping),
    ];
    let skipped = skipped
        .into_iter()
        .filter(|(_, moments)| !moments.is_empty());
    Planned {
        due,
        skipped: skipped.collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(minutes: i64) -> Timestamp {
        Timestamp::from_second(minutes * 60).unwrap()
    }

    fn planned(
        moments: &[i64],
        now: i64,
        before: Option<(i64, Option<i64>)>,
        catch_up: CatchUp,
    ) -> String {
        let moments: Vec<Timestamp> = moments.iter().map(|it| at(*it)).collect();
        let before = before.map(|(began, ended)| Span {
            began: at(began),
            ended: ended.map(at),
        });
        let planned = plan(&moments, at(now), before, catch_up);
        let minutes = |moment: &Timestamp| (moment.as_second() / 60).to_string();
        let mut words: Vec<String> = planned.due.iter().map(minutes).collect();
        let skipped = planned.skipped.into_iter().map(|(why, moments)| {
            let moments: Vec<String> = moments.iter().map(minutes).collect();
            format!("{why:?}({})", moments.join(" "))
        });
        words.extend(skipped);
        words.join(" ")
    }

    const DAY: CatchUp = CatchUp::Within(SignedDuration::from_hours(24));

    /// KODE-66.
    #[test]
    fn missed_firings_are_made_up_for_once() {
        assert_eq!(planned(&[], 60, None, DAY), "");
        assert_eq!(planned(&[60], 60, None, DAY), "60");
        assert_eq!(
            planned(&[60, 120, 180], 200, None, DAY),
            "180 Missed(60 120)"
        );
        assert_eq!(planned(&[60], 60 + 1440, None, DAY), "60");
        assert_eq!(planned(&[60], 61 + 1440, None, DAY), "Missed(60)");
        assert_eq!(
            planned(&[60, 120], 124, None, CatchUp::Never),
            "120 Missed(60)"
        );
        assert_eq!(
            planned(&[60, 120], 126, None, CatchUp::Never),
            "Missed(60 120)"
        );
    }

    /// KODE-66.
    #[test]
    fn firings_do_not_overlap() {
        assert_eq!(
            planned(&[70, 80], 81, Some((60, None)), DAY),
            "Overlap(70 80)"
        );
        assert_eq!(
            planned(&[70, 80], 81, Some((60, Some(75))), DAY),
            "80 Overlap(70)"
        );
        assert_eq!(planned(&[70], 71, Some((60, Some(62))), DAY), "70");
    }
}
