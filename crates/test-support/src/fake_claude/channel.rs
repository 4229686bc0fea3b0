//! The pipes of the fake, and its input record.

use std::collections::VecDeque;
use std::io::{BufRead as _, Write as _};
use std::sync::mpsc::{Receiver, TryRecvError, channel};

use serde_json::{Value, json};

use super::{ScenarioHalt, fault};

pub(crate) struct StdioChannel {
    lines: Receiver<Result<Value, String>>,
    stash: VecDeque<Value>,
    asked: u32,
    pub(crate) ignore_interrupt: bool,
}

pub(crate) fn complain(text: &str) {
    std::io::stderr().write_all(text.as_bytes()).ok();
}

pub(crate) fn write(bytes: &[u8]) -> Result<(), ScenarioHalt> {
    let mut out = std::io::stdout().lock();
    out.write_all(bytes)?;
    out.flush()?;
    Ok(())
}

pub(crate) fn say(line: &Value) -> Result<(), ScenarioHalt> {
    write(format!("{line}\n").as_bytes())
}

impl StdioChannel {
    /// Refuses non-ASCII bytes: real versions lose a character that crosses a chunk boundary.
    pub(crate) fn open() -> Self {
        let (sender, lines) = channel();
        std::thread::spawn(move || {
            for line in std::io::stdin().lock().lines() {
                let Ok(line) = line else { return };
                if line.is_empty() {
                    continue;
                }
                let read = if line.is_ascii() {
                    serde_json::from_str(&line).ok()
                } else {
                    None
                };
                let read = read.ok_or_else(|| line.chars().take(80).collect());
                if sender.send(read).is_err() {
                    return;
                }
            }
        });
        Self {
            lines,
            stash: VecDeque::new(),
            asked: 0,
            ignore_interrupt: false,
        }
    }

    pub(crate) fn receive(&mut self) -> Result<Value, ScenarioHalt> {
        let line = self.lines.recv().map_err(|_| ScenarioHalt::InputClosed)?;
        self.understood(line)
    }

    pub(crate) fn has_input(&mut self) -> Result<bool, ScenarioHalt> {
        match self.lines.try_recv() {
            Ok(line) => {
                let line = self.understood(line)?;
                self.stash.push_back(line);
                Ok(true)
            }
            Err(TryRecvError::Empty | TryRecvError::Disconnected) => Ok(!self.stash.is_empty()),
        }
    }

    fn understood(&self, line: Result<Value, String>) -> Result<Value, ScenarioHalt> {
        let line = match line {
            Ok(line) => line,
            Err(line) => return fault(format!("not JSON in ASCII on standard input: {line}")),
        };
        if line["request"]["subtype"] == "interrupt" && !self.ignore_interrupt {
            let id = &line["request_id"];
            let answer = json!({ "subtype": "success", "request_id": id, "response": { "still_queued": [] } });
            say(&json!({ "type": "control_response", "response": answer }))?;
            return Err(ScenarioHalt::Interrupted);
        }
        Ok(line)
    }

    pub(crate) fn receive_where(
        &mut self,
        fits: impl Fn(&Value) -> bool,
    ) -> Result<Value, ScenarioHalt> {
        if let Some(at) = self.stash.iter().position(&fits)
            && let Some(line) = self.stash.remove(at)
        {
            return Ok(line);
        }
        loop {
            let line = self.receive()?;
            if fits(&line) {
                return Ok(line);
            }
            self.stash.push_back(line);
        }
    }

    pub(crate) fn ask(&mut self, request: &Value) -> Result<String, ScenarioHalt> {
        self.asked += 1;
        let id = format!("fake-{}", self.asked);
        say(&json!({ "type": "control_request", "request_id": id, "request": request }))?;
        Ok(id)
    }

    pub(crate) fn answer_to(&mut self, ids: &[String]) -> Result<(String, Value), ScenarioHalt> {
        let line = self.receive_where(|line| {
            line["type"] == "control_response"
                && ids.iter().any(|id| line["response"]["request_id"] == **id)
        })?;
        let response = &line["response"];
        let id = response["request_id"]
            .as_str()
            .unwrap_or_default()
            .to_owned();
        if response["subtype"] != "success" {
            return fault(format!("a question was refused: {response}"));
        }
        Ok((id, response["response"].clone()))
    }

    pub(crate) fn asked(&mut self, request: &Value) -> Result<Value, ScenarioHalt> {
        let id = self.ask(request)?;
        Ok(self.answer_to(&[id])?.1)
    }

    /// Refuses a second prompt, which would be billed and never answered.
    pub(crate) fn until_closed(&mut self) -> Result<(), ScenarioHalt> {
        let second = |line: &Value| line["type"] == "user";
        if self.stash.iter().any(second) {
            return fault("there is a second prompt");
        }
        loop {
            match self.receive() {
                Ok(line) if second(&line) => return fault("there is a second prompt"),
                Ok(_) => {}
                Err(ScenarioHalt::InputClosed) => return Ok(()),
                Err(other) => return Err(other),
            }
        }
    }
}
