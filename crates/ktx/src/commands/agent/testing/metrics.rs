//! Converts metrics to evaluators.

use std::error::Error;

use ktx_agent_eval::{
    Criteria, DecimalSign, EqualityOptions, Evaluation, ExtraColumns, JudgedPart, LetterCase,
    Metric, NumberPick, NumericOptions, RagMeasure, RougeVariant, RowOrder, Tolerance,
    WholeNumbers,
};
use ktx_agent_file as file;
use ktx_diagnostics::{Code, Failure};
use regex::Regex;

use super::cases::mode_of;
use crate::report::{Outcome, Report as _};

/// An error that the file check should have found.
pub(super) fn not_checked(error: &(dyn Error + 'static)) -> Failure {
    Failure::from_error(Code::Internal, error)
}

pub(super) fn evaluation(entry: &file::MetricEntry) -> Outcome<Evaluation> {
    Ok(Evaluation {
        metric: metric(&entry.metric)?,
        name: entry.name.clone(),
        threshold: entry.threshold,
        response_path: entry.response_path.clone(),
        judge: judge_name(entry)?,
    })
}

pub(super) fn judge_name(entry: &file::MetricEntry) -> Outcome<Option<String>> {
    let name = entry.model.as_ref().map(serde_json::to_string).transpose();
    name.map_err(|error| not_checked(&error))
}

fn metric(metric: &file::Metric) -> Outcome<Metric> {
    use file::Metric as Written;
    Ok(match metric {
        Written::Equality {
            case_insensitive,
            strip_whitespace,
            strip_punctuation,
        } => Metric::Equality(EqualityOptions {
            case_insensitive: *case_insensitive,
            strip_whitespace: *strip_whitespace,
            strip_punctuation: *strip_punctuation,
        }),
        Written::Contains {
            values,
            case_insensitive,
        } => Metric::Contains(
            values.clone().unwrap_or_default(),
            letters(*case_insensitive),
        ),
        Written::NotContains {
            values,
            case_insensitive,
        } => Metric::NotContains(
            values.clone().unwrap_or_default(),
            letters(*case_insensitive),
        ),
        Written::Regex { pattern } => {
            Metric::Pattern(Regex::new(pattern).map_err(|error| not_checked(&error))?)
        }
        Written::Numeric { .. } | Written::SqlResult { .. } => data_metric(metric),
        Written::Tools { mode } => Metric::Tools(mode.map(mode_of)),
        Written::Refusal => Metric::Refusal,
        Written::Cost { max } => Metric::Cost(*max),
        Written::Tokens { max } => Metric::Tokens(*max),
        Written::Seconds { max } => Metric::Seconds(*max),
        Written::Steps { max } => Metric::Steps(*max),
        Written::F1Score => Metric::F1Score,
        Written::Bleu => Metric::Bleu,
        Written::Meteor => Metric::Meteor,
        Written::Rouge { variant } => Metric::Rouge(match variant {
            file::RougeVariant::Words => RougeVariant::Words,
            file::RougeVariant::Pairs => RougeVariant::Pairs,
            file::RougeVariant::LongestSequence => RougeVariant::LongestSequence,
        }),
        Written::Geval {
            criteria,
            evaluation_steps,
            evaluation_params,
            strict_mode,
            votes,
        } => Metric::Geval(Criteria {
            criteria: criteria.clone(),
            steps: evaluation_steps.clone().unwrap_or_default(),
            parts: evaluation_params.iter().copied().map(part).collect(),
            is_strict: *strict_mode,
            votes: *votes,
        }),
        Written::Rag { metric_type } => Metric::Rag(match metric_type {
            file::ContextMeasure::Faithfulness => RagMeasure::Faithfulness,
            file::ContextMeasure::AnswerRelevancy => RagMeasure::AnswerRelevancy,
            file::ContextMeasure::ContextualRelevancy => RagMeasure::ContextualRelevancy,
            file::ContextMeasure::ContextualPrecision => RagMeasure::ContextualPrecision,
            file::ContextMeasure::ContextualRecall => RagMeasure::ContextualRecall,
        }),
    })
}

fn data_metric(metric: &file::Metric) -> Metric {
    match metric {
        file::Metric::Numeric {
            pick,
            absolute_tolerance,
            relative_tolerance,
            accept_percent,
            accept_thousands_separators,
            decimal,
        } => Metric::Numeric(NumericOptions {
            pick: match pick {
                file::NumberPick::AnswerLine => NumberPick::AnswerLine,
                file::NumberPick::First => NumberPick::First,
                file::NumberPick::Last => NumberPick::Last,
                file::NumberPick::Any => NumberPick::Any,
            },
            absolute_tolerance: *absolute_tolerance,
            relative_tolerance: *relative_tolerance,
            accept_percent: *accept_percent,
            accept_thousands_separators: *accept_thousands_separators,
            decimal: match decimal {
                file::DecimalSign::Point => DecimalSign::Point,
                file::DecimalSign::Comma => DecimalSign::Comma,
            },
        }),
        file::Metric::SqlResult {
            rel_tol,
            abs_tol,
            extra_columns,
            ordered,
            allow_empty,
        } => Metric::SqlResult {
            tolerance: Tolerance {
                relative: rel_tol.unwrap_or(Tolerance::DEFAULT.relative),
                absolute: abs_tol.unwrap_or(Tolerance::DEFAULT.absolute),
                whole_numbers: match (rel_tol, abs_tol) {
                    (None, None) => WholeNumbers::Exact,
                    _ => WholeNumbers::WithinTolerance,
                },
            },
            extra_columns: match extra_columns {
                file::ExtraColumns::Allow => ExtraColumns::Allow,
                file::ExtraColumns::Forbid => ExtraColumns::Forbid,
            },
            allow_empty: *allow_empty,
            order: ordered.map(|is_ordered| {
                if is_ordered {
                    RowOrder::Listed
                } else {
                    RowOrder::Any
                }
            }),
        },
        _ => Metric::Tools(None),
    }
}

const fn letters(case_insensitive: bool) -> LetterCase {
    if case_insensitive {
        LetterCase::Ignored
    } else {
        LetterCase::Counts
    }
}

const fn part(part: file::JudgedPart) -> JudgedPart {
    match part {
        file::JudgedPart::Input => JudgedPart::Input,
        file::JudgedPart::ActualOutput => JudgedPart::ActualOutput,
        file::JudgedPart::ExpectedOutput => JudgedPart::ExpectedOutput,
        file::JudgedPart::Context => JudgedPart::Context,
        file::JudgedPart::RetrievalContext => JudgedPart::RetrievalContext,
    }
}
