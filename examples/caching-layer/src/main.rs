//! Computes a product twice, and once more after its factor was written.

use std::sync::Arc;

use caching_layer::{Cache, caching, install};
use opgrid::prelude::*;

fn main() -> Result<()> {
    let _layer = install(opgrid::dispatcher()?)?;
    let (cache, x) = (Arc::<Cache>::default(), Tensor::ones(&[64, 64], DType::F32, Device::CPU)?);
    caching(&cache, || -> Result<()> {
        x.mm(&x)?;
        x.mm(&x)?;
        println!("{} of 2 products were remembered", cache.hits());
        x.select(0, 0)?.fill_(2)?;
        x.mm(&x)?;
        println!("{} of 3 after a row was written", cache.hits());
        Ok(())
    })?
}
