//! Batches and lower precision around and inside of programs: traced code that uses them runs to what it gives, and a program under
//! them gives what its code would.
//!
//! A program of its own: it installs autocast, which programs install by themselves where nobody has.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use opgrid::dispatch::{excluding, operator};
use opgrid::layers::{autocast, vmap};
use opgrid::{DType, DispatchKey, Dispatcher, Result, Tensor, ops};
use opgrid_graph::{Program, Trace};

/// The layers, for the whole process.
fn install() {
    static LAYERS: OnceLock<()> = OnceLock::new();
    LAYERS.get_or_init(|| {
        opgrid::dispatcher().unwrap();
        opgrid_transforms::install(Dispatcher::global()).unwrap().keep();
        autocast::install(Dispatcher::global()).unwrap().keep();
    });
}

fn numbers(sizes: &[i64], seed: f32) -> Tensor {
    let count = sizes.iter().product::<i64>();
    let values: Vec<f32> = (0..count).map(|index| (index as f32 * 0.7 + seed).sin()).collect();
    Tensor::from_slice(&values, sizes).unwrap()
}

#[track_caller]
fn same(found: &Tensor, expected: &Tensor) {
    assert_eq!((found.dtype(), found.sizes()), (expected.dtype(), expected.sizes()));
    let numbers = |tensor: &Tensor| {
        let tensor = tensor.detach().unwrap().to(DType::F32).unwrap().contiguous().unwrap();
        tensor.to_vec::<f32>().unwrap()
    };
    let (found, expected) = (numbers(found), numbers(expected));
    assert!(found.iter().zip(&expected).all(|(a, b)| a.to_bits() == b.to_bits()), "{found:?} {expected:?}");
}

fn targets(program: &Program) -> Vec<&str> {
    program.graph().block.nodes.iter().map(|node| node.target.as_str()).collect()
}

/// Code with a weight, and what it is given.
type Body<'b> = &'b dyn Fn(&[Tensor]) -> Result<Vec<Tensor>>;

/// Traces above and below autograd, and runs on other elements: results are those of the code, bit for bit.
#[track_caller]
fn agree(trace: &Trace, inputs: &[Tensor], others: &[Tensor], body: Body<'_>) -> [Program; 2] {
    [trace.clone(), trace.clone().below_autograd()].map(|trace| {
        let program = trace.run(&inputs.iter().collect::<Vec<_>>(), body).unwrap();
        let expected = body(others).unwrap();
        let found = program.run(&others.iter().collect::<Vec<_>>()).unwrap();
        assert_eq!(found.len(), expected.len());
        found.iter().zip(&expected).for_each(|(found, expected)| same(found, expected));
        program
    })
}

/// A network of one example, of every kind of operator that batches have rules for, and some without one.
fn network(x: &Tensor, weight: &Tensor, bias: &Tensor) -> Result<Tensor> {
    let hidden = ops::Linear.call(x, weight, Some(bias))?.relu()?;
    let scaled = hidden.mul(&bias.exp()?)?.transpose(0, 1)?;
    let normal = scaled.softmax(1)?.add(&scaled.sum()?.mul(0.1)?)?;
    let sorted = ops::Cumsum.call(&normal, 1, None)?;
    sorted.mm(&hidden)
}

#[test]
fn code_with_a_batch_inside_is_traced() {
    install();
    let (weight, bias) = (numbers(&[4, 3], 1.0), numbers(&[4], 2.0));
    let trace = Trace::new().parameter("weight", &weight).parameter("bias", &bias).input("x");
    let body = |inputs: &[Tensor]| {
        Ok(vec![vmap::over(&[&inputs[0]], |x| network(&x[0], &weight, &bias))?, inputs[0].neg()?])
    };
    let [program, below] = agree(&trace, &[numbers(&[5, 2, 3], 0.0)], &[numbers(&[5, 2, 3], 3.0)], &body);
    assert_eq!((program.parameters().len(), program.constants().len()), (2, 0));
    assert!(below.constants().is_empty());
    // One call for the whole batch.
    assert_eq!(targets(&program).iter().filter(|target| **target == "aten::relu").count(), 1);
}

#[test]
fn batches_in_batches_are_traced() {
    install();
    let outer = |inputs: &[Tensor]| {
        let rows = |x: &Tensor, y: &Tensor| vmap::over(&[x], |row| row[0].mul(y)?.sum()?.add(&row[0]));
        Ok(vec![vmap::over(&[&inputs[0], &inputs[1]], |each| rows(&each[0], &each[1]))?])
    };
    let given = |seed| [numbers(&[2, 3, 4], seed), numbers(&[2, 4], seed + 1.0)];
    agree(&Trace::new(), &given(0.0), &given(5.0), &outer);
}

