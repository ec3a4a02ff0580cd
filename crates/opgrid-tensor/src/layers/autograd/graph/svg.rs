//! The graph as a picture.

use std::fmt::Write;

use super::dot::{is_cut, lines};
use super::layout::{Drawn, Point, Size, Way, layout};
use super::{Graph, GraphNode, GraphTarget, counted};

const FONT: &str = "ui-monospace,Menlo,Consolas,'DejaVu Sans Mono',monospace";
/// Pixels; characters of a monospace font are about six tenths as wide.
const FONT_SIZE: f64 = 11.0;
const CHARACTER: f64 = 0.62 * FONT_SIZE;
const LINE: f64 = 15.0;
const PADDING: f64 = 8.0;
const MARGIN: f64 = 16.0;
const CAPTION: f64 = 26.0;
/// Longer lines are cut; the whole line stands in the tooltip.
const MOST_CHARACTERS: usize = 44;
const MOST_LINES: usize = 9;

const INK: &str = "#1f2328";
const FAINT: &str = "#656d76";
const EDGE: &str = "#8c959f";

impl Graph {
    /// The graph as a picture: results above, leaves below, and an arrow for each way of a gradient. Tooltips have the whole
    /// text of what is cut, and the places of calls that were noted.
    ///
    /// It stands alone: no scripts, no fonts or styles from elsewhere. Up to some hundred nodes are readable.
    pub fn to_svg(&self) -> String {
        let (texts, cut) = self.texts();
        let sizes: Vec<Size> = texts.iter().map(|lines| size(lines)).collect();
        let edges = self.edges(&cut);
        let layout = layout(&sizes, &edges);
        let caption = match self.hidden() {
            0 => self.summary(),
            hidden => format!(
                "{}; the {} nearest to the results are shown, {hidden} more are not",
                self.summary(),
                self.nodes().len()
            ),
        };
        let width = layout.width.max(wide(&caption)) + 2.0 * MARGIN;
        let height = layout.height + CAPTION + 2.0 * MARGIN;
        let mut svg = String::new();
        // Writing to a string does not fail.
        let _ = write!(
            svg,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width:.0}\" height=\"{height:.0}\" viewBox=\"0 0 {width:.0} \
             {height:.0}\" font-family=\"{FONT}\" font-size=\"{FONT_SIZE}\">\
             <rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\
             <text x=\"{MARGIN}\" y=\"{:.0}\" fill=\"{FAINT}\">{}</text>\
             <g transform=\"translate({:.1} {:.1})\">",
            MARGIN + FONT_SIZE,
            escaped(&caption),
            MARGIN + (width - 2.0 * MARGIN - layout.width) / 2.0,
            MARGIN + CAPTION
        );
        for (edge, drawn) in edges.iter().zip(&layout.edges) {
            let several = self.nodes().get(edge.to).is_some_and(|node| node.results.len() > 1);
            draw_edge(&mut svg, drawn, edge.to == self.nodes().len(), several.then_some(edge.port));
        }
        for (place, (lines, size)) in texts.iter().zip(&sizes).enumerate() {
            draw_box(
                &mut svg,
                self.nodes().get(place),
                self.results().contains(&place),
                lines,
                *size,
                layout.boxes[place],
            );
        }
        svg.push_str("</g></svg>\n");
        svg
    }

    /// A page with the picture.
    pub fn to_html(&self) -> String {
        format!(
            "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n<title>Graph of gradients: {}</title>\n</head>\n\
             <body style=\"margin:0\">\n{}</body>\n</html>\n",
            escaped(&self.summary()),
            self.to_svg()
        )
    }

    /// The lines of each box, and the nodes that lead to what is not shown; the last box stands for that.
    fn texts(&self) -> (Vec<Vec<String>>, Vec<usize>) {
        let mut texts: Vec<Vec<String>> = self.nodes().iter().map(lines).collect();
        let cut: Vec<usize> = (0..self.nodes().len()).filter(|place| is_cut(&self.nodes()[*place])).collect();
        if !cut.is_empty() {
            texts.push(vec![counted(self.hidden(), "more node", "more nodes")]);
        }
        (texts, cut)
    }

    /// The ways of gradients between boxes.
    fn edges(&self, cut: &[usize]) -> Vec<Way> {
        let nodes = self.nodes().iter().enumerate();
        let shown = nodes.flat_map(|(from, node)| {
            let to = move |target: &GraphTarget| Some(Way { from, to: target.node?, port: target.output });
            node.targets.iter().filter_map(to)
        });
        shown.chain(cut.iter().map(|from| Way { from: *from, to: self.nodes().len(), port: 0 })).collect()
    }
}

