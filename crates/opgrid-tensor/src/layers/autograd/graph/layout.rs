//! Where the nodes and edges of a picture lie: in rows, each node below all nodes that lead to it.
//!
//! After Sugiyama, Tagawa and Toda, "Methods for visual understanding of hierarchical system structures" (1981): rows, an order
//! within rows that has few crossings, then places. An edge over several rows has a point in each of them, which takes part as
//! a narrow node; edges to one place share their points, so that they join. Places are least squares: each row wants to be near what it is connected with, and is moved no closer
//! together than its nodes are wide (pool adjacent violators).

use std::collections::{BTreeMap, HashMap, HashSet};

/// Between the boxes of a row, in pixels.
const GAP: f64 = 22.0;
/// Beside a point of an edge.
const NARROW_GAP: f64 = 10.0;
/// Between rows.
const ROW_GAP: f64 = 40.0;
/// How often rows are put in order, and put in place.
const SWEEPS: usize = 60;
/// How much a box without any below pulls at those above, of which others have all: what leads on is straight.
const PULL_OF_ENDS: f64 = 0.15;

/// The size of a box, in pixels.
#[derive(Clone, Copy, Debug)]
pub(super) struct Size {
    pub width: f64,
    pub height: f64,
}

/// A place in pixels, from the left and the top.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Point {
    pub x: f64,
    pub y: f64,
}

/// The picture.
pub(super) struct Layout {
    /// The middle of the upper side of each box.
    pub boxes: Vec<Point>,
    pub edges: Vec<Drawn>,
    pub width: f64,
    pub height: f64,
}

/// An edge: from a box to another one that comes later, and the number of the place where it arrives there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Way {
    pub from: usize,
    pub to: usize,
    pub port: usize,
}

/// Where an edge goes.
pub(super) struct Drawn {
    /// Pairs of points between which it bends, with straight lines from pair to pair.
    pub pairs: Vec<(Point, Point)>,
    /// Whether it arrives itself, and does not join another edge on the way.
    pub arrives: bool,
}

/// A box, or a point of an edge.
struct Item {
    row: usize,
    width: f64,
    /// A point of an edge.
    is_point: bool,
    above: Vec<usize>,
    below: Vec<usize>,
}

/// Lays out boxes.
pub(super) fn layout(sizes: &[Size], edges: &[Way]) -> Layout {
    let (items, paths) = items(sizes, edges);
    let mut rows = rows(&items);
    order(&items, &mut rows);
    let middles = places(&items, &rows);
    let (mut tops, mut heights) = (Vec::with_capacity(rows.len()), Vec::with_capacity(rows.len()));
    let mut top = 0.0;
    for row in &rows {
        let boxes = row.iter().filter(|item| **item < sizes.len()).map(|item| sizes[*item].height);
        let height = boxes.fold(0.0, f64::max);
        tops.push(top);
        heights.push(height);
        top += height + ROW_GAP;
    }
    let top_of = |item: usize| {
        let row = items[item].row;
        tops[row] + (heights[row] - sizes[item].height) / 2.0
    };
    let boxes: Vec<Point> =
        (0..sizes.len()).map(|item| Point { x: middles[item], y: top_of(item) }).collect();
    let ports = Ports::new(sizes, edges, &paths, &middles);
    let mut seen = HashSet::new();
    let mut drawn = Vec::with_capacity(edges.len());
    for (number, (edge, path)) in edges.iter().zip(&paths).enumerate() {
        let out = ports.out[number];
        // Boxes may be lower than their rows.
        let bottom = Point { x: out, y: boxes[edge.from].y + sizes[edge.from].height };
        let mut pairs = vec![(bottom, bottom)];
        let mut arrives = true;
        for (step, pair) in path.windows(2).enumerate() {
            let (from, to) = (pair[0], pair[1]);
            if step > 0 && !seen.insert((from, to)) {
                arrives = false;
                break;
            }
            let x = if step == 0 { out } else { middles[from] };
            let start = Point { x, y: tops[items[from].row] + heights[items[from].row] };
            let x = if to == edge.to { ports.into[number] } else { middles[to] };
            pairs.push((start, Point { x, y: tops[items[to].row] }));
        }
        if arrives {
            let end = Point { x: ports.into[number], y: boxes[edge.to].y };
            pairs.push((end, end));
        }
        drawn.push(Drawn { pairs, arrives });
    }
    let width = (0..items.len()).map(|item| middles[item] + items[item].width / 2.0).fold(0.0, f64::max);
    Layout { boxes, edges: drawn, width, height: (top - ROW_GAP).max(0.0) }
}

