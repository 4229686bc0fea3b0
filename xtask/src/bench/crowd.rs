//! Measures concurrent searches over a large project against an echo server.
#![expect(
    clippy::disallowed_methods,
    reason = "benchmarks write into their own temporary folder"
)]

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::process::Stdio;
use std::thread;
use std::time::Instant;

use anyhow::{Context as _, Result, bail};

use super::http::{Client, INITIALIZE, INITIALIZED, Place, Server};
use super::measure::{high_water_mark, median, program};
use super::start::{ktx, project};
use super::{Bench, Outcome, Scale};
use crate::process;

const WHOLE: Size = Size {
    pages: 10_000,
    sources: 1_000,
    crowds: CROWDS.len(),
};
const SMALL: Size = Size {
    pages: 300,
    sources: 30,
    crowds: 3,
};

struct Size {
    pages: usize,
    sources: usize,
    crowds: usize,
}

impl Size {
    const fn of(bench: &Bench<'_>) -> Self {
        match bench.scale {
            Scale::Whole => WHOLE,
            Scale::Small => SMALL,
        }
    }
}

const CALLS: usize = 20;

const SESSIONS: usize = 512;

/// In KiB.
const SESSION_MEMORY: f64 = 64.0;

/// Clients, share of calls under the bound, and the bound as a multiple of an echo exchange in the
/// same crowd. Alone, an exchange takes about 25 microseconds and the promise is 3 milliseconds;
/// with 64 clients, 1.5 and 100 milliseconds.
const CROWDS: [(usize, f64, f64); 4] = [
    (1, 0.5, 120.0),
    (8, 0.95, 66.0),
    (64, 0.95, 66.0),
    (256, 0.95, 66.0),
];

/// Prints its port first.
const ECHO: &str = r#"
use std::io::{Read, Write};
fn main() {
    let listener = std::net::TcpListener::bind(("127.0.0.1", 0)).expect("a port");
    println!("{}", listener.local_addr().expect("an address").port());
    for stream in listener.incoming() {
        let mut stream = stream.expect("a connection");
        stream.set_nodelay(true).expect("an option");
        std::thread::spawn(move || {
            let mut buffer = [0; 65536];
            while let Ok(count @ 1..) = stream.read(&mut buffer) {
                if stream.write_all(&buffer[..count]).is_err() {
                    return;
                }
            }
        });
    }
}
"#;

pub(crate) fn crowds(bench: &Bench<'_>) -> Result<Vec<Outcome>> {
    let project = project(bench, "mcp-crowd")?;
    fill(&project, &Size::of(bench))?;
    process::output(&mut ktx(bench, &project, &["mcp", "start", "--port", "0"]))?;
    let measured = measured(bench, &project);
    process::output(&mut ktx(bench, &project, &["mcp", "stop"]))?;
    measured
}

fn fill(project: &Path, size: &Size) -> Result<()> {
    let (wiki, sources) = (
        project.join("wiki/global"),
        project.join("semantic-layer/warehouse"),
    );
    for folder in [&wiki, &sources] {
        std::fs::create_dir_all(folder).context("a folder cannot be made")?;
    }
    for number in 0..size.pages {
        let text = format!(
            "---\nsummary: Rule {number} of team {}\n---\n\nRevenue of topic{} counts when the order of region{} is paid.\n",
            number % 97,
            number % 1009,
            number % 31
        );
        std::fs::write(wiki.join(format!("rule-{number}.md")), text).context("no page")?;
    }
    for number in 0..size.sources {
        let text = format!(
            "name: facts_{number}\ntable: facts_{number}\ngrain: [id]\ncolumns:\n  - {{name: id, type: number}}\n\
             measures:\n  - {{name: total_{number}, expr: count(id)}}\n"
        );
        std::fs::write(sources.join(format!("facts_{number}.yaml")), text).context("no source")?;
    }
    Ok(())
}

fn call(number: usize) -> String {
    let query = format!("revenue topic{} region{}", number % 1009, number % 31);
    format!(
        r#"{{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{{"name":"wiki_search","arguments":{{"query":"{query}"}}}}}}"#
    )
}

