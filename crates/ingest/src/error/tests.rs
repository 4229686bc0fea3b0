//! Tests when a failure ends a run.

use super::*;

fn failed(kind: LlmErrorKind) -> Failed {
    Failed::from(IngestError::Model(LlmError::new(kind, "no")))
}

#[test]
fn only_failures_that_would_repeat_stop_a_run() {
    for (kind, stop) in [
        (LlmErrorKind::Refusal, None),
        (LlmErrorKind::Timeout, None),
        (LlmErrorKind::Auth, Some(Stop::Model)),
        (LlmErrorKind::RateLimit, Some(Stop::Model)),
        (LlmErrorKind::Budget, Some(Stop::Budget)),
        (LlmErrorKind::Cancelled, Some(Stop::Interrupted)),
    ] {
        assert_eq!(failed(kind).stop, stop, "{kind:?}");
    }
    let probe = IngestError::Probe(LlmError::new(LlmErrorKind::Timeout, "no"));
    assert_eq!(Failed::from(probe).stop, Some(Stop::Model));
}

#[test]
fn the_code_of_a_failure_says_whether_it_ends_a_run() {
    for (code, stop) in [
        (Code::LlmAuth, Some(Stop::Model)),
        (Code::LlmRefusal, Some(Stop::Model)),
        (Code::BackendNotBuilt, Some(Stop::Model)),
        (Code::LlmBudget, Some(Stop::Budget)),
        (Code::Cancelled, Some(Stop::Interrupted)),
        (Code::ScanFailed, None),
        (Code::SourceUnreachable, None),
    ] {
        assert_eq!(Stop::of(code), stop, "{code:?}");
    }
}

#[test]
fn three_doubtful_failures_in_a_row_stop_a_run() {
    let mut doubts = DoubtCounter::default();
    let mut weigh = |result: Result<(), Failed>| doubts.weigh(result).err().map(|it| it.stop);
    let crash = || Err(failed(LlmErrorKind::Crashed));
    assert_eq!(weigh(crash()), Some(None));
    assert_eq!(weigh(crash()), Some(None));
    assert_eq!(weigh(Ok(())), None);
    assert_eq!(weigh(crash()), Some(None));
    assert_eq!(weigh(Err(failed(LlmErrorKind::Refusal))), Some(None));
    assert_eq!(weigh(crash()), Some(None));
    assert_eq!(weigh(crash()), Some(None));
    assert_eq!(weigh(crash()), Some(Some(Stop::Model)));
}
