//! Factors multiply to what was factored, for every number and for sizes below and above where blocks begin.

use opgrid_linalg::{Application, Complex, Field, Triangle};

/// What the tests compute with: numbers from pairs of doubles, and back.
trait Number: Field + PartialEq {
    const EPS: f64;
    const ZERO: Self::Real;
    fn new(re: f64, im: f64) -> Self;
    fn parts(self) -> Complex<f64>;
    fn double(value: Self::Real) -> f64;
}

macro_rules! numbers {
    ($($type:ty: $real:ident, $new:expr, $parts:expr;)*) => {
        $(impl Number for $type {
            const EPS: f64 = $real::EPSILON as f64;
            const ZERO: $real = 0.0;
            fn new(re: f64, im: f64) -> Self {
                $new(re, im)
            }
            fn parts(self) -> Complex<f64> {
                $parts(self)
            }
            fn double(value: $real) -> f64 {
                f64::from(value)
            }
        })*
    };
}

numbers! {
    f32: f32, |re, _: f64| re as f32, |x: f32| Complex::new(f64::from(x), 0.0);
    f64: f64, |re, _: f64| re, |x: f64| Complex::new(x, 0.0);
    Complex<f32>: f32, |re, im| Complex::new(re as f32, im as f32),
        |x: Complex<f32>| Complex::new(f64::from(x.re), f64::from(x.im));
    Complex<f64>: f64, Complex::new, |x: Complex<f64>| x;
}

/// A matrix in double precision.
#[derive(Clone)]
struct Matrix {
    rows: usize,
    columns: usize,
    elements: Vec<Complex<f64>>,
}

impl Matrix {
    fn from_fn(rows: usize, columns: usize, element: impl Fn(usize, usize) -> Complex<f64>) -> Self {
        let elements = (0..rows * columns).map(|at| element(at % rows, at / rows)).collect();
        Self { rows, columns, elements }
    }

    fn of<T: Number>(elements: &[T], rows: usize, columns: usize) -> Self {
        Self { rows, columns, elements: elements.iter().map(|element| element.parts()).collect() }
    }

    fn at(&self, i: usize, j: usize) -> Complex<f64> {
        self.elements[j * self.rows + i]
    }

    fn times(&self, other: &Self) -> Self {
        Self::from_fn(self.rows, other.columns, |i, j| {
            (0..self.columns).map(|k| self.at(i, k) * other.at(k, j)).sum()
        })
    }

    fn adjoint(&self) -> Self {
        Self::from_fn(self.columns, self.rows, |i, j| self.at(j, i).conj())
    }

    fn triangle(&self, is_upper: bool, is_unit: bool) -> Self {
        Self::from_fn(self.rows, self.columns, |i, j| match i.cmp(&j) {
            std::cmp::Ordering::Equal if is_unit => 1.0.into(),
            std::cmp::Ordering::Equal => self.at(i, j),
            order if order.is_lt() == is_upper => self.at(i, j),
            _ => 0.0.into(),
        })
    }

    fn columns(&self, count: usize) -> Self {
        Self::from_fn(self.rows, count, |i, j| self.at(i, j))
    }

    fn rows(&self, count: usize) -> Self {
        Self::from_fn(count, self.columns, |i, j| self.at(i, j))
    }

    fn diagonal(values: &[Complex<f64>]) -> Self {
        Self::from_fn(values.len(), values.len(), |i, j| if i == j { values[i] } else { 0.0.into() })
    }

    /// Equal up to what rounding does to sums of so many products of numbers of about 1.
    #[track_caller]
    fn assert_near<T: Number>(&self, expected: &Self) {
        assert_eq!((self.rows, self.columns), (expected.rows, expected.columns));
        let bound = 64.0 * T::EPS * (self.rows.max(self.columns) + 4) as f64;
        for (found, expected) in self.elements.iter().zip(&expected.elements) {
            assert!((found - expected).norm() <= bound, "found {found}, expected {expected}, within {bound}");
        }
    }
}

/// Numbers between -1 and 1, the same in each run.
fn random<T: Number>(rows: usize, columns: usize, seed: u64) -> Vec<T> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(rows as u64 * 31 + columns as u64);
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 11) as f64 / (1_u64 << 52) as f64 - 1.0
    };
    (0..rows * columns).map(|_| T::new(next(), next())).collect()
}

