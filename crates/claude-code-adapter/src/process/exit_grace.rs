//! A moment for an exiting process whose owner cannot wait.

/// Drop waits, so that the program can write its own files.
#[derive(Debug)]
pub(super) struct ExitGrace {
    process: Option<u32>,
}

impl ExitGrace {
    /// The child must not have been waited for yet; until then its id is not reused.
    pub(super) fn to(process: Option<u32>) -> Self {
        Self { process }
    }

    pub(super) fn over(mut self) {
        self.process = None;
    }
}

impl Drop for ExitGrace {
    fn drop(&mut self) {
        if let Some(process) = self.process.take() {
            wait_for(process);
        }
    }
}

/// The program takes 10 to 150 ms from the end of its input.
#[cfg(target_os = "linux")]
const MOMENT: rustix::event::Timespec = rustix::event::Timespec {
    tv_sec: 1,
    tv_nsec: 0,
};

#[cfg(target_os = "linux")]
fn wait_for(process: u32) {
    use rustix::event::{PollFd, PollFlags, poll};
    use rustix::process::{Pid, PidfdFlags, pidfd_open};
    let process = i32::try_from(process).ok().and_then(Pid::from_raw);
    // An error means that the process has ended.
    let Some(Ok(handle)) = process.map(|process| pidfd_open(process, PidfdFlags::empty())) else {
        return;
    };
    let mut watched = [PollFd::new(&handle, PollFlags::IN)];
    if let Err(error) = poll(&mut watched, Some(&MOMENT)) {
        tracing::debug!(%error, "the end of a Claude Code process was not waited for");
    }
}

#[cfg(not(target_os = "linux"))]
fn wait_for(_process: u32) {
    std::thread::sleep(std::time::Duration::from_millis(150));
}