fn measured(bench: &Bench<'_>, project: &Path) -> Result<Vec<Outcome>> {
    let Size {
        pages,
        sources,
        crowds,
    } = Size::of(bench);
    let place = Place::of(bench, project)?;
    let mut first = session(&place)?;
    // The first search builds the index.
    let answer = first.exchange(&call(1))?;
    if !answer.contains("rule-") {
        bail!("`wiki_search` answered `{}`", answer.trim());
    }
    let bytes = call(1).len() + answer.len();
    let echo = Echo::start(bench)?;
    let mut outcomes = Vec::new();
    for (clients, share, bound) in CROWDS.into_iter().take(crowds) {
        let searches = crowd(clients, |number| {
            let mut client = session(&place)?;
            timed(|at| client.exchange(&call(number * CALLS + at)).map(drop))
        })?;
        let exchanges = crowd(clients, |_| echo.exchanges(bytes))?;
        outcomes.push(Outcome {
            name: format!(
                "wiki_search over {pages} pages and {sources} sources, {clients} clients, p{:.0}",
                share * 100.0
            ),
            unit: "ms",
            measured: quantile(searches, share),
            yardstick: quantile(exchanges, share),
            bound,
        });
    }
    outcomes.extend(memory(&place)?);
    Ok(outcomes)
}

fn session(place: &Place) -> Result<Client> {
    let mut client = Client::connect(place)?;
    client.exchange(INITIALIZE)?;
    client.exchange(INITIALIZED)?;
    Ok(client)
}

fn timed(mut call: impl FnMut(usize) -> Result<()>) -> Result<Vec<f64>> {
    let times = (0..CALLS).map(|at| {
        let started = Instant::now();
        call(at)?;
        Ok(started.elapsed().as_secs_f64() * 1000.0)
    });
    times.collect()
}

/// Times of concurrent clients; fails if one fails.
fn crowd(clients: usize, client: impl Fn(usize) -> Result<Vec<f64>> + Sync) -> Result<Vec<f64>> {
    let client = &client;
    let results: Vec<Result<Vec<f64>>> = thread::scope(|scope| {
        let running: Vec<_> = (0..clients)
            .map(|number| scope.spawn(move || client(number)))
            .collect();
        let joined = running.into_iter().map(|running| match running.join() {
            Ok(times) => times,
            Err(_) => bail!("a client broke down"),
        });
        joined.collect()
    });
    let mut all = Vec::new();
    for times in results {
        all.extend(times?);
    }
    Ok(all)
}

fn quantile(mut figures: Vec<f64>, share: f64) -> f64 {
    if share <= 0.5 {
        return median(figures);
    }
    figures.sort_by(f64::total_cmp);
    let rank = figures.len() - figures.len() / 20;
    figures
        .get(rank.saturating_sub(1))
        .copied()
        .unwrap_or(f64::NAN)
}

/// Memory per session; `None` where the system does not report it.
fn memory(place: &Place) -> Result<Option<Outcome>> {
    let path = format!("/proc/{}/status", place.process);
    let peak = || {
        let status = std::fs::read_to_string(&path).ok()?;
        high_water_mark(&status)
    };
    let mut client = session(place)?;
    let Some(before) = peak() else {
        return Ok(None);
    };
    for _ in 0..SESSIONS {
        client.forget_session();
        client.exchange(INITIALIZE)?;
        client.exchange(INITIALIZED)?;
    }
    let sessions = u32::try_from(SESSIONS).unwrap_or(u32::MAX);
    Ok(peak().map(|after| Outcome {
        name: format!("memory of one of {SESSIONS} sessions against 64 KiB"),
        unit: "KiB",
        measured: (after - before) / f64::from(sessions),
        yardstick: SESSION_MEMORY,
        bound: 1.0,
    }))
}

struct Echo {
    _server: Server,
    port: u16,
}

impl Echo {
    fn start(bench: &Bench<'_>) -> Result<Self> {
        let echo = program(bench.repository, bench.folder, ("echo-crowd", ECHO))?;
        let mut child = process::command(bench.repository, echo)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .context("the echo server could not be started")?;
        let printed = child.stdout.take();
        let server = Server(child);
        let mut port = String::new();
        BufReader::new(printed.context("the echo server is mute")?).read_line(&mut port)?;
        Ok(Self {
            _server: server,
            port: port
                .trim()
                .parse()
                .context("the echo server printed no port")?,
        })
    }

    /// Half of `bytes` in each direction.
    fn exchanges(&self, bytes: usize) -> Result<Vec<f64>> {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port))?;
        stream.set_nodelay(true)?;
        let sent = vec![b'x'; (bytes / 2).max(1)];
        let mut received = vec![0; sent.len()];
        timed(|_| {
            stream.write_all(&sent)?;
            stream.read_exact(&mut received)?;
            Ok(())
        })
    }
}
