//! Keeps the lowest value of each figure over all runs of a program.

use crate::failure::Failure;
use std::collections::BTreeMap;

/// The lowest values so far, by name.
#[derive(Debug, Default, PartialEq)]
pub struct Samples(BTreeMap<String, f64>);

impl Samples {
    /// Takes over what a run printed: a line `NAME VALUE` for each figure.
    ///
    /// # Errors
    /// A line is something else.
    pub fn read(&mut self, printed: &str) -> Result<(), Failure> {
        for line in printed.lines() {
            let (name, value) = line
                .split_once(' ')
                .and_then(|(name, value)| Some((name, value.parse::<f64>().ok()?)))
                .filter(|(_, value)| value.is_finite())
                .ok_or_else(|| {
                    Failure::new(format!("a measuring program printed `{line}`, expected `NAME VALUE`"))
                })?;
            self.add(name, value);
        }
        Ok(())
    }

    /// Keeps `value` if it is the lowest of its name.
    pub fn add(&mut self, name: &str, value: f64) {
        let lowest = self.0.entry(name.to_owned()).or_insert(value);
        *lowest = lowest.min(value);
    }

    /// The value of a figure; one that was measured as `name.one` and `name.two` is the second in parts of the first.
    pub fn value(&self, name: &str) -> Option<f64> {
        let part = |part: &str| self.0.get(&format!("{name}.{part}")).copied();
        self.0.get(name).copied().or_else(|| Some(part("two")? / part("one")?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lowest_value_of_each_figure_is_kept() {
        let mut samples = Samples::default();
        samples.read("a 3.5\nb 2e3\n").unwrap();
        samples.read("a 4\nb 1500.25\n").unwrap();
        assert_eq!((samples.value("a"), samples.value("b")), (Some(3.5), Some(1500.25)));
        assert_eq!(samples.value("c"), None);
    }

    #[test]
    fn parts_are_divided_after_the_lowest_of_each_is_known() {
        let mut samples = Samples::default();
        samples.read("t.one 4\nt.two 9").unwrap();
        samples.read("t.one 5\nt.two 6").unwrap();
        assert_eq!(samples.value("t"), Some(1.5));
        samples.read("u.one 4").unwrap();
        assert_eq!(samples.value("u"), None);
    }

    #[test]
    fn what_is_no_figure_is_refused() {
        for line in ["a", "a b", "a 1 2", "a inf", "a NaN"] {
            let error = Samples::default().read(line).unwrap_err().to_string();
            assert!(error.contains(&format!("`{line}`")), "{error}");
        }
    }
}
