//! The command reference.

use clap::{Arg, Command};

pub(crate) fn markdown(root: &mut Command) -> String {
    root.build();
    let mut page = String::from(
        "# Commands\n\n<!-- Generated from `crates/ktx/src/cli.rs`; see CONTRIBUTING. -->\n\n\
         Data goes to stdout, everything else to stderr. With `--json` a failure is\n\
         `{\"error\":{\"code\",\"message\",\"hint\"}}` on stdout. See [exit codes](exit-codes.md).\n",
    );
    section(root, "ktx", &mut page);
    page
}

fn section(command: &Command, path: &str, page: &mut String) {
    page.extend([format!("\n## {path}\n\n")]);
    if let Some(about) = command.get_long_about().or_else(|| command.get_about()) {
        page.extend([format!("{about}\n")]);
    }
    let usage = command.clone().render_usage().to_string();
    let usage = usage.trim_start_matches("Usage: ").trim();
    page.extend([format!("\n```text\n{usage}\n```\n")]);
    let arguments: Vec<&Arg> = command
        .get_arguments()
        .filter(|argument| !argument.is_hide_set() && argument.get_id() != "help")
        .filter(|argument| path == "ktx" || !is_inherited(argument))
        .collect();
    if !arguments.is_empty() {
        page.push_str("\n| argument | meaning |\n|---|---|\n");
        for argument in arguments {
            page.extend([format!(
                "| `{}` | {} |\n",
                shown(argument),
                meaning(argument)
            )]);
        }
    }
    for child in command.get_subcommands() {
        if !child.is_hide_set() && child.get_name() != "help" {
            section(child, &format!("{path} {}", child.get_name()), page);
        }
    }
}

/// Global options are listed once, at the root.
fn is_inherited(argument: &Arg) -> bool {
    matches!(
        argument.get_id().as_str(),
        "project_dir" | "debug" | "version"
    )
}

fn shown(argument: &Arg) -> String {
    let mut text = match (argument.get_short(), argument.get_long()) {
        (Some(short), Some(long)) => format!("-{short}, --{long}"),
        (None, Some(long)) => format!("--{long}"),
        (Some(short), None) => format!("-{short}"),
        (None, None) => String::new(),
    };
    let takes_value = argument
        .get_num_args()
        .is_some_and(|range| range.takes_values());
    if takes_value {
        let names: Vec<String> = argument
            .get_value_names()
            .unwrap_or_default()
            .iter()
            .map(|name| format!("<{name}>"))
            .collect();
        let names = names.join(" ");
        let may_miss = argument
            .get_num_args()
            .is_some_and(|range| range.min_values() == 0);
        let sign = if argument.is_require_equals_set() {
            "="
        } else {
            " "
        };
        if text.is_empty() {
            text = names;
        } else if may_miss {
            text = format!("{text}[{sign}{names}]");
        } else {
            text = format!("{text} {names}");
        }
    }
    text
}

fn meaning(argument: &Arg) -> String {
    let mut text = argument
        .get_help()
        .map(ToString::to_string)
        .unwrap_or_default();
    let values: Vec<String> = argument
        .get_possible_values()
        .iter()
        .filter(|value| !value.is_hide_set())
        .map(|value| format!("`{}`", value.get_name()))
        .collect();
    let takes_value = argument
        .get_num_args()
        .is_some_and(|range| range.takes_values());
    if takes_value && !values.is_empty() {
        text.extend([format!(" ({})", values.join(", "))]);
    }
    let defaults: Vec<String> = argument
        .get_default_values()
        .iter()
        .map(|value| value.to_string_lossy().into_owned())
        .collect();
    if takes_value && !defaults.is_empty() {
        text.extend([format!(" [default: {}]", defaults.join(", "))]);
    }
    text.replace('|', "\\|")
}