/// Boxes with their rows, and points where edges pass rows; for each edge the items that it passes.
fn items(sizes: &[Size], edges: &[Way]) -> (Vec<Item>, Vec<Vec<usize>>) {
    let mut row = vec![0; sizes.len()];
    let mut sorted = edges.to_vec();
    sorted.sort_unstable();
    for edge in sorted {
        row[edge.to] = row[edge.to].max(row[edge.from] + 1);
    }
    let item = |row, width, is_point| Item { row, width, is_point, above: Vec::new(), below: Vec::new() };
    let mut items: Vec<Item> =
        sizes.iter().zip(&row).map(|(size, row)| item(*row, size.width, false)).collect();
    let mut points: HashMap<(usize, usize, usize), usize> = HashMap::new();
    let mut paths = Vec::with_capacity(edges.len());
    for edge in edges {
        let mut path = vec![edge.from];
        for between in row[edge.from] + 1..row[edge.to] {
            path.push(*points.entry((edge.to, edge.port, between)).or_insert_with(|| {
                items.push(item(between, 0.0, true));
                items.len() - 1
            }));
        }
        path.push(edge.to);
        for pair in path.windows(2) {
            // Points are shared; boxes count each edge.
            if items[pair[0]].is_point && items[pair[0]].below.contains(&pair[1]) {
                continue;
            }
            items[pair[0]].below.push(pair[1]);
            items[pair[1]].above.push(pair[0]);
        }
        paths.push(path);
    }
    (items, paths)
}

/// The items of each row, in the order in which they are reached from above.
fn rows(items: &[Item]) -> Vec<Vec<usize>> {
    let count = items.iter().map(|item| item.row + 1).max().unwrap_or(0);
    let mut rows = vec![Vec::new(); count];
    let mut is_placed = vec![false; items.len()];
    let mut waiting: Vec<usize> =
        (0..items.len()).rev().filter(|item| items[*item].above.is_empty()).collect();
    while let Some(item) = waiting.pop() {
        if !std::mem::replace(&mut is_placed[item], true) {
            rows[items[item].row].push(item);
            waiting.extend(items[item].below.iter().rev());
        }
    }
    rows
}

/// Orders rows by the middle of what their items are connected with, down and up, and keeps the order with the fewest
/// crossings.
fn order(items: &[Item], rows: &mut Vec<Vec<usize>>) {
    let mut place = vec![0usize; items.len()];
    let mut best = rows.clone();
    let mut fewest = usize::MAX;
    for sweep in 0..SWEEPS {
        for row in rows.iter() {
            row.iter().enumerate().for_each(|(at, item)| place[*item] = at);
        }
        let crossings: usize = rows.windows(2).map(|pair| crossings(items, &pair[0], &place)).sum();
        if crossings < fewest {
            fewest = crossings;
            best.clone_from(rows);
        }
        if fewest == 0 {
            break;
        }
        let is_down = sweep % 2 == 0;
        let count = rows.len();
        for step in 1..count {
            let row = &mut rows[if is_down { step } else { count - 1 - step }];
            let wanted = |item: usize| {
                let near = if is_down { &items[item].above } else { &items[item].below };
                if near.is_empty() {
                    place[item] as f64
                } else {
                    near.iter().map(|other| place[*other] as f64).sum::<f64>() / near.len() as f64
                }
            };
            let mut keyed: Vec<(f64, usize)> = row.iter().map(|item| (wanted(*item), *item)).collect();
            keyed.sort_by(|one, other| one.0.total_cmp(&other.0));
            for (at, (_, item)) in keyed.into_iter().enumerate() {
                row[at] = item;
                place[item] = at;
            }
        }
    }
    *rows = best;
}

/// How many edges between a row and the next cross, counted with a tree of sums over the ends that came before.
fn crossings(items: &[Item], row: &[usize], place: &[usize]) -> usize {
    let mut ends = Vec::new();
    for item in row {
        let mut below: Vec<usize> = items[*item].below.iter().map(|other| place[*other]).collect();
        below.sort_unstable();
        ends.extend(below);
    }
    let size = ends.iter().max().map_or(0, |end| end + 1);
    let mut tree = vec![0usize; size + 1];
    let mut count = 0;
    for (before, end) in ends.iter().enumerate() {
        let (mut at, mut not_right) = (end + 1, 0);
        while at > 0 {
            not_right += tree[at];
            at &= at - 1;
        }
        count += before - not_right;
        let mut at = end + 1;
        while at <= size {
            tree[at] += 1;
            at += at & at.wrapping_neg();
        }
    }
    count
}

