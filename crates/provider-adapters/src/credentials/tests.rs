//! Tests of credentials files.

use super::GoogleCredentials;

#[test]
fn a_broken_file_is_named_without_a_word_of_it() {
    let error = |text: &str| GoogleCredentials::from_json(text).unwrap_err().to_string();
    assert_eq!(
        error("{\"private_key\": secret"),
        "the Google credentials file is unusable: no JSON object at line 1, column 17"
    );
    assert_eq!(
        error(r#"{"type": "service_account", "client_email": "a@b"}"#),
        "the Google credentials file is unusable: `private_key` is missing"
    );
    assert_eq!(
        error(r#"{"type": "external_account"}"#),
        "the Google credentials file is unusable: its type is `external_account`; \
         `service_account` and `authorized_user` are supported"
    );
}

#[test]
fn the_project_comes_with_the_credentials() {
    let user = GoogleCredentials::from_json(
        r#"{"type": "authorized_user", "client_id": "c", "client_secret": "s",
            "refresh_token": "r", "quota_project_id": "p1"}"#,
    )
    .unwrap();
    assert_eq!(user.project(), Some("p1"));
    assert_eq!(GoogleCredentials::metadata_server().project(), None);
}
