//! Statistics of repeats and of paired runs.

mod ablation;
mod interval;
mod random;
mod repeats;

pub use ablation::{AblationResult, AblationVerdict, ArmPair, ArmResult, compare_arms, mcnemar};
pub use interval::{Accuracy, Interval, accuracy, bootstrap, wilson};
pub use repeats::PassTally;
