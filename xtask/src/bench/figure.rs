//! A measured figure beside those of peers, against its budget; the table and the JSON of all.

use super::definition::{Definition, Of};
use super::samples::Samples;
use serde_json::{Value, json};

/// What was measured for one definition.
#[derive(Debug)]
pub struct Figure {
    definition: Definition,
    ours: f64,
    /// What each peer was measured with, by its name; the first is what ratios and budgets are about.
    peers: Vec<(&'static str, Option<f64>)>,
}

/// How a figure stands to its budget.
#[derive(Debug, PartialEq, Clone, Copy)]
enum Verdict {
    Holds,
    Missed,
    /// Above what the design must hold, not only above the budget.
    MustHoldFails,
    /// The budget is about a ratio, and there is no peer.
    Unknown,
}

impl Figure {
    /// The figure of a definition, if our side measured it.
    pub fn new(definition: &Definition, ours: &Samples, peers: &[(&'static str, &Samples)]) -> Option<Self> {
        let value = |samples: &Samples| {
            let value = samples.value(&definition.name)?;
            Some(if definition.of == Of::Throughput { 1e9 / value } else { value / definition.scale() })
        };
        let peers = peers.iter().map(|(name, samples)| (*name, value(samples))).collect();
        Some(Self { ours: value(ours)?, peers, definition: definition.clone() })
    }

    /// Ours in parts of the first peer's: smaller is better, but of throughputs.
    fn ratio(&self) -> Option<f64> {
        self.peers.first().and_then(|(_, peer)| *peer).map(|peer| self.ours / peer)
    }

    fn verdict(&self) -> Verdict {
        let value = match self.definition.of {
            Of::Ours => Some(self.ours),
            Of::Ratio | Of::Throughput => self.ratio(),
        };
        match value {
            None => Verdict::Unknown,
            Some(value) if self.definition.of == Of::Throughput => {
                if value >= self.definition.budget {
                    Verdict::Holds
                } else {
                    Verdict::Missed
                }
            }
            Some(value) if value <= self.definition.budget => Verdict::Holds,
            Some(value) if self.definition.must_hold.is_some_and(|bound| value > bound) => {
                Verdict::MustHoldFails
            }
            Some(_) => Verdict::Missed,
        }
    }

    fn cells(&self) -> Vec<String> {
        let Definition { name, unit, budget, must_hold, of, .. } = &self.definition;
        let budget = match of {
            Of::Ratio => format!("ratio ≤ {budget}"),
            Of::Throughput => format!("ratio ≥ {budget}"),
            Of::Ours => format!("≤ {budget}"),
        };
        let verdict = match self.verdict() {
            Verdict::Holds => "holds".into(),
            Verdict::Missed => "missed".into(),
            Verdict::MustHoldFails => format!("MUST HOLD ≤ {}", must_hold.unwrap_or_default()),
            Verdict::Unknown => "-".into(),
        };
        let ratio = self.ratio().map_or("-".into(), |ratio| format!("{ratio:.2}"));
        let peers = self.peers.iter().map(|(_, peer)| peer.map_or("-".into(), shown));
        let numbers = std::iter::once(shown(self.ours)).chain(peers).chain([ratio]);
        [name.clone(), unit.clone()].into_iter().chain(numbers).chain([budget, verdict]).collect()
    }
}

/// A value with about three digits.
fn shown(value: f64) -> String {
    let digits = match value {
        value if value >= 100.0 => 0,
        value if value >= 10.0 => 1,
        _ => 2,
    };
    format!("{value:.digits$}")
}

/// The figures for people.
pub fn table(figures: &[Figure]) -> String {
    let peers = figures.first().map(|figure| figure.peers.as_slice()).unwrap_or_default();
    let names = ["figure", "unit", "ours"].into_iter().chain(peers.iter().map(|(name, _)| *name));
    let header = names.chain(["ratio", "budget", "verdict"]).map(String::from).collect();
    let rows: Vec<Vec<String>> = std::iter::once(header).chain(figures.iter().map(Figure::cells)).collect();
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..rows[0].len()).map(width).collect();
    let line = |row: &Vec<String>| {
        let cells = row.iter().zip(&widths).enumerate().map(|(column, (cell, &width))| {
            // Names and words to the left, numbers to the right.
            let is_number = (2..row.len() - 2).contains(&column);
            if is_number { format!("{cell:>width$}") } else { format!("{cell:<width$}") }
        });
        cells.collect::<Vec<_>>().join("  ").trim_end().to_owned() + "\n"
    };
    rows.iter().map(line).collect()
}

/// The figures for programs.
pub fn report(suite: &str, figures: &[Figure]) -> Value {
    let row = |figure: &Figure| {
        json!({
            "name": figure.definition.name,
            "unit": figure.definition.unit,
            "ours": figure.ours,
            "peers": figure.peers.iter().copied().collect::<std::collections::BTreeMap<_, _>>(),
            "ratio": figure.ratio(),
            "budget": figure.definition.budget,
        })
    };
    json!({"suite": suite, "figures": figures.iter().map(row).collect::<Vec<_>>()})
}

#[cfg(test)]
mod tests {
    use super::*;

