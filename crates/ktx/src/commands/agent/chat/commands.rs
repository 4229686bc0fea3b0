//! The `/` commands of a chat.

use ktx_diagnostics::nearest;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ChatInput {
    Nothing,
    Question(String),
    Help,
    Tools,
    Usage,
    Model,
    Sessions,
    /// `None` resumes the previous session.
    Resume(Option<String>),
    /// The last copied turn.
    Fork(Option<u32>),
    /// Repeats the last question without its answer.
    Retry,
    Name(String),
    Export(String),
    Exit,
    Wrong(String),
}

const COMMANDS: [[&str; 3]; 11] = [
    ["help", "", "lists these commands"],
    ["tools", "", "lists the agent's tools"],
    ["usage", "", "shows what this chat has used"],
    ["model", "", "shows who answers"],
    ["sessions", "", "lists the sessions of the project"],
    ["resume", "[ID]", "continues another session"],
    ["fork", "[N]", "continues in a copy of the first N turns"],
    ["retry", "", "asks the last question again, in a copy"],
    ["name", "NAME", "names the session"],
    ["export", "FILE", "writes the conversation to a file"],
    ["exit", "", "leaves; the session stays"],
];

pub(super) fn help() -> String {
    let lines = COMMANDS.iter().map(|[name, follows, does]| {
        let call = format!("/{name} {follows}");
        format!("  {call:<16} {does}\n")
    });
    let mut page: String = lines.collect();
    page += "  //text           sends a text that begins with a slash\n";
    page
}

pub(super) fn asked(line: &str) -> ChatInput {
    let line = line.trim();
    if line.is_empty() {
        return ChatInput::Nothing;
    }
    let Some(command) = line.strip_prefix('/') else {
        return ChatInput::Question(line.to_owned());
    };
    if command.starts_with('/') {
        return ChatInput::Question(command.to_owned());
    }
    let (name, rest) = command
        .split_once(char::is_whitespace)
        .unwrap_or((command, ""));
    let rest = rest.trim();
    let needed = |make: fn(String) -> ChatInput| {
        if rest.is_empty() {
            return ChatInput::Wrong(format!("`/{name}` needs an argument; see `/help`"));
        }
        make(rest.to_owned())
    };
    match name {
        "help" | "?" => ChatInput::Help,
        "tools" => ChatInput::Tools,
        "usage" => ChatInput::Usage,
        "model" => ChatInput::Model,
        "sessions" => ChatInput::Sessions,
        "resume" => ChatInput::Resume((!rest.is_empty()).then(|| rest.to_owned())),
        "fork" if rest.is_empty() => ChatInput::Fork(None),
        "fork" => match rest.parse() {
            Ok(turn) => ChatInput::Fork(Some(turn)),
            Err(_) => ChatInput::Wrong(format!("`{rest}` is not the number of a turn")),
        },
        "retry" => ChatInput::Retry,
        "name" => needed(ChatInput::Name),
        "export" => needed(ChatInput::Export),
        "exit" | "quit" => ChatInput::Exit,
        unknown => ChatInput::Wrong(unknown_command(unknown)),
    }
}

fn unknown_command(name: &str) -> String {
    let known = COMMANDS.iter().map(|[name, ..]| *name);
    match nearest(name, known).first() {
        Some(near) => format!("there is no `/{name}`; did you mean `/{near}`?"),
        None => format!("there is no `/{name}`; `/help` lists the commands"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_questions_unless_they_begin_with_a_slash() {
        assert_eq!(
            asked("  How much? "),
            ChatInput::Question("How much?".to_owned())
        );
        assert_eq!(asked("//etc"), ChatInput::Question("/etc".to_owned()));
        assert_eq!(asked(" "), ChatInput::Nothing);
        assert_eq!(asked("/fork 2"), ChatInput::Fork(Some(2)));
        assert_eq!(asked("/resume"), ChatInput::Resume(None));
        assert_eq!(
            asked("/fork two"),
            ChatInput::Wrong("`two` is not the number of a turn".to_owned())
        );
        assert_eq!(
            asked("/hlep"),
            ChatInput::Wrong("there is no `/hlep`; did you mean `/help`?".to_owned())
        );
        assert_eq!(
            asked("/name"),
            ChatInput::Wrong("`/name` needs an argument; see `/help`".to_owned())
        );
    }
}
