//! Value tests of how long an answer is waited for, with a paused clock.

use std::time::Duration;

use ktx_llm_runtime::LlmErrorKind;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::Patience;
use crate::settings::Timeouts;

/// Time that passes on our side, such as in a slow listener, is no silence of the provider's.
#[tokio::test(start_paused = true)]
async fn time_on_our_side_is_not_the_providers() {
    let mut patience = Patience::new(&Timeouts {
        idle: Duration::from_secs(10),
        total: Duration::from_secs(40),
        ..Timeouts::default()
    });
    let cancel = CancellationToken::new();
    tokio::time::sleep(Duration::from_secs(30)).await;
    patience.excuse(Duration::from_secs(30));
    let began = Instant::now();
    let silence = patience.wait(&cancel, std::future::pending::<()>()).await;
    let error = silence.unwrap_err().error;
    assert_eq!(
        (
            error.kind,
            error.message.as_str(),
            began.elapsed().as_secs()
        ),
        (
            LlmErrorKind::Timeout,
            "the provider said nothing for 10 s",
            10
        )
    );
}
