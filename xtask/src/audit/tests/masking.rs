//! The two views of a text.

use crate::audit::mask::mask;

#[track_caller]
fn check(text: &str, code: &str, with_literals: &str) {
    let masked = mask(text);
    assert_eq!(
        (masked.code.as_str(), masked.with_literals.as_str()),
        (code, with_literals)
    );
}

#[test]
fn blanks_line_and_nested_block_comments() {
    let code = "a     \nc                   g";
    check("a // b\nc /* d /* e */ f */ g", code, code);
}

#[test]
fn blanks_the_inside_of_a_string_and_knows_escapes() {
    check(
        r#"x("a\"b // c") y"#,
        r#"x("         ") y"#,
        r#"x("a\"b // c") y"#,
    );
}

#[test]
fn knows_raw_and_byte_strings() {
    check(
        r##"r#"a"b"# b"c" for"##,
        r##"r#"   "# b" " for"##,
        r##"r#"a"b"# b"c" for"##,
    );
}

#[test]
fn tells_characters_from_lifetimes() {
    check(
        r#"'"' &'a str '\'' 'é'"#,
        r"' ' &'a str '  ' '  '",
        r#"'"' &'a str '\'' 'é'"#,
    );
}

#[test]
fn a_word_that_ends_in_r_is_no_raw_string() {
    check(r#"bar"a" car"b""#, r#"bar" " car" ""#, r#"bar"a" car"b""#);
}

#[test]
fn survives_literals_and_comments_that_never_end() {
    check("\"abc", "\"   ", "\"abc");
    check("r#\"abc", "r#\"   ", "r#\"abc");
    check("/* a", "    ", "    ");
    check("'", "'", "'");
    check("'\\", "'\\", "'\\");
}
