//! Reads what a suite measures: names, units and budgets.

use crate::failure::Failure;
use crate::workspace::Workspace;
use serde_json::Value;

/// The figures of one suite, in the order in which they are reported.
#[derive(Debug)]
pub struct Suite {
    pub figures: Vec<Definition>,
    pub argument: Argument,
}

/// What the suite's programs can be told to measure.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Argument {
    /// A file of schemas, which they parse; the peer's program writes it.
    Schemas,
    /// The beginning of the names of figures.
    Beginning,
    /// A folder of programs that the peer's program exports, and the beginning of names.
    Programs,
    /// Nothing: everything is measured.
    Nothing,
}

/// One figure.
#[derive(Debug, Clone, PartialEq)]
pub struct Definition {
    pub name: String,
    pub unit: String,
    /// The most that the value may be for the work to count as done; of a throughput the least.
    pub budget: f64,
    /// The most that it may be for the design to count as sound.
    pub must_hold: Option<f64>,
    pub of: Of,
    /// Two cases of the programs: the figure is by how many instructions a call of the first exceeds one of the second.
    pub counted: Option<[String; 2]>,
    /// Whether it is measured only where everything is asked for, or it by name.
    pub extended: bool,
}

/// The value that a budget is about.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Of {
    /// Ours divided by the peer's.
    Ratio,
    /// Ours alone, in the figure's unit.
    Ours,
    /// Ours divided by the peer's, of what is done in a second: more is better. The programs print the nanoseconds that one
    /// of the unit takes.
    Throughput,
}

impl Suite {
    /// The definitions in `bench/NAME.json`.
    ///
    /// # Errors
    /// The file cannot be read or has another form.
    pub fn read(workspace: &Workspace, name: &str) -> Result<Self, Failure> {
        let path = format!("bench/{name}.json");
        let text = workspace.read(&path)?.unwrap_or_default();
        Self::parse(&text).map_err(|error| Failure::new(format!("{path}: {error}")))
    }

    /// The definitions in a text.
    ///
    /// # Errors
    /// It has another form.
    pub fn parse(text: &str) -> Result<Self, Failure> {
        let suite: Value = serde_json::from_str(text).map_err(|error| Failure::new(error.to_string()))?;
        let listed = suite["figures"].as_array().ok_or_else(|| Failure::new("expected a list `figures`"))?;
        let argument = match suite["argument"].as_str() {
            Some("schemas") => Argument::Schemas,
            Some("beginning") => Argument::Beginning,
            Some("programs") => Argument::Programs,
            Some("nothing") => Argument::Nothing,
            _ => {
                let expected = "expected `argument` with `schemas`, `beginning`, `programs` or `nothing`";
                return Err(Failure::new(expected));
            }
        };
        let figures = listed.iter().map(Definition::parse).collect::<Result<_, _>>()?;
        Ok(Self { figures, argument })
    }
}

impl Definition {
    fn parse(figure: &Value) -> Result<Self, Failure> {
        let parsed = || {
            Some(Self {
                name: figure["name"].as_str()?.to_owned(),
                unit: figure["unit"].as_str()?.to_owned(),
                budget: figure["budget"].as_f64()?,
                must_hold: figure["must_hold"].as_f64(),
                of: match figure["of"].as_str()? {
                    "ratio" => Of::Ratio,
                    "ours" => Of::Ours,
                    "throughput" => Of::Throughput,
                    _ => return None,
                },
                counted: match figure["counted"].as_array() {
                    Some(cases) => Some([cases.first()?.as_str()?.into(), cases.get(1)?.as_str()?.into()]),
                    None => None,
                },
                extended: figure["extended"] == true,
            })
        };
        parsed().ok_or_else(|| {
            let expected = "expected `name`, `unit`, `budget`, and `of` with `ratio`, `ours` or `throughput`";
            Failure::new(format!("the figure {figure} is incomplete, {expected}"))
        })
    }

    /// How many of what the programs print make one of the figure's unit; they print nanoseconds and bytes.
    pub fn scale(&self) -> f64 {
        match self.unit.as_str() {
            "µs" => 1e3,
            "ms" => 1e6,
            _ => 1.0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn the_definitions_can_be_read_and_differ_in_name() {
        for text in [
            include_str!("../../../bench/dispatch.json"),
            include_str!("../../../bench/graph.json"),
            include_str!("../../../bench/kernels.json"),
            include_str!("../../../bench/operators.json"),
            include_str!("../../../bench/plugins.json"),
            include_str!("../../../bench/python.json"),
            include_str!("../../../bench/train.json"),
            include_str!("../../../bench/build.json"),
        ] {
            let suite = Suite::parse(text).unwrap();
            let names: BTreeSet<&str> = suite.figures.iter().map(|figure| figure.name.as_str()).collect();
            assert_eq!(names.len(), suite.figures.len());
            let bounds = suite.figures.iter().map(|figure| (figure.must_hold, figure.budget));
            assert!(bounds.into_iter().all(|(bound, budget)| bound.is_none_or(|bound| bound >= budget)));
        }
    }

    #[test]
    fn an_incomplete_definition_is_quoted() {
        let text =
            r#"{"argument": "schemas", "figures": [{"name": "a", "unit": "ns", "budget": 1, "of": "peer"}]}"#;
        let error = Suite::parse(text).unwrap_err().to_string();
        assert!(error.contains(r#""of":"peer""#), "{error}");
        assert!(Suite::parse("{}").unwrap_err().to_string().contains("`figures`"));
        let error = Suite::parse(r#"{"argument": "file", "figures": []}"#).unwrap_err().to_string();
        assert!(error.contains("`programs` or `nothing`"), "{error}");
    }
}
