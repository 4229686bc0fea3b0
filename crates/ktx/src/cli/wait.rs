//! `--wait`: commands that change the project wait for one another.

use std::time::Duration;

use clap::Args;

/// `--wait`
#[derive(Debug, Clone, Copy, Default, Args)]
pub struct WaitArgs {
    /// Wait for another command that changes the project, at most this long: `30s`, `10m`, `1h` [default without a
    /// duration: 10m]
    #[arg(
        long,
        value_name = "DURATION",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "10m",
        value_parser = duration
    )]
    pub wait: Option<Duration>,
}

/// What a command does when another one holds the project's lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LockWait {
    /// It ends: the command has no `--wait`.
    NotOffered,
    /// It ends, and names `--wait`.
    Offered,
    /// It waits at most this long.
    AtMost(Duration),
}

impl WaitArgs {
    /// What the flag asks for.
    pub(crate) const fn lock_wait(self) -> LockWait {
        match self.wait {
            Some(longest) => LockWait::AtMost(longest),
            None => LockWait::Offered,
        }
    }
}

/// The units of a duration, in seconds.
const UNITS: [(char, u64); 3] = [('h', 3600), ('m', 60), ('s', 1)];

pub(super) fn duration(text: &str) -> Result<Duration, String> {
    let parsed = UNITS.iter().find_map(|(unit, seconds)| {
        let number = text.strip_suffix(*unit)?;
        let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
        let number: u64 = is_number.then(|| number.parse().ok())??;
        number.checked_mul(*seconds).map(Duration::from_secs)
    });
    parsed.ok_or_else(|| "give a number with its unit, such as `30s`, `10m` or `1h`".to_owned())
}

/// The duration in its largest whole unit, such as `10m`.
pub(crate) fn duration_text(duration: Duration) -> String {
    let seconds = duration.as_secs();
    let whole = |(_, size): &&(char, u64)| seconds > 0 && seconds.is_multiple_of(*size);
    let (unit, size) = UNITS.iter().find(whole).copied().unwrap_or(('s', 1));
    format!("{}{unit}", seconds / size)
}

#[cfg(test)]
mod tests {
    //! Durations as they are written.

    use super::*;

    #[test]
    fn durations_have_a_number_and_a_unit() {
        for (text, seconds) in [
            ("30s", 30),
            ("10m", 600),
            ("1h", 3600),
            ("90m", 5400),
            ("0s", 0),
        ] {
            assert_eq!(duration(text), Ok(Duration::from_secs(seconds)), "{text}");
        }
        let wrong = [
            "",
            "s",
            "10",
            "m10",
            "1.5h",
            "-1s",
            "+1s",
            "1 h",
            "1d",
            "10M",
            "1h30m",
            "99999999999999999999s",
            "9999999999999999999h",
        ];
        for text in wrong {
            assert!(duration(text).is_err(), "{text}");
        }
        let texts =
            [0, 30, 90, 600, 3600, 5400].map(|seconds| duration_text(Duration::from_secs(seconds)));
        assert_eq!(texts, ["0s", "30s", "90s", "10m", "1h", "90m"]);
    }
}
