//! One process of the fake.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use serde_json::{Map, Value, json};

use super::channel::{StdioChannel, say};
use super::check::{self, Options};
use super::mcp::Client;
use super::scenario::{Mode, Scenario, ScenarioStep};
use super::{SCENARIO_VARIABLE, ScenarioHalt, account, fault, frames, replay, schema_echo};

pub(crate) struct Session {
    pub(crate) channel: StdioChannel,
    pub(crate) scenario: Scenario,
    pub(crate) options: Options,
    pub(crate) schema: Option<Value>,
    pub(crate) client: Option<Client>,
    pub(crate) messages: u64,
    /// Messages interrupted after their first token.
    pub(crate) cut: u64,
    pub(crate) stem: String,
    pub(crate) calls: u64,
    pub(crate) text: String,
    pub(crate) object: Option<Value>,
    pub(crate) ending: Map<String, Value>,
    pub(crate) seen: Vec<Value>,
    pub(crate) results: Vec<Value>,
    prompt: Option<String>,
    initialize: Value,
    environment: BTreeMap<String, String>,
    arguments: Vec<String>,
}

pub(crate) fn play() -> Result<(), ScenarioHalt> {
    let (arguments, environment) = given();
    let Some(file) = environment.get(SCENARIO_VARIABLE) else {
        return fault(format!("the variable `{SCENARIO_VARIABLE}` is missing"));
    };
    let scenario = match load(Path::new(file)) {
        Ok(scenario) => scenario,
        Err(error) => return fault(format!("{error:#}")),
    };
    if arguments == ["--version"] {
        let version = version_of(&scenario);
        if let Some(record) = &scenario.record {
            let line =
                json!({ "arguments": arguments, "environment": environment, "folder": folder() });
            append(
                &record.with_extension("versions.jsonl"),
                &format!("{line}\n"),
            );
        }
        return super::channel::write(format!("{version} (Claude Code)\n").as_bytes());
    }
    let unknown = scenario.unknown_options.iter().find(|option| {
        arguments
            .iter()
            .any(|argument| argument.split('=').next() == Some(option.as_str()))
    });
    if let Some(option) = unknown {
        super::channel::complain(&format!("error: unknown option '{option}'\n"));
        return Err(ScenarioHalt::Exit(1));
    }
    let options = if scenario.lenient {
        Options::default()
    } else {
        let options = check::options(&arguments)?;
        check::environment(&environment, &options)?;
        options
    };
    let mut session = Session {
        channel: StdioChannel::open(),
        options,
        schema: None,
        client: None,
        messages: 0,
        cut: 0,
        stem: scenario.message_ids.clone().unwrap_or_else(account::unique),
        calls: 0,
        text: String::new(),
        object: None,
        ending: Map::new(),
        seen: Vec::new(),
        results: Vec::new(),
        prompt: None,
        initialize: Value::Null,
        environment,
        arguments,
        scenario,
    };
    session.channel.ignore_interrupt = session.scenario.ignore_interrupt;
    let outcome = session.whole();
    session.write_record(&outcome);
    outcome
}

#[expect(
    clippy::disallowed_methods,
    reason = "the fake is a program of its own and looks at what it was given"
)]
fn given() -> (Vec<String>, BTreeMap<String, String>) {
    (
        std::env::args().skip(1).collect(),
        std::env::vars().collect(),
    )
}

/// `None` if removed.
#[expect(
    clippy::disallowed_methods,
    reason = "the fake is a program of its own and looks at what it was given"
)]
fn folder() -> Option<PathBuf> {
    std::env::current_dir().ok()
}

fn load(file: &Path) -> anyhow::Result<Scenario> {
    let text = std::fs::read_to_string(file)
        .with_context(|| format!("the scenario `{}` cannot be read", file.display()))?;
    let mut scenario: Scenario = serde_json::from_str(&text).context("the scenario is not one")?;
    let sequence = std::mem::take(&mut scenario.sequence);
    if let Some(last) = sequence.len().checked_sub(1) {
        let record = scenario
            .record
            .clone()
            .context("a sequence needs a record")?;
        let done = std::fs::read_to_string(&record).map_or(0, |text| text.lines().count());
        let chosen = sequence.into_iter().nth(done.min(last));
        scenario = chosen.context("the sequence is empty")?;
        scenario.record = Some(record);
    }
    if scenario.mode == Mode::SchemaEcho {
        scenario.echo.get_or_insert_default();
    }
    Ok(scenario)
}

fn version_of(scenario: &Scenario) -> String {
    if scenario.version.is_empty() {
        "2.1.330".to_owned()
    } else {
        scenario.version.clone()
    }
}

