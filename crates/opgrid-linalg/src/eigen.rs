//! Eigenvalues and eigenvectors.

use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::evd::{
    ComputeEigenvectors, EvdError, evd_cplx, evd_real, evd_scratch, self_adjoint_evd,
    self_adjoint_evd_scratch,
};
use faer::traits::{ComplexField, RealField};
use faer::{Col, ColMut, MatMut, MatRef, Par};
use num_complex::Complex;

use crate::number::{Number, Scale, zero};

/// The eigenvalues of a Hermitian matrix, from the smallest to the largest one, and where asked for its eigenvectors as columns. Only the
/// lower triangle is read, whose diagonal loses its imaginary parts. Returns whether they were found.
pub(crate) fn hermitian<T: Number>(
    matrix: &mut [T],
    n: usize,
    values: &mut [T::Real],
    vectors: Option<&mut [T]>,
) -> bool {
    let vectors_fit = vectors.as_ref().is_none_or(|vectors| vectors.len() == n * n);
    assert!(
        matrix.len() == n * n && values.len() == n && vectors_fit,
        "elements of the matrix and the results"
    );
    (0..n).for_each(|i| matrix[i * (n + 1)] = T::from_real(matrix[i * (n + 1)].real()));
    // Iterations would not end soon with what is not finite.
    let is_finite = (0..n).all(|j| matrix[j * n + j..(j + 1) * n].iter().all(|element| element.is_finite()));
    if n == 0 || !is_finite {
        return n == 0;
    }
    let asked = if vectors.is_some() { ComputeEigenvectors::Yes } else { ComputeEigenvectors::No };
    let scale = Scale::new(matrix);
    let matrix = scale.applied(matrix);
    let matrix = MatRef::from_column_major_slice(&matrix, n, n);
    let mut found: Col<T> = Col::zeros(n);
    let mut memory = MemBuffer::new(self_adjoint_evd_scratch::<T>(n, asked, Par::Seq, Default::default()));
    let done = self_adjoint_evd(
        matrix,
        found.as_diagonal_mut(),
        vectors.map(|vectors| MatMut::from_column_major_slice_mut(vectors, n, n)),
        Par::Seq,
        MemStack::new(&mut memory),
        Default::default(),
    );
    for (value, found) in values.iter_mut().zip(found.iter()) {
        *value = scale.undone(found.real());
    }
    done.is_ok()
}

/// A number whose matrices have complex eigenvalues.
pub(crate) trait WithEigenvalues: Number {
    /// Writes eigenvalues, and eigenvectors as columns.
    fn decompose(
        matrix: MatRef<'_, Self>,
        values: &mut [Complex<Self::Real>],
        vectors: Option<&mut [Complex<Self::Real>]>,
        memory: &mut MemStack,
    ) -> Result<(), EvdError>;
}

macro_rules! real {
    ($($type:ident)*) => {$(
        impl WithEigenvalues for $type {
            fn decompose(
                matrix: MatRef<'_, Self>,
                values: &mut [Complex<Self>],
                vectors: Option<&mut [Complex<Self>]>,
                memory: &mut MemStack,
            ) -> Result<(), EvdError> {
                decompose_real(matrix, values, vectors, memory)
            }
        }
    )*};
}

// Not for all real fields at once: nothing says that complex numbers are none of them.
real!(f32 f64);

impl<R: RealField + Copy> WithEigenvalues for Complex<R>
where
    Self: ComplexField<Real = R>,
{
    fn decompose(
        matrix: MatRef<'_, Self>,
        values: &mut [Complex<R>],
        vectors: Option<&mut [Complex<R>]>,
        memory: &mut MemStack,
    ) -> Result<(), EvdError> {
        let n = matrix.nrows();
        let vectors = vectors.map(|vectors| MatMut::from_column_major_slice_mut(vectors, n, n));
        let values = ColMut::from_slice_mut(values).as_diagonal_mut();
        evd_cplx(matrix, values, None, vectors, Par::Seq, memory, Default::default())
    }
}

