//! Named steps at which a test kills the process.

use rustix::process::{Signal, getpid, kill_process};

/// The step at which the process ends itself as if killed; none in ordinary use. The name comes
/// from `KTX_TEST_KILL_AT`, which `ktx` reads.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Failpoints {
    kill_at: Option<String>,
}

impl Failpoints {
    pub const fn none() -> Self {
        Self { kill_at: None }
    }

    /// Kills at the step of this name, such as `publish:after-import`.
    pub fn kill_at(name: Option<&str>) -> Self {
        Self {
            kill_at: name.map(str::to_owned),
        }
    }

    /// Marks a step as reached. At the chosen step this does not return.
    pub fn reached(&self, name: &str) {
        if self.kill_at.as_deref() == Some(name) && kill_process(getpid(), Signal::KILL).is_err() {
            std::process::abort();
        }
    }
}
