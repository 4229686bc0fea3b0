//! When the provider of vectors is asked: one request for passages at a time, and after a failure
//! not at once again.

use std::sync::Mutex;
use std::time::{Duration, SystemTime};

use super::lock;

/// How long the provider is left alone after the first failure. Each further one doubles the time.
const FIRST_PAUSE: Duration = Duration::from_secs(5);

const LONGEST_PAUSE: Duration = Duration::from_mins(5);

/// What a context remembers of its provider.
#[derive(Debug, Default)]
pub(super) struct Provider {
    /// Held from listing passages until their vectors are kept, so that no text is paid for twice.
    pub(super) turn: tokio::sync::Mutex<()>,
    pub(super) queries: Pause,
    pub(super) passages: Pause,
}

/// The time after a failure.
#[derive(Debug, Default)]
pub(super) struct Pause {
    last: Mutex<Option<Last>>,
}

#[derive(Debug)]
struct Last {
    reason: String,
    since: SystemTime,
    pause: Duration,
}

impl Pause {
    /// Returns the last failure while it is too early to ask again.
    pub(super) fn reason(&self, now: SystemTime) -> Option<String> {
        let last = lock(&self.last);
        let last = last.as_ref()?;
        let age = now.duration_since(last.since).ok()?;
        (age < last.pause).then(|| last.reason.clone())
    }

    /// Notes how a request ended.
    pub(super) fn note<T>(&self, answer: Result<T, String>, now: SystemTime) -> Result<T, String> {
        let mut last = lock(&self.last);
        match &answer {
            Ok(_) => *last = None,
            Err(reason) => {
                let pause = last.as_ref().map_or(FIRST_PAUSE, |last| last.pause * 2);
                *last = Some(Last {
                    reason: reason.clone(),
                    since: now,
                    pause: pause.min(LONGEST_PAUSE),
                });
            }
        }
        answer
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_failure_doubles_the_pause_and_an_answer_ends_it() {
        let pause = Pause::default();
        let at = |seconds| SystemTime::UNIX_EPOCH + Duration::from_secs(seconds);
        let fail = |seconds| pause.note(Err::<(), _>("no".to_owned()), at(seconds));
        assert_eq!(pause.reason(at(0)), None);
        assert_eq!(fail(0), Err("no".to_owned()));
        assert_eq!(pause.reason(at(4)), Some("no".to_owned()));
        assert_eq!(pause.reason(at(5)), None);
        assert_eq!(fail(5), Err("no".to_owned()));
        assert_eq!(pause.reason(at(14)), Some("no".to_owned()));
        assert_eq!(pause.reason(at(15)), None);
        assert_eq!(pause.note(Ok(1), at(15)), Ok(1));
        assert_eq!(fail(16), Err("no".to_owned()));
        assert_eq!(pause.reason(at(21)), None);
    }
}
