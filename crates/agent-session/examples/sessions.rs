//! Prints session benchmarks as a line of JSON. `fill FOLDER COUNT` creates sessions for benchmarks
//! of the program.

use std::error::Error;
use std::fs::File;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use async_trait::async_trait;
use ktx_agent_session::{
    Agent, AgentSettings, Channels, ContextSettings, Host, LONGEST_MESSAGE, MOST_ASKED_AT_ONCE,
    MOST_MESSAGES, OnAsk, Permissions, Pool, PoolLimits, Ready, Session, Sessions, Spending,
    Strategy, Turn, ask,
};
use ktx_diagnostics::{Code, Failure};
use ktx_llm_runtime::{
    BackendInfo, Deltas, LlmError, LlmErrorKind, LlmRuntime, LoopOutcome, LoopRequest,
    ObjectOutcome, ObjectRequest, ProbeReport, ProbeRequest, RunEvent, RunFinal, RunHandle,
    RunRequest, TextOutcome, TextRequest, TokenUsage, run_channel,
};
use ktx_project_store::Holder;
use ktx_session_log::{Channel, Durability, Entry, SessionId, SessionStore};
use ktx_tool_descriptors::ToolSet;
use ktx_vocabulary::RunId;
use serde_json::{Map, Value, json};
use tokio_util::sync::CancellationToken;

type Figure<T> = Result<T, Box<dyn Error>>;

const EVENTS: u32 = 100_000;

const RESUMED: u32 = 10_000;

const IDLE: u32 = 1_000;

/// Logs written at the same time, and durable records of each.
const LOGS: u32 = 16;
const DURABLE: u32 = 64;

const RUNS: usize = 7;

/// Makes records of about 230 bytes, a typical size.
const STATUS: &str =
    "reading the orders of the last quarter by region, with the customers that are not tests";

struct Chatter(u32);

fn unasked() -> LlmError {
    LlmError::new(LlmErrorKind::Internal, "only runs are measured")
}

#[async_trait]
impl LlmRuntime for Chatter {
    async fn generate_text(&self, _: TextRequest) -> Result<TextOutcome, LlmError> {
        Err(unasked())
    }

    async fn generate_object(&self, _: ObjectRequest) -> Result<ObjectOutcome, LlmError> {
        Err(unasked())
    }

    async fn run_agent_loop(&self, _: LoopRequest) -> LoopOutcome {
        LoopOutcome::failed(unasked())
    }

    fn start_run(&self, request: RunRequest) -> RunHandle {
        let run_id = request.label.run_id;
        let (writer, handle) = run_channel(run_id.clone(), None);
        let events = self.0;
        tokio::spawn(async move {
            for _ in 0..events {
                writer.event(RunEvent::Status(STATUS.to_owned())).await;
            }
            let last = RunFinal {
                run_id,
                request_id: None,
                result: Ok("Done.".to_owned()),
                usage: TokenUsage::default(),
            };
            writer.finish(last).await;
        });
        handle
    }

    async fn probe(&self, _: ProbeRequest) -> Result<ProbeReport, LlmError> {
        Err(unasked())
    }

    fn describe(&self) -> BackendInfo {
        BackendInfo::default()
    }
}

fn agent() -> Agent {
    Agent {
        name: "analyst".to_owned(),
        instructions: "Answer from the layer.".to_owned(),
        file: None,
        model: None,
        tools: Vec::new(),
        max_turns: 5,
        sources: Vec::new(),
        max_messages: MOST_MESSAGES,
        max_message_chars: LONGEST_MESSAGE,
        call_limits: std::collections::BTreeMap::new(),
        spending: Spending::default(),
        permissions: Permissions::default(),
        settings: AgentSettings::default(),
        context: ContextSettings::default(),
        todo: None,
        agents: Vec::new(),
        max_parallel: MOST_ASKED_AT_ONCE,
        response_format: None,
    }
}

fn holder() -> Holder {
    Holder::this_process("sessions", None)
}

