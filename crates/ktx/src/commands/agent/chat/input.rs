//! Lines that a person or a program writes.

use std::io::BufRead as _;
use std::path::PathBuf;

use rustyline::DefaultEditor;
use rustyline::error::ReadlineError;
use tokio::sync::mpsc;

/// One thing that was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Line {
    Text(String),
    /// Ctrl-C at the prompt.
    Interrupted,
    /// Ctrl-D, or the end of the file.
    End,
}

/// Reads lines in a thread of its own, so that nothing else waits for a person.
#[derive(Debug)]
pub(super) struct Input {
    /// Asks for a line with a prompt; a pipe is read without being asked.
    asked: Option<mpsc::UnboundedSender<String>>,
    lines: mpsc::UnboundedReceiver<Line>,
}

impl Input {
    /// Reads a terminal, with a line editor and the history in the file at `history`.
    pub(super) fn terminal(history: PathBuf) -> std::io::Result<Self> {
        let (asked, prompts) = mpsc::unbounded_channel();
        let (sender, lines) = mpsc::unbounded_channel();
        let thread = std::thread::Builder::new().name("lines".to_owned());
        thread.spawn(move || edit(prompts, &sender, &history))?;
        Ok(Self {
            asked: Some(asked),
            lines,
        })
    }

    /// Reads stdin as it is.
    pub(super) fn pipe() -> std::io::Result<Self> {
        let (sender, lines) = mpsc::unbounded_channel();
        let thread = std::thread::Builder::new().name("lines".to_owned());
        thread.spawn(move || read(&sender))?;
        Ok(Self { asked: None, lines })
    }

    /// Whether a person sees prompts.
    pub(super) const fn is_terminal(&self) -> bool {
        self.asked.is_some()
    }

    /// Returns the next line.
    pub(super) async fn next(&mut self, prompt: &str) -> Line {
        if let Some(asked) = &self.asked
            && asked.send(prompt.to_owned()).is_err()
        {
            return Line::End;
        }
        self.lines.recv().await.unwrap_or(Line::End)
    }
}

fn edit(
    mut prompts: mpsc::UnboundedReceiver<String>,
    lines: &mpsc::UnboundedSender<Line>,
    history: &std::path::Path,
) {
    let Ok(mut editor) = DefaultEditor::new() else {
        return;
    };
    // Without its history, the editor begins with an empty one.
    drop(editor.load_history(history));
    while let Some(prompt) = prompts.blocking_recv() {
        let line = match editor.readline(&prompt) {
            Ok(text) => {
                drop(editor.add_history_entry(&text));
                drop(editor.save_history(history));
                Line::Text(text)
            }
            Err(ReadlineError::Interrupted) => Line::Interrupted,
            Err(_) => Line::End,
        };
        let is_end = line == Line::End;
        if lines.send(line).is_err() || is_end {
            return;
        }
    }
}

fn read(lines: &mpsc::UnboundedSender<Line>) {
    let mut stdin = std::io::stdin().lock();
    let mut bytes = Vec::new();
    loop {
        bytes.clear();
        match stdin.read_until(b'\n', &mut bytes) {
            Ok(0) | Err(_) => break,
            Ok(_) => {
                let text = String::from_utf8_lossy(&bytes);
                let text = text.trim_end_matches(['\r', '\n']).to_owned();
                if lines.send(Line::Text(text)).is_err() {
                    return;
                }
            }
        }
    }
    // Whoever listened has left if this fails.
    drop(lines.send(Line::End));
}