impl Session {
    fn whole(&mut self) -> Result<(), ScenarioHalt> {
        if let Some(file) = self.scenario.replay.clone() {
            return replay::play(&mut self.channel, &file);
        }
        let before = std::mem::take(&mut self.scenario.before);
        let line = self
            .channel
            .receive_where(|line| line["type"] == "control_request")?;
        self.initialize = line["request"].clone();
        if self.initialize["subtype"] != "initialize" {
            return fault("the first question is not `initialize`");
        }
        if !self.scenario.lenient {
            check::initialize(&self.initialize, &self.options)?;
        }
        self.schema = self.initialize.get("jsonSchema").cloned();
        for act in before {
            self.act(act)?;
        }
        if !self.scenario.lenient && self.channel.has_input()? {
            return fault("the prompt came before the account was reported");
        }
        let version = version_of(&self.scenario);
        let account = self.account()?;
        say(&frames::initialized(
            &line["request_id"],
            account.as_ref(),
            &version,
        ))?;
        if self.scenario.handshake_first {
            self.connect()?;
        }
        let line = self.channel.receive_where(|line| line["type"] == "user")?;
        let prompt = if self.scenario.lenient {
            line["message"].to_string()
        } else {
            check::prompt(&line)?
        };
        self.prompt = Some(prompt.clone());
        self.connect()?;
        let tools = self.expected_tools();
        let init = frames::init(&tools, &self.model_name(), &version, &self.scenario.init);
        say(&init)?;
        match self.turn(&prompt) {
            Err(ScenarioHalt::Interrupted) => self.interrupted(),
            other => other,
        }
    }

    fn connect(&mut self) -> Result<(), ScenarioHalt> {
        if !self.options.allowed.is_empty() && self.client.is_none() {
            self.client = Some(Client::connect(&mut self.channel, &self.options)?);
        }
        Ok(())
    }

    pub(crate) fn model_name(&self) -> String {
        if self.scenario.model.is_empty() {
            format!("fake-{}", self.options.model)
        } else {
            self.scenario.model.clone()
        }
    }

    pub(crate) fn expected_tools(&self) -> Vec<String> {
        let mut tools: Vec<String> = self.options.allowed.iter().cloned().collect();
        if self.schema.is_some() {
            tools.push("StructuredOutput".to_owned());
            tools.sort();
        }
        tools
    }

    fn turn(&mut self, prompt: &str) -> Result<(), ScenarioHalt> {
        if !self.serves()? {
            return self.finish();
        }
        for act in self.acts_for(prompt) {
            self.act(act)?;
            if self.ending.contains_key("subtype") {
                break;
            }
        }
        self.finish()
    }

    fn acts_for(&mut self, prompt: &str) -> Vec<ScenarioStep> {
        let scenario = &mut self.scenario;
        let when = scenario
            .when
            .iter()
            .find(|when| prompt.contains(&when.prompt_contains));
        if let Some(when) = when {
            return when.steps.clone();
        }
        let Some(echo) = &scenario.echo else {
            return std::mem::take(&mut scenario.steps);
        };
        match &self.schema {
            Some(schema) => {
                let template = echo.template.as_deref().unwrap_or("described {name}");
                let object = schema_echo::expected_in(prompt)
                    .unwrap_or_else(|| schema_echo::instance(schema, template));
                vec![ScenarioStep::Object(object)]
            }
            None => vec![ScenarioStep::Text(
                echo.text.clone().unwrap_or_else(|| "ok".to_owned()),
            )],
        }
    }

    fn finish(&mut self) -> Result<(), ScenarioHalt> {
        let mut changes = std::mem::take(&mut self.ending);
        if let Some(object) = self.object.take() {
            changes.insert("structured_output".to_owned(), object);
        }
        changes.extend(std::mem::take(&mut self.scenario.result));
        let used = frames::used(self.messages, self.cut);
        let used = json!({ self.model_name(): used });
        let result = frames::result(&self.text, self.messages, &used, &changes);
        say(&result)?;
        for act in std::mem::take(&mut self.scenario.after) {
            self.act(act)?;
        }
        self.channel.until_closed()?;
        if result["is_error"] == true {
            return Err(ScenarioHalt::Exit(1));
        }
        Ok(())
    }

    fn interrupted(&mut self) -> Result<(), ScenarioHalt> {
        self.seen.push(json!("interrupted"));
        let changes = [
            ("subtype", json!("error_during_execution")),
            ("is_error", json!(true)),
            ("terminal_reason", json!("aborted_streaming")),
            ("result", Value::Null),
        ];
        self.ending = changes
            .map(|(key, value)| (key.to_owned(), value))
            .into_iter()
            .collect();
        self.finish()
    }

    fn write_record(&self, outcome: &Result<(), ScenarioHalt>) {
        let Some(record) = &self.scenario.record else {
            return;
        };
        let ending = match outcome {
            Ok(()) => json!("done"),
            Err(ScenarioHalt::Fault(reason)) => json!({ "fault": reason }),
            Err(ScenarioHalt::InputClosed) => json!("input closed"),
            Err(ScenarioHalt::Interrupted) => json!("interrupted"),
            Err(ScenarioHalt::Exit(code)) => json!({ "exit": code }),
        };
        let line = json!({
            "arguments": self.arguments,
            "environment": self.environment,
            "folder": folder(),
            "initialize": self.initialize,
            "prompt": self.prompt,
            "seen": self.seen,
            "told": self.results,
            "ending": ending,
            "process": std::process::id(),
        });
        append(record, &format!("{line}\n"));
    }
}

pub(crate) fn append(file: &Path, text: &str) {
    let opened = std::fs::OpenOptions::new()
        .create(true)
        .append(true)
        .open(file);
    if let Err(error) = opened.and_then(|mut file| file.write_all(text.as_bytes())) {
        super::channel::complain(&format!(
            "fake claude: the record cannot be written: {error}\n"
        ));
    }
}