const SIZES: [usize; 9] = [0, 1, 2, 5, 8, 9, 17, 40, 97];

fn of_each_number(test: [fn(); 4]) {
    test.into_iter().for_each(|test| test());
}

macro_rules! for_each_number {
    ($($name:ident)*) => {
        $(#[test]
        fn $name() {
            of_each_number([
                checks::$name::<f32>,
                checks::$name::<f64>,
                checks::$name::<Complex<f32>>,
                checks::$name::<Complex<f64>>,
            ]);
        })*
    };
}

for_each_number! {
    triangles_multiply_to_a_permuted_matrix
    what_was_factored_solves_equations
    a_triangle_and_its_adjoint_multiply_to_a_matrix
    matrices_that_are_not_positive_definite_are_found
    triangles_around_blocks_solve_equations
    exponentials_of_a_matrix_and_its_negative_are_inverse
    exponentials_of_hermitian_matrices_have_those_of_eigenvalues
    reflections_and_a_triangle_multiply_to_a_matrix
    triangles_of_columns_far_from_each_other_are_finite
    eigenvectors_of_hermitian_matrices_are_orthonormal
    eigenvectors_are_only_made_longer
    singular_vectors_multiply_to_a_matrix
    what_is_not_finite_has_no_eigenvalues
    factors_of_matrices_far_from_one_are_those_of_near_ones
}

mod checks {
    use super::*;

    /// Squares of the elements overflow or vanish; factors are powers of two, so that results differ by them alone.
    pub fn factors_of_matrices_far_from_one_are_those_of_near_ones<T: Number>() {
        let (m, n) = (5, 4);
        let far = if T::EPS < 1e-10 { 900 } else { 100 };
        for factor in [2.0_f64.powi(-far), 2.0_f64.powi(far)] {
            let times = |matrix: &[T]| -> Vec<T> {
                let parts = matrix.iter().map(|x| x.parts() * factor);
                parts.map(|x| T::new(x.re, x.im)).collect()
            };
            let near = |found: &[T::Real], expected: &[T::Real]| {
                for (found, expected) in doubles::<T>(found).iter().zip(doubles::<T>(expected)) {
                    let error = (found / factor - expected).abs();
                    assert!(error <= 64.0 * T::EPS, "{found} {expected} {factor}");
                }
            };
            let matrix: Vec<T> = random(m, n, 17);
            let (mut values, mut expected) = (vec![T::ZERO; n], vec![T::ZERO; n]);
            assert!(
                T::svd(&matrix, m, n, &mut expected, None)
                    && T::svd(&times(&matrix), m, n, &mut values, None)
            );
            near(&values, &expected);
            let square: Vec<T> = hermitian(n, 0.5);
            assert!(T::eigen_hermitian(&mut square.clone(), n, &mut expected, None));
            assert!(T::eigen_hermitian(&mut times(&square), n, &mut values, None));
            near(&values, &expected);
            let none = Complex::new(T::ZERO, T::ZERO);
            let (mut values, mut expected) = (vec![none; n], vec![none; n]);
            assert!(
                T::eigen(&square, n, &mut expected, None) && T::eigen(&times(&square), n, &mut values, None)
            );
            // They have no order.
            let ordered = |values: &[Complex<T::Real>]| -> Vec<T::Real> {
                let mut parts: Vec<_> = values.iter().map(|value| value.re).collect();
                parts.sort_by(|a, b| a.partial_cmp(b).unwrap());
                parts
            };
            near(&ordered(&values), &ordered(&expected));
            let (mut factors, mut expected) = (times(&matrix), matrix.clone());
            let (mut tau, mut expected_tau) = (vec![T::new(0.0, 0.0); n], vec![T::new(0.0, 0.0); n]);
            T::qr(&mut factors, m, n, &mut tau);
            T::qr(&mut expected, m, n, &mut expected_tau);
            let found = Matrix::of(&factors, m, n).triangle(true, false);
            let found = Matrix::from_fn(m, n, |i, j| found.at(i, j) / factor);
            found.assert_near::<T>(&Matrix::of(&expected, m, n).triangle(true, false));
            Matrix::of(&tau, n, 1).assert_near::<T>(&Matrix::of(&expected_tau, n, 1));
        }
    }

