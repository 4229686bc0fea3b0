//! Values in the place of parameters.

use ktx_sql::Dialect;

use super::{ParameterValue, Truth, parameter_names, with_values};

fn filled(sql: &str, dialect: Dialect, value: &ParameterValue) -> String {
    with_values(sql, dialect, |name| (name == "x").then_some(value))
        .unwrap_or_else(|refusal| refusal.reason)
}

#[test]
fn a_parameter_is_one_literal_wherever_it_stands() {
    let sql = "select ':x', \":x\", a::x, b[1:x], -:x /* :x */ from t where c = :x and d=:x -- :x";
    let text = ParameterValue::Text("it's; drop table t --".to_owned());
    assert_eq!(
        filled(sql, Dialect::Postgres, &text),
        "select ':x', \":x\", a::x, b[1:x], -'it''s; drop table t --' /* :x */ from t \
         where c = 'it''s; drop table t --' and d='it''s; drop table t --' -- :x"
    );
    assert_eq!(
        filled("select -:x", Dialect::Sqlite, &ParameterValue::Integer(-5)),
        "select -(-5)"
    );
    assert_eq!(
        filled(
            "select :x",
            Dialect::MySql,
            &ParameterValue::Text("a\\' or 1=1".to_owned())
        ),
        r"select 'a\\'' or 1=1'"
    );
    assert_eq!(
        filled(
            "select :x",
            Dialect::SqlServer,
            &ParameterValue::Truth(Truth::True)
        ),
        "select 1"
    );
    assert_eq!(
        filled("select :y", Dialect::Sqlite, &ParameterValue::Null),
        "the parameter `y` has no value"
    );
}

#[test]
fn the_names_of_parameters_are_found_in_code_alone() {
    let names = parameter_names("select ':a', :b, c::d, (:e), e:f from t", Dialect::Postgres);
    let names: Vec<String> = names.expect("a statement").into_iter().collect();
    assert_eq!(names, ["b", "e"]);
}
