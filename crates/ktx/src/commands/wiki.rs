//! `ktx wiki`.

use ktx_context_tools::wire::{
    WikiHit, WikiItem, WikiReadInput, WikiSearchInput, WikiSearchOutput,
};
use ktx_context_tools::{Lanes, ProjectContext, list_wiki, read_wiki, search_wiki, wiki_page};
use ktx_diagnostics::Exit;

use crate::cli::{WikiArgs, WikiCommand};
use crate::compose;
use crate::context;
use crate::invocation::Invocation;
use crate::lists::{envelope, found, note_near_command, warn};
use crate::opening::open_project;
use crate::printer::{Mode, Printer};
use crate::report::Outcome;

pub(crate) fn run(args: &WikiArgs, invocation: &Invocation) -> Outcome {
    let printer = invocation.printer(&args.output)?;
    let project = open_project(invocation, &printer)?;
    let context = context::open_for(invocation, &project, &args.user_id)?;
    let limit = args
        .limit
        .map(|limit| usize::try_from(limit).unwrap_or(usize::MAX));
    match &args.command {
        Some(WikiCommand::Read { key }) => read(context.as_ref(), key, &printer),
        None | Some(WikiCommand::List) if args.query.is_empty() => {
            let (mut pages, unread) = compose::block_on(|_| async {
                let pages = list_wiki(context.as_ref()).await?;
                Ok((pages, context.unread_pages().await?))
            })?;
            warn(&unread, &printer);
            pages.truncate(limit.unwrap_or(usize::MAX));
            print_list(&pages, &printer)
        }
        command => {
            let query = match command {
                Some(WikiCommand::Search { query }) => query,
                _ => &args.query,
            };
            note_near_command(&args.query, &["list", "search", "read"], "wiki", &printer);
            let input = WikiSearchInput {
                query: query.join(" "),
                limit,
            };
            let lanes = if printer.mode == Mode::Json {
                Lanes::Shown
            } else {
                Lanes::Hidden
            };
            let answer = compose::block_on(|_| async {
                search_wiki(context.as_ref(), &input, lanes).await
            })?;
            warn(&answer.warnings, &printer);
            print_hits(&answer, &input.query, &printer)
        }
    }
}

fn read(context: &dyn ProjectContext, key: &str, printer: &Printer) -> Outcome {
    if printer.mode == Mode::Json {
        let input = WikiReadInput {
            key: key.to_owned(),
        };
        let page = compose::block_on(|_| async { read_wiki(context, &input).await })?;
        printer.json(&page)?;
    } else {
        let page = compose::block_on(|_| async { wiki_page(context, key).await })?;
        printer.out(page.text())?;
    }
    Ok(Exit::Success)
}

fn print_list(pages: &[WikiItem], printer: &Printer) -> Outcome {
    match printer.mode {
        Mode::Json => printer.json(&envelope(&pages, "wiki list"))?,
        Mode::Plain => {
            for page in pages {
                printer.line(&format!("{}\t{}\t{}", page.scope, page.key, page.summary))?;
            }
        }
        Mode::Pretty => {
            let width = pages
                .iter()
                .map(|page| page.key.chars().count())
                .max()
                .unwrap_or(0);
            for page in pages {
                printer.line(&format!("{:width$}  {}", page.key, page.summary))?;
            }
        }
    }
    if pages.is_empty() {
        printer.note("no wiki pages; write one to wiki/global/<key>.md");
    }
    Ok(Exit::Success)
}

fn print_hits(answer: &WikiSearchOutput, words: &str, printer: &Printer) -> Outcome {
    let hits = &answer.results;
    match printer.mode {
        Mode::Json => printer.json(&found(hits, &answer.warnings, "wiki search"))?,
        Mode::Plain => {
            for hit in hits {
                let (scope, key, summary) = (&hit.item.scope, &hit.item.key, &hit.item.summary);
                printer.line(&format!("score={}\t{scope}\t{key}\t{summary}", hit.score))?;
            }
        }
        Mode::Pretty => {
            for hit in hits {
                let notes: Vec<&str> = hit
                    .confidence
                    .iter()
                    .chain(&hit.match_reasons)
                    .map(String::as_str)
                    .collect();
                printer.line(&format!("{}  ({})", hit.item.key, notes.join(", ")))?;
                printer.line(&format!("    {}", hit.item.summary))?;
            }
        }
    }
    if !hits.is_empty() && hits.iter().all(|hit| hit.confidence.is_some()) {
        let by_meaning = |hit: &WikiHit| hit.match_reasons.iter().any(|lane| lane == "semantic");
        printer.note(if hits.iter().any(by_meaning) {
            "no page contains most of the words: these are near in meaning, or contain a few of them"
        } else {
            "no page matches well: these contain only a few of the words"
        });
    }
    if hits.is_empty() {
        printer.note(&format!(
            "nothing found for `{}`; run `ktx wiki` for all pages",
            ktx_diagnostics::excerpt(words)
        ));
    }
    Ok(Exit::Success)
}
