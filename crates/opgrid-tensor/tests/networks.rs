//! Normalisations and recurrent operators: what samples cannot say.

use opgrid_core::Result;
use opgrid_tensor::Tensor;
use opgrid_tensor::ops::{LstmInput, NativeBatchNorm, NativeBatchNormLegit, NativeLayerNormBackward};

#[test]
fn gradients_that_nobody_asks_for_are_undefined() -> Result<()> {
    let x = Tensor::from_slice(&[1.0f32, 2.0, 3.0, 5.0], &[2, 2])?;
    let row = Tensor::from_slice(&[1.0f32, 1.0], &[2, 1])?;
    let (of_input, of_weight, of_bias) =
        NativeLayerNormBackward.call(&x, &x, &[2], &row, &row, None, None, &[true, false, false])?;
    assert!(of_input.is_defined() && !of_weight.is_defined() && !of_bias.is_defined());
    let error = NativeLayerNormBackward.call(&x, &x, &[2], &row, &row, None, None, &[true; 3]).unwrap_err();
    assert!(error.to_string().contains("`weight` is None"), "{error}");
    Ok(())
}

#[test]
fn running_statistics_move_towards_those_of_the_batch() -> Result<()> {
    let x = Tensor::from_slice(&[1.0f32, 10.0, 3.0, 14.0], &[2, 2])?;
    let (mean, var) = (Tensor::from_slice(&[0.0f32, 0.0], &[2])?, Tensor::from_slice(&[1.0f32, 1.0], &[2])?);
    NativeBatchNorm.call(&x, None, None, Some(&mean), Some(&var), true, 0.5, 1e-5)?;
    assert_eq!((mean.to_vec::<f32>()?, var.to_vec::<f32>()?), (vec![1.0, 6.0], vec![1.5, 4.5]));
    NativeBatchNormLegit.call(&x, None, None, &mean, &var, true, 1.0, 1e-5)?;
    assert_eq!((mean.to_vec::<f32>()?, var.to_vec::<f32>()?), (vec![2.0, 12.0], vec![2.0, 8.0]));
    // Without training, or where the call is refused, they stay.
    NativeBatchNormLegit.call(&x, None, None, &mean, &var, false, 1.0, 1e-5)?;
    let short = Tensor::from_slice(&[1.0f32], &[1])?;
    assert!(NativeBatchNormLegit.call(&x, Some(&short), None, &mean, &var, true, 0.5, 1e-5).is_err());
    assert_eq!((mean.to_vec::<f32>()?, var.to_vec::<f32>()?), (vec![2.0, 12.0], vec![2.0, 8.0]));
    Ok(())
}

#[test]
fn states_of_lstm_may_be_projected() -> Result<()> {
    let of = |sizes: &[i64]| {
        let numbers: Vec<f64> =
            (0..sizes.iter().product()).map(|k: i64| 0.3 - 0.1 * (k % 7) as f64).collect();
        Tensor::from_slice(&numbers, sizes)
    };
    let parameters = [of(&[8, 3])?, of(&[8, 1])?, of(&[8])?, of(&[8])?, of(&[1, 2])?];
    let states = [of(&[1, 2, 1])?, of(&[1, 2, 2])?];
    let (output, hidden, cells) =
        LstmInput.call(&of(&[4, 2, 3])?, &states, &parameters, true, 1, 0.0, false, false, false)?;
    let sizes = (output.sizes(), hidden.sizes(), cells.sizes());
    assert_eq!(sizes, (&[4, 2, 1][..], &[1, 2, 1][..], &[1, 2, 2][..]));
    assert_eq!(output.select(0, 3)?.to_vec::<f64>()?, hidden.to_vec::<f64>()?);
    Ok(())
}