fn draw_edge(svg: &mut String, drawn: &Drawn, is_cut: bool, label: Option<usize>) {
    let dashes = if is_cut { " stroke-dasharray=\"4 3\"" } else { "" };
    let _ = write!(svg, "<path d=\"{}\" fill=\"none\" stroke=\"{EDGE}\"{dashes}/>", path(&drawn.pairs));
    let Some((_, end)) = drawn.pairs.last().filter(|_| drawn.arrives) else { return };
    let _ = write!(svg, "<path d=\"M{:.1} {:.1}l-3.5 -7h7z\" fill=\"{EDGE}\"/>", end.x, end.y);
    if let Some(label) = label {
        let (x, y) = (end.x + 5.0, end.y - 5.0);
        let _ =
            write!(svg, "<text x=\"{x:.1}\" y=\"{y:.1}\" font-size=\"9\" fill=\"{FAINT}\">{label}</text>");
    }
}

fn size(lines: &[String]) -> Size {
    let shown = shown(lines);
    let width = shown.iter().map(|line| wide(line)).fold(0.0, f64::max);
    Size { width: width + 2.0 * PADDING, height: LINE * shown.len() as f64 + PADDING }
}

/// The lines that stand in a box.
fn shown(lines: &[String]) -> Vec<String> {
    let short = |line: &String| {
        if line.chars().count() > MOST_CHARACTERS {
            line.chars().take(MOST_CHARACTERS - 1).chain(['…']).collect()
        } else {
            line.clone()
        }
    };
    if lines.len() > MOST_LINES {
        let more = format!("and {} more", lines.len() + 1 - MOST_LINES);
        lines.iter().take(MOST_LINES - 1).map(short).chain([more]).collect()
    } else {
        lines.iter().map(short).collect()
    }
}

/// How wide a line is, in pixels; letters of East Asian scripts and pictures take two places.
fn wide(line: &str) -> f64 {
    line.chars().map(|character| if character >= '\u{1100}' { 2.0 } else { 1.0 }).sum::<f64>() * CHARACTER
}

/// Curves between pairs of points, straight lines from pair to pair.
fn path(pairs: &[(Point, Point)]) -> String {
    let mut path = String::new();
    for (number, (from, to)) in pairs.iter().enumerate() {
        let _ = write!(path, "{}{:.1} {:.1}", if number == 0 { 'M' } else { 'L' }, from.x, from.y);
        if from != to {
            let half = (from.y + to.y) / 2.0;
            let _ = write!(path, "C{:.1} {half:.1} {:.1} {half:.1} {:.1} {:.1}", from.x, to.x, to.x, to.y);
        }
    }
    path
}

/// A box of a node, or the one that stands for nodes which are not shown.
fn draw_box(
    svg: &mut String,
    node: Option<&GraphNode>,
    is_result: bool,
    lines: &[String],
    size: Size,
    at: Point,
) {
    let (fill, stroke) = match node {
        None => ("#ffffff", "#d0d7de"),
        Some(node) if node.is_leaf => ("#ddf4ff", "#54aeff"),
        Some(_) if is_result => ("#dafbe1", "#4ac26b"),
        Some(_) => ("#f6f8fa", "#afb8c1"),
    };
    let is_freed = node.is_some_and(|node| node.is_freed);
    let dashes = if node.is_none() || is_freed { " stroke-dasharray=\"4 3\"" } else { "" };
    let (left, radius) =
        (at.x - size.width / 2.0, if node.is_some_and(|node| node.is_leaf) { 10 } else { 4 });
    let mut tooltip = lines.join("\n");
    if let Some(place) = node.and_then(|node| node.place.as_deref()) {
        tooltip += "\n\ncalled at ";
        tooltip += place;
    }
    let _ = write!(
        svg,
        "<g><title>{}</title><rect x=\"{left:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{:.1}\" rx=\"{radius}\" fill=\"{fill}\" \
         stroke=\"{stroke}\"{dashes}/>",
        escaped(&tooltip),
        at.y,
        size.width,
        size.height
    );
    let mut y = at.y + PADDING / 2.0 + FONT_SIZE;
    for (number, line) in shown(lines).iter().enumerate() {
        let look = match (number, node) {
            (0, Some(_)) => format!("fill=\"{INK}\" font-weight=\"bold\""),
            _ => format!("fill=\"{FAINT}\""),
        };
        let _ = write!(svg, "<text x=\"{:.1}\" y=\"{y:.1}\" {look}>{}</text>", left + PADDING, escaped(line));
        y += LINE;
    }
    svg.push_str("</g>");
}

/// Text for XML: characters with a meaning are spelled out, and those that it cannot have are replaced.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            '\n' | '\t' => escaped.push(character),
            '\u{fffe}' | '\u{ffff}' => escaped.push('\u{fffd}'),
            control if control.is_control() => escaped.push('\u{fffd}'),
            other => escaped.push(other),
        }
    }
    escaped
}