    fn definition(unit: &str, of: Of) -> Definition {
        Definition {
            name: "a".into(),
            unit: unit.into(),
            budget: 0.3,
            must_hold: Some(0.5),
            of,
            counted: None,
            extended: false,
        }
    }

    fn samples(value: f64) -> Samples {
        let mut samples = Samples::default();
        samples.add("a", value);
        samples
    }

    fn figure(of: Of, ours: f64, peer: Option<f64>) -> Figure {
        let peer = peer.map(samples);
        let peers: Vec<_> = peer.iter().map(|peer| ("torch", peer)).collect();
        Figure::new(&definition("ns", of), &samples(ours), &peers).unwrap()
    }

    #[test]
    fn a_throughput_is_what_is_done_in_a_second() {
        let mut definition = definition("images/s", Of::Throughput);
        definition.budget = 1.5;
        let figure =
            |ours, peer| Figure::new(&definition, &samples(ours), &[("torch", &samples(peer))]).unwrap();
        let fast = figure(1e6, 2e6);
        assert_eq!((fast.ours, fast.ratio(), fast.verdict()), (1000.0, Some(2.0), Verdict::Holds));
        assert_eq!(figure(2e6, 2e6).verdict(), Verdict::Missed);
    }

    #[test]
    fn a_ratio_is_ours_divided_by_the_peers() {
        assert_eq!(figure(Of::Ratio, 3.0, Some(12.0)).ratio(), Some(0.25));
        assert_eq!(figure(Of::Ratio, 3.0, None).ratio(), None);
    }

    #[test]
    fn values_are_given_in_the_unit_of_the_definition() {
        let [torch, ndarray, unmeasured] = [samples(3e3), samples(500.0), Samples::default()];
        let peers = [("torch", &torch), ("candle", &unmeasured), ("ndarray", &ndarray)];
        let figure = Figure::new(&definition("µs", Of::Ratio), &samples(1500.0), &peers).unwrap();
        assert_eq!((figure.ours, figure.ratio()), (1.5, Some(0.5)));
        assert_eq!(figure.peers, [("torch", Some(3.0)), ("candle", None), ("ndarray", Some(0.5))]);
        assert!(Figure::new(&definition("ns", Of::Ratio), &unmeasured, &[("torch", &torch)]).is_none());
    }

    #[test]
    fn the_verdict_is_about_the_ratio_or_about_ours() {
        for (of, ours, peer, expected) in [
            (Of::Ratio, 3.0, Some(10.0), Verdict::Holds),
            (Of::Ratio, 4.0, Some(10.0), Verdict::Missed),
            (Of::Ratio, 5.1, Some(10.0), Verdict::MustHoldFails),
            (Of::Ratio, 0.1, None, Verdict::Unknown),
            (Of::Ours, 0.3, None, Verdict::Holds),
            (Of::Ours, 0.4, Some(100.0), Verdict::Missed),
            (Of::Ours, 0.6, Some(100.0), Verdict::MustHoldFails),
        ] {
            assert_eq!(figure(of, ours, peer).verdict(), expected, "{of:?} {ours} {peer:?}");
        }
    }

    #[test]
    fn the_report_has_a_row_per_figure_and_null_without_a_peer() {
        let figures = [figure(Of::Ratio, 3.0, Some(12.0)), figure(Of::Ours, 0.25, None)];
        let expected = json!({"suite": "dispatch", "figures": [
            {"name": "a", "unit": "ns", "ours": 3.0, "peers": {"torch": 12.0}, "ratio": 0.25, "budget": 0.3},
            {"name": "a", "unit": "ns", "ours": 0.25, "peers": {}, "ratio": null, "budget": 0.3},
        ]});
        assert_eq!(report("dispatch", &figures), expected);
    }

    #[test]
    fn the_table_says_what_holds() {
        let figures = [figure(Of::Ratio, 3.0, Some(12.0)), figure(Of::Ratio, 123.4, Some(20.0))];
        let expected = "\
figure  unit  ours  torch  ratio  budget       verdict
a       ns    3.00   12.0   0.25  ratio ≤ 0.3  holds
a       ns     123   20.0   6.17  ratio ≤ 0.3  MUST HOLD ≤ 0.5
";
        let squeezed = |text: &str| -> Vec<String> {
            text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect()
        };
        assert_eq!(squeezed(&table(&figures)), squeezed(expected));
    }
}
