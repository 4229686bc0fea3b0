//! The only place that writes to stdout and stderr.

use std::borrow::Cow;
use std::io::{IsTerminal as _, Write as _};

use ktx_config::Environment;
use ktx_diagnostics::{Code, Failure};
use serde::Serialize;
use serde_json::Value;

use crate::cli::{OutputArgs, OutputFormat};
use crate::foreign::{self, harmless, one_line};
use crate::markdown::{StyledText, TextStyle};
use crate::report::{Outcome, Report as _};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    Pretty,
    Plain,
    Json,
}

#[derive(Debug, Clone)]
pub(crate) struct Printer {
    pub mode: Mode,
    pub interactive: bool,
}

#[expect(
    clippy::unused_self,
    reason = "everything is printed through a printer, whatever its mode"
)]
impl Printer {
    /// `--json`, then `--output`, then `KTX_OUTPUT`, then `CI`, then the terminal.
    pub(crate) fn new(args: &OutputArgs, environment: &Environment) -> Outcome<Self> {
        let ci = environment.ci();
        let interactive = std::io::stderr().is_terminal() && !ci;
        let requested = if args.json {
            Some(OutputFormat::Json)
        } else {
            args.output
        };
        let mode = match requested {
            Some(OutputFormat::Json) => Mode::Json,
            Some(OutputFormat::Plain) => Mode::Plain,
            Some(OutputFormat::Pretty) => Mode::Pretty,
            None => match environment.text("KTX_OUTPUT") {
                Some("json") => Mode::Json,
                Some("plain") => Mode::Plain,
                Some("pretty") => Mode::Pretty,
                Some(other) => {
                    return Err(Failure::new(
                        Code::InvalidEnvironment,
                        format!("KTX_OUTPUT is `{other}`"),
                    )
                    .hint("set KTX_OUTPUT to `pretty`, `plain` or `json`"));
                }
                None if !ci && std::io::stdout().is_terminal() => Mode::Pretty,
                None => Mode::Plain,
            },
        };
        Ok(Self { mode, interactive })
    }

    /// Writes the text unchanged; to a terminal, without control characters.
    pub(crate) fn out(&self, text: &str) -> Outcome<()> {
        let destination = if std::io::stdout().is_terminal() {
            Destination::Terminal
        } else {
            Destination::File
        };
        write_stdout(printable(text, destination).as_bytes())
    }

    /// The width in columns; `None` without a terminal.
    pub(crate) fn width(&self) -> Option<u16> {
        let stdout = std::io::stdout();
        let size = stdout
            .is_terminal()
            .then(|| rustix::termios::tcgetwinsize(&stdout));
        // Some terminals report no size.
        size.map(|size| size.map_or(80, |size| size.ws_col.max(20)))
    }

    /// The text is styled if the terminal has styles, and has no control characters.
    pub(crate) fn pieces(&self, pieces: &[StyledText]) -> Outcome<()> {
        let mut stdout = anstream::stdout().lock();
        for piece in pieces {
            let style = match piece.look {
                TextStyle::Plain => anstyle::Style::new(),
                TextStyle::Bold => anstyle::Style::new().bold(),
                TextStyle::Code => anstyle::AnsiColor::Cyan.on_default(),
            };
            let text = harmless(&piece.text);
            write!(stdout, "{style}{text}{style:#}").map_err(|error| not_written(&error))?;
        }
        stdout.flush().map_err(|error| not_written(&error))
    }

    pub(crate) fn page(&self, text: &str) -> Outcome<()> {
        write_stdout(foreign::page(text).as_bytes())
    }

    pub(crate) fn line(&self, text: &str) -> Outcome<()> {
        write_stdout(one_line(text).as_bytes())?;
        write_stdout(b"\n")
    }

    /// Text between `<mark>` and `</mark>` is bold at a terminal with styles.
    pub(crate) fn marked(&self, text: &str) -> Outcome<()> {
        let style = anstyle::Style::new().bold();
        let styled = one_line(text)
            .replace("<mark>", &style.render().to_string())
            .replace("</mark>", &style.render_reset().to_string());
        let mut stdout = anstream::stdout().lock();
        writeln!(stdout, "{styled}")
            .and_then(|()| stdout.flush())
            .map_err(|error| not_written(&error))
    }

