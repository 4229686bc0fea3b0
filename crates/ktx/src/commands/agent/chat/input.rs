//! Input lines of a chat.

use std::io::BufRead as _;
use std::path::PathBuf;

use rustyline::DefaultEditor;
use rustyline::error::ReadlineError;
use tokio::sync::mpsc;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Line {
    Text(String),
    Interrupted,
    /// Ctrl-D or end of file.
    End,
}

/// Reads in its own thread, so that waiting blocks nothing else.
#[derive(Debug)]
pub(super) struct Input {
    /// Requests a line with a prompt; `None` for a pipe.
    asked: Option<mpsc::UnboundedSender<String>>,
    lines: mpsc::UnboundedReceiver<Line>,
}

impl Input {
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

    pub(super) fn pipe() -> std::io::Result<Self> {
        let (sender, lines) = mpsc::unbounded_channel();
        let thread = std::thread::Builder::new().name("lines".to_owned());
        thread.spawn(move || read(&sender))?;
        Ok(Self { asked: None, lines })
    }

    pub(super) const fn is_terminal(&self) -> bool {
        self.asked.is_some()
    }

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
    // Without the file, the history is empty.
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
    // Fails if the receiver is gone.
    drop(lines.send(Line::End));
}
