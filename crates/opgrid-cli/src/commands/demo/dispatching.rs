//! The first part of the demo: operators defined, called, swapped, watched, explained and run without data.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use opgrid::dispatch::Returns;
use opgrid::prelude::*;
use serde_json::json;

use super::classifier::{
    CLASSES, INK, Normalize, Scores, TRAINING, accuracy, centroids, ink_or_paper, parts,
};
use super::report::{Report, check, disagreement, percent};
use crate::digits::Digits;

impl Report {
    pub(super) fn calls(&mut self, digits: &Digits) -> Result<()> {
        self.heading("An operator of our own, called in two ways");
        self.line(Normalize::SCHEMA);
        let image = digits.images.select(0, 0)?;
        let typed = Normalize.call(&image, 1.0 / INK)?;
        self.line(format_args!("typed  Normalize.call(&image, {}), its first row:", 1.0 / INK));
        self.line(typed.select(0, 0)?);
        let arguments = vec![Value::from(&image), Value::from(1.0 / INK)];
        let results = opgrid::dispatcher()?.find("demo::normalize")?.call_with(arguments, Vec::new())?;
        let boxed = match results.as_slice() {
            [Value::Tensor(tensor)] => Tensor::try_from(tensor.clone())?,
            _ => return Err(disagreement("a boxed call gives one tensor")),
        };
        check(typed.to_vec::<f32>()? == boxed.to_vec::<f32>()?, "typed and boxed calls give the same")?;
        self.line("boxed  find(\"demo::normalize\") with a list of values: the same 64 numbers");
        Ok(())
    }

    pub(super) fn learned(&mut self, digits: &Digits) {
        let held_out = digits.count() - TRAINING;
        self.heading("A classifier made of dispatched operators");
        self.line(Scores::SCHEMA);
        self.line(format_args!("centroids of the first {TRAINING} images, tested on the {held_out} others"));
        self.line(format_args!("accuracy  {}", percent(self.accuracy)));
        self.json["accuracy"] = json!(self.accuracy);
    }

    /// Puts another kernel in front of `demo::normalize` on the CPU, and takes it away.
    pub(super) fn swap(&mut self, digits: &Digits) -> Result<()> {
        self.heading("Another kernel for one cell of the grid, for a while");
        let mut library = opgrid::dispatcher()?.implementations("demo", DispatchKey::Cpu);
        library
            .implement(Normalize)
            .add(Kernel::function::<<Normalize as Operator>::Signature>(ink_or_paper).named("ink_or_paper"));
        let registration = library.finish()?;
        let swapped = accuracy(digits)?;
        self.line(format_args!("CPU kernel ink_or_paper, pixels are 0 or 1: accuracy  {}", percent(swapped)));
        drop(registration);
        let restored = accuracy(digits)?;
        check(restored == self.accuracy, "dropping a registration brings the old kernel back")?;
        self.line(format_args!(
            "its registration dropped:                   accuracy  {}",
            percent(restored)
        ));
        self.json["swapped_accuracy"] = json!(swapped);
        self.json["restored_accuracy"] = json!(restored);
        Ok(())
    }

    /// Counts the calls of every operator by a fallback of a key that this thread includes.
    pub(super) fn watch(&mut self, digits: &Digits) -> Result<()> {
        self.heading("A hook on TESTING_ONLY_GenericMode that counts every call and redispatches it");
        let counts = Arc::new(Mutex::new(BTreeMap::<String, u64>::new()));
        let mode = DispatchKey::TestingOnlyGenericMode;
        let counter = counts.clone();
        let mut library = opgrid::dispatcher()?.implementations("_", mode);
        library.fallback(Kernel::boxed(move |call| {
            let name = call.operator().name().to_string();
            *counter.lock().unwrap_or_else(PoisonError::into_inner).entry(name).or_default() += 1;
            // Only this call goes on below the mode: what its kernel calls is counted too.
            call.redispatch(call.keys() - mode.key_set())
        }));
        let _hook = library.finish()?;
        let watched = including(mode, || accuracy(digits))?;
        check(watched == self.accuracy, "a hook changes no result")?;
        let counts = counts.lock().unwrap_or_else(PoisonError::into_inner);
        for (name, count) in counts.iter() {
            self.line(format_args!("{count:>2} x {name}"));
        }
        self.json["calls"] = json!(*counts);
        Ok(())
    }

    pub(super) fn explain(&mut self, digits: &Digits) -> Result<()> {
        self.heading("Which kernels run, and why");
        let scores = opgrid::dispatcher()?.operator(Scores)?;
        let (training, held_out) = parts(digits)?;
        let learned = centroids(&training, &digits.labels[..TRAINING as usize])?;
        let arguments = [Value::from(&held_out), Value::from(&learned)];
        let borrowed: Vec<_> = arguments.iter().map(Value::borrow).collect();
        let (result, explanation) = scores.call_explained(&borrowed, &mut Returns::new())?;
        result?;
        self.line(&explanation);
        self.json["explanation"] = explanation.to_json();
        Ok(())
    }

    /// The classifier on tensors that have shapes and no data, and an operator without a kernel.
    pub(super) fn without_data(&mut self, digits: &Digits) -> Result<()> {
        self.heading("The same operators without data, and on hardware that nobody has brought");
        let shapes = |sizes: &[i64]| Tensor::empty(sizes, opgrid::DType::F32, Device::META);
        let held_out = digits.count() - TRAINING;
        let scores = Scores.call(&shapes(&[held_out, 64])?, &shapes(&[CLASSES as i64, 64])?)?;
        self.line(format_args!("meta  {scores}"));
        let cuda: Device = "cuda".parse()?;
        let Err(error) = Tensor::empty(&[1], opgrid::DType::F32, cuda) else {
            return Err(disagreement("there is no kernel for cuda"));
        };
        self.line(format_args!("cuda  {}", error.message().split(". ").next().unwrap_or_default()));
        Ok(())
    }
}
