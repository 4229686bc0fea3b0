//! Runs `provider-fake <folder> [answers.json]`: prints the client's variables as JSON, and ends
//! when its input ends.

use std::io::Write as _;
use std::path::PathBuf;

use anyhow::Context as _;
use ktx_test_support::provider_fake::{ModelAnswer, ProviderFake, log_in};
use tokio::io::AsyncReadExt as _;

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let mut arguments = std::env::args_os().skip(1).map(PathBuf::from);
    let folder = arguments.next().context("a folder is needed")?;
    let answers: Vec<ModelAnswer> = match arguments.next() {
        Some(file) => serde_json::from_str(&std::fs::read_to_string(file)?)?,
        None => Vec::new(),
    };
    log_in(&folder.join("home"))?;
    let provider = ProviderFake::start(&folder, answers).await?;
    let line = serde_json::to_string(&provider.environment())?;
    writeln!(std::io::stdout(), "{line}")?;
    let mut rest = Vec::new();
    tokio::io::stdin().read_to_end(&mut rest).await?;
    Ok(())
}
