//! Failure codes.

use serde::{Serialize, Serializer};

use crate::Exit;

/// One row per code: variant, text, exit, meaning.
macro_rules! codes {
    ($($variant:ident $text:literal $exit:ident, $meaning:literal;)+) => {
        /// A stable name for one kind of failure or finding, for scripts and agents.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Code {
            $(#[doc = $meaning] $variant,)+
        }

        impl Code {
            /// All codes, in the order of the table.
            pub const ALL: &[Self] = &[$(Self::$variant,)+];

            /// The text in output and JSON, such as `unknown_measure`.
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $text,)+
                }
            }

            pub fn parse(text: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|code| code.as_str() == text)
            }

            /// How a command that fails with this code usually ends; an operation may decide
            /// otherwise.
            pub const fn exit(self) -> Exit {
                match self {
                    $(Self::$variant => Exit::$exit,)+
                }
            }

            /// What happened, for the reference page.
            pub const fn meaning(self) -> &'static str {
                match self {
                    $(Self::$variant => $meaning,)+
                }
            }
        }
    };
}

codes! {
    // The command line.
    Usage "usage" Usage, "the command line is wrong";
    AlreadyDecided "already_decided" Usage, "the call has a decision already";
    AmbiguousRelationship "ambiguous_relationship" Usage, "a name matches several joins";
    AmbiguousSession "ambiguous_session" Usage, "a text is the beginning of several session ids";
    ConfirmationRequired "confirmation_required" Usage, "the command removes something and was not confirmed";
    ConflictingFlags "conflicting_flags" Usage, "two flags exclude each other";
    ConnectionRequired "connection_required" Usage, "several connections fit, and none was named";
    DatabaseUrlRequired "database_url_required" Usage, "the driver needs a URL";
    ImportFile "import_file" Usage, "the file to import cannot be read";
    InvalidArguments "invalid_arguments" Usage, "the arguments of a tool do not match its schema";
    InvalidCursor "invalid_cursor" Usage, "a cursor is after the last event";
    InvalidEnvironment "invalid_environment" Usage, "an environment variable has a value that ktx does not know";
    InvalidSession "invalid_session" Usage, "a text cannot be the id of a session";
    NothingToContinue "nothing_to_continue" Usage, "the last turn of the session has its answer";
    InvalidLimit "invalid_limit" Usage, "a limit of zero or below";
    InvalidRequest "invalid_request" Usage, "a line of the protocol is malformed";
    InvalidName "invalid_name" Usage, "a name breaks the rule for its kind";
    InvalidProjectDir "invalid_project_dir" Usage, "the project folder that was named is not a folder";
    InvalidWikiKey "invalid_wiki_key" Usage, "a key of a wiki page breaks the rule";
    KeyUsed "key_used" Usage, "another message was sent with the same key";
    Message "message" Usage, "the text to work on cannot be read";
    NotExecuted "not_executed" Usage, "the command needs rows, and the query was not run";
    PriceUsage "price_usage" Usage, "the price that was given cannot be used";
    QueryFile "query_file" Usage, "the file with the query cannot be read";
    QueryHistoryUnsupported "query_history_unsupported" Usage, "the warehouse keeps no query history that ktx can read";
    TextTooLong "text_too_long" Usage, "a text is longer than ktx reads";
    UnknownBackend "unknown_backend" Usage, "no model backend has this name";
    UnknownDialect "unknown_dialect" Usage, "no SQL dialect has this name";
    UnknownDriver "unknown_driver" Usage, "no driver has this name";
    // The project and its files.
    AgentChanged "template_version_mismatch" Config, "a session was begun with another agent";
    AgentDisabled "agent_disabled" Config, "`agent.run_research.enabled` is false";
    AgentExists "agent_exists" Config, "an agent of this name exists";
    AgentNotFound "agent_not_found" Config, "no agent has this name";
    AgentSettings "agent_settings" Config, "the settings of the research agent cannot be used";
    ApiKeyMissing "api_key_missing" Config, "a provider with an address of its own has no key";
    BadValue "bad_value" Config, "a value has the wrong type or is out of range";
    CapabilityRefused "capability_refused" Config, "an agent file asks for a capability that ktx agents do not have";
    ConnectionExists "connection_exists" Config, "a connection of this name exists";
    ConnectionHasFiles "connection_has_files" Config, "files of the project belong to the connection";
    DecisionsNotEdited "decisions_not_edited" Config, "the file of join decisions cannot be edited in place";
    DemoCommitted "demo_committed" Config, "the demo folder belongs to another git repository";
    DemoExists "demo_exists" Config, "the demo folder has files in it";
    DemoFolder "demo_folder" Config, "the demo folder cannot be used";
    DuplicateKey "duplicate_key" Config, "a key appears twice in one mapping";
    EditRefused "edit_refused" Config, "a YAML file cannot be edited in place";
    EmbeddingsMissing "embeddings_missing" Config, "an agent searches documents, and nothing computes embeddings";
    EmptyNote "empty_note" Config, "the note has no text";
    FileTooLarge "file_too_large" Config, "a file is larger than ktx reads";
    FileUnreadable "file_unreadable" Config, "a file of the project cannot be read";
    FrontMatterMissing "front_matter_missing" Config, "a wiki page has no front matter";
    FrontMatterOpen "front_matter_open" Config, "the front matter of a wiki page has no end";
    FrontMatterSyntax "front_matter_syntax" Config, "the front matter of a wiki page is not valid YAML";
    FrontMatterTooLarge "front_matter_too_large" Config, "the front matter of a wiki page is too large";
    FrontMatterType "front_matter_type" Config, "a key of the front matter has the wrong type";
    Git "git" Config, "git failed, or the project is not in a git repository";
    IgnoredKey "ignored_key" Config, "a key of an agent file has no effect";
    InitFailed "init_failed" Config, "the project folder cannot be set up";
    InvalidConfig "invalid_config" Config, "`ktx.yaml` is not valid";
    InvalidDecisions "invalid_decisions" Config, "the file of join decisions is not valid";
    InvalidId "invalid_id" Config, "an id of a context source has the wrong form";
    InvalidPath "invalid_path" Config, "a path leads out of its folder";
    InvalidPolicy "invalid_policy" Config, "a policy of a client names what is not there";
    InvalidScan "invalid_scan" Config, "the files of the last scan are not valid";
    InvalidTool "invalid_tool" Config, "the file of a tool is not valid";
    LeftOut "left_out" Config, "a source was left out because its file is not valid";
    InvalidInterchange "invalid_interchange" Config, "a file for exchange with other tools is not valid";
    GitFailed "git_failed" Config, "git failed";
    NotInGit "not_in_git" Config, "the project is not in a git repository";
    UnknownRevision "unknown_revision" Config, "git has no such revision";
    LongNote "long_note" Config, "the note is too long";
    LongUnit "long_unit" Config, "a unit of a context source is too long";
    McpToken "mcp_token" Config, "the token of the MCP server is unknown or too weak";
    MisspelledKey "misspelled_key" Config, "a key is misspelled";
    MissingKey "missing_key" Config, "a required key is missing";
    MissingProject "missing_project" Config, "no `ktx.yaml` in this folder or above it";
    ModelMissing "model_missing" Config, "the backend has no default model";
    ModelRequired "model_required" Config, "the command needs a model, and the backend is `none`";
    NoHome "no_home" Config, "the home folder of the user is unknown";
    NoKey "no_key" Config, "a connection has no credentials where they are needed";
    NoLog "no_log" Config, "no MCP server wrote a log";
    NoForkPoint "no_fork_point" Config, "a session cannot be copied at the point";
    NoWaitingCall "no_waiting_call" Config, "no tool call of this id waits for a decision";
    NoCases "no_cases" Config, "the agent has no test cases, or none that the flags select";
    TestRunChanged "test_run_changed" Config, "the cases or the agent of a test run have changed";
    TestRunNotFound "test_run_not_found" Config, "no test run has the id";
    UnknownArm "unknown_arm" Config, "no arm of the test cases has this name";
    SessionExists "session_exists" Config, "a session of this id exists";
    SessionFull "session_full" Config, "a session has all the messages that it takes";
    SessionNotFound "session_not_found" Config, "no session has the id";
    NoText "no_text" Config, "a file is not text";
    NoToken "no_token" Config, "a repository needs a token that the connection does not name";
    NoTurns "no_turns" Config, "the research agent has no turns";
    NoWarehouse "no_warehouse" Config, "the project has no warehouse connection";
    NotAWarehouse "not_a_warehouse" Config, "the connection is a context source, not a warehouse";
    NotMapped "not_mapped" Config, "a connection of a BI tool is mapped to no warehouse";
    NotUtf8 "not_utf8" Config, "a file is not UTF-8";
    OutsideProject "outside_project" Config, "a link leads out of the project";
    ProposalNotFound "proposal_not_found" Config, "no proposal has the id";
    ProposalExpired "proposal_expired" Failure, "the files of a proposal have changed since";
    PageNotFound "page_not_found" Config, "no wiki page has this key";
    PlainSecret "plain_secret" Config, "a secret is written in plain text";
    PriceTable "price_table" Config, "the price table cannot be read";
    PriceUnknown "price_unknown" Config, "a budget in US dollars needs a list price that the model does not have";
    ProjectFolder "project_folder" Config, "the project folder cannot be resolved";
    QueryHistoryFile "query_history_file" Config, "the file with past queries cannot be read";
    QueryHistoryPattern "query_history_pattern" Config, "a pattern of user names is not a regular expression";
    SourceUnreadable "source_unreadable" Config, "a context source cannot be read";
    SummaryMissing "summary_missing" Config, "a wiki page has no summary";
    UnknownConnection "unknown_connection" Config, "no connection has this name";
    UnknownKey "unknown_key" Config, "a key is unknown";
    UnknownSubject "unknown_subject" Config, "no page, source, measure or column has this name";
    UnknownRun "unknown_run" Config, "no run has this id";
    UnknownRelationship "unknown_relationship" Config, "no join of the last scan has this name";
    UnknownTool "unknown_tool" Config, "no tool has this name";
    UnreadableConfig "unreadable_config" Config, "`ktx.yaml` cannot be read";
    UnsafeConnectionId "unsafe_connection_id" Config, "a connection id breaks the rule";
    UnsupportedBackend "unsupported_backend" Config, "`llm.provider.backend` names a backend that ktx does not have";
    YamlSyntax "yaml_syntax" Config, "a file is not valid YAML";
    // Warehouses and context sources.
    ConnectionAuthentication "connection_authentication" Connection, "the server refused the login";
    ConnectionConfig "connection_config" Config, "the settings of a connection cannot be used";
    ConnectionDropped "connection_dropped" Connection, "the connection broke while rows were read";
    ConnectionFailed "connection_failed" Connection, "the server or driver failed";
    ConnectionNotFound "connection_not_found" Connection, "the database, schema or table does not exist";
    ConnectionPermission "connection_permission" Connection, "the login may not do this";
    ConnectionTls "connection_tls" Connection, "no secure connection could be made";
    ConnectionUnreachable "connection_unreachable" Connection, "the server cannot be reached";
    NotExecutable "not_executable" Connection, "this build has no connector for the driver";
    NothingThere "nothing_there" Connection, "the database file does not exist";
    QueryFailed "query_failed" Connection, "the warehouse refused the statement";
    QueryLimit "query_limit" Connection, "the statement reached a cap on bytes or cost";
    QueryNotReady "query_not_ready" Connection, "the object cannot be read yet";
    QueryTimeout "query_timeout" Connection, "the statement took too long";
    SourceAuth "source_auth" Connection, "a context source refused the login";
    SourceNotFetched "source_not_fetched" Connection, "a repository cannot be fetched";
    McpUnavailable "mcp_unavailable" Connection, "an agent's MCP server does not start, cannot be reached or does not speak MCP";
    SourceUnreachable "source_unreachable" Connection, "a context source cannot be reached";
    // Model backends.
    BackendNotBuilt "backend_not_built" Model, "the backend runs no model";
    LlmAuth "llm_auth" Model, "no usable login or key";
    LlmBilling "llm_billing" Model, "the account has no credit, or someone other than expected would pay";
    LlmBudget "llm_budget" Partial, "a budget of money, tokens or time is used up";
    LlmContextTooLong "llm_context_too_long" Model, "the prompt does not fit the model";
    LlmCrashed "llm_crashed" Model, "the local session ended in the middle of a call";
    LlmInternal "llm_internal" Model, "a fault of ktx";
    LlmInvalidRequest "llm_invalid_request" Model, "the settings or the request are wrong";
    LlmIsolation "llm_isolation" Model, "the local session did not start with what ktx asked for; its answer was not used";
    LlmMaxOutput "llm_max_output" Model, "the answer does not fit the output limit";
    LlmMaxTurns "llm_max_turns" Model, "the turns were used up before the answer";
    LlmModelNotFound "llm_model_not_found" Model, "the model does not exist, or the account may not use it";
    LlmOverloaded "llm_overloaded" Model, "the provider is overloaded";
    LlmPermission "llm_permission" Model, "a tool or permission rule stopped the call";
    LlmProcess "llm_process" Model, "the local session is not installed, is too old, or does not start";
    LlmProtocol "llm_protocol" Model, "the reply is not in a format that ktx understands";
    LlmRateLimit "llm_rate_limit" Model, "a rate or usage limit is reached";
    LlmRefusal "llm_refusal" Model, "the model or a filter refused";
    LlmServer "llm_server" Model, "the provider failed on its side";
    LlmStructuredOutput "llm_structured_output" Model, "no answer matched the schema";
    LlmTimeout "llm_timeout" Model, "no answer in time";
    LlmTransport "llm_transport" Model, "the connection failed or broke";
    LlmUnknownTool "llm_unknown_tool" Model, "a request names a tool that does not exist";
    // The read-only gate.
    Assignment "assignment" Refused, "a statement assigns a variable";
    CredentialCatalog "credential_catalog" Refused, "a table holds credentials";
    DynamicName "dynamic_name" Refused, "a name is computed at run time";
    ExecutableComment "executable_comment" Refused, "a comment runs as SQL";
    FileAsTable "file_as_table" Refused, "a file is read as a table";
    Format "format" Refused, "a clause chooses an output format";
    FunctionNotAllowed "function_not_allowed" Refused, "a function is not known to only read";
    FunctionNotFound "function_not_found" Refused, "no function has this name";
    Hint "hint" Refused, "an optimizer hint is not allowed";
    Into "into" Refused, "a query writes its rows somewhere";
    LinkedServer "linked_server" Refused, "a query reads from another server";
    Locking "locking" Refused, "a query locks rows";
    NotAQuery "not_a_query" Refused, "the statement is not a query";
    Parameter "parameter" Refused, "a parameter has no value";
    ParseError "parse_error" Refused, "the text is not valid SQL or not a valid expression";
    ReservedName "reserved_name" Refused, "a name is reserved";
    Sequence "sequence" Refused, "a query advances a sequence";
    Settings "settings" Refused, "a query changes settings";
    StageOrVariable "stage_or_variable" Refused, "a query reads a stage or a variable";
    StatementCount "statement_count" Refused, "there is not exactly one statement";
    TableFunctionNotAllowed "table_function_not_allowed" Refused, "a table function is not known to only read";
    PolicyRefused "policy_refused" Refused, "the policy of a client does not allow it";
    SettingsUnusable "settings_unusable" Refused, "the settings of a served project have changed and cannot be used";
    TableNotAllowed "table_not_allowed" Refused, "a table may not be read";
    TooDeep "too_deep" Refused, "the statement is nested too deeply";
    TooLarge "too_large" Refused, "the text is too large";
    UnknownClause "unknown_clause" Refused, "a clause is not known to only read";
    Unprintable "unprintable" Refused, "the statement cannot be printed with the same meaning";
    Unterminated "unterminated" Refused, "a text, name or comment has no end";
    UnusualCharacter "unusual_character" Refused, "a character that can hide text";
    WritingNode "writing_node" Refused, "a part of the statement writes";
    // Semantic queries and sources.
    AmbiguousColumn "ambiguous_column" Refused, "a column name matches several columns";
    AmbiguousJoin "ambiguous_join" Refused, "two joins lead to the same source";
    AmbiguousJoinPath "ambiguous_join_path" Refused, "several join paths fit";
    AmbiguousMeasure "ambiguous_measure" Refused, "a measure name matches several measures";
    AmbiguousTimeDimension "ambiguous_time_dimension" Refused, "several time dimensions fit";
    AsymmetricDimensions "asymmetric_dimensions" Refused, "a dimension does not apply to every measure";
    BadGranularity "bad_granularity" Refused, "the granularity is unknown or does not fit";
    BadSnapshot "bad_snapshot" Refused, "a snapshot measure cannot be computed over these dimensions";
    BadWindow "bad_window" Refused, "a time window is malformed";
    CircularMeasure "circular_measure" Refused, "a measure refers to itself";
    ColumnLeftOut "column_left_out" Refused, "a column was left out of the query";
    ColumnQualified "column_qualified" Refused, "a column name carries a source name";
    ContradictoryJoin "contradictory_join" Refused, "both sides of a join declare different relationships";
    DisconnectedComponents "disconnected_components" Refused, "sources are not joined with each other";
    DisplayValueJoin "display_value_join" Refused, "a join compares display values";
    DuplicateAlias "duplicate_alias" Refused, "an alias is used twice";
    DuplicateMeasureExpr "duplicate_measure_expr" Refused, "two measures have the same expression";
    DuplicateMeasureName "duplicate_measure_name" Refused, "two measures have the same name";
    DuplicateSource "duplicate_source" Refused, "two sources have the same name";
    Fanout "fanout" Refused, "a join would count rows more than once";
    FillTooLong "fill_too_long" Refused, "filling the time range makes too many rows";
    FilterFanout "filter_fanout" Refused, "a filter would count rows more than once";
    FilterUnreachable "filter_unreachable" Refused, "a filter does not apply to a measure";
    GrainNotInColumns "grain_not_in_columns" Refused, "a grain column does not exist";
    GrainNotProjected "grain_not_projected" Refused, "the SQL of a source does not return its grain";
    GrainQualified "grain_qualified" Refused, "a grain column carries a source name";
    HiddenColumn "hidden_column" Refused, "the column is hidden";
    InvalidJoinCondition "invalid_join_condition" Refused, "a join condition is malformed";
    InvalidOverlay "invalid_overlay" Refused, "an overlay does not fit its source";
    InvalidQuery "invalid_query" Refused, "the query is malformed";
    InvalidSource "invalid_source" Config, "a source file is not valid";
    JoinLocalColumn "join_local_column" Refused, "a join names a column that the source does not have";
    JoinTargetColumn "join_target_column" Refused, "a join names a column that its target does not have";
    MixedOrFilter "mixed_or_filter" Refused, "an OR mixes measures and dimensions";
    MixedTimeFilter "mixed_time_filter" Refused, "a time filter mixes granularities";
    MultiGrainMeasure "multi_grain_measure" Refused, "an expression mixes grains";
    MultiSourceMeasure "multi_source_measure" Refused, "an expression mixes sources";
    NestedAggregate "nested_aggregate" Refused, "an aggregate contains an aggregate";
    NoJoinPath "no_join_path" Refused, "no safe join path exists";
    NoSource "no_source" Refused, "the project has no such source or no source at all";
    NoTimeDimension "no_time_dimension" Refused, "the source has no time dimension";
    NotADimension "not_a_dimension" Refused, "the name is not a dimension";
    NotAdditive "not_additive" Refused, "a share or a running total of values that do not add up";
    NotAMeasure "not_a_measure" Refused, "the name is not a measure";
    NotATimeColumn "not_a_time_column" Refused, "the column holds no time";
    NotFormatted "not_formatted" Refused, "a source file cannot be formatted";
    OrphanJoinTarget "orphan_join_target" Refused, "a join names a source that does not exist";
    ReplacedJoin "replaced_join" Refused, "an overlay replaced a scanned join";
    ApprovalExpired "approval_expired" Partial, "a tool call was not decided about in time, and the agent file ends the turn then";
    ApprovalNeeded "approval_needed" Partial, "a tool call needs a decision, and the run was asked to end then";
    ApprovalPending "approval_pending" Partial, "a tool call waits for a decision";
    CorruptedData "corrupted_data" Failure, "the log of a session is damaged or of another version";
    NotAdmitted "not_admitted" Failure, "a request to the server of sessions shows no right token, or comes from elsewhere";
    PoolFull "pool_full" Failure, "the server has all the sessions that it takes";
    ServerEnding "server_ending" Failure, "the server is ending and takes nothing new";
    SessionBusy "session_busy" Failure, "another process has the session open";
    SearchBusy "search_busy" Failure, "another process writes the search index";
    SegmentNoMeasure "segment_no_measure" Refused, "a segment is used without a measure";
    SegmentNotQualified "segment_not_qualified" Refused, "a segment carries no source name";
    SingletonComponent "singleton_component" Refused, "a source is joined with no other";
    SubqueryNotAllowed "subquery_not_allowed" Refused, "an expression contains a subquery";
    TotalFilter "total_filter" Refused, "a filter would test the grand total";
    UnboundedFill "unbounded_fill" Refused, "filling needs a time range";
    UndeclaredSqlJoin "undeclared_sql_join" Refused, "the SQL of a source joins without a declaration";
    UnknownColumn "unknown_column" Refused, "no column has this name";
    UnknownMeasure "unknown_measure" Refused, "no measure has this name";
    UnknownOrderField "unknown_order_field" Refused, "the order names a field that the query does not have";
    UnknownSegment "unknown_segment" Refused, "no segment has this name";
    UnknownSource "unknown_source" Refused, "no source has this name";
    UnmatchedManifestJoin "unmatched_manifest_join" Refused, "a scanned join fits no source";
    UnmatchedOverlay "unmatched_overlay" Refused, "an overlay names what the scan does not have";
    UnprovenJoin "unproven_join" Refused, "no key proves the relationship of a join";
    UnqualifiedColumn "unqualified_column" Refused, "a column carries no source name";
    WindowFunction "window_function" Refused, "an expression contains a window function";
    // Everything else.
    Cancelled "cancelled" Interrupted, "the command was interrupted";
    AgentState "agent_state" Failure, "the files of the research agent cannot be read";
    CurrentFolder "current_folder" Failure, "the current folder cannot be resolved";
    DemoFiles "demo_files" Failure, "the files of the demo cannot be written";
    DemoWarehouse "demo_warehouse" Failure, "the warehouse of the demo cannot be made";
    FactsFailed "facts_failed" Failure, "facts of a context source cannot be written";
    File "file" Failure, "a file cannot be read or written";
    FormatFailed "format_failed" Failure, "a source file cannot be rewritten";
    GitConflict "git_conflict" Failure, "git could not merge two changes";
    GitUnusable "git_unusable" Failure, "git cannot be run";
    Input "input" Failure, "the input cannot be read";
    Internal "internal" Failure, "a fault of ktx";
    LocalState "local_state" Failure, "the state in `.ktx` cannot be used";
    Locked "locked" Failure, "a lock cannot be taken";
    Log "log" Failure, "the log cannot be read";
    McpAddress "mcp_address" Failure, "the MCP server cannot listen at this address";
    McpLock "mcp_lock" Failure, "the lock of the MCP server cannot be used";
    McpRunning "mcp_running" Failure, "a server runs already";
    McpServer "mcp_server" Failure, "the MCP server failed";
    McpStart "mcp_start" Failure, "the server cannot be started";
    McpState "mcp_state" Failure, "the state of the MCP server cannot be used";
    McpStop "mcp_stop" Failure, "the MCP server cannot be stopped";
    McpTokenFile "mcp_token_file" Failure, "the token file of the MCP server cannot be used";
    NotScanned "not_scanned" Failure, "the warehouse was not scanned";
    Output "output" Failure, "the output cannot be written";
    PriceFile "price_file" Failure, "the price table cannot be written";
    ProjectLocked "project_locked" Failure, "another command is using the project";
    ProposalFailed "proposal_failed" Failure, "a proposal cannot be kept";
    PublishFailed "publish_failed" Failure, "the changes cannot be committed";
    ScanFailed "scan_failed" Failure, "the scan failed";
    SearchFailed "search_failed" Failure, "the search index cannot be used";
    TranscriptFailed "transcript_failed" Failure, "a conversation that was cut off cannot be kept or read";
    UncommittedDecisions "uncommitted_decisions" Failure, "the file of join decisions has changes that are not committed";
    UnreadableNote "unreadable_note" Failure, "the note cannot be read";
    UsageLedger "usage_ledger" Failure, "the usage ledger cannot be used";
    BrokenPipe "broken_pipe" Success, "the reader of the output closed it";
}

impl std::fmt::Display for Code {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Serialize for Code {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

/// The reference table of the codes for which `is_listed` is true.
pub fn codes_markdown(is_listed: impl Fn(Code) -> bool) -> String {
    let mut codes: Vec<Code> = Code::ALL.to_vec();
    codes.retain(|code| is_listed(*code));
    codes.sort_unstable_by_key(|code| code.as_str());
    let rows = codes.into_iter().map(|code| {
        let exit = code.exit().code();
        format!("| `{code}` | {exit} | {} |\n", code.meaning())
    });
    format!(
        "| error code | exit code | meaning |\n|---|---:|---|\n{}",
        rows.collect::<String>()
    )
}
