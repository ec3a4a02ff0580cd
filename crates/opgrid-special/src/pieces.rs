//! Evaluates a function by polynomials, one for each part of an interval.

/// A polynomial that stands for a function up to `end`.
pub(crate) struct Piece {
    /// The largest argument.
    pub(crate) end: f64,
    /// The argument that is mapped to zero.
    pub(crate) middle: f64,
    /// The reciprocal of half the length of the interval, which is mapped to `[-1, 1]`.
    pub(crate) scale: f64,
    /// The coefficients of the powers, the constant one first.
    pub(crate) coefficients: &'static [f64],
}

/// The function that the pieces stand for, at a number that is not beyond their ends.
pub(crate) fn evaluate(pieces: &[Piece], x: f64) -> f64 {
    let mut piece = &pieces[0];
    for next in &pieces[1..] {
        if x <= piece.end {
            break;
        }
        piece = next;
    }
    polynomial(piece.coefficients, (x - piece.middle) * piece.scale)
}

/// A polynomial by Horner's scheme, from coefficients with the constant one first.
pub(crate) fn polynomial(coefficients: &[f64], x: f64) -> f64 {
    coefficients.iter().rev().fold(0.0, |sum, coefficient| sum * x + coefficient)
}

/// The square of a number, and what it lacks of the exact one.
pub(crate) fn exact_square(x: f64) -> (f64, f64) {
    let square = x * x;
    (square, x.mul_add(x, -square))
}

/// The sum of two numbers, and what it lacks of the exact one.
pub(crate) fn exact_sum(a: f64, b: f64) -> (f64, f64) {
    let sum = a + b;
    let from_b = sum - a;
    (sum, (a - (sum - from_b)) + (b - from_b))
}
