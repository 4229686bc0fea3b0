//! Ordinary questions on tricky schemas, by command line and MCP, right after a scan without a
//! model. Answers must equal handwritten SQL, at least after running a query from the refusal.

mod front_door;

use std::collections::BTreeMap;
use std::path::Path;

use ktx_test_support::sandbox::Sandbox;
use rusqlite::Connection;
use serde_json::Value;

use self::front_door::{CommandLine, Refusal, Rows, Tool, rows_of_sql};
use crate::support::{run, unscanned};

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Outcome {
    Right,
    RightAfterRemedy,
    Refused,
    Wrong,
}

impl Outcome {
    fn of(answer: &Result<Rows, Refusal>, expected: &Rows) -> Self {
        match answer {
            Ok(rows) if rows == expected => Self::Right,
            Ok(_) => Self::Wrong,
            Err(refusal)
                if refusal
                    .offered
                    .iter()
                    .flatten()
                    .any(|rows| rows == expected) =>
            {
                Self::RightAfterRemedy
            }
            Err(_) => Self::Refused,
        }
    }

    const fn word(self) -> &'static str {
        match self {
            Self::Right => "right",
            Self::RightAfterRemedy => "right after a remedy",
            Self::Refused => "refused",
            Self::Wrong => "wrong",
        }
    }
}

fn fixture(name: &str, ending: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/questions");
    std::fs::read_to_string(folder.join(format!("{name}.{ending}"))).expect("a fixture")
}

fn scanned(name: &str) -> Sandbox {
    let sandbox = unscanned(&fixture(name, "sql"));
    let printed = run(&sandbox, "scan");
    assert_eq!(printed.code, Some(0), "{printed}");
    sandbox
}

fn outcome(
    question: &Value,
    database: &Connection,
    command_line: &CommandLine<'_>,
    tool: &mut Tool,
) -> (Outcome, Option<String>) {
    let ask = &question["ask"];
    let dimensions = ask["dimensions"].as_array().map_or(0, Vec::len);
    let sql = question["sql"].as_str().expect("SQL");
    let expected = rows_of_sql(database, sql, dimensions);
    let printed = command_line.ask(ask, dimensions);
    let called = tool.ask(ask, dimensions);
    let at_doors = [&printed, &called].map(|answer| Outcome::of(answer, &expected));
    for answer in [&printed, &called] {
        let offered = answer
            .as_ref()
            .err()
            .into_iter()
            .flat_map(|one| &one.offered);
        assert!(
            offered.into_iter().all(Option::is_some),
            "a query that is offered runs: {ask}"
        );
    }
    let [here, there] = at_doors;
    let worse = here.max(there);
    let code = called
        .err()
        .map_or_else(String::new, |refusal| format!(" ({})", refusal.code));
    let line = if here != there {
        Some(format!(
            "{} on the command line, {} over MCP{code}: {ask}\n",
            here.word(),
            there.word()
        ))
    } else if worse > Outcome::RightAfterRemedy {
        Some(format!("{}{code}: {ask}\n", worse.word()))
    } else {
        None
    };
    (worse, line)
}

fn report(name: &str) -> String {
    let sandbox = scanned(name);
    let database = Connection::open(sandbox.work().join("warehouse.db")).expect("a database");
    let questions = ktx_config::yaml::load_text(&fixture(name, "yaml"), name).expect("YAML");
    let command_line = CommandLine { sandbox: &sandbox };
    let mut tool = Tool::start(&sandbox);
    let mut kinds: BTreeMap<&str, [usize; 4]> = BTreeMap::new();
    let mut open: Vec<String> = Vec::new();
    for question in questions.value.as_array().expect("a list") {
        let (outcome, line) = outcome(question, &database, &command_line, &mut tool);
        let kind = question["kind"].as_str().expect("a kind");
        kinds.entry(kind).or_default()[outcome as usize] += 1;
        open.extend(line);
    }
    tool.close();
    let line = |(kind, [right, remedy, refused, wrong]): (&&str, &[usize; 4])| {
        format!(
            "{kind}: {right} right, {remedy} after a remedy, {refused} refused, {wrong} wrong\n"
        )
    };
    kinds.iter().map(line).chain(open).collect()
}

