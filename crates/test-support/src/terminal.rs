//! A terminal with keyboard and screen for a program.
#![expect(
    clippy::disallowed_methods,
    reason = "tests open terminals and run programs"
)]

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::num::NonZero;
use std::os::fd::OwnedFd;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::Context as _;
use rustix::fs::{Mode, OFlags};
use rustix::pty::OpenptFlags;
use rustix::termios::Winsize;

const PATIENCE: Duration = Duration::from_mins(1);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ScreenSize {
    pub columns: u16,
    pub rows: u16,
}

pub struct Terminal {
    child: Child,
    keyboard: File,
    screen: Arc<Mutex<vt100::Parser>>,
}

impl std::fmt::Debug for Terminal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.screen())
    }
}

impl Terminal {
    pub fn run(command: &Command, size: ScreenSize) -> anyhow::Result<Self> {
        let master = rustix::pty::openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY)?;
        rustix::pty::grantpt(&master)?;
        rustix::pty::unlockpt(&master)?;
        let window = Winsize {
            ws_col: size.columns,
            ws_row: size.rows,
            ws_xpixel: 0,
            ws_ypixel: 0,
        };
        rustix::termios::tcsetwinsize(&master, window)?;
        let name = rustix::pty::ptsname(&master, Vec::new())?;
        let device = rustix::fs::open(&*name, OFlags::RDWR | OFlags::NOCTTY, Mode::empty())?;
        let child = in_new_session(command, &device)?;
        let rows = NonZero::new(size.rows).context("a screen without rows")?;
        let columns = NonZero::new(size.columns).context("a screen without columns")?;
        let mut output = File::from(master.try_clone()?);
        let screen = Arc::new(Mutex::new(vt100::Parser::new(rows, columns, 0)));
        let shown = Arc::clone(&screen);
        std::thread::spawn(move || {
            let mut bytes = [0; 4096];
            // Reading fails once no process has the terminal open.
            while let Ok(count @ 1..) = output.read(&mut bytes) {
                let mut parser = shown.lock().unwrap_or_else(PoisonError::into_inner);
                parser.process(bytes.get(..count).unwrap_or_default());
            }
        });
        Ok(Self {
            child,
            keyboard: File::from(master),
            screen,
        })
    }

    /// Text, `\r` for Enter, `\x03` for Ctrl-C, `\x04` for Ctrl-D.
    pub fn press(&mut self, keys: &str) -> anyhow::Result<()> {
        self.keyboard.write_all(keys.as_bytes())?;
        Ok(())
    }

    pub fn wait_for(&self, text: &str) -> anyhow::Result<()> {
        let begun = Instant::now();
        while !self.screen().contains(text) {
            if begun.elapsed() > PATIENCE {
                anyhow::bail!("`{text}` never appeared; the screen:\n{}", self.screen());
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok(())
    }

    pub fn screen(&self) -> String {
        let parser = self.screen.lock().unwrap_or_else(PoisonError::into_inner);
        let columns = parser.screen().size().1;
        let rows = parser.screen().rows(0, columns.get());
        let lines: Vec<String> = rows.map(|row| row.trim_end().to_owned()).collect();
        lines.join("\n").trim_end().to_owned()
    }

    /// Returns `None` after a signal.
    pub fn exit_code(&mut self) -> anyhow::Result<Option<i32>> {
        let begun = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait()? {
                return Ok(status.code());
            }
            if begun.elapsed() > PATIENCE {
                anyhow::bail!("the program runs on; the screen:\n{}", self.screen());
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// `setsid` makes the terminal the controlling one.
fn in_new_session(command: &Command, terminal: &OwnedFd) -> anyhow::Result<Child> {
    let mut started = Command::new("setsid");
    started
        .args(["--ctty", "--wait"])
        .arg(command.get_program())
        .args(command.get_args())
        .env_clear();
    for (name, value) in command.get_envs() {
        if let Some(value) = value {
            started.env(name, value);
        }
    }
    if let Some(folder) = command.get_current_dir() {
        started.current_dir(folder);
    }
    let end = || anyhow::Ok(Stdio::from(terminal.try_clone()?));
    started.stdin(end()?).stdout(end()?).stderr(end()?);
    started.spawn().context("`setsid` of util-linux is needed")
}
