//! Tensors of the new dtype: made, printed, converted, joined, refused by arithmetic, written to a file and read again.

use opgrid_core::{DType, Dispatcher, Result};
use opgrid_operators as _;
use opgrid_tensor::dlpack::{Loan, Versioned};
use opgrid_tensor::tensor::{F8E5M2Fnuz, finfo, promote_types};
use opgrid_tensor::{Element, Tensor, ops};

const NEW: DType = DType::F8E5M2Fnuz;

#[test]
fn everything_works_at_once() -> Result<()> {
    let dispatcher = Dispatcher::new();
    let _operators = opgrid_tensor::register(&dispatcher)?;
    dispatcher.within(|| {
        assert_eq!(("float8_e5m2fnuz".parse::<DType>()?, NEW.size_in_bytes()), (NEW, 1));
        let x = Tensor::from_slice(&[1.1f32, -0.0, -57344.0, 1e9, f32::INFINITY, 2f32.powi(-17)], &[2, 3])?;
        let narrow = x.to_dtype(NEW)?;
        let bits: Vec<u8> = narrow.to_vec::<F8E5M2Fnuz>()?.iter().map(|x| x.to_bits()).collect();
        assert_eq!(bits, [0x40, 0, 0xff, 0x80, 0x80, 1]);
        let wide = narrow.to_dtype(DType::F64)?.to_vec::<f64>()?;
        assert_eq!((wide[..3].to_vec(), wide[5]), (vec![1.0, 0.0, -57344.0], 2f64.powi(-17)));
        assert!(wide[3].is_nan() && wide[4].is_nan());
        assert_eq!((finfo(NEW)?.max, finfo(NEW)?.smallest_normal), (57344.0, 2f64.powi(-15)));
        // Every value but NaN is what it is after a way there and back.
        for bits in (0..=u8::MAX).filter(|bits| *bits != 0x80) {
            let value: f32 = F8E5M2Fnuz::from_bits(bits).cast();
            assert_eq!(value.cast::<F8E5M2Fnuz>().to_bits(), bits, "{value}");
        }

        assert!(narrow.to_string().contains("float8_e5m2fnuz"), "{narrow}");
        assert_eq!(ops::Cat.call(&[narrow.clone(), narrow.clone()], 0)?.sizes(), [4, 3]);
        assert_eq!(narrow.t()?.contiguous()?.sizes(), [3, 2]);
        let refusal = narrow.add(&narrow).unwrap_err().to_string();
        assert!(refusal.contains("not implemented for 'Float8_e5m2fnuz'"), "{refusal}");
        assert!(promote_types(NEW, DType::F32).is_err());

        let file = std::env::temp_dir().join(format!("opgrid-recipe-{}.safetensors", std::process::id()));
        let file = file.to_str().expect("the folder's name is text");
        narrow.save(&format!("{file}:x"))?;
        let read = Tensor::load(&format!("{file}:x"))?;
        std::fs::remove_file(file).expect("the file was written");
        let shared = Loan::<Versioned>::from_tensor(&read, false)?.into_tensor()?;
        assert_eq!(shared.dtype(), NEW);
        let again: Vec<u8> = shared.to_vec::<F8E5M2Fnuz>()?.iter().map(|x| x.to_bits()).collect();
        assert_eq!(again, [0x40, 0, 0xff, 0x80, 0x80, 1]);
        Ok(())
    })
}
