//! Tests of the records of a run.

use insta::assert_snapshot;
use ktx_session_log::SessionStore;

use super::*;
use crate::tests::{conversation, created, sessions};

/// A backend can send the answer in parts, whole, or both.
#[test]
fn an_answer_is_kept_once() {
    let folder = tempfile::tempdir().unwrap();
    let session = created(&sessions(SessionStore::new(folder.path())));
    session.begin_turn("How much?").unwrap();
    let follower = Follower::new(&session, CancellationToken::new(), Between::default());
    for block in ["15.", "Euro."] {
        let message = Message::text(MessageRole::Assistant, block);
        follower.after_message(&message).unwrap();
    }
    assert!(
        follower
            .close(Some("15. Euro.\n"), &Seen::default())
            .is_none()
    );
    session.begin_turn("Really?").unwrap();
    let follower = Follower::new(&session, CancellationToken::new(), Between::default());
    assert!(follower.close(Some("Yes."), &Seen::default()).is_none());
    assert_snapshot!(conversation(&session), @r#"
    user {"type":"text","text":"How much?"}
    assistant {"type":"text","text":"15."}
    assistant {"type":"text","text":"Euro."}
    user {"type":"text","text":"Really?"}
    assistant {"type":"text","text":"Yes."}
    "#);
}
