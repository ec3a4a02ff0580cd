//! Bytes as hexadecimal digits, and elements as text for those who look at a difference.

use opgrid_core::DType;
use opgrid_tensor::{Bool, Complex, Element, bf16, f16, with_dtype};

/// How many elements of a tensor are shown.
const SHOWN: usize = 24;

/// Two digits for each byte.
pub fn digits(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    bytes.iter().flat_map(|byte| [byte >> 4, byte & 15]).map(|digit| DIGITS[digit as usize] as char).collect()
}

/// The bytes that digits stand for; `None` for other strings.
pub fn bytes(digits: &str) -> Option<Vec<u8>> {
    let digit = |byte: u8| (byte as char).to_digit(16).map(|value| value as u8);
    let pairs = digits.as_bytes().chunks(2);
    pairs.map(|pair| Some(digit(pair[0])? << 4 | digit(*pair.get(1)?)?)).collect()
}

/// The bits of a float.
pub fn double(value: f64) -> String {
    format!("{:016x}", value.to_bits())
}

/// The float of these bits.
pub fn to_double(digits: &str) -> Option<f64> {
    u64::from_str_radix(digits, 16).ok().map(f64::from_bits)
}

/// The first elements.
pub fn elements(dtype: DType, bytes: &[u8]) -> String {
    let (width, count) = (dtype.size_in_bytes(), bytes.len() / dtype.size_in_bytes());
    let numbers = numbers(dtype, &bytes[..count.min(SHOWN) * width]);
    let shown = numbers.iter().map(|value| match value.im {
        _ if !dtype.is_complex() => format!("{:?}", value.re),
        im => format!("{:?}{im:+?}i", value.re),
    });
    let shown = shown.collect::<Vec<_>>().join(", ");
    if count > SHOWN { format!("{shown}, … {count} in all") } else { shown }
}

/// Every element; integers beyond 2⁵³ lose their lowest bits.
pub fn numbers(dtype: DType, bytes: &[u8]) -> Vec<Complex<f64>> {
    fn read<T: Read>(bytes: &[u8]) -> Vec<Complex<f64>> {
        bytes.chunks_exact(size_of::<T>()).map(|chunk| T::read(chunk).cast()).collect()
    }
    with_dtype!(dtype, T => Ok(read::<T>(bytes))).unwrap_or_default()
}

/// An element of its bytes.
trait Read: Element {
    fn read(bytes: &[u8]) -> Self;
}

macro_rules! read {
    ($($type:ty),*) => {
        $(impl Read for $type {
            fn read(bytes: &[u8]) -> Self {
                <$type>::from_ne_bytes(bytes.try_into().expect("as many bytes as an element has"))
            }
        })*
    };
}

read!(u8, i8, i16, i32, i64, f16, bf16, f32, f64);

impl Read for Bool {
    fn read(bytes: &[u8]) -> Self {
        Bool::from(bytes[0] != 0)
    }
}

impl<P: Read> Read for Complex<P>
where
    Complex<P>: Element,
{
    fn read(bytes: &[u8]) -> Self {
        let (re, im) = bytes.split_at(bytes.len() / 2);
        Complex::new(P::read(re), P::read(im))
    }
}
