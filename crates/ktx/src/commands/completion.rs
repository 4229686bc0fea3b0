//! `ktx completion` and its candidates.

use std::sync::Arc;

use clap::CommandFactory as _;
use clap_complete::Shell;
use ktx_context_tools::{ProjectContext, list_sources, list_wiki};
use ktx_diagnostics::{Exit, Failure};

use crate::cli::{Cli, CompleteArgs, CompletionArgs};
use crate::compose;
use crate::context;
use crate::invocation::{Invocation, OpenProject, load};
use crate::report::Outcome;

/// The scripts of bash, zsh and fish ask ktx for candidates, so they know the names of the project.
pub(crate) fn run(args: &CompletionArgs) -> Outcome {
    let script = match args.shell {
        Shell::Bash => include_str!("completion/bash.sh").to_owned(),
        Shell::Zsh => include_str!("completion/zsh.zsh").to_owned(),
        Shell::Fish => include_str!("completion/fish.fish").to_owned(),
        other => {
            let mut script = Vec::new();
            clap_complete::generate(other, &mut Cli::command(), "ktx", &mut script);
            String::from_utf8_lossy(&script).into_owned()
        }
    };
    crate::printer::stdout(&script)?;
    Ok(Exit::Success)
}

/// One candidate per line, options last. Completion never fails.
pub(crate) fn complete(args: &CompleteArgs, invocation: &Invocation) -> Outcome {
    let words: Vec<&str> = args.words.iter().map(String::as_str).collect();
    let (last, before) = words
        .split_last()
        .map_or(("", words.as_slice()), |(last, before)| (*last, before));
    let mut candidates = candidates(before, invocation);
    candidates.retain(|candidate| candidate.starts_with(last));
    candidates.sort_by_key(|word| (word.starts_with('-'), word.clone()));
    candidates.dedup();
    for candidate in candidates {
        crate::printer::stdout(&format!("{candidate}\n"))?;
    }
    Ok(Exit::Success)
}

fn candidates(before: &[&str], invocation: &Invocation) -> Vec<String> {
    let mut command = Cli::command();
    command.build();
    let mut here = &command;
    let mut path = Vec::new();
    for word in before {
        if let Some(child) = here.find_subcommand(word) {
            here = child;
            path.push(child.get_name());
        }
    }
    let last = before.last().copied().unwrap_or_default();
    if matches!(last, "--connection-id" | "--connection" | "-c") {
        return connections(invocation);
    }
    if let Some(values) = values_of(here, last) {
        return values;
    }
    let mut candidates = match path.as_slice() {
        ["connection", "test" | "show" | "remove" | "rename"]
        | ["ingest"]
        | ["scan", "relationships"] => connections(invocation),
        ["scan"] | ["scan", "review"] => {
            let mut words = connections(invocation);
            words.extend(subcommands(here));
            words
        }
        ["connection", "add"] => Vec::new(),
        ["sl", "read" | "validate" | "diff" | "test"] => sources(invocation),
        ["wiki", "read"] => pages(invocation),
        _ => subcommands(here),
    };
    let options = here
        .get_arguments()
        .filter(|argument| !argument.is_hide_set())
        .filter_map(|option| option.get_long().map(|long| format!("--{long}")))
        .filter(|option| !before.contains(&option.as_str()));
    candidates.extend(options);
    candidates
}

fn subcommands(command: &clap::Command) -> Vec<String> {
    command
        .get_subcommands()
        .filter(|child| !child.is_hide_set())
        .map(|child| child.get_name().to_owned())
        .collect()
}

/// Returns the choices of the last typed option; `None` if it is not an option with a value.
fn values_of(command: &clap::Command, word: &str) -> Option<Vec<String>> {
    let name = word.strip_prefix("--")?;
    let option = command
        .get_arguments()
        .find(|argument| argument.get_long() == Some(name))?;
    if !option.get_num_args()?.takes_values() {
        return None;
    }
    let values = option.get_possible_values();
    Some(
        values
            .iter()
            .filter(|value| !value.is_hide_set())
            .map(|value| value.get_name().to_owned())
            .collect(),
    )
}

// Hides failures: without a readable project there are no candidates.

fn project(invocation: &Invocation) -> Option<OpenProject> {
    let dir = invocation.project_dir().ok()?;
    load(&dir, &invocation.environment).ok()
}

fn connections(invocation: &Invocation) -> Vec<String> {
    project(invocation)
        .map(|project| {
            let ids = project.config.connections.keys();
            ids.map(ToString::to_string).collect()
        })
        .unwrap_or_default()
}

fn sources(invocation: &Invocation) -> Vec<String> {
    with_context(invocation, |context| async move {
        let list = list_sources(context.as_ref(), None).await?;
        Ok(list.items.into_iter().map(|item| item.name).collect())
    })
}

fn pages(invocation: &Invocation) -> Vec<String> {
    with_context(invocation, |context| async move {
        let pages = list_wiki(context.as_ref()).await?;
        Ok(pages.into_iter().map(|page| page.key).collect())
    })
}

fn with_context<F>(
    invocation: &Invocation,
    ask: impl FnOnce(Arc<dyn ProjectContext>) -> F,
) -> Vec<String>
where
    F: Future<Output = Result<Vec<String>, Failure>>,
{
    let context = project(invocation).and_then(|project| context::open(invocation, &project).ok());
    context
        .and_then(|context| compose::block_on(|_| async { ask(context).await }).ok())
        .unwrap_or_default()
}
