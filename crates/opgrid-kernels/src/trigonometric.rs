//! Sine, cosine, tangent and their inverses as polynomials, without branches and calls: loops over them become vector code.
//!
//! Errors are below two units in the last place for single precision and below three for double; the tests compare with the
//! standard library.

use opgrid_array::loops::polynomials::{Fused, horner};

/// Trigonometric functions of real numbers and their inverses.
pub(super) trait Trigonometric: Copy {
    /// Whether sine, cosine and tangent of this are right: beyond, more digits of pi are needed.
    fn is_near(self) -> bool;

    /// The sine, by products and sums at once or, for processors that have no instruction for that, mostly by rounded ones.
    fn sine<const FUSED: bool>(self) -> Self;

    /// The cosine.
    fn cosine<const FUSED: bool>(self) -> Self;

    /// The tangent.
    fn tangent<const FUSED: bool>(self) -> Self;

    /// The inverse of the sine.
    fn arc_sine(self) -> Self;

    /// The inverse of the cosine.
    fn arc_cosine(self) -> Self;

    /// The inverse of the tangent.
    fn arc_tangent(self) -> Self;

    /// The angle of the point with this second coordinate and that first one.
    fn angle(self, x: Self) -> Self;
}

/// What differs between the types: widths, parts of pi / 2, and how many terms are needed.
macro_rules! trigonometric {
    ($float:ident, $unsigned:ident {
        fraction: $fraction:literal,
        near: $near:literal,
        quarter: [$first:expr, $second:literal, $third:literal],
        $(rest, unfused: |$x:ident, $quarters:ident| $rest:expr,)?
        sine: [$($sine:expr),+],
        cosine: [$($cosine:expr),+],
        arc_sine: [$($arc_sine:expr),+] / [$($under:expr),+],
        arc_tangent: [$($arc_tangent:expr),+],
    }) => {
        const _: () = {
            /// Sine and cosine of what is left of an angle beside the next multiple of a quarter turn, and that multiple.
            ///
            /// What is left after the first step is a multiple of the last digit of the first part, and exact.
            #[inline(always)]
            fn reduced<const FUSED: bool>(x: $float) -> ($float, $float, $unsigned) {
                const ROUND: $float = 1.5 * (1u64 << $fraction) as $float;
                let shifted = x.fused::<FUSED>(std::$float::consts::FRAC_2_PI, ROUND);
                let quarters = shifted - ROUND;
                let r = quarters.mul_add(-$third, quarters.mul_add(-$second, quarters.mul_add(-$first, x)));
                // Without an instruction for them these are calls.
                $(let r = if FUSED {
                    r
                } else {
                    let ($x, $quarters) = (x, quarters);
                    $rest
                };)?
                let z = r * r;
                let sine = (r * z).fused::<FUSED>(horner!(FUSED: z; $($sine),+), r);
                let middle = z.fused::<FUSED>(-0.5, 1.0);
                let cosine = (z * z).fused::<FUSED>(horner!(FUSED: z; $($cosine),+), middle);
                (sine, cosine, shifted.to_bits())
            }

            /// The number with another sign where the bit of weight 2 is set.
            #[inline(always)]
            fn with_sign(x: $float, quarters: $unsigned) -> $float {
                $float::from_bits(x.to_bits() ^ ((quarters & 2) << ($unsigned::BITS - 2)))
            }

            /// The inverse of the sine up to 1/2, and its square, beyond the number itself.
            #[inline(always)]
            fn bend(z: $float) -> $float {
                z * (horner!(z; $($arc_sine),+)) / (horner!(z; $($under),+))
            }

            impl Trigonometric for $float {
                #[inline(always)]
                fn is_near(self) -> bool {
                    // NaN and infinity give NaN in both ways.
                    !(self.abs() > $near && self.abs() < $float::INFINITY)
                }

                #[inline(always)]
                fn sine<const FUSED: bool>(self) -> Self {
                    let (sine, cosine, quarters) = reduced::<FUSED>(self);
                    let result = with_sign(if quarters & 1 == 0 { sine } else { cosine }, quarters);
                    // The sign of zero stays.
                    if self == 0.0 { self } else { result }
                }

                #[inline(always)]
                fn cosine<const FUSED: bool>(self) -> Self {
                    let (sine, cosine, quarters) = reduced::<FUSED>(self);
                    with_sign(if quarters & 1 == 0 { cosine } else { sine }, quarters.wrapping_add(quarters & 1))
                }

                #[inline(always)]
                fn tangent<const FUSED: bool>(self) -> Self {
                    let (sine, cosine, quarters) = reduced::<FUSED>(self);
                    let result = if quarters & 1 == 0 { sine / cosine } else { -cosine / sine };
                    if self == 0.0 { self } else { result }
                }

                /// Beyond 1/2 by `pi/2 - 2 asin(sqrt((1 - x) / 2))`.
                #[inline(always)]
                fn arc_sine(self) -> Self {
                    let magnitude = self.abs();
                    let is_far = magnitude > 0.5;
                    let far = 0.5 - 0.5 * magnitude;
                    let z = if is_far { far } else { self * self };
                    let s = if is_far { far.sqrt() } else { magnitude };
                    let angle = s.mul_add(bend(z), s);
                    let result = if is_far { ($first - (angle + angle)) + $second } else { angle };
                    result.copysign(self)
                }

                /// Beyond 1/2 by `2 asin(sqrt((1 - x) / 2))`, below -1/2 by what is left of pi.
                #[inline(always)]
                fn arc_cosine(self) -> Self {
                    let magnitude = self.abs();
                    let is_far = magnitude > 0.5;
                    let far = 0.5 - 0.5 * magnitude;
                    let z = if is_far { far } else { self * self };
                    let s = if is_far { far.sqrt() } else { self };
                    let angle = s.mul_add(bend(z), s);
                    let twice = angle + angle;
                    let far = if self < 0.0 { (2.0 * $first - twice) + 2.0 * $second } else { twice };
                    if is_far { far } else { ($first - angle) + $second }
                }

                /// Beyond 1 by that of the inverse, beyond an eighth of a turn's half by the rotation of 1/8 turn.
                #[inline(always)]
                fn arc_tangent(self) -> Self {
                    const EIGHTH: $float = std::$float::consts::SQRT_2 - 1.0;
                    let magnitude = self.abs();
                    let is_far = magnitude > 1.0;
                    let t = if is_far { 1.0 / magnitude } else { magnitude };
                    let is_turned = t > EIGHTH;
                    let t = if is_turned { (t - 1.0) / (t + 1.0) } else { t };
                    let z = t * t;
                    let angle = (t * z).mul_add(horner!(z; $($arc_tangent),+), t);
                    let angle = if is_turned { (0.5 * $first + angle) + 0.5 * $second } else { angle };
                    let angle = if is_far { ($first - angle) + $second } else { angle };
                    angle.copysign(self)
                }

                /// By the inverse of the tangent of the smaller coordinate divided by the larger one.
                #[inline(always)]
                fn angle(self, x: Self) -> Self {
                    let (height, width) = (self.abs(), x.abs());
                    let is_steep = height > width;
                    let (small, large) = if is_steep { (width, height) } else { (height, width) };
                    // Of two infinities, and of two zeros.
                    let of_equals = if large == 0.0 { 0.0 } else { 1.0 };
                    let ratio = if small == large { of_equals } else { small / large };
                    let angle = ratio.arc_tangent();
                    let angle = if is_steep { ($first - angle) + $second } else { angle };
                    let is_behind = x.is_sign_negative();
                    let angle = if is_behind { (2.0 * $first - angle) + 2.0 * $second } else { angle };
                    angle.copysign(self)
                }
            }
        };
    };
}

