//! Named steps at which a test kills the process.

use rustix::process::{Signal, getpid, kill_process};

/// `KTX_TEST_KILL_AT`, which `ktx` reads.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Failpoints {
    kill_at: Option<String>,
}

impl Failpoints {
    pub const fn none() -> Self {
        Self { kill_at: None }
    }

    /// Such as `publish:after-import`.
    pub fn kill_at(name: Option<&str>) -> Self {
        Self {
            kill_at: name.map(str::to_owned),
        }
    }

    /// Does not return at the step to kill at.
    pub fn reached(&self, name: &str) {
        if self.kill_at.as_deref() == Some(name) && kill_process(getpid(), Signal::KILL).is_err() {
            std::process::abort();
        }
    }
}
