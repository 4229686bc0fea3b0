//! Points in time that [`Version`] puts in place of other clauses.

use sqlparser::ast::{Expr, Ident};
use sqlparser::keywords::Keyword;
use sqlparser::parser::{Parser, ParserError};

use super::words_between;
use crate::patches::Version;

pub(super) fn parse(
    parser: &mut Parser<'_>,
    version: Version,
    between: u8,
) -> Result<Expr, ParserError> {
    let marker = version.marker();
    match version {
        Version::All => Ok(Expr::Identifier(Ident::new(marker))),
        Version::Between => {
            let low = parser.parse_subexpr(between)?;
            parser.expect_keyword_is(Keyword::AND)?;
            Ok(prefixed(
                marker,
                words_between(low, "AND", parser.parse_subexpr(between)?),
            ))
        }
        Version::From => {
            let low = parser.parse_subexpr(between)?;
            parser.expect_keyword_is(Keyword::TO)?;
            Ok(prefixed(
                marker,
                words_between(low, "TO", parser.parse_subexpr(between)?),
            ))
        }
        Version::ContainedIn => Ok(prefixed(marker, parser.parse_prefix()?)),
        Version::Alias => {
            let alias = parser.parse_identifier()?;
            let time = parser.parse_expr()?;
            Ok(prefixed(&format!("{marker} {alias}"), time))
        }
        Version::Named => Ok(prefixed(marker, parser.parse_prefix()?)),
    }
}

fn prefixed(prefix: &str, value: Expr) -> Expr {
    Expr::Prefixed {
        prefix: Ident::new(prefix),
        value: Box::new(value),
    }
}
