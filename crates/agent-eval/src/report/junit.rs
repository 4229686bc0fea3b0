//! The report as `JUnit` XML.

use super::grid;
use super::wire::{ArmReport, CaseReport, Report, Verdict};

/// One `testsuite` per arm.
pub fn junit(report: &Report) -> String {
    let totals = &report.totals;
    let mut lines = vec![
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>".to_owned(),
        format!(
            "<testsuites name=\"{}\" tests=\"{}\" failures=\"{}\" errors=\"{}\" skipped=\"{}\" time=\"{:.3}\">",
            escaped(&report.agent.name),
            totals.cases,
            totals.failed,
            totals.errors,
            totals.skipped,
            totals.seconds,
        ),
    ];
    for arm in &report.arms {
        lines.extend(suite(arm, report));
    }
    lines.push("</testsuites>\n".to_owned());
    lines.join("\n")
}

fn suite(arm: &ArmReport, report: &Report) -> Vec<String> {
    let mut lines = vec![format!(
        "  <testsuite name=\"{}\" tests=\"{}\" failures=\"{}\" errors=\"{}\" skipped=\"{}\" time=\"{:.3}\" timestamp=\"{}\">",
        escaped(&arm.name),
        arm.cases,
        arm.failed,
        arm.errors,
        arm.skipped,
        arm.seconds,
        escaped(&report.started),
    )];
    let cases = report.cases.iter().filter(|case| case.arm == arm.name);
    lines.extend(cases.map(|case| test(case, &report.agent.name)));
    lines.push("  </testsuite>".to_owned());
    lines
}

fn test(case: &CaseReport, agent: &str) -> String {
    let opening = format!(
        "    <testcase classname=\"{}\" name=\"{}\" time=\"{:.3}\"",
        escaped(agent),
        escaped(&case.name),
        case.seconds,
    );
    let reason = escaped(&grid::explanation(case));
    let inner = match case.verdict {
        Verdict::Passed => return format!("{opening}/>"),
        Verdict::Skipped => format!("<skipped message=\"{reason}\"/>"),
        Verdict::Error => format!("<error message=\"{reason}\"/>"),
        Verdict::Failed => {
            let class = case.class.map_or("threshold", |class| class.as_str());
            format!("<failure type=\"{class}\" message=\"{reason}\"/>")
        }
    };
    format!("{opening}>{inner}</testcase>")
}

/// Characters that XML does not allow become U+FFFD.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for sign in text.chars() {
        match sign {
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '&' => escaped.push_str("&amp;"),
            '"' => escaped.push_str("&quot;"),
            '\n' => escaped.push_str("&#10;"),
            '\t' => escaped.push_str("&#9;"),
            '\r' => escaped.push_str("&#13;"),
            sign if sign.is_control() || matches!(sign, '\u{fffe}' | '\u{ffff}') => {
                escaped.push('\u{fffd}');
            }
            sign => escaped.push(sign),
        }
    }
    escaped
}
