//! Tool manuals, once in the system prompt (KODE-65).

use ktx_tool_descriptors::{ToolDescriptor, ToolSet};

fn documented(tools: &ToolSet) -> Vec<(&ToolDescriptor, &str)> {
    let with_manual = |tool| -> Option<(&ToolDescriptor, &str)> {
        let tool: &ToolDescriptor = tool;
        Some((tool, tool.handler.manual()?))
    };
    let mut documented: Vec<_> = tools.iter().filter_map(with_manual).collect();
    documented.sort_by(|(one, _), (other, _)| one.name.cmp(&other.name));
    documented
}

pub(crate) fn names(tools: &ToolSet) -> Vec<String> {
    let documented = documented(tools).into_iter();
    documented.map(|(tool, _)| tool.name.clone()).collect()
}

/// Appends the manuals. The same tools give the same bytes, so that prompts stay cached.
pub(crate) fn instructions(instructions: &str, tools: &ToolSet) -> String {
    let documented = documented(tools);
    if documented.is_empty() {
        return instructions.to_owned();
    }
    let mut whole = format!("{}\n\n# Tools", instructions.trim_end());
    for (tool, manual) in documented {
        whole.extend(["\n\n## ", &tool.name, "\n\n", manual.trim()]);
    }
    whole.push('\n');
    whole
}
