//! Limits of programs that nobody trusts: steps, depth, and the memory of the process, which is why this is a program of its own.

use std::collections::BTreeMap;
use std::sync::Arc;

use opgrid::tensor::LimitedAllocator;
use opgrid::{DType, Device, Tensor, Value, devices};
use opgrid_graph::{Limits, Program};

fn program(text: &str) -> Program {
    Program::new(text.parse().unwrap(), BTreeMap::new()).unwrap()
}

fn steps(count: u64) -> Limits {
    let mut limits = Limits::default();
    limits.steps = count;
    limits
}

/// A program of as many steps as it has limits for runs, and one fewer is an error; the next run has all again.
#[test]
fn steps_are_those_of_one_run() {
    let text = "graph(%n: int = input) gives * {
        %m: int = higher_order::while_loop(block c(%n: int) { %b: bool = _operator.lt(%n, 3) return %b },
            block b(%n: int) { %m: int = _operator.add(%n, 1) return %m }, [%n], [])
        return %m
    }";
    // The loop itself, four times the condition with its block, three times the body with its.
    let exact = program(text).with_limits(steps(1 + 4 * 2 + 3 * 2)).unwrap();
    for _ in 0..3 {
        assert_eq!(exact.run_values(vec![0.into()]).unwrap(), [Value::from(3)]);
    }
    let short = program(text).with_limits(steps(14)).unwrap();
    let error = short.run_values(vec![0.into()]).unwrap_err();
    assert!(error.message().contains("14 steps"), "{error}");
    assert_eq!(short.run_values(vec![1.into()]).unwrap(), [Value::from(3)]);
    let error = program(text).with_limits(steps(0)).unwrap().run_values(vec![0.into()]).unwrap_err();
    assert!(error.message().contains("0 steps"), "{error}");
}

/// One test, because the allocator is that of the process.
#[test]
fn memory_is_limited() {
    const LIMIT: usize = 1 << 20;
    let x = Tensor::ones(&[1 << 14], DType::F32, Device::CPU).unwrap();
    let limited = LimitedAllocator::new(LIMIT);
    let before = devices::set_allocator(Device::CPU, Some(Arc::new(limited.clone()))).unwrap();
    let refused = |text: &str| {
        let error = program(text).run(&[&x]).unwrap_err();
        assert!(error.message().contains("of the limit of 1048576 bytes are in use"), "{error}");
        assert_eq!(limited.used_bytes(), 0);
    };
    refused("graph(%x: float32[16384] = input) gives * { %y: any = aten::zeros([1048576]) return %y }");
    // Sizes that the program states: memory is planned for them before it runs.
    let sizes = "float32[64, 16384]";
    refused(&format!(
        "graph(%x: float32[16384] = input) gives * {{
            %y: {sizes} = aten::repeat(%x, [64, 1])
            %z: {sizes} = aten::flip(%y, [0])
            %s: float32[] = aten::sum(%z)
            return %s
        }}"
    ));
    // A loop that doubles a tensor ends long before its rounds do.
    refused(
        "graph(%x: float32[16384] = input) gives * {
            %y: any = higher_order::while_loop(block c(%v: any) { return true },
                block b(%v: any) { %w: any = aten::cat([%v, %v]) return %w }, [%x], [])
            return %y
        }",
    );
    // What is freed can be used again.
    let program = program(
        "graph(%x: float32[16384] = input) gives * {
            %y: any = aten::repeat(%x, [8])
            %s: any = aten::sum(%y)
            return %s
        }",
    );
    for _ in 0..20 {
        assert_eq!(program.run(&[&x]).unwrap()[0].to_vec::<f32>().unwrap(), [131_072.0]);
    }
    assert_eq!(limited.used_bytes(), 0);
    devices::set_allocator(Device::CPU, before).unwrap();
    assert_eq!(x.exp().unwrap().numel(), 1 << 14);
}