// Sines and cosines are polynomials through the Chebyshev points of `[0, (pi / 4)^2]`, with as many terms as leave an error below
// a quarter of a unit in the last place. Source of the coefficients of the inverses: Sun Microsystems, fdlibm, `e_asin`,
// `s_atan`; S. L. Moshier, Cephes, `atanf`.
trigonometric!(
    f32,
    u32 {
        fraction: 23,
        near: 1e6,
        quarter: [std::f32::consts::FRAC_PI_2, -4.371_139e-8, -1.715_124_5e-15],
        // In double precision; the first part of pi / 2 has 33 digits, so that its product is exact.
        rest,
        unfused: |x, quarters| {
            let (x, quarters) = (f64::from(x), f64::from(quarters));
            ((x - quarters * 1.570_796_326_734_125_6) - quarters * 6.077_100_506_506_192e-11) as f32
        },
        sine: [-0.166_666_64, 8.332_747e-3, -1.958_763_9e-4],
        cosine: [4.166_666_4e-2, -1.388_830_1e-3, 2.454_769e-5],
        arc_sine: [1.666_658_7e-1, -4.274_342_2e-2, -8.656_363e-3] / [1.0, -7.066_296_3e-1],
        arc_tangent: [-3.333_295e-1, 1.997_771_1e-1, -1.387_768_6e-1, 8.053_744_5e-2],
    }
);

