//! A hundred plugins leave nothing but their code. Alone in its program, because kernels are counted for the whole process.

mod common;

use common::{build, subject};
use opgrid_core::Value;
use opgrid_plugin::Load;
use opgrid_tensor::Tensor;

#[test]
fn a_hundred_plugins_come_and_go() {
    let path = build("crates/opgrid-plugin/tests/sources/counted.cpp", "counted", &[]);
    let folder = path.with_extension("copies");
    std::fs::create_dir_all(&folder).unwrap();
    let copies: Vec<_> = (0..100).map(|number| folder.join(format!("libcounted_{number}.so"))).collect();
    for copy in &copies {
        std::fs::copy(&path, copy).unwrap();
    }
    let (dispatcher, _operators) = subject();
    let before = dispatcher.operators().len();
    let kernels = || dispatcher.stats().kernels;
    let at_first = kernels();
    for _ in 0..2 {
        for copy in &copies {
            let plugin = dispatcher.load(copy).unwrap();
            let x = Value::from(&Tensor::from_slice(&[1.0f32], &[1]).unwrap());
            let alive = dispatcher.find("counted::alive").unwrap().call_values(vec![x]).unwrap();
            // The contexts of the round before were given back.
            assert_eq!(alive, [Value::from(1)]);
            drop(plugin);
        }
    }
    opgrid_core::quiesce().unwrap();
    assert_eq!((dispatcher.operators().len(), kernels()), (before, at_first));
    std::fs::remove_dir_all(&folder).unwrap();
}