    pub fn triangles_multiply_to_a_permuted_matrix<T: Number>() {
        for (m, n) in SIZES.into_iter().flat_map(|m| SIZES.map(|n| (m, n))) {
            let matrix: Vec<T> = random(m, n, 1);
            let (mut factors, mut pivots) = (matrix.clone(), vec![0; m.min(n)]);
            assert_eq!(T::lu(&mut factors, m, n, &mut pivots), None);
            let factors = Matrix::of(&factors, m, n);
            let (l, u) = (
                factors.triangle(false, true).columns(m.min(n)),
                factors.triangle(true, false).rows(m.min(n)),
            );
            let mut rows: Vec<usize> = (0..m).collect();
            pivots.iter().enumerate().for_each(|(row, pivot)| rows.swap(row, *pivot as usize - 1));
            let matrix = Matrix::of(&matrix, m, n);
            l.times(&u).assert_near::<T>(&Matrix::from_fn(m, n, |i, j| matrix.at(rows[i], j)));
            // No factor is larger than its pivot, as parts are measured.
            assert!(l.elements.iter().all(|factor| factor.norm() <= 1.5));
        }
    }

    pub fn what_was_factored_solves_equations<T: Number>() {
        for n in SIZES {
            let (matrix, right): (Vec<T>, Vec<T>) = (regular(n), random(n, 3, 5));
            let (mut factors, mut pivots) = (matrix.clone(), vec![0; n]);
            T::lu(&mut factors, n, n, &mut pivots);
            for is_adjoint in [false, true] {
                let mut x = right.clone();
                T::solve_factored(&factors, n, &pivots, is_adjoint, &mut x, 3);
                let a = Matrix::of(&matrix, n, n);
                let a = if is_adjoint { a.adjoint() } else { a };
                a.times(&Matrix::of(&x, n, 3)).assert_near::<T>(&Matrix::of(&right, n, 3));
            }
            for is_upper in [false, true] {
                for is_unit in [false, true] {
                    let plain = Triangle { is_upper, is_unit, ..Triangle::LOWER };
                    // Elements beside the diagonal are small, so that solutions stay so.
                    let triangle = Matrix::of(&matrix, n, n).triangle(is_upper, is_unit);
                    let conjugated = Triangle { is_conjugated: true, ..plain };
                    for (meant, expected) in [
                        (plain, triangle.clone()),
                        (plain.adjoint(), triangle.adjoint()),
                        (conjugated, Matrix::from_fn(n, n, |i, j| triangle.at(i, j).conj())),
                    ] {
                        let mut x = right.clone();
                        T::solve_triangular(&matrix, n, meant, &mut x, 3);
                        expected.times(&Matrix::of(&x, n, 3)).assert_near::<T>(&Matrix::of(&right, n, 3));
                    }
                }
            }
        }
    }

    /// Small numbers, with large ones on the diagonal.
    fn regular<T: Number>(n: usize) -> Vec<T> {
        let matrix = Matrix::of(&random::<T>(n, n, 3), n, n);
        let shifted =
            Matrix::from_fn(n, n, |i, j| matrix.at(i, j) / (n as f64) + if i == j { 2.0 } else { 0.0 });
        shifted.elements.iter().map(|x| T::new(x.re, x.im)).collect()
    }

    fn hermitian<T: Number>(n: usize, shift: f64) -> Vec<T> {
        let matrix = Matrix::of(&random::<T>(n, n, 7), n, n);
        let product = matrix.times(&matrix.adjoint());
        let scale = 1.0 / (n.max(1) as f64);
        let shifted =
            Matrix::from_fn(n, n, |i, j| product.at(i, j) * scale + if i == j { shift } else { 0.0 });
        shifted.elements.iter().map(|x| T::new(x.re, x.im)).collect()
    }

    pub fn a_triangle_and_its_adjoint_multiply_to_a_matrix<T: Number>() {
        for n in SIZES {
            let matrix: Vec<T> = hermitian(n, 0.5);
            let mut factor = matrix.clone();
            // What lies above the diagonal is not looked at.
            (0..n).for_each(|j| factor[j * n..][..j].fill(T::new(f64::NAN, f64::NAN)));
            assert_eq!(T::cholesky(&mut factor, n), None);
            let l = Matrix::of(&factor, n, n).triangle(false, false);
            l.times(&l.adjoint()).assert_near::<T>(&Matrix::of(&matrix, n, n));
        }
    }

