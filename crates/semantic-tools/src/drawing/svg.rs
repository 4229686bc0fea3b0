//! Writes the SVG.

use super::layout::{Area, BOX_HEIGHT, LONGEST_TEXT, Layout, MARGIN, Way, content, grain};
use super::model::{End, Line, Model};
use ktx_semantic_layer::graph::NodeId;

const INK: &str = "#1f2933";
const FAINT: &str = "#52606d";
const JOIN: &str = "#7b8794";
const TRAP: &str = "#c2410c";
const LEGEND_LINE: i32 = 20;

pub(super) fn write(model: &Model<'_>, layout: &Layout) -> String {
    let legend = legend(model);
    let rows = i32::try_from(legend.len()).unwrap_or_default();
    let below = if rows == 0 { 0 } else { rows * LEGEND_LINE + 8 };
    let width = layout.width.max(if rows == 0 { 0 } else { 560 });
    let height = layout.height + below;
    let mut out = vec![
        format!(
            r#"<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" role="img" font-family="system-ui, 'Segoe UI', 'Helvetica Neue', Arial, sans-serif">"#
        ),
        "<title>Join graph</title>".to_owned(),
        format!(r##"<rect width="{width}" height="{height}" fill="#ffffff"/>"##),
    ];
    // Traps are drawn on top of the other joins.
    for wanted in [false, true] {
        for (at, (line, way)) in model.lines.iter().zip(&layout.ways).enumerate() {
            if model.is_trap(at) == wanted {
                out.push(join(model, at, line, way));
            }
        }
    }
    for (node, area) in layout.areas.iter().enumerate() {
        out.push(boxed(model, node, *area));
    }
    let mut y = layout.height;
    for (mark, text) in legend {
        out.push(legend_line(mark, text, y));
        y += LEGEND_LINE;
    }
    out.push("</svg>\n".to_owned());
    out.join("\n")
}

/// Removes control characters, which XML does not allow.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\u{fffe}' | '\u{ffff}' => out.push('\u{fffd}'),
            letter if letter.is_control() => out.push(' '),
            letter => out.push(letter),
        }
    }
    out
}

fn short(text: &str) -> String {
    if text.chars().count() <= LONGEST_TEXT {
        return escaped(text);
    }
    let cut: String = text.chars().take(LONGEST_TEXT - 1).collect();
    format!("{}…", escaped(&cut))
}

fn join(model: &Model<'_>, at: usize, line: &Line, way: &Way) -> String {
    let is_trap = model.is_trap(at);
    let colour = if is_trap { TRAP } else { JOIN };
    let dash = if is_trap {
        r#" stroke-dasharray="6 4""#
    } else {
        ""
    };
    let (left, right) = if way.is_turned {
        (line.to_end, line.from_end)
    } else {
        (line.from_end, line.to_end)
    };
    let mut curve: Vec<String> = Vec::new();
    let mut last: Option<(i32, i32)> = None;
    for (place, (x, y)) in way.points.iter().copied().enumerate() {
        match last {
            None => curve.push(format!("M{x} {y}")),
            // Straight within a layer, bent between layers.
            Some(_) if place % 2 == 0 => curve.push(format!("L{x} {y}")),
            Some((from_x, from_y)) => {
                let half = (x - from_x) / 2;
                curve.push(format!(
                    "C{} {from_y} {} {y} {x} {y}",
                    from_x + half,
                    x - half
                ));
            }
        }
        last = Some((x, y));
    }
    let curve = curve.join(" ");
    let first = way.points.first().copied().unwrap_or_default();
    let last = last.unwrap_or_default();
    format!(
        r#"<g stroke="{colour}" stroke-width="1.5" fill="none"><title>{}</title><path d="{curve}"{dash}/><path d="{}{}"/></g>"#,
        escaped(&line.condition(model)),
        end(left, first, 1),
        end(right, last, -1),
    )
}

/// `away` is the direction in which the join leaves.
fn end(end: End, (x, y): (i32, i32), away: i32) -> String {
    match end {
        End::Many => {
            let tip = x + 12 * away;
            format!("M{x} {}L{tip} {y}L{x} {}", y - 6, y + 6)
        }
        End::AtMostOne => {
            let bar = x + 9 * away;
            format!("M{bar} {}V{}", y - 6, y + 6)
        }
    }
}

