//! Tests of the deadlines, with a paused clock.

use std::time::Duration;

use ktx_llm_runtime::LlmErrorKind;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::Deadlines;
use crate::settings::Timeouts;

#[tokio::test(start_paused = true)]
async fn time_on_our_side_is_not_the_providers() {
    let timeouts = Timeouts {
        idle: Duration::from_secs(10),
        total: Duration::from_secs(40),
        ..Timeouts::default()
    };
    let mut deadlines = Deadlines::new(&timeouts, None);
    let cancel = CancellationToken::new();
    tokio::time::sleep(Duration::from_secs(30)).await;
    deadlines.extend(Duration::from_secs(30));
    let began = Instant::now();
    let silence = deadlines.wait(&cancel, std::future::pending::<()>()).await;
    let error = silence.unwrap_err().error;
    assert_eq!(
        (
            error.kind,
            error.message.as_str(),
            began.elapsed().as_secs()
        ),
        (
            LlmErrorKind::Timeout,
            "the provider sent nothing for 10 s",
            10
        )
    );
}

#[tokio::test(start_paused = true)]
async fn silence_is_bounded_before_and_within_an_answer() {
    let timeouts = Timeouts::default();
    let cancel = CancellationToken::new();
    let began = Instant::now();
    let mut deadlines = Deadlines::new(&timeouts, None);
    let silence = deadlines.wait(&cancel, std::future::pending::<()>()).await;
    let error = silence.unwrap_err().error;
    assert_eq!(
        (error.message.as_str(), began.elapsed().as_secs()),
        ("the provider sent nothing for 120 s", 120)
    );
    deadlines.note_bytes();
    let start = Instant::now();
    let silence = deadlines.wait(&cancel, std::future::pending::<()>()).await;
    let error = silence.unwrap_err().error;
    assert_eq!(
        (error.message.as_str(), start.elapsed().as_secs()),
        ("the provider sent nothing for 60 s", 60)
    );
    let end = Instant::now() + Duration::from_secs(7);
    let deadlines = Deadlines::new(&timeouts, Some(end));
    let over = deadlines.wait(&cancel, std::future::pending::<()>()).await;
    let error = over.unwrap_err().error;
    assert_eq!((error.kind, Instant::now()), (LlmErrorKind::Budget, end));
}