    pub fn matrices_that_are_not_positive_definite_are_found<T: Number>() {
        for n in [1, 2, 9, 40, 97] {
            for at in [0, n / 2, n - 1] {
                for element in [-1.0, 0.0, f64::NAN] {
                    let mut matrix: Vec<T> = vec![T::new(0.0, 0.0); n * n];
                    (0..n).for_each(|i| matrix[i * (n + 1)] = T::new(1.0, 0.0));
                    matrix[at * (n + 1)] = T::new(element, 0.0);
                    assert_eq!(T::cholesky(&mut matrix, n).map(|order| order.get()), Some(at + 1));
                }
                let mut matrix: Vec<T> = vec![T::new(0.0, 0.0); n * n];
                (0..n).filter(|i| *i != at).for_each(|i| matrix[i * (n + 1)] = T::new(1.0, 0.0));
                let failed = T::lu(&mut matrix, n, n, &mut vec![0; n]);
                assert_eq!(failed.map(|place| place.get()), Some(at + 1));
            }
        }
    }

    pub fn triangles_around_blocks_solve_equations<T: Number>() {
        for n in SIZES {
            for (is_hermitian, shift) in [(true, 0.0), (false, 0.0), (true, 3.0), (false, 3.0)] {
                let random = Matrix::of(&random::<T>(n, n, 13), n, n);
                let turned = |x: Complex<f64>| if is_hermitian { x.conj() } else { x };
                // With a diagonal of zeros no block of one row begins.
                let diagonal = |i: usize| if i.is_multiple_of(3) { 0.0 } else { shift };
                let a = Matrix::from_fn(n, n, |i, j| {
                    let beside = random.at(i, j) + turned(random.at(j, i));
                    if i == j { diagonal(i).into() } else { beside }
                });
                let matrix: Vec<T> = a.elements.iter().map(|x| T::new(x.re, x.im)).collect();
                let (mut factors, mut pivots, right) = (matrix, vec![0; n], super::random::<T>(n, 3, 5));
                (0..n).for_each(|j| factors[j * n..][..j].fill(T::new(f64::NAN, f64::NAN)));
                let failed = T::ldl(&mut factors, n, is_hermitian, &mut pivots);
                // One zero has no pivot.
                assert_eq!(failed.is_some(), n == 1, "{pivots:?}");
                let mut x = right.clone();
                T::solve_ldl(&factors, n, is_hermitian, &pivots, &mut x);
                let (x, right) = (Matrix::of(&x, n, 3), Matrix::of(&right, n, 3));
                let largest = x.elements.iter().map(|x| x.norm()).fold(1.0, f64::max);
                for (found, expected) in a.times(&x).elements.iter().zip(&right.elements) {
                    let error = (found - expected).norm();
                    assert!(n == 1 || error <= 64.0 * n as f64 * T::EPS * largest, "{n}: {error}");
                }
            }
        }
    }

    pub fn exponentials_of_a_matrix_and_its_negative_are_inverse<T: Number>() {
        for n in SIZES {
            // Norms for each degree, and for squares.
            for scale in [1e-3, 0.1, 0.7, 1.5, 3.0, 6.0] {
                let a = Matrix::of(&random::<T>(n, n, 15), n, n);
                let times = |factor: f64| {
                    let numbers = a.elements.iter().map(|x| x * (factor * scale / n as f64));
                    let mut matrix: Vec<T> = numbers.map(|x| T::new(x.re, x.im)).collect();
                    T::exponential(&mut matrix, n);
                    Matrix::of(&matrix, n, n)
                };
                let one = Matrix::diagonal(&vec![1.0.into(); n]);
                times(1.0).times(&times(-1.0)).assert_near::<T>(&one);
            }
        }
        let mut infinite = vec![T::new(f64::INFINITY, 0.0); 4];
        T::exponential(&mut infinite, 2);
        assert!(infinite.iter().all(|x| x.parts().re.is_nan()));
    }

