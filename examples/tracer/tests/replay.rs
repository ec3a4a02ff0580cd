//! A recording replays to equal results, on the traced inputs and on others.

use opgrid::prelude::*;
use opgrid::{ErrorKind, Registration};
use tracer::{install, trace};

fn matrix(values: [f32; 4]) -> Tensor {
    Tensor::from_slice(&values, &[2, 2]).unwrap()
}

fn function(inputs: &[Tensor]) -> Result<Tensor> {
    let [a, b] = inputs else { return Err(Error::new(ErrorKind::Argument, "expected two matrices")) };
    let row = a.select(0, 1)?;
    a.mm(b)?.add_with(&row, 2)?.mul(a)?.neg()
}

fn installed() -> Registration {
    install(opgrid::dispatcher().unwrap()).unwrap()
}

#[test]
fn replay_gives_equal_results() {
    let _tracer = installed();
    let inputs = [matrix([1., 2., 3., 4.]), matrix([5., 6., 7., 8.])];
    let (result, recording) = trace(&inputs, function).unwrap();
    assert_eq!(result.to_vec::<f32>().unwrap(), function(&inputs).unwrap().to_vec::<f32>().unwrap());
    let names: Vec<_> = recording.instructions.iter().map(|one| one.operator.name().to_string()).collect();
    assert_eq!(names, ["aten::select.int", "aten::mm", "aten::add.Tensor", "aten::mul.Tensor", "aten::neg"]);
    assert_eq!(recording.replay(&inputs).unwrap().to_vec::<f32>().unwrap(), result.to_vec::<f32>().unwrap());

    let others = [matrix([0., -1., 2., 0.5]), matrix([1., 1., 0., 2.])];
    let expected = function(&others).unwrap().to_vec::<f32>().unwrap();
    assert_eq!(recording.replay(&others).unwrap().to_vec::<f32>().unwrap(), expected);

    let error = recording.replay(&inputs[..1]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Argument);
    let failed = trace(&inputs, |_| Err(Error::new(ErrorKind::Kernel, "stopped"))).unwrap_err();
    assert_eq!(failed.to_string(), "stopped");
}

#[test]
fn the_program_prints_the_recording() {
    let output = std::process::Command::new(env!("CARGO_BIN_EXE_tracer")).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{text}");
    assert!(text.contains("%2 = aten::mm(%0, %1)\n%3 = aten::add.Tensor(%2, %0, 1)\n%4 = aten::mul.Tensor(%3, %0)\nreturn %4\n"), "{text}");
}