    pub(crate) fn json(&self, value: &impl Serialize) -> Outcome<()> {
        let text = serde_json::to_string_pretty(value).map_err(|error| {
            Failure::new(Code::Internal, "the answer cannot be written as JSON")
                .because(error.to_string())
        })?;
        write_json(&text)
    }

    pub(crate) fn json_line(&self, value: &Value) -> Outcome<()> {
        write_json(&value.to_string())
    }

    /// A closed stderr is not an error.
    pub(crate) fn note(&self, text: &str) {
        stderr_line(text);
    }

    pub(crate) fn notes(&self, text: &str) {
        text.lines().for_each(stderr_line);
    }
}

/// Some code has no printer.
pub(crate) fn stderr_line(text: &str) {
    let mut stderr = anstream::stderr();
    // A closed stderr cannot report this.
    writeln!(stderr, "{}", one_line(text)).unwrap_or_default();
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Destination {
    Terminal,
    /// A file or a pipe.
    File,
}

fn printable(text: &str, destination: Destination) -> Cow<'_, str> {
    if destination == Destination::File {
        return Cow::Borrowed(text);
    }
    if text.contains("\r\n") {
        return Cow::Owned(harmless(&text.replace("\r\n", "\n")).into_owned());
    }
    harmless(text)
}

/// Terminal control characters occur only in strings, where an escape means the same.
fn write_json(text: &str) -> Outcome<()> {
    write_stdout(escaped(text).as_bytes())?;
    write_stdout(b"\n")
}

/// JSON allows U+007F to U+009F unescaped.
fn escaped(json: &str) -> Cow<'_, str> {
    let steers = |letter: char| letter.is_control() && !letter.is_ascii_whitespace();
    if !json.contains(steers) {
        return Cow::Borrowed(json);
    }
    let mut text = String::with_capacity(json.len() + 16);
    for letter in json.chars() {
        if steers(letter) {
            text.extend(["\\u".to_owned(), format!("{:04x}", u32::from(letter))]);
        } else {
            text.push(letter);
        }
    }
    Cow::Owned(text)
}

/// JSON on stdout in JSON mode, text on stderr otherwise.
pub(crate) fn print_failure(failure: &Failure, mode: Mode) {
    if failure.code == Code::BrokenPipe {
        return;
    }
    if mode == Mode::Json {
        match write_json(&format!("{:#}", failure.to_json())) {
            Ok(()) => return,
            Err(error) if error.code == Code::BrokenPipe => return,
            // Stderr reports a full disk below.
            Err(_) => {}
        }
    }
    let mut stderr = anstream::stderr();
    // A closed stderr cannot report this.
    stderr
        .write_all(failure.to_text().as_bytes())
        .unwrap_or_default();
}

pub(crate) fn print_detail(failure: &Failure) {
    let mut stderr = anstream::stderr();
    for line in failure
        .detail
        .backend_text
        .iter()
        .flat_map(|detail| detail.lines())
    {
        // A closed stderr cannot report this.
        writeln!(stderr, "[debug] {}", harmless(line)).unwrap_or_default();
    }
}

/// Some commands have only one form of output.
pub(crate) fn stdout(text: &str) -> Outcome<()> {
    write_stdout(text.as_bytes())
}

fn write_stdout(bytes: &[u8]) -> Outcome<()> {
    let mut stdout = std::io::stdout().lock();
    stdout
        .write_all(bytes)
        .and_then(|()| stdout.flush())
        .map_err(|error| not_written(&error))
}

pub(crate) fn print_help(help: &clap::Error) -> Outcome<()> {
    help.print()
        .and_then(|()| std::io::stdout().flush())
        .map_err(|error| not_written(&error))
}

fn not_written(error: &std::io::Error) -> Failure {
    if error.kind() == std::io::ErrorKind::BrokenPipe {
        // Not an error: the reader has enough.
        return Failure::new(Code::BrokenPipe, "the reader closed the pipe");
    }
    Failure::from_error(Code::Output, error).context("stdout cannot be written")
}

#[cfg(test)]
mod tests;
