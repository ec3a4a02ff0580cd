//! Learning rates that change from step to step.
//!
//! A [`Schedule`] says what rate a group has at a step, given the one that it began with. A [`Scheduler`] counts the steps and
//! sets the rates of an optimizer. Because rates follow from the number of steps, a run goes on with that number alone.
//!
//! # Examples
//!
//! Warm-up over 10 steps, then a cosine down to zero:
//!
//! ```
//! use opgrid_nn::Linear;
//! use opgrid_nn::Module;
//! use opgrid_nn::optim::schedule::{CosineAnnealingLR, LinearLR, SequentialLR};
//! use opgrid_nn::optim::{AdamW, Optimizer, Scheduler};
//!
//! let mut optimizer = AdamW::new(Linear::new(2, 2)?.parameters(), 1e-3)?;
//! let warm_up = LinearLR { start_factor: 0.1, end_factor: 1.0, total_iters: 10 };
//! let schedule = SequentialLR::new(warm_up, 10, CosineAnnealingLR { t_max: 90.0, eta_min: 0.0 });
//! let mut scheduler = Scheduler::new(&mut optimizer, schedule);
//! for _ in 0..100 {
//!     optimizer.step()?;
//!     scheduler.step(&mut optimizer);
//! }
//! assert!(optimizer.rates()[0] < 1e-9);
//! # Ok::<(), opgrid_core::Error>(())
//! ```

use std::f64::consts::PI;
use std::fmt;

use opgrid_core::deferred_drop::Flat;

use super::Optimizer;

/// What rate a group has at a step.
pub trait Schedule {
    /// The rate at a step, counted from 0, of a group that began with `base`.
    fn rate(&self, base: f64, step: u64) -> f64;
}

/// Counts steps and sets the learning rates of an optimizer by a schedule.
pub struct Scheduler {
    schedule: Flat<Box<dyn Schedule + Send + Sync>>,
    bases: Vec<f64>,
    steps: u64,
}

impl Scheduler {
    /// Sets the rates of step 0. What the optimizer has until then are the rates that the schedule begins with.
    pub fn new(optimizer: &mut dyn Optimizer, schedule: impl Schedule + Send + Sync + 'static) -> Self {
        let scheduler = Self { schedule: Flat::new(Box::new(schedule)), bases: optimizer.rates(), steps: 0 };
        scheduler.set(optimizer);
        scheduler
    }

    /// Sets the rates of the next step; call it after that of the optimizer.
    pub fn step(&mut self, optimizer: &mut dyn Optimizer) {
        self.steps += 1;
        self.set(optimizer);
    }

    /// How many steps there were.
    pub fn steps(&self) -> u64 {
        self.steps
    }

    /// Goes on after that many steps, as when a run is resumed.
    pub fn resume(&mut self, steps: u64, optimizer: &mut dyn Optimizer) {
        self.steps = steps;
        self.set(optimizer);
    }

    fn set(&self, optimizer: &mut dyn Optimizer) {
        let rates: Vec<f64> = self.bases.iter().map(|base| self.schedule.rate(*base, self.steps)).collect();
        optimizer.set_rates(&rates);
    }
}

impl fmt::Debug for Scheduler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { bases, steps, .. } = self;
        f.debug_struct("Scheduler").field("bases", bases).field("steps", steps).finish_non_exhaustive()
    }
}

/// Multiplies the rate by `gamma` every `step_size` steps.
#[derive(Clone, Copy, Debug)]
pub struct StepLR {
    /// After how many steps the rate changes; 0 counts as 1.
    pub step_size: u64,
    /// By what it is multiplied.
    pub gamma: f64,
}

impl Schedule for StepLR {
    fn rate(&self, base: f64, step: u64) -> f64 {
        base * self.gamma.powf((step / self.step_size.max(1)) as f64)
    }
}

/// Follows a cosine from the first rate to `eta_min` in `t_max` steps, and back.
#[derive(Clone, Copy, Debug)]
pub struct CosineAnnealingLR {
    /// The number of steps down.
    pub t_max: f64,
    /// The lowest rate.
    pub eta_min: f64,
}

impl Schedule for CosineAnnealingLR {
    fn rate(&self, base: f64, step: u64) -> f64 {
        self.eta_min + (base - self.eta_min) * (1.0 + (PI * step as f64 / self.t_max).cos()) / 2.0
    }
}

/// The first rate times a factor that moves evenly from one to another, and stays.
#[derive(Clone, Copy, Debug)]
pub struct LinearLR {
    /// The factor at first.
    pub start_factor: f64,
    /// The factor in the end.
    pub end_factor: f64,
    /// The number of steps between them.
    pub total_iters: u64,
}

impl Schedule for LinearLR {
    fn rate(&self, base: f64, step: u64) -> f64 {
        if step >= self.total_iters {
            return base * self.end_factor;
        }
        let part = step as f64 / self.total_iters as f64;
        base * (self.start_factor + (self.end_factor - self.start_factor) * part)
    }
}

/// The first rate times a function of the number of steps.
#[derive(Clone, Copy, Debug)]
pub struct LambdaLR(pub fn(u64) -> f64);

impl Schedule for LambdaLR {
    fn rate(&self, base: f64, step: u64) -> f64 {
        base * (self.0)(step)
    }
}

/// One schedule, then another that begins anew with the first rate.
pub struct SequentialLR {
    first: Flat<Box<dyn Schedule + Send + Sync>>,
    steps: u64,
    then: Flat<Box<dyn Schedule + Send + Sync>>,
}

impl SequentialLR {
    /// `first` for that many steps, `then` from there on, which may be a sequence itself.
    pub fn new(
        first: impl Schedule + Send + Sync + 'static,
        steps: u64,
        then: impl Schedule + Send + Sync + 'static,
    ) -> Self {
        Self { first: Flat::new(Box::new(first)), steps, then: Flat::new(Box::new(then)) }
    }
}

impl Schedule for SequentialLR {
    fn rate(&self, base: f64, step: u64) -> f64 {
        match step.checked_sub(self.steps) {
            None => self.first.rate(base, step),
            Some(step) => self.then.rate(base, step),
        }
    }
}

impl fmt::Debug for SequentialLR {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SequentialLR").field("steps", &self.steps).finish_non_exhaustive()
    }
}
