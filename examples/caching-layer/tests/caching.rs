//! What is remembered and what is not, for typed, boxed and method calls, on one thread and several.

use std::sync::Arc;

use caching_layer::{Cache, caching, install};
use opgrid::kernels::parallel_for;
use opgrid::ops;
use opgrid::prelude::*;

struct Subject {
    dispatcher: Dispatcher,
    cache: Arc<Cache>,
    _registrations: [Registration; 2],
}

fn subject() -> Result<Subject> {
    let dispatcher = Dispatcher::new();
    let registrations = [opgrid::ops::register(&dispatcher)?, install(&dispatcher)?];
    Ok(Subject { dispatcher, cache: Arc::default(), _registrations: registrations })
}

impl Subject {
    fn run(&self, body: impl FnOnce() -> Result<()>) -> Result<()> {
        self.dispatcher.within(|| caching(&self.cache, body))?
    }
}

#[test]
fn typed_boxed_and_method_calls_share_what_is_remembered() -> Result<()> {
    let subject = subject()?;
    let x = Tensor::from_slice(&[1.0f32, 4.0], &[2])?;
    subject.run(|| {
        let first = x.sqrt()?;
        assert!(x.sqrt()?.is_same(&first) && ops::Sqrt.call(&x)?.is_same(&first));
        let boxed = subject.dispatcher.find("aten::sqrt")?.call_values(vec![Value::from(&x)])?.remove(0);
        assert!(Tensor::try_from(boxed)?.is_same(&first));
        assert_eq!(subject.cache.hits(), 3);
        // Other arguments are other calls.
        x.add(&x)?;
        x.add_with(&x, 2)?;
        assert_eq!(subject.cache.hits(), 3);
        Ok(())
    })?;
    subject.dispatcher.within(|| x.sqrt())?;
    assert_eq!(subject.cache.hits(), 3, "it is off");
    Ok(())
}

#[test]
fn a_write_through_any_view_is_seen() -> Result<()> {
    let subject = subject()?;
    let x = Tensor::from_slice(&[1.0f32, 4.0], &[2])?;
    subject.run(|| {
        assert_eq!(x.sum()?.to_vec::<f32>()?, [5.0]);
        x.select(0, 1)?.fill_(9)?;
        assert_eq!(x.sum()?.to_vec::<f32>()?, [10.0]);
        assert_eq!(subject.cache.hits(), 0);
        assert_eq!(x.sum()?.to_vec::<f32>()?, [10.0]);
        assert_eq!(subject.cache.hits(), 1);
        // A result that was written is computed anew.
        x.exp()?.fill_(0)?;
        assert_ne!(x.exp()?.to_vec::<f32>()?, [0.0, 0.0]);
        // Random numbers and views are not remembered.
        let draw = || Tensor::rand(&[4], DType::F32, Device::CPU);
        assert_ne!(draw()?.to_vec::<f32>()?, draw()?.to_vec::<f32>()?);
        assert!(!x.unsqueeze(0)?.is_same(&x.unsqueeze(0)?));
        Ok(())
    })
}

#[test]
fn a_new_tensor_in_the_place_of_an_old_one_is_another() -> Result<()> {
    let subject = subject()?;
    subject.run(|| {
        for value in 0..50i64 {
            let x = Tensor::from_slice(&[value], &[1])?;
            assert_eq!(x.add(&x)?.to_vec::<i64>()?, [2 * value]);
        }
        assert_eq!(subject.cache.hits(), 0);
        Ok(())
    })
}

#[test]
fn the_cache_goes_along_to_other_threads() -> Result<()> {
    let subject = subject()?;
    let x = Tensor::from_slice(&[1.0f32, 4.0], &[2])?;
    subject.run(|| {
        let first = x.exp()?;
        parallel_for(64, 1, &|range| {
            for _ in range {
                assert!(x.exp().unwrap().is_same(&first));
            }
        });
        Ok(())
    })?;
    assert_eq!(subject.cache.hits(), 64);
    Ok(())
}
