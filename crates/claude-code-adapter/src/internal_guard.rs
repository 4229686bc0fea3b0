//! The guard's side: reads which children there are until its input ends, which is the end of their
//! owner, and then ends them.

use std::collections::BTreeMap;
use std::io::BufRead as _;
use std::time::Duration;

use crate::process::kill_child;

/// The name under which the guard is seen, so that whoever kills every `ktx` by name spares it.
pub(crate) const NAME: &str = "claude-guard";

/// How often the children are looked for: one that was just being started shows itself later.
const ROUNDS: u32 = 5;

/// Between two rounds.
const PAUSE: Duration = Duration::from_millis(40);

/// Runs `internal-guard` to its end. To be called before anything else of the program starts.
///
/// The lines of standard input are `+<token>`, `+<token> <process id>` and `-<token>`.
pub fn internal_guard() {
    take_name();
    let mut children: BTreeMap<String, Option<u32>> = BTreeMap::new();
    // A line that cannot be read is the end of the input as well.
    for line in std::io::stdin().lock().lines().map_while(Result::ok) {
        if let Some(child) = line.strip_prefix('+') {
            let mut words = child.split(' ');
            let token = words.next().unwrap_or_default().to_owned();
            let process = words.next().and_then(|word| word.parse().ok());
            children.insert(token, process);
        } else if let Some(token) = line.strip_prefix('-') {
            children.remove(token);
        }
    }
    for _ in 0..ROUNDS {
        if children.is_empty() {
            return;
        }
        for (token, process) in &children {
            kill_child(*process, token);
        }
        pause();
    }
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