/// The middle of each item, from the left.
fn places(items: &[Item], rows: &[Vec<usize>]) -> Vec<f64> {
    let mut middles = vec![0.0; items.len()];
    for row in rows {
        let mut right = 0.0;
        for pair in 0..row.len() {
            let item = row[pair];
            if pair > 0 {
                right += distance(&items[row[pair - 1]], &items[item]);
            }
            middles[item] = right;
        }
    }
    for sweep in 0..SWEEPS {
        let is_last = sweep + 4 >= SWEEPS;
        let is_down = sweep % 2 == 0;
        for step in 0..rows.len() {
            let row = &rows[if is_down { step } else { rows.len() - 1 - step }];
            move_row(items, row, &mut middles, |item| match (is_last, is_down) {
                (true, _) => [&items[item].above[..], &items[item].below[..]],
                (false, true) => [&items[item].above[..], &[]],
                (false, false) => [&[], &items[item].below[..]],
            });
        }
    }
    let left = (0..items.len()).map(|item| middles[item] - items[item].width / 2.0).fold(f64::MAX, f64::min);
    middles.iter_mut().for_each(|middle| *middle -= left);
    middles
}

/// How far the middles of neighbours in a row are apart at least.
fn distance(one: &Item, other: &Item) -> f64 {
    let gap = if one.is_point || other.is_point { NARROW_GAP } else { GAP };
    (one.width + other.width) / 2.0 + gap
}

/// Neighbours of a row that have to move together.
struct Block {
    weight: f64,
    wanted: f64,
    count: usize,
}

/// Moves the items of a row as near to what they are connected with as their widths let them.
fn move_row<'i>(
    items: &[Item],
    row: &[usize],
    middles: &mut [f64],
    near: impl Fn(usize) -> [&'i [usize]; 2],
) {
    let mut blocks: Vec<Block> = Vec::new();
    let mut offset = 0.0;
    for (at, item) in row.iter().enumerate() {
        if at > 0 {
            offset += distance(&items[row[at - 1]], &items[*item]);
        }
        let (mut sum, mut pull) = (0.0, 0.0);
        let near = near(*item);
        // A long edge goes on straight, whatever joins it, and so do boxes beside it.
        let is_alike = |other: usize| {
            let (item, other) = (&items[*item], &items[other]);
            item.is_point == other.is_point && !other.below.is_empty()
        };
        let goes_on = near.iter().copied().flatten().any(|other| is_alike(*other));
        let counts =
            |other: usize| !goes_on || is_alike(other) || !items[*item].is_point && !items[other].is_point;
        for other in near.into_iter().flatten().filter(|other| counts(**other)) {
            let of_other = if items[*other].below.is_empty() { PULL_OF_ENDS } else { 1.0 };
            sum += of_other * middles[*other];
            pull += of_other;
        }
        // Without anything to be near to it stays, but gives way. Long edges are kept straight.
        let (wanted, weight) = if pull > 0.0 {
            (sum / pull, if items[*item].is_point { 6.0 } else { pull })
        } else {
            (middles[*item], 0.01)
        };
        let mut block = Block { weight, wanted: wanted - offset, count: 1 };
        while let Some(last) = blocks.pop_if(|last| last.wanted > block.wanted) {
            let weight = last.weight + block.weight;
            let wanted = (last.weight * last.wanted + block.weight * block.wanted) / weight;
            block = Block { weight, wanted, count: last.count + block.count };
        }
        blocks.push(block);
    }
    let (mut at, mut offset) = (0, 0.0);
    for block in blocks {
        for _ in 0..block.count {
            if at > 0 {
                offset += distance(&items[row[at - 1]], &items[row[at]]);
            }
            middles[row[at]] = block.wanted + offset;
            at += 1;
        }
    }
}

/// Where edges leave boxes and enter them, so that they do not lie on each other.
struct Ports {
    out: Vec<f64>,
    into: Vec<f64>,
}