trigonometric!(
    f64,
    u64 {
        fraction: 52,
        near: 1e9,
        quarter: [std::f64::consts::FRAC_PI_2, 6.123_233_995_736_766e-17, -1.497_384_904_859_169_8e-33],
        sine: [
            -0.166_666_666_666_666_66,
            8.333_333_333_330_936e-3,
            -1.984_126_983_674_053_2e-4,
            2.755_731_609_319_840_4e-6,
            -2.505_112_989_645_018_5e-8,
            1.591_798_897_939_743_5e-10
        ],
        cosine: [
            4.166_666_666_666_666_4e-2,
            -1.388_888_888_888_738_9e-3,
            2.480_158_729_875_44e-5,
            -2.755_731_726_587_808e-7,
            2.087_614_504_941_318e-9,
            -1.138_254_464_534_925e-11
        ],
        arc_sine: [
            1.666_666_666_666_666_6e-1,
            -3.255_658_186_224_009e-1,
            2.012_125_321_348_629_3e-1,
            -4.005_553_450_067_941e-2,
            7.915_349_942_898_145e-4,
            3.479_331_075_960_212e-5
        ] / [
            1.0,
            -2.403_394_911_734_414,
            2.020_945_760_233_505_7,
            -6.882_839_716_054_533e-1,
            7.703_815_055_590_194e-2
        ],
        arc_tangent: [
            -3.333_333_333_333_293e-1,
            1.999_999_999_987_648_3e-1,
            -1.428_571_427_250_346_6e-1,
            1.111_111_040_546_235_6e-1,
            -9.090_887_133_436_507e-2,
            7.691_876_205_044_83e-2,
            -6.661_073_137_387_531e-2,
            5.833_570_133_790_573_5e-2,
            -4.976_877_994_615_932_4e-2,
            3.653_157_274_421_691_6e-2,
            -1.628_582_011_536_578_2e-2
        ],
    }
);

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers from `-most` to `most`, with zero.
    fn inputs(most: f64) -> impl Iterator<Item = f64> {
        (-100_000..=100_000).map(move |i| most * f64::from(i) / 100_000.0)
    }

    /// Whether each result is so many units in the last place from the exact one at most.
    fn is_within(units: f64, eps: f64, pairs: impl Iterator<Item = (f64, f64)>) -> bool {
        pairs.fold(true, |all, (found, exact)| {
            all & (found == exact || (found - exact).abs() <= units * eps * exact.abs())
        })
    }

    #[test]
    fn points_have_their_angle() {
        let ends = [0.0, -0.0, 1.0, -3.0, 1e-30, -1e30, f64::INFINITY, f64::NEG_INFINITY, f64::NAN];
        let all = (-40..40).map(|i| f64::from(i) * 0.37).chain(ends);
        for (y, x) in all.clone().flat_map(|y| all.clone().map(move |x| (y, x))) {
            let exact = y.atan2(x);
            let is_same = |found: f64, units: f64| {
                if exact.is_nan() {
                    found.is_nan()
                } else {
                    found.is_sign_negative() == exact.is_sign_negative()
                        && (found - exact).abs() <= units * exact.abs()
                }
            };
            assert!(is_same(y.angle(x), 4.0 * f64::EPSILON), "{y} and {x}");
            let single = f64::from((y as f32).angle(x as f32));
            assert!(is_same(single, 4.0 * f64::from(f32::EPSILON)), "{y} and {x}");
        }
    }

    #[test]
    fn unfused_errors_are_below_four_units() {
        type Functions = (fn(f32) -> f32, fn(f64) -> f64, fn(f64) -> f64);
        let functions: [Functions; 3] = [
            (f32::sine::<false>, f64::sine::<false>, f64::sin),
            (f32::cosine::<false>, f64::cosine::<false>, f64::cos),
            (f32::tangent::<false>, f64::tangent::<false>, f64::tan),
        ];
        for ((single, double, exact), most) in
            functions.iter().flat_map(|functions| [1.0, 1e3, 1e6].map(|most| (functions, most)))
        {
            let singles = inputs(most).map(|x| (f64::from(single(x as f32)), exact(f64::from(x as f32))));
            assert!(is_within(4.0, f64::from(f32::EPSILON), singles), "single precision up to {most}");
            assert!(is_within(4.0, f64::EPSILON, inputs(most).map(|x| (double(x), exact(x)))), "{most}");
        }
        assert!((-0.0f32).sine::<false>().is_sign_negative() && f32::NAN.cosine::<false>().is_nan());
    }

    #[test]
    fn errors_are_below_two_units_of_single_and_three_of_double_precision() {
        type Functions = (fn(f32) -> f32, fn(f64) -> f64, fn(f64) -> f64);
        let turning: [Functions; 3] = [
            (f32::sine::<true>, f64::sine::<true>, f64::sin),
            (f32::cosine::<true>, f64::cosine::<true>, f64::cos),
            (f32::tangent::<true>, f64::tangent::<true>, f64::tan),
        ];
        let inverse: [Functions; 3] = [
            (f32::arc_sine, f64::arc_sine, f64::asin),
            (f32::arc_cosine, f64::arc_cosine, f64::acos),
            (f32::arc_tangent, f64::arc_tangent, f64::atan),
        ];
        let turning = turning.iter().flat_map(|functions| [1.0, 1e3, 1e6].map(|most| (functions, most)));
        let inverse = inverse.iter().map(|functions| (functions, 1.0)).chain([(&inverse[2], 1e5)]);
        for ((single, double, exact), most) in turning.chain(inverse) {
            let singles = inputs(most).map(|x| (f64::from(single(x as f32)), exact(f64::from(x as f32))));
            assert!(is_within(2.0, f64::from(f32::EPSILON), singles), "single precision up to {most}");
            assert!(
                is_within(3.0, f64::EPSILON, inputs(most).map(|x| (double(x), exact(x)))),
                "double up to {most}"
            );
        }
        assert!(is_within(3.0, f64::EPSILON, inputs(1e9).map(|x| (x.sine::<true>(), x.sin()))));
    }

    #[test]
    fn zeros_keep_their_sign_and_what_has_no_value_is_nan() {
        for x in [0.0f64, -0.0] {
            let found = [x.sine::<true>(), x.tangent::<true>(), x.arc_sine(), x.arc_tangent()];
            assert!(found.iter().all(|found| found.to_bits() == x.to_bits()), "{x}: {found:?}");
        }
        for x in [f64::INFINITY, f64::NEG_INFINITY, f64::NAN] {
            assert!(
                x.is_near()
                    && [x.sine::<true>(), x.cosine::<true>(), x.tangent::<true>()]
                        .iter()
                        .all(|found| found.is_nan()),
                "{x}"
            );
        }
        assert!([1.5f64, -1.5, f64::NAN].iter().all(|x| x.arc_sine().is_nan() && x.arc_cosine().is_nan()));
        assert!(
            f64::NAN.arc_tangent().is_nan() && f32::INFINITY.arc_tangent() == std::f32::consts::FRAC_PI_2
        );
        assert!(!1e10f64.is_near() && !(-1e7f32).is_near() && 1e5f32.is_near());
    }
}
