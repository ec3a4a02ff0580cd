//! A curve of numbers, drawn with block characters.

/// Eighths of a character, from the bottom.
const BLOCKS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// Columns of equal numbers of values, each as high as their mean, with the largest and the smallest height at the left.
///
/// Values that are not finite count as zero.
pub(super) fn draw(values: &[f64], width: usize, height: usize) -> Vec<String> {
    let columns = means(values, width);
    let top = columns.iter().copied().fold(f64::MIN_POSITIVE, f64::max);
    let eighths: Vec<usize> =
        columns.iter().map(|value| (value / top * (8 * height) as f64).round().max(0.0) as usize).collect();
    let row = |row: usize| {
        let below = 8 * (height - 1 - row);
        let label = match row {
            0 => format!("{top:6.3} ┤"),
            _ if row == height - 1 => format!("{:6.3} ┤", 0.0),
            _ => "       │".to_owned(),
        };
        let blocks = eighths.iter().map(|eighths| BLOCKS[eighths.saturating_sub(below).min(8)]);
        let line: String = label.chars().chain(blocks).collect();
        line.trim_end().to_owned()
    };
    (0..height).map(row).collect()
}

/// The means of `count` parts that follow each other, or the values if there are fewer.
fn means(values: &[f64], count: usize) -> Vec<f64> {
    let count = count.min(values.len());
    let part = |place: usize| &values[place * values.len() / count..(place + 1) * values.len() / count];
    let finite = |value: &f64| if value.is_finite() { *value } else { 0.0 };
    (0..count).map(|place| part(place).iter().map(finite).sum::<f64>() / part(place).len() as f64).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heights_are_those_of_the_values() {
        let drawn = draw(&[4.0, 2.0, 1.0, 0.0, f64::NAN], 10, 2);
        assert_eq!(drawn, [" 4.000 ┤█", " 0.000 ┤██▄"]);
    }

    #[test]
    fn many_values_share_columns() {
        assert_eq!(means(&[1.0, 3.0, 5.0, 7.0, 10.0], 2), [2.0, 22.0 / 3.0]);
        assert_eq!(draw(&[], 10, 2), [" 0.000 ┤", " 0.000 ┤"]);
    }
}