    pub fn exponentials_of_hermitian_matrices_have_those_of_eigenvalues<T: Number>() {
        for n in SIZES {
            let matrix: Vec<T> = hermitian(n, -0.5);
            let (mut values, mut vectors) = (vec![T::ZERO; n], matrix.clone());
            assert!(T::eigen_hermitian(&mut matrix.clone(), n, &mut values, Some(&mut vectors)));
            let mut found = matrix.clone();
            T::exponential(&mut found, n);
            let vectors = Matrix::of(&vectors, n, n);
            let values: Vec<Complex<f64>> = doubles::<T>(&values).iter().map(|x| x.exp().into()).collect();
            let expected = vectors.times(&Matrix::diagonal(&values)).times(&vectors.adjoint());
            Matrix::of(&found, n, n).assert_near::<T>(&expected);
        }
    }

    pub fn reflections_and_a_triangle_multiply_to_a_matrix<T: Number>() {
        for (m, n) in SIZES.into_iter().flat_map(|m| SIZES.map(|n| (m, n))) {
            let matrix: Vec<T> = random(m, n, 9);
            let k = m.min(n);
            let (mut factors, mut tau) = (matrix.clone(), vec![T::new(0.0, 0.0); k]);
            T::qr(&mut factors, m, n, &mut tau);
            let r = Matrix::of(&factors, m, n).triangle(true, false);
            assert!((0..k).all(|i| r.at(i, i).im == 0.0), "the diagonal is real");
            let mut whole = vec![T::new(0.0, 0.0); m * m];
            T::product_of_reflections(&factors, m, &tau, &mut whole, m);
            let q = Matrix::of(&whole, m, m);
            q.times(&r).assert_near::<T>(&Matrix::of(&matrix, m, n));
            q.adjoint().times(&q).assert_near::<T>(&Matrix::diagonal(&vec![1.0.into(); m]));
            for (is_left, is_adjoint) in [(true, false), (true, true), (false, false), (false, true)] {
                let sizes = if is_left { [m, 3] } else { [3, m] };
                let other: Vec<T> = random(sizes[0], sizes[1], 11);
                let mut found = other.clone();
                let application = Application { is_left, is_adjoint };
                T::multiply_by_reflections(&factors, m, &tau, application, &mut found, sizes);
                let other = Matrix::of(&other, sizes[0], sizes[1]);
                let q = if is_adjoint { q.adjoint() } else { q.clone() };
                let expected = if is_left { q.times(&other) } else { other.times(&q) };
                Matrix::of(&found, sizes[0], sizes[1]).assert_near::<T>(&expected);
            }
        }
    }

    /// Squares of the second column vanish beside the first one.
    pub fn triangles_of_columns_far_from_each_other_are_finite<T: Number>() {
        let far = if T::EPS < 1e-10 { 2.0_f64.powi(400) } else { 2.0_f64.powi(50) };
        let mut factors = [far, 0.0, 0.0, 1.0 / far, 0.0, 0.0].map(|x| T::new(x, x));
        let one = T::new(1.0, 1.0).parts().norm();
        let mut tau = vec![T::new(0.0, 0.0); 2];
        T::qr(&mut factors, 2, 3, &mut tau);
        let r = Matrix::of(&factors, 2, 3);
        assert!(r.elements.iter().all(|x| x.is_finite()), "{:?}", r.elements);
        for (found, expected) in [(r.at(0, 0), one * far), (r.at(1, 1), one / far)] {
            assert!((found.norm() / expected - 1.0).abs() < 8.0 * T::EPS, "{found} {expected}");
        }
    }

    fn doubles<T: Number>(values: &[T::Real]) -> Vec<f64> {
        values.iter().map(|value| T::double(*value)).collect()
    }

    fn diagonal(values: &[f64]) -> Matrix {
        Matrix::diagonal(&values.iter().map(|value| Complex::from(*value)).collect::<Vec<_>>())
    }

    fn assert_orthonormal<T: Number>(q: &Matrix) {
        q.adjoint().times(q).assert_near::<T>(&diagonal(&vec![1.0; q.columns]));
    }

