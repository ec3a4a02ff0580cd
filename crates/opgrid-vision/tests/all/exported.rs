//! A program with operators of torchvision gives what torch gives: `models/detector.pt2`, with inputs and results in `models/detector.npz`.

use std::path::{Path, PathBuf};

use opgrid::files::npz;
use opgrid::prelude::*;
use opgrid_graph::{Program, Trace};

fn file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/models").join(name)
}

/// The arrays whose names are a word and a number, in the order of the numbers.
fn arrays(word: &str) -> Vec<Tensor> {
    let all = npz::read_all(&file("detector.npz")).unwrap();
    let numbered = (0..).map_while(|index| {
        let wanted = format!("{word}{index}");
        all.iter().find(|(name, _)| *name == wanted).map(|(_, array)| array.clone())
    });
    numbered.map(|array| Tensor::from_array(array).unwrap()).collect()
}

#[track_caller]
fn check(program: &Program, inputs: &[&Tensor]) -> Result<()> {
    let (found, expected) = (program.run(inputs)?, arrays("out"));
    assert_eq!(found.len(), expected.len());
    for (found, expected) in found.iter().zip(&expected) {
        assert_eq!((found.sizes(), found.dtype()), (expected.sizes(), expected.dtype()));
        assert!(found.allclose(expected, 1e-5, 1e-6)?, "{found}\n{expected}");
    }
    Ok(())
}

#[test]
fn a_detector_runs_and_is_traced_again() -> Result<()> {
    let _alone = crate::alone();
    let without = Program::load(file("detector.pt2")).unwrap_err();
    assert!(without.to_string().contains("could not find schema for torchvision::"), "{without}");
    let _operators = opgrid_vision::register(opgrid::dispatcher()?)?;
    let program = Program::load(file("detector.pt2"))?;
    let inputs = arrays("in");
    let inputs: Vec<&Tensor> = inputs.iter().collect();
    check(&program, &inputs)?;
    let again = Trace::new().run(&inputs, |inputs| program.run(&inputs.iter().collect::<Vec<_>>()))?;
    check(&again, &inputs)
}