#[test]
fn on_a_store_with_declared_keys() {
    insta::assert_snapshot!(report("store"), @r"
    bridge: 1 right, 5 after a remedy, 0 refused, 0 wrong
    filter: 2 right, 1 after a remedy, 0 refused, 0 wrong
    plain: 8 right, 0 after a remedy, 0 refused, 0 wrong
    ratio: 2 right, 0 after a remedy, 0 refused, 0 wrong
    self: 2 right, 0 after a remedy, 0 refused, 0 wrong
    time: 2 right, 0 after a remedy, 0 refused, 0 wrong
    top: 1 right, 0 after a remedy, 0 refused, 0 wrong
    trap: 0 right, 1 after a remedy, 0 refused, 0 wrong
    two roles: 4 right, 5 after a remedy, 0 refused, 0 wrong
    ");
}

#[test]
fn on_a_league_without_declared_keys() {
    insta::assert_snapshot!(report("league"), @r"
    filter: 1 right, 0 after a remedy, 0 refused, 0 wrong
    plain: 6 right, 0 after a remedy, 0 refused, 0 wrong
    ratio: 2 right, 0 after a remedy, 0 refused, 0 wrong
    time: 1 right, 0 after a remedy, 0 refused, 0 wrong
    top: 1 right, 0 after a remedy, 0 refused, 0 wrong
    trap: 0 right, 1 after a remedy, 0 refused, 0 wrong
    two roles: 3 right, 4 after a remedy, 0 refused, 0 wrong
    ");
}

#[test]
fn on_a_clinic_with_german_names_a_copy_and_a_view() {
    insta::assert_snapshot!(report("klinik"), @r"
    bridge: 2 right, 1 after a remedy, 0 refused, 0 wrong
    filter: 2 right, 0 after a remedy, 0 refused, 0 wrong
    plain: 5 right, 0 after a remedy, 0 refused, 0 wrong
    ratio: 1 right, 0 after a remedy, 0 refused, 0 wrong
    self: 1 right, 0 after a remedy, 0 refused, 0 wrong
    time: 1 right, 0 after a remedy, 0 refused, 0 wrong
    top: 1 right, 0 after a remedy, 0 refused, 0 wrong
    two roles: 3 right, 0 after a remedy, 0 refused, 0 wrong
    ");
}

#[test]
fn on_sales_without_a_key_whose_names_run_together() {
    insta::assert_snapshot!(report("sales"), @r"
    bridge: 0 right, 2 after a remedy, 0 refused, 0 wrong
    filter: 1 right, 0 after a remedy, 0 refused, 0 wrong
    plain: 5 right, 1 after a remedy, 0 refused, 0 wrong
    ratio: 1 right, 0 after a remedy, 0 refused, 0 wrong
    self: 1 right, 0 after a remedy, 0 refused, 0 wrong
    time: 1 right, 0 after a remedy, 0 refused, 0 wrong
    top: 1 right, 0 after a remedy, 0 refused, 0 wrong
    two measures: 1 right, 0 after a remedy, 0 refused, 0 wrong
    two roles: 2 right, 4 after a remedy, 0 refused, 0 wrong
    ");
}

#[test]
fn on_a_music_shop_that_declares_some_keys() {
    insta::assert_snapshot!(report("music"), @r"
    bridge: 1 right, 2 after a remedy, 0 refused, 0 wrong
    filter: 2 right, 0 after a remedy, 0 refused, 0 wrong
    plain: 6 right, 0 after a remedy, 0 refused, 0 wrong
    ratio: 2 right, 0 after a remedy, 0 refused, 0 wrong
    self: 1 right, 0 after a remedy, 0 refused, 0 wrong
    time: 1 right, 0 after a remedy, 0 refused, 0 wrong
    top: 1 right, 0 after a remedy, 0 refused, 0 wrong
    trap: 1 right, 0 after a remedy, 0 refused, 0 wrong
    two roles: 3 right, 0 after a remedy, 0 refused, 0 wrong
    ");
}

#[test]
fn on_a_company_with_spanish_names() {
    insta::assert_snapshot!(report("empresa"), @r"
    bridge: 1 right, 1 after a remedy, 0 refused, 0 wrong
    filter: 0 right, 1 after a remedy, 0 refused, 0 wrong
    plain: 3 right, 0 after a remedy, 0 refused, 0 wrong
    ratio: 1 right, 0 after a remedy, 0 refused, 0 wrong
    self: 1 right, 0 after a remedy, 0 refused, 0 wrong
    time: 1 right, 0 after a remedy, 0 refused, 0 wrong
    two roles: 1 right, 3 after a remedy, 0 refused, 0 wrong
    ");
}

#[test]
fn on_a_shop_with_copies_an_archive_and_views() {
    insta::assert_snapshot!(report("archive"), @r"
    archive: 3 right, 0 after a remedy, 0 refused, 0 wrong
    filter: 1 right, 0 after a remedy, 0 refused, 0 wrong
    plain: 6 right, 0 after a remedy, 0 refused, 0 wrong
    trap: 0 right, 1 after a remedy, 0 refused, 0 wrong
    two measures: 1 right, 0 after a remedy, 0 refused, 0 wrong
    two roles: 2 right, 1 after a remedy, 0 refused, 0 wrong
    view: 4 right, 0 after a remedy, 0 refused, 0 wrong
    ");
}

#[test]
fn on_a_french_clinic_with_codes_and_no_declared_key() {
    insta::assert_snapshot!(report("clinique"), @"
    anti-join: 3 right, 0 after a remedy, 0 refused, 0 wrong
    bridge: 0 right, 4 after a remedy, 0 refused, 0 wrong
    code: 3 right, 0 after a remedy, 0 refused, 0 wrong
    filter: 1 right, 1 after a remedy, 0 refused, 0 wrong
    growth: 1 right, 0 after a remedy, 0 refused, 0 wrong
    per entity: 2 right, 0 after a remedy, 0 refused, 0 wrong
    plain: 10 right, 1 after a remedy, 0 refused, 0 wrong
    ratio: 1 right, 1 after a remedy, 0 refused, 0 wrong
    self: 1 right, 0 after a remedy, 0 refused, 0 wrong
    share: 1 right, 0 after a remedy, 0 refused, 0 wrong
    time: 1 right, 0 after a remedy, 0 refused, 0 wrong
    top: 1 right, 0 after a remedy, 0 refused, 0 wrong
    trap: 1 right, 1 after a remedy, 0 refused, 0 wrong
    two roles: 7 right, 1 after a remedy, 0 refused, 0 wrong
    ");
}

#[test]
fn on_a_forwarder_with_two_roles_an_archive_copies_and_views() {
    insta::assert_snapshot!(report("freight"), @r"
    anti-join: 3 right, 0 after a remedy, 0 refused, 0 wrong
    archive: 2 right, 0 after a remedy, 0 refused, 0 wrong
    bridge: 0 right, 3 after a remedy, 0 refused, 0 wrong
    filter: 2 right, 1 after a remedy, 0 refused, 0 wrong
    growth: 1 right, 0 after a remedy, 0 refused, 0 wrong
    per entity: 1 right, 0 after a remedy, 0 refused, 0 wrong
    plain: 12 right, 0 after a remedy, 0 refused, 0 wrong
    ratio: 2 right, 0 after a remedy, 0 refused, 0 wrong
    self: 2 right, 0 after a remedy, 0 refused, 0 wrong
    share: 1 right, 0 after a remedy, 0 refused, 0 wrong
    time: 1 right, 0 after a remedy, 0 refused, 0 wrong
    top: 1 right, 0 after a remedy, 0 refused, 0 wrong
    trap: 1 right, 0 after a remedy, 0 refused, 0 wrong
    two roles: 9 right, 3 after a remedy, 0 refused, 0 wrong
    view: 3 right, 0 after a remedy, 0 refused, 0 wrong
    ");
}

#[test]
fn on_a_dutch_school_with_bridges_and_dates_of_validity() {
    insta::assert_snapshot!(report("campus"), @r"
    anti-join: 3 right, 0 after a remedy, 0 refused, 0 wrong
    bridge: 0 right, 5 after a remedy, 0 refused, 0 wrong
    code: 3 right, 0 after a remedy, 0 refused, 0 wrong
    filter: 1 right, 2 after a remedy, 0 refused, 0 wrong
    growth: 1 right, 0 after a remedy, 0 refused, 0 wrong
    per entity: 2 right, 0 after a remedy, 0 refused, 0 wrong
    plain: 8 right, 0 after a remedy, 0 refused, 0 wrong
    ratio: 3 right, 0 after a remedy, 0 refused, 0 wrong
    self: 1 right, 0 after a remedy, 0 refused, 0 wrong
    share: 1 right, 0 after a remedy, 0 refused, 0 wrong
    time: 1 right, 0 after a remedy, 0 refused, 0 wrong
    top: 1 right, 0 after a remedy, 0 refused, 0 wrong
    trap: 1 right, 0 after a remedy, 0 refused, 0 wrong
    two roles: 7 right, 1 after a remedy, 0 refused, 0 wrong
    validity: 3 right, 0 after a remedy, 0 refused, 0 wrong
    ");
}

#[test]
fn on_a_food_trader_with_few_shippers_and_names_with_spaces() {
    insta::assert_snapshot!(report("trading"), @"
    anti-join: 1 right, 0 after a remedy, 0 refused, 0 wrong
    bridge: 0 right, 1 after a remedy, 0 refused, 0 wrong
    filter: 0 right, 1 after a remedy, 0 refused, 0 wrong
    plain: 4 right, 0 after a remedy, 0 refused, 0 wrong
    ratio: 1 right, 0 after a remedy, 0 refused, 0 wrong
    time: 1 right, 0 after a remedy, 0 refused, 0 wrong
    two roles: 1 right, 0 after a remedy, 0 refused, 0 wrong
    ");
}

#[test]
fn on_employees_with_salaries_and_titles_from_a_day_to_a_day() {
    insta::assert_snapshot!(report("staffing"), @"
    anti-join: 1 right, 0 after a remedy, 0 refused, 0 wrong
    bridge: 0 right, 2 after a remedy, 0 refused, 0 wrong
    per entity: 1 right, 0 after a remedy, 0 refused, 0 wrong
    plain: 3 right, 0 after a remedy, 0 refused, 0 wrong
    time: 1 right, 0 after a remedy, 0 refused, 0 wrong
    validity: 2 right, 0 after a remedy, 0 refused, 0 wrong
    ");
}

#[test]
fn on_films_whose_keys_are_called_unlike_their_tables() {
    insta::assert_snapshot!(report("cinema"), @"
    anti-join: 1 right, 0 after a remedy, 0 refused, 0 wrong
    bridge: 0 right, 2 after a remedy, 0 refused, 0 wrong
    filter: 1 right, 0 after a remedy, 0 refused, 0 wrong
    per entity: 1 right, 0 after a remedy, 0 refused, 0 wrong
    plain: 3 right, 0 after a remedy, 0 refused, 0 wrong
    two roles: 1 right, 1 after a remedy, 0 refused, 0 wrong
    ");
}

#[test]
fn on_a_hospital_with_dictionaries_of_codes() {
    insta::assert_snapshot!(report("ward"), @"
    anti-join: 1 right, 0 after a remedy, 0 refused, 0 wrong
    code: 2 right, 0 after a remedy, 0 refused, 0 wrong
    filter: 0 right, 1 after a remedy, 0 refused, 0 wrong
    plain: 3 right, 0 after a remedy, 0 refused, 0 wrong
    ratio: 1 right, 0 after a remedy, 0 refused, 0 wrong
    time: 1 right, 0 after a remedy, 0 refused, 0 wrong
    two roles: 1 right, 0 after a remedy, 0 refused, 0 wrong
    ");
}

#[test]
fn on_questions_and_answers_in_one_table_of_posts() {
    insta::assert_snapshot!(report("answers"), @"
    anti-join: 1 right, 0 after a remedy, 0 refused, 0 wrong
    plain: 3 right, 0 after a remedy, 0 refused, 0 wrong
    ratio: 1 right, 0 after a remedy, 0 refused, 0 wrong
    self: 1 right, 0 after a remedy, 0 refused, 0 wrong
    time: 1 right, 0 after a remedy, 0 refused, 0 wrong
    top: 1 right, 0 after a remedy, 0 refused, 0 wrong
    two roles: 1 right, 1 after a remedy, 0 refused, 0 wrong
    ");
}

#[test]
fn on_a_spanish_library_with_roles_behind_the_entity() {
    insta::assert_snapshot!(report("biblioteca"), @"
    anti-join: 1 right, 0 after a remedy, 0 refused, 0 wrong
    bridge: 0 right, 1 after a remedy, 0 refused, 0 wrong
    plain: 4 right, 0 after a remedy, 0 refused, 0 wrong
    ratio: 1 right, 0 after a remedy, 0 refused, 0 wrong
    time: 1 right, 0 after a remedy, 0 refused, 0 wrong
    two roles: 3 right, 0 after a remedy, 0 refused, 0 wrong
    ");
}

#[test]
fn on_a_bicycle_maker_with_one_number_for_persons_sellers_and_vendors() {
    insta::assert_snapshot!(report("cycles"), @"
    anti-join: 1 right, 0 after a remedy, 0 refused, 0 wrong
    bridge: 0 right, 1 after a remedy, 0 refused, 0 wrong
    plain: 5 right, 0 after a remedy, 0 refused, 0 wrong
    time: 1 right, 0 after a remedy, 0 refused, 0 wrong
    two roles: 3 right, 0 after a remedy, 0 refused, 0 wrong
    ");
}

#[test]
fn on_a_help_desk_whose_staff_has_many_roles() {
    insta::assert_snapshot!(report("support"), @"
    anti-join: 1 right, 0 after a remedy, 0 refused, 0 wrong
    bridge: 1 right, 0 after a remedy, 0 refused, 0 wrong
    plain: 2 right, 0 after a remedy, 0 refused, 0 wrong
    ratio: 1 right, 0 after a remedy, 0 refused, 0 wrong
    time: 1 right, 0 after a remedy, 0 refused, 0 wrong
    two roles: 5 right, 0 after a remedy, 0 refused, 0 wrong
    ");
}
