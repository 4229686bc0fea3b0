//! The preset data is complete.

use super::{Preset, ROWS};

#[test]
fn every_preset_has_a_row_and_every_row_a_preset() {
    let mut names: Vec<&str> = Preset::ALL.iter().map(|preset| preset.as_str()).collect();
    names.sort_unstable();
    let rows: Vec<&str> = ROWS.keys().map(String::as_str).collect();
    assert_eq!(rows, names);
    for preset in Preset::ALL {
        assert_eq!(Preset::parse(preset.as_str()), Some(preset));
        assert!(!preset.row().structured.is_empty(), "{preset}");
    }
}

#[test]
fn the_environment_variables_are_those_of_the_configuration_reference() {
    let keys: Vec<String> = Preset::ALL
        .iter()
        .filter_map(|preset| preset.env_key().map(|key| format!("{preset} {key}")))
        .collect();
    assert_eq!(
        keys,
        [
            "anthropic ANTHROPIC_API_KEY",
            "vertex GOOGLE_APPLICATION_CREDENTIALS",
            "gateway AI_GATEWAY_API_KEY",
            "openai OPENAI_API_KEY",
            "gemini GEMINI_API_KEY",
            "deepseek DEEPSEEK_API_KEY",
            "qwen DASHSCOPE_API_KEY",
            "glm ZAI_API_KEY",
            "minimax MINIMAX_API_KEY",
            "kimi MOONSHOT_API_KEY",
            "groq GROQ_API_KEY",
            "cerebras CEREBRAS_API_KEY",
        ]
    );
}

/// COG-13: every provider counts under its own name, so that none is priced as another.
#[test]
fn every_preset_counts_under_its_own_name() {
    let names: Vec<String> = Preset::ALL
        .iter()
        .map(|preset| format!("{preset} {}", preset.source_system().as_str()))
        .collect();
    assert_eq!(
        names,
        [
            "anthropic anthropic_api",
            "vertex vertex",
            "gateway gateway",
            "openai openai",
            "gemini gemini",
            "deepseek deepseek",
            "qwen qwen",
            "glm glm",
            "minimax minimax",
            "kimi kimi",
            "groq groq",
            "cerebras cerebras",
            "openai-compatible openai_compatible",
        ]
    );
}
