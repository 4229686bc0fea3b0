//! Arguments of `ktx sync`.

use std::time::Duration;

use clap::Args;

use super::wait::duration;
use super::{OutputArgs, SpendingArgs, WaitArgs};

/// Arguments of `ktx sync`.
#[derive(Debug, Args)]
pub struct SyncArgs {
    /// Repeat until Ctrl-C, a round each such time: `30m`, `6h`, `24h`
    #[arg(long, value_name = "DURATION", value_parser = interval)]
    pub every: Option<Duration>,
    #[command(flatten)]
    pub spending: SpendingArgs,
    #[command(flatten)]
    pub wait: WaitArgs,
    #[command(flatten)]
    pub output: OutputArgs,
}

fn interval(text: &str) -> Result<Duration, String> {
    let interval = duration(text)?;
    if interval.is_zero() {
        return Err("give at least `1s`".to_owned());
    }
    Ok(interval)
}
