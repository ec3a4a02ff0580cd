//! The handwritten digits of the demo: those in the repository, else a copy inside of the program.

use std::path::Path;

use opgrid::{Error, ErrorKind, Result, Tensor, files::npz};

/// Where the data lies, seen from the root of the repository.
const FILE: &str = "examples/data/digits.npz";
/// How many images there are.
const COUNT: usize = 1797;
const COPY: &[u8] = include_bytes!("../../../examples/data/digits.npz");

/// Images and what they show.
pub(crate) struct Digits {
    /// float32, `[count, 8, 8]`, from 0 (paper) to 16 (ink).
    pub(crate) images: Tensor,
    /// The digit of each image.
    pub(crate) labels: Vec<i64>,
    /// Where they were read.
    pub(crate) source: String,
}

impl Digits {
    /// The file, if the current directory is the root of the repository, else the copy.
    ///
    /// # Errors
    ///
    /// A file that is broken, or holds something else.
    pub(crate) fn load() -> Result<Self> {
        let path = Path::new(FILE);
        let (source, images, labels) = if path.is_file() {
            (FILE, npz::read(path, "images")?, npz::read(path, "labels")?)
        } else {
            let name = "the program's own copy";
            (name, npz::decode(name, COPY, "images")?, npz::decode(name, COPY, "labels")?)
        };
        let labels = labels.to_vec::<i64>()?;
        if labels.len() != COUNT || images.sizes() != [COUNT as i64, 8, 8] {
            let message = format!(
                "{source}: found images of shape {:?} and {} labels, expected [{COUNT}, 8, 8] and {COUNT}; run the \
                 demo in another directory to use its own copy",
                images.sizes(),
                labels.len()
            );
            return Err(Error::new(ErrorKind::File, message));
        }
        Ok(Self { images: Tensor::from_array(images)?, labels, source: source.to_owned() })
    }

    /// How many images there are.
    pub(crate) fn count(&self) -> i64 {
        self.labels.len() as i64
    }
}
