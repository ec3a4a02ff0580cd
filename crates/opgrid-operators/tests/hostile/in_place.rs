//! Outputs that are inputs. Loops take for granted that inputs are apart from what they write: where they are not, a copy or a loop
//! of its own stands for one of them.

use opgrid_tensor::Tensor;
use opgrid_tensor::ops::{AddOut, AddcmulOut};

#[test]
fn an_output_that_is_any_of_its_inputs_is_written_by_what_was_there() {
    for n in [1, 3, 16, 63, 64, 65, 511, 513, 4099, 70_000] {
        let values = |scale: f32| (0..n).map(|i| scale * (i % 97) as f32 - 3.0).collect::<Vec<_>>();
        let (a, b) = (values(0.5), values(-2.0));
        let tensors = || [&a, &b].map(|values| Tensor::from_slice(values, &[n]).unwrap());
        let sums = |x: &[f32], y: &[f32]| x.iter().zip(y).map(|(x, y)| x + 2.0 * y).collect::<Vec<_>>();
        let check = |what: &str, out: &Tensor, expected: Vec<f32>| {
            assert_eq!(out.to_vec::<f32>().unwrap(), expected, "{what} of {n}");
        };
        let [x, y] = tensors();
        AddOut.call(&x, &y, 2.into(), &x).unwrap();
        check("first", &x, sums(&a, &b));
        let [x, y] = tensors();
        AddOut.call(&x, &y, 2.into(), &y).unwrap();
        check("second", &y, sums(&a, &b));
        let [x, _] = tensors();
        AddOut.call(&x, &x, 2.into(), &x).unwrap();
        check("both", &x, sums(&a, &a));
        for place in 0..3 {
            let [x, y] = tensors();
            let z = Tensor::from_slice(&a, &[n]).unwrap();
            let inputs = [&x, &y, &z];
            AddcmulOut.call(inputs[0], inputs[1], inputs[2], 1.into(), inputs[place]).unwrap();
            check("sum of products", inputs[place], (0..a.len()).map(|i| a[i] + b[i] * a[i]).collect());
        }
        // A part of it is none of them.
        let [x, _] = tensors();
        if n > 1 {
            let parts = [0, 1].map(|start| x.narrow(0, start, n - 1).unwrap());
            for (out, input) in [(&parts[0], &parts[1]), (&parts[1], &parts[0])] {
                let refused = AddOut.call(input, input, 1.into(), out).unwrap_err();
                assert!(refused.to_string().contains("memory location"), "{refused}");
            }
            check("refused", &x, a.clone());
        }
    }
}