/// Eigenvalues of real matrices come as numbers or as pairs of conjugates, whose vectors are given as real and imaginary parts.
fn decompose_real<R: RealField + Copy>(
    matrix: MatRef<'_, R>,
    values: &mut [Complex<R>],
    vectors: Option<&mut [Complex<R>]>,
    memory: &mut MemStack,
) -> Result<(), EvdError> {
    let n = matrix.nrows();
    let (mut re, mut im): (Col<R>, Col<R>) = (Col::zeros(n), Col::zeros(n));
    let mut parts = vectors.is_some().then(|| vec![zero::<R>(); n * n]);
    evd_real(
        matrix,
        re.as_diagonal_mut(),
        im.as_diagonal_mut(),
        None,
        parts.as_mut().map(|parts| MatMut::from_column_major_slice_mut(parts, n, n)),
        Par::Seq,
        memory,
        Default::default(),
    )?;
    for (j, value) in values.iter_mut().enumerate() {
        *value = Complex::new(re[j], im[j]);
    }
    let (Some(vectors), Some(parts)) = (vectors, parts) else { return Ok(()) };
    let part = |i: usize, j: usize| parts[j * n + i];
    let mut j = 0;
    while j < n {
        if im[j] == zero() {
            (0..n).for_each(|i| vectors[j * n + i] = Complex::new(part(i, j), zero()));
            j += 1;
        } else {
            for i in 0..n {
                let (re, im) = (part(i, j), part(i, j + 1));
                vectors[j * n + i] = Complex::new(re, im);
                vectors[(j + 1) * n + i] = Complex::new(re, -im);
            }
            j += 2;
        }
    }
    Ok(())
}

/// The eigenvalues of a matrix, and where asked for its eigenvectors as columns of length 1 whose largest element is real. Returns
/// whether they were found.
pub(crate) fn general<T: WithEigenvalues>(
    matrix: &[T],
    n: usize,
    values: &mut [Complex<T::Real>],
    mut vectors: Option<&mut [Complex<T::Real>]>,
) -> bool
where
    Complex<T::Real>: Number<Real = T::Real>,
{
    let vectors_fit = vectors.as_ref().is_none_or(|vectors| vectors.len() == n * n);
    assert!(
        matrix.len() == n * n && values.len() == n && vectors_fit,
        "elements of the matrix and the results"
    );
    if n == 0 || !matrix.iter().all(|element| element.is_finite()) {
        return n == 0;
    }
    let asked = if vectors.is_some() { ComputeEigenvectors::Yes } else { ComputeEigenvectors::No };
    let request = evd_scratch::<T>(n, ComputeEigenvectors::No, asked, Par::Seq, Default::default());
    let mut memory = MemBuffer::new(request);
    let scale = Scale::new(matrix);
    let matrix = scale.applied(matrix);
    let matrix = MatRef::from_column_major_slice(&matrix, n, n);
    if T::decompose(matrix, values, vectors.as_deref_mut(), MemStack::new(&mut memory)).is_err() {
        return false;
    }
    values.iter_mut().for_each(|value| *value = scale.undone(*value));
    vectors.into_iter().flat_map(|vectors| vectors.chunks_exact_mut(n)).for_each(normalize);
    true
}

fn normalize<C: Number>(vector: &mut [C]) {
    let Some(largest) = vector.iter().copied().reduce(|a, b| if b.size() > a.size() { b } else { a }) else {
        return;
    };
    let scale = largest.size();
    if scale == zero() || !scale.is_finite() {
        return;
    }
    let sum = vector.iter().fold(zero::<C::Real>(), |sum, element| {
        let part = element.size() / scale;
        sum + part * part
    });
    let turned = largest.conjugate() / C::from_real(scale * scale * sum.root());
    for element in vector {
        *element *= turned;
    }
}