fn sessions(folder: &Path) -> Sessions {
    let clock = Arc::new(jiff::Timestamp::now);
    Sessions::new(SessionStore::new(folder), holder(), clock)
}

fn turn() -> Figure<Turn> {
    Ok(Turn {
        agent: agent(),
        tools: ToolSet::new(Vec::new())?,
        on_ask: OnAsk::Deny,
        deltas: Deltas::AsTheyCome,
        stage: "research".to_owned(),
        run_id: RunId::parse("bench")?,
        cancel: CancellationToken::new(),
        delegation: None,
        previews: None,
        room: None,
    })
}

struct Nobody;

#[async_trait]
impl Host for Nobody {
    fn agent(&self, _: Option<&str>) -> Result<Agent, Failure> {
        Ok(agent())
    }

    async fn ready(&self, _: &Agent) -> Result<Ready, Failure> {
        Err(Failure::new(Code::Internal, "this example calls no model"))
    }

    fn new_id(&self, topic: &str) -> Result<SessionId, Failure> {
        SessionId::parse(topic)
            .map_err(|error| Failure::new(Code::InvalidSession, error.to_string()))
    }
}

fn median(mut figures: Vec<f64>) -> f64 {
    figures.sort_by(f64::total_cmp);
    figures.get(figures.len() / 2).copied().unwrap_or(f64::NAN)
}

fn milliseconds(since: Instant) -> f64 {
    since.elapsed().as_secs_f64() * 1000.0
}

fn status(name: &str) -> Figure<f64> {
    let text = std::fs::read_to_string("/proc/self/status")?;
    let line = text.lines().find_map(|line| line.strip_prefix(name));
    let number = line.and_then(|line| line.trim_start_matches(':').split_whitespace().next());
    Ok(number.ok_or("no such line")?.parse()?)
}

fn descriptors() -> Figure<f64> {
    let count = std::fs::read_dir("/proc/self/fd")?.count();
    Ok(f64::from(u32::try_from(count)?))
}

fn processor() -> Figure<Duration> {
    let stat = std::fs::read_to_string("/proc/self/stat")?;
    let fields = stat.rsplit(')').next().unwrap_or_default();
    let ticks: u64 = fields
        .split_whitespace()
        .skip(11)
        .take(2)
        .flat_map(str::parse::<u64>)
        .sum();
    // A tick is a hundredth of a second on Linux.
    Ok(Duration::from_millis(ticks * 10))
}

async fn spoken(session: &Arc<Session>, events: u32) -> Figure<()> {
    ask(session, &Chatter(events), turn()?, "What is new?").await?;
    Ok(())
}

/// Measures events through a session with one subscriber, and plain writes of the same lines.
async fn events(folder: &Path, count: u32) -> Figure<Value> {
    let sessions = sessions(folder);
    let session = Arc::new(sessions.create(&SessionId::parse("events")?, &agent())?);
    let mut heard = session.subscribe(Channels::new([Channel::Monitor]), 0)?;
    let listener = tokio::spawn(async move {
        let mut told = 0;
        while told < count {
            let record = heard.next_record().await.ok().flatten();
            told += u32::from(record.is_some_and(|record| record.kind() == "status"));
        }
    });
    let (began, before) = (Instant::now(), processor()?);
    spoken(&session, count).await?;
    listener.await?;
    let ours = milliseconds(began);
    let used = processor()?.saturating_sub(before);
    let path = sessions.store().path(session.id());
    let lines: Vec<Vec<u8>> = BufReader::new(File::open(path)?)
        .split(b'\n')
        .collect::<Result<_, _>>()?;
    let mut bare = File::create(folder.join("bare"))?;
    let began = Instant::now();
    for line in &lines {
        bare.write_all(line)?;
        bare.write_all(b"\n")?;
    }
    Ok(json!({
        "events": count,
        "ours_ms": ours,
        "bare_ms": milliseconds(began),
        "processor_ms": used.as_secs_f64() * 1000.0,
    }))
}

