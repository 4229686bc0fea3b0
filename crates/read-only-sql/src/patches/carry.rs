//! Hides a clause in a single name of the tree.

use ktx_diagnostics::Code;
use ktx_sql::Dialect;

use super::text;
use crate::lexis::{Piece, pieces};
use crate::refusal::{Refusal, refuse};

const NAME: &str = "ktx__c";

#[derive(Debug, Default)]
pub(super) struct CarriedClauses {
    clauses: Vec<Clause>,
}

#[derive(Debug)]
struct Clause {
    before: &'static str,
    after: &'static str,
    original: String,
}

impl CarriedClauses {
    pub(super) fn name(
        &mut self,
        before: &'static str,
        after: &'static str,
        original: String,
    ) -> String {
        self.clauses.push(Clause {
            before,
            after,
            original,
        });
        format!("{NAME}{}", self.clauses.len() - 1)
    }

    /// Every clause must occur exactly once in the printed text.
    pub(super) fn undo(&self, printed: &str, dialect: Dialect) -> Result<String, Refusal> {
        if self.clauses.is_empty() {
            return Ok(printed.to_owned());
        }
        let mut used = vec![false; self.clauses.len()];
        let mut out = String::with_capacity(printed.len());
        for piece in pieces(printed, dialect)? {
            let Piece::Code(code) = piece else {
                text::push(&mut out, piece);
                continue;
            };
            let mut rest = code;
            while let Some((head, tail)) = rest.split_once(NAME) {
                out.push_str(head);
                let digits = tail.bytes().take_while(u8::is_ascii_digit).count();
                let number = tail
                    .get(..digits)
                    .and_then(|number| number.parse::<usize>().ok());
                let Some((clause, used)) =
                    number.and_then(|number| self.clauses.get(number).zip(used.get_mut(number)))
                else {
                    return refuse_lost_clause();
                };
                let (Some(before), Some(after)) = (
                    out.strip_suffix(clause.before).map(str::len),
                    tail.get(digits..)
                        .and_then(|after| after.strip_prefix(clause.after)),
                ) else {
                    return refuse_lost_clause();
                };
                if std::mem::replace(used, true) {
                    return refuse_lost_clause();
                }
                out.truncate(before);
                out.push_str(&clause.original);
                rest = after;
            }
            out.push_str(rest);
        }
        if used.contains(&false) {
            return refuse_lost_clause();
        }
        Ok(out)
    }
}

fn refuse_lost_clause<T>() -> Result<T, Refusal> {
    refuse(Code::Unprintable, "a clause of the query cannot be printed")
}
