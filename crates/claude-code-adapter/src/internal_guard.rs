//! Kills the children when their owner has ended, which closes the input. Records descendants
//! before, because later they cannot be found.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use crate::process::{Descendants, GUARD_NAME, forget_descendants, kill_child, note_below};

/// A child may just be starting.
const ROUNDS: u32 = 5;

const PAUSE: Duration = Duration::from_millis(40);

/// Between scans for descendants.
const LOOK: Duration = Duration::from_secs(1);

#[derive(Debug, Default)]
struct GuardedChild {
    process: Option<u32>,
    below: Option<PathBuf>,
    seen: Descendants,
}

impl GuardedChild {
    fn record_descendants(&mut self) {
        let Some(process) = self.process else { return };
        if self.seen.extend(Descendants::of(process))
            && let Some(file) = &self.below
        {
            note_below(file, &self.seen);
        }
    }
}

#[derive(Debug, Default)]
struct GuardedChildren(BTreeMap<String, GuardedChild>);

impl GuardedChildren {
    /// `+<token>`, `+<token> <process id>[ <file>]` or `-<token>`
    fn handle_line(&mut self, line: &str) {
        if let Some(child) = line.strip_prefix('+') {
            let mut words = child.splitn(3, ' ');
            let token = words.next().unwrap_or_default().to_owned();
            let ward = self.0.entry(token).or_default();
            ward.process = words.next().and_then(|word| word.parse().ok());
            ward.below = words.next().map(PathBuf::from);
        } else if let Some(token) = line.strip_prefix('-')
            && let Some(file) = self.0.remove(token).and_then(|ward| ward.below)
        {
            forget_descendants(&file);
        }
    }

    fn record_descendants(&mut self) {
        self.0
            .values_mut()
            .for_each(GuardedChild::record_descendants);
    }

    fn kill(&self) {
        for (token, ward) in &self.0 {
            kill_child(ward.process, token);
            ward.seen.kill();
        }
    }
}

/// Must be called before anything else of the program starts.
pub fn internal_guard() {
    set_process_name();
    let mut wards = GuardedChildren::default();
    let mut buffer = Vec::new();
    // Errors end the input.
    while let Some(more) = input(&mut wards) {
        buffer.extend_from_slice(&more);
        while let Some(end) = buffer.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = buffer.drain(..=end).collect();
            wards.handle_line(String::from_utf8_lossy(&line).trim_end_matches('\n'));
        }
    }
    for _ in 0..ROUNDS {
        if wards.0.is_empty() {
            return;
        }
        wards.kill();
        pause();
    }
}

/// Scans the children while it waits.
#[cfg(unix)]
fn input(wards: &mut GuardedChildren) -> Option<Vec<u8>> {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    use rustix::io::Errno;
    let stdin = rustix::stdio::stdin();
    let pause = Timespec::try_from(LOOK).ok()?; // never: it is a second
    let mut piece = [0; 4096];
    loop {
        let mut watched = [PollFd::new(&stdin, PollFlags::IN)];
        match poll(&mut watched, Some(&pause)) {
            Ok(0) => wards.record_descendants(),
            Ok(_) => break,
            Err(Errno::INTR) => {}
            Err(_) => return None,
        }
    }
    match rustix::io::read(stdin, &mut piece) {
        Ok(0) | Err(_) => None,
        Ok(length) => piece.get(..length).map(<[u8]>::to_vec),
    }
}

#[cfg(not(unix))]
fn input(_wards: &mut GuardedChildren) -> Option<Vec<u8>> {
    use std::io::Read as _;
    let mut piece = [0; 4096];
    let length = std::io::stdin().lock().read(&mut piece).ok()?;
    (length > 0).then(|| piece.get(..length).unwrap_or_default().to_vec())
}

#[cfg(target_os = "linux")]
#[expect(
    clippy::disallowed_methods,
    reason = "the file is the kernel's own, about this process"
)]
fn set_process_name() {
    // Failure is harmless: only the name differs.
    std::fs::write("/proc/self/comm", GUARD_NAME).unwrap_or_default();
}

#[cfg(not(target_os = "linux"))]
fn set_process_name() {}

#[expect(
    clippy::disallowed_methods,
    reason = "a process of its own that does nothing else"
)]
fn pause() {
    std::thread::sleep(PAUSE);
}