impl Ports {
    fn new(sizes: &[Size], edges: &[Way], paths: &[Vec<usize>], middles: &[f64]) -> Self {
        // For each box the items next to it, and the edges there: those that have joined are one.
        let mut out: Vec<BTreeMap<(usize, usize), Vec<usize>>> = vec![BTreeMap::new(); sizes.len()];
        let mut into = out.clone();
        for (number, (edge, path)) in edges.iter().zip(paths).enumerate() {
            out[edge.from].entry((path[1], number)).or_default().push(number);
            let last = path[path.len() - 2];
            let own = if last == edge.from { number } else { usize::MAX };
            into[edge.to].entry((last, own)).or_default().push(number);
        }
        let spread = |lists: Vec<BTreeMap<(usize, usize), Vec<usize>>>| {
            let mut ports = vec![0.0; edges.len()];
            for (item, list) in lists.into_iter().enumerate() {
                let mut list: Vec<_> = list.into_iter().collect();
                list.sort_by(|one, other| middles[one.0.0].total_cmp(&middles[other.0.0]));
                let count = list.len() as f64;
                let step = (sizes[item].width * 0.7 / count).min(36.0);
                for (at, (_, numbers)) in list.into_iter().enumerate() {
                    let port = middles[item] + (at as f64 - (count - 1.0) / 2.0) * step;
                    numbers.into_iter().for_each(|number| ports[number] = port);
                }
            }
            ports
        };
        Self { out: spread(out), into: spread(into) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn boxes(count: usize) -> Vec<Size> {
        (0..count).map(|at| Size { width: 60.0 + 17.0 * (at % 5) as f64, height: 20.0 }).collect()
    }

    /// Every box is apart from all others, and below those that lead to it.
    fn check(count: usize, edges: &[(usize, usize)]) -> Layout {
        let sizes = boxes(count);
        let ways: Vec<Way> = edges.iter().map(|(from, to)| Way { from: *from, to: *to, port: 0 }).collect();
        let layout = layout(&sizes, &ways);
        for (one, a) in layout.boxes.iter().enumerate() {
            assert!(
                a.x - sizes[one].width / 2.0 >= -1e-6 && a.x + sizes[one].width / 2.0 <= layout.width + 1e-6
            );
            assert!(a.y >= 0.0 && a.y + sizes[one].height <= layout.height + 1e-6);
            for (other, b) in layout.boxes.iter().enumerate().skip(one + 1) {
                let is_beside = (a.x - b.x).abs() >= (sizes[one].width + sizes[other].width) / 2.0 - 1e-6;
                let is_below = (a.y - b.y).abs() >= 20.0 - 1e-6;
                assert!(is_beside || is_below, "{one} {a:?} and {other} {b:?}");
            }
        }
        for ((from, to), drawn) in edges.iter().zip(&layout.edges) {
            assert!(layout.boxes[*from].y < layout.boxes[*to].y);
            assert_eq!(drawn.pairs[0].0.y, layout.boxes[*from].y + 20.0);
            if drawn.arrives {
                assert_eq!(drawn.pairs[drawn.pairs.len() - 1].1.y, layout.boxes[*to].y);
            }
        }
        for to in edges.iter().map(|(_, to)| to) {
            let arrives = |(edge, drawn): (&(usize, usize), &Drawn)| edge.1 == *to && drawn.arrives;
            assert!(edges.iter().zip(&layout.edges).any(arrives), "somebody arrives at {to}");
        }
        layout
    }

    #[test]
    fn boxes_do_not_touch() {
        check(0, &[]);
        check(1, &[]);
        check(5, &[]);
        check(3, &[(0, 1), (1, 2), (0, 2), (0, 2)]);
        let tree: Vec<_> = (1..63).map(|to| ((to - 1) / 2, to)).collect();
        check(63, &tree);
        // Edges that cross whatever the order is, and long ones.
        let many: Vec<_> = (0..40).flat_map(|at| [(at, at + 1 + at % 7), (at, at + 9 + at % 11)]).collect();
        check(60, &many);
    }

    #[test]
    fn edges_that_need_not_cross_do_not() {
        // Two chains, told alternately.
        let layout = check(8, &[(0, 2), (1, 3), (2, 5), (3, 4), (5, 6), (4, 7)]);
        let left: Vec<bool> = [(0, 1), (2, 3), (5, 4), (6, 7)]
            .iter()
            .map(|(one, other)| layout.boxes[*one].x < layout.boxes[*other].x)
            .collect();
        assert!(left.iter().all(|is| *is == left[0]));
    }

    #[test]
    fn a_chain_is_straight() {
        let edges: Vec<_> = (0..300).map(|at| (at, at + 1)).collect();
        let layout = check(301, &edges);
        assert!(layout.boxes.windows(2).all(|pair| (pair[0].x - pair[1].x).abs() < 1e-6));
    }

    #[test]
    fn edges_to_one_place_join() {
        // A chain whose every node needs the last one.
        let edges: Vec<_> = (0..50).flat_map(|at| [(at, at + 1), (at, 51)]).collect();
        let layout = check(52, &edges);
        // Of the long edges the last is direct, and all others arrive as one.
        assert_eq!(layout.edges.iter().filter(|edge| edge.arrives).count(), 50 + 2);
        assert!(layout.width < 400.0, "{}", layout.width);
    }
}
