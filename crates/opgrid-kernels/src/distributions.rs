//! Draws from the Poisson, the binomial and the gamma distribution.
//!
//! With the Mersenne Twister, draws are those that torch makes of the same seed: its algorithms, which are published ones, in its order.
//! For numbers that a distribution does not have, such as NaN, each says what it gives instead of drawing without end.

use opgrid_array::random::Random;
use opgrid_special::ln_gamma;

/// A number of events that happen at `rate` on average; NaN if the rate is NaN, infinite if it is.
///
/// Source: below 10 by the product of uniform numbers, D. E. Knuth, The Art of Computer Programming 2, 3.4.1; above by transformed rejection,
/// W. Hörmann, The Transformed Rejection Method for Generating Poisson Random Variables (1993), algorithm PTRS.
pub fn poisson(random: &mut Random, rate: f64) -> f64 {
    if rate == 0.0 || !rate.is_finite() {
        return rate;
    }
    if rate < 10.0 {
        let least = (-rate).exp();
        let (mut count, mut product) = (0.0, random.uniform(53));
        while product > least {
            count += 1.0;
            product *= random.uniform(53);
        }
        return count;
    }
    let b = 0.931 + 2.53 * rate.sqrt();
    let a = -0.059 + 0.02483 * b;
    let inverse_alpha = 1.1239 + 1.1328 / (b - 3.4);
    let tight = 0.9277 - 3.6224 / (b - 2.0);
    loop {
        let u = random.uniform(53) - 0.5;
        let v = random.uniform(53);
        let distance = 0.5 - u.abs();
        let k = ((2.0 * a / distance + b) * u + rate + 0.43).floor();
        if distance >= 0.07 && v <= tight {
            return k;
        }
        if k < 0.0 || (distance < 0.013 && v > distance) {
            continue;
        }
        let proposed = v.ln() + inverse_alpha.ln() - (a / (distance * distance) + b).ln();
        if proposed <= -rate + k * rate.ln() - ln_gamma(k + 1.0) {
            return k;
        }
    }
}

/// How many of `count` trials succeed, each with probability `p`; none for less than no trials or a `p` below zero, all for a `p` above one, NaN where an argument is.
pub fn binomial(random: &mut Random, count: f64, p: f64) -> f64 {
    if count.is_nan() || p.is_nan() {
        return f64::NAN;
    }
    if count <= 0.0 || p <= 0.0 {
        return 0.0;
    }
    if p >= 1.0 || count.is_infinite() {
        return count;
    }
    if p > 0.5 { count - rare_successes(random, count, 1.0 - p) } else { rare_successes(random, count, p) }
}

/// [`binomial`] for a `p` up to one half.
fn rare_successes(random: &mut Random, count: f64, p: f64) -> f64 {
    if count * p < 10.0 { by_waiting(random, count, p) } else { by_rejection(random, count, p) }
}

/// How many successes there are before `count` trials are over, with waiting times of the geometric distribution.
///
/// Source: L. Devroye, Non-Uniform Random Variate Generation (1986), X.4.3, "second waiting time algorithm".
fn by_waiting(random: &mut Random, count: f64, p: f64) -> f64 {
    let log_failure = (-p).ln_1p();
    let (mut successes, mut trials) = (0.0, 0.0);
    loop {
        trials += (random.uniform(53).ln() / log_failure).ceil();
        if trials > count {
            return successes;
        }
        successes += 1.0;
    }
}

/// Source: W. Hörmann, The Generation of Binomial Random Variates, Journal of Statistical Computation and Simulation 46 (1993), algorithm BTRS.
fn by_rejection(random: &mut Random, count: f64, p: f64) -> f64 {
    let deviation = (count * p * (1.0 - p)).sqrt();
    let b = 1.15 + 2.53 * deviation;
    let a = -0.0873 + 0.0248 * b + 0.01 * p;
    let center = count * p + 0.5;
    let tight = 0.92 - 4.2 / b;
    let odds = p / (1.0 - p);
    let alpha = (2.83 + 5.1 / b) * deviation;
    let mode = ((count + 1.0) * p).floor();
    loop {
        let u = random.uniform(53) - 0.5;
        let v = random.uniform(53);
        let distance = 0.5 - u.abs();
        let k = ((2.0 * a / distance + b) * u + center).floor();
        if distance >= 0.07 && v <= tight {
            return k;
        }
        if k < 0.0 || k > count {
            continue;
        }
        let proposed = (v * alpha / (a / (distance * distance) + b)).ln();
        let density = (mode + 0.5) * ((mode + 1.0) / (odds * (count - mode + 1.0))).ln()
            + (count + 1.0) * ((count - mode + 1.0) / (count - k + 1.0)).ln()
            + (k + 0.5) * (odds * (count - k + 1.0) / (k + 1.0)).ln()
            + stirling_rest(mode)
            + stirling_rest(count - mode)
            - stirling_rest(k)
            - stirling_rest(count - k);
        if proposed <= density {
            return k;
        }
    }
}

/// What Stirling's formula lacks of the logarithm of the factorial of `k`.
fn stirling_rest(k: f64) -> f64 {
    const LEAST: [f64; 10] = [
        0.081_061_466_795_327_2,
        0.041_340_695_955_409_3,
        0.027_677_925_684_998_3,
        0.020_790_672_103_765_1,
        0.016_644_691_189_821_2,
        0.013_876_128_823_070_7,
        0.011_896_709_945_891_8,
        0.010_411_265_261_972_1,
        0.009_255_462_182_712_73,
        0.008_330_563_433_362_87,
    ];
    if (0.0..=9.0).contains(&k) {
        return LEAST[k as usize];
    }
    let square = (k + 1.0) * (k + 1.0);
    (1.0 / 12.0 - (1.0 / 360.0 - 1.0 / 1260.0 / square) / square) / (k + 1.0)
}

/// A number of the gamma distribution of shape `a` and scale one; zero for shape zero, NaN for a negative shape or NaN, infinite for an infinite one.
///
/// Source: G. Marsaglia and W. W. Tsang, A Simple Method for Generating Gamma Variables, ACM TOMS 26 (2000).
pub fn standard_gamma(random: &mut Random, a: f64) -> f64 {
    if a.is_nan() || a < 0.0 {
        return f64::NAN;
    }
    if a == 0.0 || a.is_infinite() {
        return a;
    }
    // Below one, a sample of the next larger shape is scaled.
    let (a, scale) = if a < 1.0 { (a + 1.0, (1.0 - random.uniform(53)).powf(1.0 / a)) } else { (a, 1.0) };
    // torch's constants are of single precision, on which the last digits depend.
    let d = a - f64::from(1.0f32 / 3.0);
    let c = 1.0 / (9.0 * d).sqrt();
    loop {
        let (x, y) = loop {
            let x = random.normal();
            let y = 1.0 + c * x;
            if y > 0.0 {
                break (x, y);
            }
        };
        let v = y * y * y;
        let u = 1.0 - random.uniform(53);
        let square = x * x;
        if u < 1.0 - f64::from(0.0331f32) * square * square || u.ln() < 0.5 * square + d * (1.0 - v + v.ln())
        {
            return scale * d * v;
        }
    }
}