async fn resume(folder: &Path) -> Figure<Value> {
    let sessions = sessions(folder);
    let id = SessionId::parse("resumed")?;
    let session = Arc::new(sessions.create(&id, &agent())?);
    spoken(&session, RESUMED).await?;
    drop(session);
    let (mut ours, mut bare) = (Vec::new(), Vec::new());
    for _ in 0..RUNS {
        let began = Instant::now();
        drop(sessions.store().read(&id)?.read_all()?);
        bare.push(milliseconds(began));
        let began = Instant::now();
        drop(sessions.resume(id.clone(), Strategy::Crash)?);
        ours.push(milliseconds(began));
    }
    Ok(json!({ "ours_ms": median(ours), "bare_ms": median(bare) }))
}

async fn idle(folder: &Path) -> Figure<Value> {
    let limits = PoolLimits {
        agents: IDLE as usize,
        running: 4,
    };
    let pool = Pool::new(sessions(folder), Arc::new(Nobody), limits);
    // The first one opens shared resources.
    pool.join(None, Some(SessionId::parse("idle-0")?), "")
        .await?;
    let before = (status("VmRSS")?, descriptors()?, status("Threads")?);
    let began = Instant::now();
    for number in 1..IDLE {
        let id = SessionId::parse(&format!("idle-{number}"))?;
        pool.join(None, Some(id), "").await?;
    }
    let took = milliseconds(began);
    Ok(json!({
        "ms": took,
        "kib": (status("VmRSS")? - before.0) / f64::from(IDLE),
        "descriptors": descriptors()? - before.1,
        "threads": status("Threads")? - before.2,
    }))
}

fn durable(folder: &Path, logs: u32) -> Figure<f64> {
    let store = SessionStore::new(folder);
    let mut open = Vec::new();
    for number in 0..logs {
        let id = SessionId::parse(&format!("durable-{logs}-{number}"))?;
        open.push(store.create(&id, &holder())?);
    }
    let began = Instant::now();
    std::thread::scope(|scope| -> Figure<()> {
        let threads: Vec<_> = open
            .iter()
            .map(|log| {
                scope.spawn(move || {
                    let appended = |_| log.append(note(), Durability::Synced).is_ok();
                    (0..DURABLE).all(appended)
                })
            })
            .collect();
        for thread in threads {
            if !thread.join().unwrap_or_default() {
                return Err("a record was not kept".into());
            }
        }
        Ok(())
    })?;
    Ok(milliseconds(began) / f64::from(logs * DURABLE))
}

fn note() -> Entry {
    let event = Map::from_iter([
        ("type".to_owned(), json!("status")),
        ("text".to_owned(), json!(STATUS)),
    ]);
    Entry {
        at: jiff::Timestamp::now(),
        channel: Channel::Monitor,
        turn: Some(1),
        step: None,
        event,
    }
}

async fn fill(folder: &Path, count: u32) -> Figure<()> {
    let sessions = sessions(folder);
    for number in 0..count {
        let id = SessionId::parse(&format!("filled-{number}"))?;
        let session = Arc::new(sessions.create(&id, &agent())?);
        spoken(&session, 1).await?;
    }
    Ok(())
}

#[tokio::main]
async fn main() -> Figure<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [verb, folder, count] = arguments.as_slice()
        && verb == "fill"
    {
        return fill(Path::new(folder), count.parse()?).await;
    }
    let count = arguments.first().map_or(Ok(EVENTS), |text| text.parse())?;
    let folder = tempfile::tempdir()?;
    let folder = folder.path();
    let idle = idle(&folder.join("idle")).await?;
    let figures = json!({
        "idle": idle,
        "events": events(&folder.join("events"), count).await?,
        "resume": resume(&folder.join("resume")).await?,
        "durable": {
            "ours_ms": durable(&folder.join("many"), LOGS)?,
            "bare_ms": durable(&folder.join("one"), 1)?,
        },
    });
    writeln!(std::io::stdout(), "{figures}")?;
    Ok(())
}