    pub fn eigenvectors_of_hermitian_matrices_are_orthonormal<T: Number>() {
        for n in SIZES {
            let matrix: Vec<T> = hermitian(n, -0.25);
            let (mut values, mut vectors) = (vec![T::ZERO; n], vec![T::new(0.0, 0.0); n * n]);
            assert!(T::eigen_hermitian(&mut matrix.clone(), n, &mut values, Some(&mut vectors)));
            let (values, v) = (doubles::<T>(&values), Matrix::of(&vectors, n, n));
            assert!(values.is_sorted());
            assert_orthonormal::<T>(&v);
            let l = diagonal(&values);
            v.times(&l).times(&v.adjoint()).assert_near::<T>(&Matrix::of(&matrix, n, n));
            let mut alone = vec![T::ZERO; n];
            assert!(T::eigen_hermitian(&mut matrix.clone(), n, &mut alone, None));
            diagonal(&doubles::<T>(&alone)).assert_near::<T>(&l);
        }
    }

    pub fn eigenvectors_are_only_made_longer<T: Number>() {
        for n in SIZES {
            let matrix: Vec<T> = random(n, n, 13);
            let none = Complex::new(T::ZERO, T::ZERO);
            let (mut values, mut vectors) = (vec![none; n], vec![none; n * n]);
            assert!(T::eigen(&matrix, n, &mut values, Some(&mut vectors)));
            let double = |z: &Complex<T::Real>| Complex::new(T::double(z.re), T::double(z.im));
            let values: Vec<Complex<f64>> = values.iter().map(double).collect();
            let v = Matrix { rows: n, columns: n, elements: vectors.iter().map(double).collect() };
            let a = Matrix::of(&matrix, n, n);
            a.times(&v).assert_near::<T>(&v.times(&Matrix::diagonal(&values)));
            for vector in v.elements.chunks(n.max(1)) {
                let length: f64 = vector.iter().map(|x| x.norm_sqr()).sum();
                assert!((length - 1.0).abs() < 64.0 * T::EPS, "{length}");
                let largest = vector.iter().max_by(|a, b| a.norm().total_cmp(&b.norm())).unwrap();
                assert!(largest.im.abs() < 16.0 * T::EPS && largest.re > 0.0, "{largest}");
            }
            let mut alone = vec![none; n];
            assert!(T::eigen(&matrix, n, &mut alone, None));
            let mean = |values: &[Complex<f64>]| {
                Matrix::diagonal(&[values.iter().sum::<Complex<f64>>() / n.max(1) as f64])
            };
            mean(&alone.iter().map(double).collect::<Vec<_>>()).assert_near::<T>(&mean(&values));
        }
    }

    pub fn singular_vectors_multiply_to_a_matrix<T: Number>() {
        for (m, n) in SIZES.into_iter().flat_map(|m| SIZES.map(|n| (m, n))) {
            let matrix: Vec<T> = random(m, n, 17);
            let k = m.min(n);
            for (wide, high) in [(k, k), (m, n)] {
                let none = T::new(0.0, 0.0);
                let (mut u, mut v, mut s) = (vec![none; m * wide], vec![none; n * high], vec![T::ZERO; k]);
                assert!(T::svd(&matrix, m, n, &mut s, Some([&mut u, &mut v])));
                let s = doubles::<T>(&s);
                assert!(s.is_sorted_by(|a, b| a >= b) && s.iter().all(|value| *value >= 0.0));
                let (u, v) = (Matrix::of(&u, m, wide), Matrix::of(&v, n, high));
                assert_orthonormal::<T>(&u);
                assert_orthonormal::<T>(&v);
                let product = u.columns(k).times(&diagonal(&s)).times(&v.columns(k).adjoint());
                product.assert_near::<T>(&Matrix::of(&matrix, m, n));
                let mut alone = vec![T::ZERO; k];
                assert!(T::svd(&matrix, m, n, &mut alone, None));
                diagonal(&doubles::<T>(&alone)).assert_near::<T>(&diagonal(&s));
            }
        }
    }

    pub fn what_is_not_finite_has_no_eigenvalues<T: Number>() {
        for (n, strange) in [1, 2, 40].into_iter().flat_map(|n| [(n, f64::NAN), (n, f64::INFINITY)]) {
            let mut matrix: Vec<T> = random(n, n, 19);
            matrix[n - 1] = T::new(strange, 0.0);
            let none = Complex::new(T::ZERO, T::ZERO);
            assert!(!T::eigen_hermitian(&mut matrix.clone(), n, &mut vec![T::ZERO; n], None));
            assert!(!T::eigen(&matrix, n, &mut vec![none; n], None));
            assert!(!T::svd(&matrix, n, n, &mut vec![T::ZERO; n], None));
        }
    }
}
