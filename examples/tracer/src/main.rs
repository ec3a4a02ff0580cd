//! Records `(a @ b + a) * a` on one pair of matrices, prints the recording, and replays it on another pair.

use opgrid::prelude::*;
use tracer::{install, trace};

fn main() -> Result<()> {
    let _tracer = install(opgrid::dispatcher()?)?;
    let a = Tensor::from_slice(&[1.0f32, 2.0, 3.0, 4.0], &[2, 2])?;
    let b = Tensor::from_slice(&[0.0f32, 1.0, 1.0, 0.0], &[2, 2])?;
    let (result, recording) = trace(&[a.clone(), b.clone()], |inputs| {
        let [a, b] = inputs else { return Err(Error::new(ErrorKind::Argument, "expected two matrices")) };
        a.mm(b)?.add(a)?.mul(a)
    })?;
    println!("{result}\n\n{recording}");
    println!("{}", recording.replay(&[b, a])?);
    Ok(())
}
