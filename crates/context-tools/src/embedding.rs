//! Asks a provider for vectors of passages, and pauses after a failure.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use async_trait::async_trait;
use ktx_diagnostics::Failure;
use ktx_search::{Unembedded, Vectors};

/// Doubles with each failure.
const FIRST_PAUSE: Duration = Duration::from_secs(5);

const LONGEST_PAUSE: Duration = Duration::from_mins(5);

/// After this many refusals in a row, the provider is assumed to refuse every text.
const REFUSALS: usize = 8;

/// Passages that one search embeds.
pub(crate) const OF_A_SEARCH: usize = 1024;

#[derive(Debug, Default)]
pub(crate) struct Pause {
    last: Mutex<Option<Last>>,
}

#[derive(Debug)]
struct Last {
    reason: String,
    since: SystemTime,
    pause: Duration,
}

impl Pause {
    pub(crate) fn reason(&self, now: SystemTime) -> Option<String> {
        let last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let last = last.as_ref()?;
        let age = now.duration_since(last.since).ok()?;
        (age < last.pause).then(|| last.reason.clone())
    }

    pub(crate) fn note<T>(&self, answer: Result<T, String>, now: SystemTime) -> Result<T, String> {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
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

#[async_trait]
pub(crate) trait PassageStore: Send {
    async fn keep_vectors(
        &mut self,
        passages: Vec<Unembedded>,
        vectors: Vec<Vec<f32>>,
    ) -> Result<(), String>;

    async fn keep_refused(&mut self, passages: Vec<Unembedded>) -> Result<(), String>;
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Proof {
    Taken,
    Open,
}

#[derive(Debug, Default)]
pub(crate) struct Embedded {
    pub(crate) count: usize,
    pub(crate) refused: usize,
    pub(crate) refusal: String,
}

/// Divides refused requests to find the refused texts. Keeps each answer before the next request.
pub(crate) async fn embed(
    vectors: &dyn Vectors,
    passages: Vec<Unembedded>,
    proof: Proof,
    store: &mut dyn PassageStore,
) -> Result<Embedded, String> {
    let mut embedded = Embedded::default();
    let mut refused: Vec<Unembedded> = Vec::new();
    let mut waiting = vec![passages];
    while let Some(mut passages) = waiting.pop() {
        let texts: Vec<String> = passages.iter().map(|one| one.text.clone()).collect();
        match vectors.embed(&texts).await {
            Ok(found) => {
                embedded.count += found.len();
                store.keep_vectors(passages, found).await?;
            }
            Err(error) if !error.refuses_texts() => return Err(error.to_string()),
            Err(_) if passages.len() > 1 => {
                let rest = passages.split_off(passages.len() / 2);
                waiting.extend([rest, passages]);
            }
            Err(error) => {
                embedded.refusal = error.to_string();
                refused.append(&mut passages);
            }
        }
        let takes_none = proof == Proof::Open && embedded.count == 0;
        let is_last = waiting.is_empty() && !refused.is_empty();
        if takes_none && (refused.len() >= REFUSALS || is_last) {
            return Err(embedded.refusal);
        }
    }
    embedded.refused = refused.len();
    if !refused.is_empty() {
        store.keep_refused(refused).await?;
    }
    Ok(embedded)
}

pub(crate) fn remove_database(path: &Path) -> Result<(), Failure> {
    // The log goes first: a new database must not meet an old log.
    for ending in ["-wal", "-shm", ""] {
        let mut name = path.to_owned().into_os_string();
        name.push(ending);
        ktx_project_store::remove(&PathBuf::from(name))?;
    }
    Ok(())
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
