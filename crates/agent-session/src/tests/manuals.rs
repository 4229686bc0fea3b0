//! Manuals, progress and changed files.

use std::sync::Mutex;

use insta::assert_snapshot;
use ktx_llm_runtime::{
    Abilities, BackendInfo, LlmError, LlmRuntime, LoopOutcome, LoopRequest, ObjectOutcome,
    ObjectRequest, ProbeReport, ProbeRequest, RunHandle, RunRequest, TextOutcome, TextRequest,
};
use ktx_vocabulary::ModelRole;

use super::*;
use crate::ask;

struct Handbook {
    manual: &'static str,
    changed: Mutex<Vec<String>>,
}

#[async_trait]
impl ToolHandler for Handbook {
    async fn call(&self, _: Value, context: CallContext) -> Result<ToolOutput, ToolError> {
        context.progress.report(0.5, "half of it");
        self.changed.lock().unwrap().push("notes.md".to_owned());
        Ok(ToolOutput::text("read"))
    }

    fn manual(&self) -> Option<&str> {
        (!self.manual.is_empty()).then_some(self.manual)
    }

    fn changed_files(&self) -> Vec<String> {
        self.changed.lock().unwrap().drain(..).collect()
    }
}

fn handbook(name: &str, manual: &'static str) -> ToolDescriptor {
    let handler = Handbook {
        manual,
        changed: Mutex::default(),
    };
    tool(name, WriteEffect::ReadOnly, Arc::new(handler))
}

struct RecordingRuntime(ScriptedRuntime, Mutex<Vec<String>>);

#[async_trait]
impl LlmRuntime for RecordingRuntime {
    async fn generate_text(&self, request: TextRequest) -> Result<TextOutcome, LlmError> {
        self.0.generate_text(request).await
    }
    async fn generate_object(&self, request: ObjectRequest) -> Result<ObjectOutcome, LlmError> {
        self.0.generate_object(request).await
    }
    async fn run_agent_loop(&self, request: LoopRequest) -> LoopOutcome {
        self.0.run_agent_loop(request).await
    }
    fn start_run(&self, request: RunRequest) -> RunHandle {
        self.1.lock().unwrap().push(request.system.clone());
        self.0.start_run(request)
    }
    async fn probe(&self, request: ProbeRequest) -> Result<ProbeReport, LlmError> {
        self.0.probe(request).await
    }
    fn describe(&self) -> BackendInfo {
        self.0.describe()
    }
    fn abilities(&self, role: ModelRole) -> Abilities {
        self.0.abilities(role)
    }
}

/// KODE-65.
#[tokio::test]
async fn manuals_are_read_once() {
    let folder = tempfile::tempdir().unwrap();
    let sessions = sessions(SessionStore::new(folder.path()));
    let session = created(&sessions);
    let script = (0..4).map(|_| says("Yes."));
    let model = RecordingRuntime(model(script), Mutex::default());
    let all = || {
        vec![
            handbook("zoo", "Feed at noon.\n"),
            handbook("ark", "Two of each."),
            handbook("look", ""),
        ]
    };
    for tools in [
        all(),
        all(),
        vec![handbook("ark", "Two of each.")],
        vec![handbook("look", "")],
    ] {
        let of = turn(ToolSet::new(tools).unwrap());
        ask(&session, &model, of, "Ready?").await.unwrap();
    }
    let prompts = model.1.into_inner().unwrap();
    assert_eq!(prompts[0], prompts[1]);
    assert_eq!(prompts[3], agent().instructions);
    assert_snapshot!(format!("{}---\n{}", prompts[0], prompts[2]), @"
    Answer.

    # Tools

    ## ark

    Two of each.

    ## zoo

    Feed at noon.
    ---
    Answer.

    # Tools

    ## ark

    Two of each.
    ");
    let told = events(&sessions, &[Channel::Monitor]);
    let manuals: Vec<&str> = told
        .lines()
        .filter(|line| line.contains("manual"))
        .collect();
    assert_snapshot!(manuals.join("\n"), @r#"
    1 {"type":"tool_manual_updated","tools":["ark","zoo"]}
    3 {"type":"tool_manual_updated","tools":["ark"]}
    4 {"type":"tool_manual_updated","tools":[]}
    "#);
}

/// KODE-67.
#[tokio::test]
async fn changed_files_and_progress_are_told() {
    let folder = tempfile::tempdir().unwrap();
    let sessions = sessions(SessionStore::new(folder.path()));
    let session = created(&sessions);
    let model = model([calls(&["look"], "Read."), says("Again.")]);
    let tools = ToolSet::new(vec![handbook("look", "")]).unwrap();
    for question in ["Read.", "And now?"] {
        ask(&session, &model, turn(tools.clone()), question)
            .await
            .unwrap();
    }
    let told = events(&sessions, &[Channel::Monitor]);
    let kinds = ["file_changed", "reminder_sent", "tool_custom_event"];
    let told: Vec<&str> = told
        .lines()
        .filter(|line| kinds.iter().any(|kind| line.contains(kind)))
        .collect();
    assert_snapshot!(told.join("\n"), @r#"
    1.1 {"type":"tool_custom_event","call_id":"call-1","event":"progress","data":{"fraction":0.5,"message":"half of it"}}
    2 {"type":"file_changed","path":"notes.md"}
    2 {"type":"reminder_sent","category":"file","content":"These files have changed since you read them; read them again before you use or write them:\n- notes.md"}
    "#);
    assert_snapshot!(conversation(&session), @r#"
    user {"type":"text","text":"Read."}
    assistant {"type":"tool_use","id":"use-1","name":"look","input":{"to":"a"}}
    user {"type":"tool_result","tool_use_id":"use-1","content":"read","is_error":false}
    assistant {"type":"text","text":"Read."}
    user {"type":"text","text":"And now?"}
    user {"type":"text","text":"<system-reminder category=\"file\">These files have changed since you read them; read them again before you use or write them:\n- notes.md</system-reminder>"}
    assistant {"type":"text","text":"Again."}
    "#);
}

/// KODE-44.
#[test]
fn the_schema_names_every_type_of_event() {
    assert_snapshot!(crate::event::schema::names().join(" "), @"think_chunk_start think_chunk think_chunk_end text_chunk_start text_chunk text_chunk_end tool:start tool:end tool:error done permission_required permission_decided state_changed step_complete error token_usage tool_executed agent_resumed breakpoint_changed status context_compression tool_manual_updated file_changed tool_custom_event todo_reminder todo_changed reminder_sent queued subagent room_stopped scheduler_triggered rate_limit_observed rate_limit_refused rate_limit_wait_started rate_limit_wait_tick rate_limit_wait_finished retry isolation_verified");
}