operator! {
    pub WithoutRule = "without_rule::exp(Tensor self) -> Tensor";
}

#[test]
fn the_size_of_a_batch_may_vary() {
    install();
    let weight = numbers(&[4, 4], 1.0);
    let body = |inputs: &[Tensor]| {
        Ok(vec![vmap::over(&[&inputs[0]], |x| x[0].mm(&weight)?.relu()?.transpose(0, 1)?.sum())?])
    };
    let trace = Trace::new().parameter("weight", &weight).vary(0, 0, "batch", 2..=64);
    let programs = agree(&trace, &[numbers(&[3, 2, 4], 0.0)], &[numbers(&[7, 2, 4], 3.0)], &body);
    for program in programs {
        assert_eq!(program.run(&[&numbers(&[9, 2, 4], 1.0)]).unwrap()[0].sizes(), [9]);
    }
    let mut library = Dispatcher::global().library("without_rule");
    library.define(WithoutRule).kernel(DispatchKey::Cpu, |x| x.exp());
    let _registration = library.finish().unwrap();
    // An operator without a rule runs for each example, which is another program for each size.
    let loops = |inputs: &[Tensor]| Ok(vec![vmap::over(&[&inputs[0]], |x| WithoutRule.call(&x[0]))?]);
    let error = trace.run(&[&numbers(&[3, 2, 4], 0.0)], loops).unwrap_err();
    assert!(error.message().contains("depends on a size that varies"), "{error}");
}

#[test]
fn programs_run_on_batches() {
    install();
    let (weight, bias) = (numbers(&[4, 3], 1.0), numbers(&[4], 2.0));
    let trace = Trace::new().parameter("weight", &weight).parameter("bias", &bias);
    let (x, batch) = (numbers(&[2, 3], 0.0), numbers(&[5, 2, 3], 1.0));
    let code = |x: &Tensor| network(x, &weight, &bias);
    for trace in [trace.clone(), trace.below_autograd()] {
        let program = trace.run(&[&x], |inputs| Ok(vec![code(&inputs[0])?])).unwrap();
        let found = vmap::over(&[&batch], |x| Ok(program.run(&[&x[0]])?.remove(0))).unwrap();
        same(&found, &vmap::over(&[&batch], |x| code(&x[0])).unwrap());
        // What the program keeps of the batch is in nobody's way.
        same(&program.run(&[&x]).unwrap()[0], &code(&x).unwrap());
    }
}

/// A value that does not depend on the examples may not take what a batch gives, although its sizes are those of one example.
#[test]
fn results_in_place_are_not_written_by_batches() {
    install();
    let text = "graph(%x: float32[3] = input, %w: float32[3] = input) gives * {
        %a: float32[3] = aten::exp(%w)
        %b: float32[3] = aten::add.Tensor(%a, %x)
        %c: float32[3] = aten::relu(%b)
        return %c
    }";
    let program = Program::new(text.parse().unwrap(), BTreeMap::new()).unwrap();
    let (batch, weight) = (numbers(&[4, 3], 0.0), numbers(&[3], 1.0));
    let found = vmap::over(&[&batch], |x| Ok(program.run(&[&x[0], &weight])?.remove(0))).unwrap();
    same(&found, &batch.add(&weight.exp().unwrap()).unwrap().relu().unwrap());
}

#[test]
fn a_trace_within_a_batch_is_that_of_one_example() {
    install();
    let (batch, weight) = (numbers(&[5, 2, 3], 0.0), numbers(&[3], 1.0));
    let code = |x: &Tensor| x.mul(&weight)?.sum();
    let mut traced = None;
    let found = vmap::over(&[&batch], |x| {
        let program =
            Trace::new().parameter("w", &weight).run(&[&x[0]], |inputs| Ok(vec![code(&inputs[0])?]))?;
        let result = program.run(&[&x[0]])?.remove(0);
        traced = Some(program);
        Ok(result)
    })
    .unwrap();
    same(&found, &vmap::over(&[&batch], |x| code(&x[0])).unwrap());
    let program = traced.unwrap();
    assert_eq!(targets(&program), ["aten::mul.Tensor", "aten::sum"]);
    let one = numbers(&[2, 3], 4.0);
    same(&program.run(&[&one]).unwrap()[0], &code(&one).unwrap());
}

