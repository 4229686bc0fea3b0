//! The guard's side: reads which children there are until its input ends, which is the end of their
//! owner, and then ends them. Until then it looks what is below them: behind the end of a child nobody can tell what
//! had left it.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use crate::process::{Descent, forget_below, kill_child, note_below};

/// The name under which the guard is seen, so that whoever kills every `ktx` by name spares it.
pub(crate) const NAME: &str = "claude-guard";

/// How often the children are looked for: one that was just being started shows itself later.
const ROUNDS: u32 = 5;

/// Between two rounds.
const PAUSE: Duration = Duration::from_millis(40);

/// Between two looks at what is below the children.
const LOOK: Duration = Duration::from_secs(1);

/// One child, as its owner tells of it.
#[derive(Debug, Default)]
struct Ward {
    process: Option<u32>,
    /// Where what is below it is written down, for the case that this process is killed as well.
    below: Option<PathBuf>,
    seen: Descent,
}

impl Ward {
    /// Remembers what is below the child now.
    fn look(&mut self) {
        let Some(process) = self.process else { return };
        if self.seen.extend(Descent::of(process))
            && let Some(file) = &self.below
        {
            note_below(file, &self.seen);
        }
    }
}

/// The children that live, by token.
#[derive(Debug, Default)]
struct Wards(BTreeMap<String, Ward>);

impl Wards {
    /// Takes one line: `+<token>`, `+<token> <process id>[ <file>]` or `-<token>`.
    fn hear(&mut self, line: &str) {
        if let Some(child) = line.strip_prefix('+') {
            let mut words = child.splitn(3, ' ');
            let token = words.next().unwrap_or_default().to_owned();
            let ward = self.0.entry(token).or_default();
            ward.process = words.next().and_then(|word| word.parse().ok());
            ward.below = words.next().map(PathBuf::from);
        } else if let Some(token) = line.strip_prefix('-')
            && let Some(file) = self.0.remove(token).and_then(|ward| ward.below)
        {
            forget_below(&file);
        }
    }

    fn look(&mut self) {
        self.0.values_mut().for_each(Ward::look);
    }

    fn kill(&self) {
        for (token, ward) in &self.0 {
            kill_child(ward.process, token);
            ward.seen.kill();
        }
    }
}

/// Runs `internal-guard` to its end. To be called before anything else of the program starts.
pub fn internal_guard() {
    take_name();
    let mut wards = Wards::default();
    let mut heard = Vec::new();
    // Input that cannot be read has ended.
    while let Some(more) = input(&mut wards) {
        heard.extend_from_slice(&more);
        while let Some(end) = heard.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = heard.drain(..=end).collect();
            wards.hear(String::from_utf8_lossy(&line).trim_end_matches('\n'));
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

/// The next piece of the input; `None` at its end. While none comes, the children are looked at.
#[cfg(unix)]
fn input(wards: &mut Wards) -> Option<Vec<u8>> {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    use rustix::io::Errno;
    let stdin = rustix::stdio::stdin();
    let pause = Timespec::try_from(LOOK).ok()?; // never: it is a second
    let mut piece = [0; 4096];
    loop {
        let mut watched = [PollFd::new(&stdin, PollFlags::IN)];
        match poll(&mut watched, Some(&pause)) {
            Ok(0) => wards.look(),
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
fn input(_wards: &mut Wards) -> Option<Vec<u8>> {
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
fn take_name() {
    // Under its old name it does the same.
    std::fs::write("/proc/self/comm", NAME).unwrap_or_default();
}

#[cfg(not(target_os = "linux"))]
fn take_name() {}

#[expect(
    clippy::disallowed_methods,
    reason = "a process of its own that does nothing else"
)]
fn pause() {
    std::thread::sleep(PAUSE);
}
