//! An invented login in a temporary home.

use std::path::Path;

use serde_json::json;

#[expect(clippy::disallowed_methods, reason = "the home of a test")]
pub fn log_in(home: &Path) -> anyhow::Result<()> {
    let folder = home.join(".claude");
    std::fs::create_dir_all(&folder)?;
    let credentials = json!({ "claudeAiOauth": {
        "accessToken": "sk-ant-oat01-invented-access-token",
        "refreshToken": "sk-ant-ort01-invented-refresh-token",
        "expiresAt": 4_102_444_800_000_u64,
        "scopes": ["user:inference", "user:profile"],
        "subscriptionType": "max",
    } });
    std::fs::write(folder.join(".credentials.json"), credentials.to_string())?;
    let state = json!({
        "hasCompletedOnboarding": true,
        "oauthAccount": {
            "accountUuid": "11111111-1111-4111-8111-111111111111",
            "organizationUuid": "22222222-2222-4222-8222-222222222222",
            "emailAddress": "dev@example.com",
            "organizationName": "Example Org",
        },
    });
    std::fs::write(home.join(".claude.json"), state.to_string())?;
    Ok(())
}
