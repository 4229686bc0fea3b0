//! The report as one HTML file without scripts.

use super::grid::{self, Grid};
use super::wire::Report;

const STYLE: &str = "body{font:15px/1.5 system-ui,sans-serif;margin:2rem auto;max-width:72rem;padding:0 1rem}\
table{border-collapse:collapse;margin:1rem 0}td,th{border:1px solid #8884;padding:.25rem .6rem;text-align:left;\
vertical-align:top}dt{float:left;width:6rem;color:#777}tr.failed td:nth-child(3){color:#b00}\
tr.error td:nth-child(3){color:#a60}:root{color-scheme:light dark}";

/// The page loads and runs nothing.
pub fn html(report: &Report) -> String {
    let title = format!("Tests of {}", escaped(&report.agent.name));
    let mut body = vec![format!("<h1>{title}</h1>"), "<dl>".to_owned()];
    for (name, value) in grid::facts(report) {
        body.push(format!("<dt>{name}</dt><dd>{}</dd>", escaped(&value)));
    }
    body.push("</dl>".to_owned());
    body.push(table(&grid::arms(report), &[]));
    let verdicts = grid::verdicts(report);
    if !verdicts.is_empty() {
        body.push("<h2>Does the layer help?</h2>\n<ul>".to_owned());
        for (names, verdict) in verdicts {
            let (names, verdict) = (escaped(&names), escaped(&verdict));
            body.push(format!("<li>{names}: {verdict}</li>"));
        }
        body.push("</ul>".to_owned());
    }
    body.push("<h2>Cases</h2>".to_owned());
    let verdicts: Vec<&str> = report.cases.iter().map(|it| it.verdict.as_str()).collect();
    body.push(table(&grid::cases(report), &verdicts));
    for case in grid::failed_cases(report).filter(|case| !case.metrics.is_empty()) {
        let (name, arm) = (escaped(&case.name), escaped(&case.arm));
        body.push(format!("<details><summary>{name} ({arm})</summary>"));
        body.push(table(&grid::metrics(case), &[]));
        body.push("</details>".to_owned());
    }
    let head = format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n\
         <title>{title}</title>\n<style>{STYLE}</style>\n</head>\n<body>"
    );
    format!("{head}\n{}\n</body>\n</html>\n", body.join("\n"))
}

fn table(grid: &Grid, classes: &[&str]) -> String {
    let cells = |tag: &str, texts: &mut dyn Iterator<Item = String>| -> String {
        texts.fold(String::new(), |row, text| {
            row + &format!("<{tag}>{text}</{tag}>")
        })
    };
    let head = cells("th", &mut grid.head.iter().cloned());
    let mut lines = vec!["<table>".to_owned(), format!("<tr>{head}</tr>")];
    for (index, row) in grid.rows.iter().enumerate() {
        let class = classes
            .get(index)
            .map(|class| format!(" class=\"{class}\""))
            .unwrap_or_default();
        let row = cells("td", &mut row.iter().map(|cell| escaped(cell)));
        lines.push(format!("<tr{class}>{row}</tr>"));
    }
    lines.push("</table>".to_owned());
    lines.join("\n")
}

fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for sign in text.chars() {
        match sign {
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '&' => escaped.push_str("&amp;"),
            '"' => escaped.push_str("&quot;"),
            sign if sign.is_control() => escaped.push(' '),
            sign => escaped.push(sign),
        }
    }
    escaped
}
