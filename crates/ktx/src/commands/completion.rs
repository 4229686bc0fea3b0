//! `ktx completion` and the candidates behind it.

use clap::CommandFactory as _;

use crate::cli::{Cli, CompleteArgs, CompletionArgs};
use crate::exit::Exit;
use crate::report::Outcome;
use crate::session::{Session, load};

/// Prints a completion script for a shell.
pub(crate) fn run(args: &CompletionArgs) -> Outcome {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "ktx", &mut script);
    crate::printer::stdout(&String::from_utf8_lossy(&script))?;
    Ok(Exit::Success)
}

/// Prints candidates for the last word, one a line. Completion never fails.
pub(crate) fn complete(args: &CompleteArgs, session: &Session) -> Outcome {
    let words: Vec<&str> = args.words.iter().map(String::as_str).collect();
    let (last, before) = words
        .split_last()
        .map_or(("", words.as_slice()), |(last, before)| (*last, before));
    let mut candidates = candidates(before, session);
    candidates.retain(|candidate| candidate.starts_with(last));
    candidates.sort();
    candidates.dedup();
    for candidate in candidates {
        crate::printer::stdout(&format!("{candidate}\n"))?;
    }
    Ok(Exit::Success)
}

fn candidates(before: &[&str], session: &Session) -> Vec<String> {
    let connections = || {
        let dir = session.project_dir();
        // Without a readable project there is nothing to offer.
        let opened = dir.and_then(|dir| load(&dir, &session.environment)).ok();
        opened
            .map(|opened| {
                opened
                    .config
                    .connections
                    .keys()
                    .map(ToString::to_string)
                    .collect()
            })
            .unwrap_or_default()
    };
    match before {
        [.., "--connection-id" | "--connection" | "-c"]
        | ["connection", "test"]
        | ["ingest" | "scan"] => connections(),
        _ => {
            let mut command = Cli::command();
            command.build();
            let mut here = &command;
            for word in before {
                if let Some(child) = here.find_subcommand(word) {
                    here = child;
                }
            }
            let children = here.get_subcommands().filter(|child| !child.is_hide_set());
            let options = here
                .get_arguments()
                .filter(|argument| !argument.is_hide_set());
            children
                .map(|child| child.get_name().to_owned())
                .chain(
                    options.filter_map(|option| option.get_long().map(|long| format!("--{long}"))),
                )
                .filter(|candidate| !before.contains(&candidate.as_str()))
                .collect()
        }
    }
}
