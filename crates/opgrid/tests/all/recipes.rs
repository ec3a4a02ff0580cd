//! The code of the recipes in docs/how-to/recipes.md, which stands there word for word.

use opgrid::ops;
use opgrid::prelude::*;

fn negated(input: &Tensor) -> Result<Tensor> {
    input.mul(&Tensor::number(-1))
}

fn another_neg(dispatcher: &Dispatcher) -> Result<Registration> {
    let mut library = dispatcher.implementations("aten", DispatchKey::Cpu);
    library.allow_override();
    library.implement(ops::Neg).kernel(DispatchKey::Cpu, negated);
    library.finish()
}

const LOUD: DispatchKey = DispatchKey::TestingOnlyGenericMode;

fn loud(dispatcher: &Dispatcher) -> Result<Registration> {
    let mut everything = dispatcher.implementations("_", LOUD);
    everything.fallback(Kernel::boxed(|call| {
        println!("{} runs", call.operator().name());
        call.below()
    }));
    let mut products = dispatcher.implementations("aten", LOUD);
    products.implement(ops::Mm).layer(LOUD, |next, (a, b)| {
        println!("a product of {:?} and {:?}", a.sizes(), b.sizes());
        next.call((a, b))
    });
    let mut registration = everything.finish()?;
    registration.join(products.finish()?);
    Ok(registration)
}

/// The explanation of a call, as text.
fn path_of(dispatcher: &Dispatcher, operator: &str, arguments: &[&Tensor]) -> Result<String> {
    let values: Vec<_> = arguments.iter().map(|tensor| Value::from(*tensor)).collect();
    let borrowed: Vec<_> = values.iter().map(Value::borrow).collect();
    let handle = dispatcher.find(operator)?;
    let (result, explanation) = handle.call_explained(&borrowed, &mut opgrid::dispatch::Returns::new())?;
    result?;
    Ok(explanation.to_string())
}

fn dispatcher() -> Result<(Dispatcher, Registration)> {
    let dispatcher = Dispatcher::new();
    let registration = opgrid::ops::register(&dispatcher)?;
    Ok((dispatcher, registration))
}

#[test]
fn a_kernel_takes_a_cell_over_and_gives_it_back() -> Result<()> {
    let (dispatcher, _operators) = dispatcher()?;
    dispatcher.on_override(|_| ());
    let x = Tensor::from_slice(&[1.0f32, -2.0], &[2])?;
    let taken = another_neg(&dispatcher)?;
    assert_eq!(dispatcher.call(ops::Neg, (&x,))?.to_vec::<f32>()?, [-1.0, 2.0]);
    assert!(path_of(&dispatcher, "aten::neg", &[&x])?.contains("aten::mul.Tensor"));
    drop(taken);
    assert!(!path_of(&dispatcher, "aten::neg", &[&x])?.contains("aten::mul.Tensor"));
    Ok(())
}

#[test]
fn a_layer_sees_calls_where_its_key_is_included() -> Result<()> {
    let (dispatcher, _operators) = dispatcher()?;
    let _loud = loud(&dispatcher)?;
    let x = Tensor::from_slice(&[1.0f32, 2.0, 3.0, 4.0], &[2, 2])?;
    for (operator, arguments) in [("aten::mm", vec![&x, &x]), ("aten::neg", vec![&x])] {
        let quiet = path_of(&dispatcher, operator, &arguments)?;
        let loud = including(LOUD, || path_of(&dispatcher, operator, &arguments))?;
        assert!(quiet.contains(" 1  CPU") && !quiet.contains(&format!(" 1  {LOUD}")), "{quiet}");
        assert!(loud.contains(&format!(" 1  {LOUD}")) && loud.contains(" 2    CPU"), "{loud}");
    }
    Ok(())
}

#[test]
fn the_recipes_show_code_that_is_compiled() {
    let document = include_str!("../../../../docs/how-to/recipes.md");
    let compiled = [
        include_str!("recipes.rs"),
        include_str!("../../../opgrid-operators-pointwise/src/pointwise/exp.rs"),
        include_str!("../../../opgrid-tensor/src/ops/pointwise.rs"),
        include_str!("../../../../examples/custom-layer/src/lib.rs"),
        include_str!("../../../../examples/own-tensor/src/intervals.rs"),
        include_str!("../../../../examples/toy-backend/src/lib.rs"),
        include_str!("../../../../examples/toy-backend/tests/suite.rs"),
    ];
    let blocks = document.split("```rust\n").skip(1).filter_map(|rest| rest.split("```").next());
    let blocks: Vec<_> = blocks.collect();
    assert_eq!(blocks.len(), 10);
    for block in blocks {
        assert!(compiled.iter().any(|source| source.contains(block)), "not in the tree:\n{block}");
    }
}