fn boxed(model: &Model<'_>, at: NodeId, area: Area) -> String {
    let Some(node) = model.nodes.get(at) else {
        return String::new();
    };
    let chasm = model.chasm(at);
    let is_broken = node.source.problem.is_some();
    let (fill, stroke) = match (is_broken, chasm.is_some(), node.is_fact()) {
        (true, ..) => ("#f3f4f6", "#9aa5b1"),
        (_, true, _) => ("#fff7ed", TRAP),
        (_, _, true) => ("#eff6ff", "#2563eb"),
        _ => ("#f8fafc", "#94a3b8"),
    };
    let dash = if is_broken || node.is_role {
        r#" stroke-dasharray="4 3""#
    } else {
        ""
    };
    let Area { x, y, width } = area;
    let mut about = vec![node.name.to_owned()];
    about.extend(node.source.description());
    about.extend(
        node.source
            .problem
            .as_ref()
            .map(|(_, problem)| problem.clone()),
    );
    about.extend(chasm.map(|chasm| {
        let facts: Vec<&str> = chasm.facts.iter().map(|fact| model.name(*fact)).collect();
        format!("chasm point: {} meet here", facts.join(", "))
    }));
    let second = if is_broken {
        "cannot be used".to_owned()
    } else {
        content(model, at)
    };
    let mut out = format!(
        r#"<g><title>{}</title><rect x="{x}" y="{y}" width="{width}" height="{BOX_HEIGHT}" rx="6" fill="{fill}" stroke="{stroke}" stroke-width="1.5"{dash}/><text x="{left}" y="{first}" font-size="14" font-weight="600" fill="{INK}">{}</text><text x="{left}" y="{middle}" font-size="12" fill="{FAINT}">{}</text><text x="{left}" y="{last}" font-size="12" fill="{FAINT}">{}</text>"#,
        escaped(&about.join("\n")),
        short(node.name),
        short(&second),
        short(&grain(model, at)),
        left = x + 12,
        first = y + 22,
        middle = y + 39,
        last = y + 55,
    );
    if chasm.is_some() {
        out.push_str(&warning_sign(x + width - 18, y + 17));
    }
    out.push_str("</g>");
    out
}

fn warning_sign(x: i32, y: i32) -> String {
    format!(
        r##"<path d="M{x} {}L{} {}H{}Z" fill="{TRAP}"/><path d="M{x} {}V{}M{x} {}V{}" stroke="#ffffff" stroke-width="2"/>"##,
        y - 9,
        x + 10,
        y + 8,
        x - 10,
        y - 3,
        y + 3,
        y + 5,
        y + 7,
    )
}

#[derive(Clone, Copy)]
enum Mark {
    Ends,
    Chasm,
    Trap,
}

fn legend(model: &Model<'_>) -> Vec<(Mark, &'static str)> {
    let mut lines = Vec::new();
    if !model.lines.is_empty() {
        lines.push((
            Mark::Ends,
            "many rows at the crow's foot, at most one at the bar",
        ));
    }
    if !model.chasms.is_empty() {
        lines.push((
            Mark::Chasm,
            "chasm point: facts meet here; each is aggregated apart",
        ));
    }
    if !model.chasms.is_empty() || !model.fan_outs.is_empty() {
        lines.push((
            Mark::Trap,
            "read from the bar to the crow's foot this join repeats rows; measures never follow it",
        ));
    }
    lines
}

fn legend_line(mark: Mark, text: &str, y: i32) -> String {
    let (from, to) = (MARGIN, MARGIN + 44);
    let drawn = match mark {
        Mark::Ends => format!(
            r#"<path d="M{from} {y}H{to}{}{}" stroke="{JOIN}" stroke-width="1.5" fill="none"/>"#,
            end(End::Many, (from, y), 1),
            end(End::AtMostOne, (to, y), -1),
        ),
        Mark::Chasm => warning_sign(MARGIN + 22, y),
        Mark::Trap => format!(
            r#"<path d="M{from} {y}H{to}" stroke="{TRAP}" stroke-width="1.5" stroke-dasharray="6 4"/>"#
        ),
    };
    format!(
        r#"<g>{drawn}<text x="{}" y="{}" font-size="12" fill="{FAINT}">{}</text></g>"#,
        to + 12,
        y + 4,
        escaped(text)
    )
}