/// A tensor that stands for the examples of a batch is no constant of a program, and no result.
#[test]
fn examples_of_a_batch_are_not_kept_in_programs() {
    install();
    let batch = numbers(&[3, 3], 0.0);
    let refused = |body: &dyn Fn(&Tensor) -> Result<Program>| {
        let error = vmap::over(&[&batch], |x| {
            body(&x[0])?;
            Ok(x[0].clone())
        })
        .unwrap_err();
        assert!(error.message().contains("stands for the examples of a batch"), "{error}");
    };
    let one = numbers(&[3], 0.0);
    for trace in [Trace::new(), Trace::new().below_autograd()] {
        refused(&|x| trace.run(&[&one], |inputs| Ok(vec![inputs[0].mul(x)?])));
        refused(&|x| trace.run(&[&one], |_| Ok(vec![x.clone()])));
        refused(&|x| trace.clone().parameter("x", x).run(&[&one], |inputs| Ok(vec![inputs[0].neg()?])));
        // The code catches the error.
        refused(&|x| trace.run(&[&one], |inputs| Ok(vec![inputs[0].mul(x).or_else(|_| inputs[0].neg())?])));
    }
}

#[test]
fn gradients_of_code_with_a_batch_inside() {
    install();
    let weight = numbers(&[4, 3], 1.0);
    weight.requires_grad_(true).unwrap();
    let x = numbers(&[5, 2, 3], 0.0);
    let loss = |x: &Tensor| {
        vmap::over(&[x], |x| ops::Linear.call(&x[0], &weight, None)?.relu()?.sum())?.mul(0.5)?.sum()
    };
    loss(&x).unwrap().backward().unwrap();
    let expected = weight.grad().unwrap();
    // As a program that records gradients when it runs, and as one that has them inside.
    let program =
        Trace::new().parameter("w", &weight).run(&[&x], |inputs| Ok(vec![loss(&inputs[0])?])).unwrap();
    let own = &program.parameters()[0].1;
    own.set_grad(None).unwrap();
    program.run(&[&x]).unwrap()[0].backward().unwrap();
    same(&own.grad().unwrap(), &expected);
    let step = |inputs: &[Tensor]| {
        let loss = loss(&inputs[0])?;
        let given = opgrid::layers::autograd::grad(&[&loss], &[&weight], &[], Default::default())?;
        Ok(given.into_iter().flatten().collect())
    };
    let trace = Trace::new().parameter("w", &weight).below_autograd();
    let program = trace.run(&[&x], step).unwrap();
    same(&program.run(&[&x]).unwrap()[0], &expected);
}

/// Products in lower precision, a loss in float32, one region without autocast.
fn mixed(x: &Tensor, weight: &Tensor) -> Result<Vec<Tensor>> {
    let (product, exact) = autocast::within(DType::BF16, || -> Result<_> {
        let product = ops::Linear.call(x, weight, None)?.relu()?;
        let exact = excluding(DispatchKey::AutocastCpu, || x.mm(&weight.transpose(0, 1)?))?;
        Ok((product.mm(weight)?, exact))
    })?;
    let loss = autocast::within(DType::F16, || ops::MseLoss.call(&product, &exact, 1))?;
    Ok(vec![product, loss, exact])
}

#[test]
fn code_with_autocast_inside_is_traced() {
    install();
    let weight = numbers(&[3, 3], 1.0);
    let trace = Trace::new().parameter("weight", &weight);
    let body = |inputs: &[Tensor]| mixed(&inputs[0], &weight);
    let programs = agree(&trace, &[numbers(&[2, 3], 0.0)], &[numbers(&[2, 3], 5.0)], &body);
    for program in &programs {
        let results = program.run(&[&numbers(&[2, 3], 5.0)]).unwrap();
        assert_eq!(
            results.iter().map(Tensor::dtype).collect::<Vec<_>>(),
            [DType::BF16, DType::F32, DType::F32]
        );
        assert!(targets(program).contains(&"aten::_to_copy"), "{}", program.graph());
    }
    let varies = trace.vary(0, 0, "n", 2..=64);
    agree(&varies, &[numbers(&[2, 3], 0.0)], &[numbers(&[6, 3], 5.0)], &body);
}

/// Code that is traced where autocast is on is traced with its casts, as it runs there.
#[test]
fn traces_under_autocast_have_its_casts() {
    install();
    let (weight, x) = (numbers(&[3, 3], 1.0), numbers(&[2, 3], 0.0));
    let body = |inputs: &[Tensor]| Ok(vec![inputs[0].mm(&weight)?, inputs[0].exp()?]);
    for trace in [Trace::new(), Trace::new().below_autograd()] {
        let program = autocast::within(DType::BF16, || trace.run(&[&x], body)).unwrap();
        let expected = autocast::within(DType::BF16, || body(std::slice::from_ref(&x))).unwrap();
        for (found, expected) in program.run(&[&x]).unwrap().iter().zip(&expected) {
            same(found, expected);
        }
    }
}

