//! What the model of a role accepts.

use std::collections::BTreeSet;

use ktx_llm_runtime::{Abilities, Ability};

use super::role_model::RoleModel;
use crate::catalogue::Capability;
use crate::preset::Protocol;
use crate::wire::request::RequestTarget;

/// Gemini from version 3 on.
const LEVELS: [&str; 4] = ["minimal", "low", "medium", "high"];

pub(super) fn of(role_model: &RoleModel) -> Abilities {
    let target = role_model.target();
    let can = |capability| target.facts.can(capability);
    let protocol = target.protocol;
    let is_fixed = target.reasoning.is_fixed(protocol);
    let named = [
        (Ability::OutputLimit, true),
        (Ability::BetweenSteps, true),
        (Ability::Sampling, can(Capability::Sampling)),
        (Ability::JointSampling, protocol != Protocol::Anthropic),
        (
            Ability::Thinks,
            target
                .thinks_always()
                .unwrap_or_else(|| target.thinks_by_default()),
        ),
        (Ability::ThinkingOff, !is_fixed && takes_less(&target)),
        (Ability::ThinkingBudget, !is_fixed && takes_budget(&target)),
    ];
    let has = named.into_iter().filter(|(_, has)| *has);
    Abilities {
        has: has.map(|(ability, _)| ability).collect::<BTreeSet<_>>(),
        efforts: if is_fixed {
            Vec::new()
        } else {
            efforts(&target)
        },
        window: target.facts.max_input,
    }
}

/// True if a request can ask for less thinking.
fn takes_less(target: &RequestTarget<'_>) -> bool {
    let facts = target.facts;
    let least = facts.least_effort().is_some();
    if !facts.can(Capability::Reasoning) {
        return true;
    }
    match target.protocol {
        // A model without adaptive thinking thinks only on request.
        Protocol::Anthropic => {
            facts.can(Capability::ThinkingOff) || facts.can(Capability::ThinkingAdaptive) && least
        }
        Protocol::OpenAiResponses => least,
        Protocol::OpenAiChat => {
            target.reasoning.off != target.reasoning.on || target.row.effort && least
        }
        Protocol::Gemini => !facts.id.starts_with("gemini-2.5-pro"),
    }
}

fn takes_budget(target: &RequestTarget<'_>) -> bool {
    match target.protocol {
        Protocol::Anthropic => target.facts.can(Capability::ThinkingBudget),
        Protocol::OpenAiResponses => false,
        Protocol::OpenAiChat => target.reasoning.budget_field.is_some(),
        Protocol::Gemini => target.facts.id.starts_with("gemini-2.5"),
    }
}

fn efforts(target: &RequestTarget<'_>) -> Vec<String> {
    let facts = target.facts;
    match target.protocol {
        Protocol::Anthropic | Protocol::OpenAiResponses => facts.efforts.clone(),
        Protocol::OpenAiChat if target.row.effort => facts.efforts.clone(),
        Protocol::OpenAiChat => target.reasoning.efforts.clone(),
        Protocol::Gemini if facts.id.starts_with("gemini-2") => Vec::new(),
        Protocol::Gemini if facts.can(Capability::Reasoning) => LEVELS.map(str::to_owned).to_vec(),
        Protocol::Gemini => Vec::new(),
    }
}