#[test]
fn programs_run_under_autocast() {
    install();
    let (weight, bias) = (numbers(&[4, 3], 1.0), numbers(&[4], 2.0));
    let x = numbers(&[2, 3], 0.0);
    let code = |inputs: &[Tensor]| {
        let hidden = ops::Linear.call(&inputs[0], &weight, Some(&bias))?;
        // Written in place where that is possible: not where autocast computes in another dtype.
        let hidden = hidden.exp()?.mul(0.5)?.relu()?;
        Ok(vec![hidden.mm(&weight)?, hidden.sum()?])
    };
    let trace = Trace::new().parameter("weight", &weight).parameter("bias", &bias);
    for trace in [trace.clone(), trace.below_autograd()] {
        let program = trace.run(&[&x], code).unwrap();
        for lower in [DType::BF16, DType::F16] {
            let expected = autocast::within(lower, || code(std::slice::from_ref(&x))).unwrap();
            let found = autocast::within(lower, || program.run(&[&x])).unwrap();
            found.iter().zip(&expected).for_each(|(found, expected)| same(found, expected));
        }
        same(&program.run(&[&x]).unwrap()[0], &code(std::slice::from_ref(&x)).unwrap()[0]);
    }
}

/// What is written in place keeps its dtype, and is written: a copy in another one would be lost.
#[test]
fn writes_under_autocast_are_writes() {
    install();
    let (x, y) = (numbers(&[3, 3], 0.0), numbers(&[3, 3], 1.0));
    let body = |inputs: &[Tensor]| {
        let sum = inputs[0].mul(1)?;
        autocast::within(DType::BF16, || {
            ops::AddmmInplace.call(&sum, &inputs[0], &inputs[1], 1.into(), 1.into())
        })?;
        Ok(vec![sum])
    };
    let expected = x.add(&x.mm(&y).unwrap()).unwrap().to_vec::<f32>().unwrap();
    let found = body(&[x.clone(), y.clone()]).unwrap().remove(0).to_vec::<f32>().unwrap();
    assert!(found.iter().zip(&expected).all(|(a, b)| (a - b).abs() < 1e-5), "{found:?} {expected:?}");
    agree(&Trace::new(), &[x.clone(), y.clone()], &[y, x], &body);
}

#[test]
fn batches_and_lower_precision_go_together() {
    install();
    let weight = numbers(&[3, 4], 1.0);
    let body = |inputs: &[Tensor]| {
        let one = |x: &Tensor| autocast::within(DType::BF16, || x.mm(&weight)?.exp()?.sum());
        Ok(vec![vmap::over(&[&inputs[0]], |x| one(&x[0]))?])
    };
    let trace = Trace::new().parameter("w", &weight);
    let programs = agree(&trace, &[numbers(&[4, 2, 3], 0.0)], &[numbers(&[4, 2, 3], 1.0)], &body);
    let batches = numbers(&[3, 4, 2, 3], 2.0);
    for program in programs {
        let under = |batch: &Tensor| autocast::within(DType::BF16, || Ok(program.run(&[batch])?.remove(0)));
        let found = vmap::over(&[&batches], |x| under(&x[0])).unwrap();
        let code = |batch: &Tensor| {
            autocast::within(DType::BF16, || Ok(body(std::slice::from_ref(batch))?.remove(0)))
        };
        same(&found, &vmap::over(&[&batches], |x| code(&x[0])).unwrap());
    }
}

/// A loaded program with an autocast block keeps its precision, whatever is on around it.
#[test]
fn blocks_keep_their_precision() {
    install();
    let text = "graph(%x: float32[2, 2] = input) gives * {
        %y: bfloat16[2, 2] = higher_order::wrap_with_autocast(\"cpu\", torch.bfloat16, true, none,
            block a(%x: float32[2, 2]) { %y: bfloat16[2, 2] = aten::mm(%x, %x) return %y }, %x)
        %z: float32[2, 2] = higher_order::wrap_with_autocast(\"cpu\", torch.bfloat16, false, none,
            block b(%x: float32[2, 2]) { %y: float32[2, 2] = aten::mm(%x, %x) return %y }, %x)
        return %y, %z
    }";
    let program = Program::new(text.parse().unwrap(), BTreeMap::new()).unwrap();
    let x = numbers(&[2, 2], 0.0);
    let expected = program.run(&[&x]).unwrap();
    let found = autocast::within(DType::F16, || program.run(&[&x])).unwrap();
    found.iter().zip(&expected).for_each(|(found, expected)| same(found, expected));
    let batch = Tensor::stack(&[x.clone(), x.neg().unwrap()], 0).unwrap();
    let found = vmap::over(&[&batch], |x| Ok(program.run(&[&x[0]])?.remove(0))).unwrap();
    assert_eq!((found.dtype(), found.sizes()), (DType::BF16, &[2, 2, 2][..]));
    // The product of the negated example is that of the example.
    same(&found.select(0, 1).unwrap(), &expected[0]);
    assert_eq!(expected[1].dtype(), DType::F32);
}
