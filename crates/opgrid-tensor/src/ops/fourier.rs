//! Transforms numbers to frequencies, and back.

declarations! {
    /// # Fourier transforms
    fourier {
        fft {
            /// The transform of numbers.
            pub FftFft = "aten::fft_fft(Tensor self, SymInt? n=None, int dim=-1, str? norm=None) -> Tensor", out;
            /// The inverse of `fft_fft`.
            pub FftIfft = "aten::fft_ifft(Tensor self, SymInt? n=None, int dim=-1, str? norm=None) -> Tensor", out;
            /// The first half of the transform of real numbers.
            pub FftRfft = "aten::fft_rfft(Tensor self, SymInt? n=None, int dim=-1, str? norm=None) -> Tensor", out;
            /// The inverse of `fft_rfft`.
            pub FftIrfft = "aten::fft_irfft(Tensor self, SymInt? n=None, int dim=-1, str? norm=None) -> Tensor", out;
        }

        fft_c2c {
            /// Transforms complex numbers.
            pub FftC2c = "aten::_fft_c2c(Tensor self, SymInt[] dim, int normalization, bool forward) -> Tensor", out;
            /// Transforms real numbers to complex ones.
            pub FftR2c = "aten::_fft_r2c(Tensor self, int[] dim, int normalization, bool onesided) -> Tensor", out;
            /// Transforms halves of complex numbers to real ones.
            pub FftC2r = "aten::_fft_c2r(Tensor self, int[] dim, int normalization, SymInt last_dim_size) -> Tensor", out;
        }

        fftfreq {
            /// The frequencies of a transform.
            pub FftFftfreq = "aten::fft_fftfreq(int n, float d=1., *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor", out;
            /// The frequencies of a transform of real numbers.
            pub FftRfftfreq = "aten::fft_rfftfreq(int n, float d=1., *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor", out;
        }

        fftn {
            /// The transform of numbers along dimensions.
            pub FftFftn = "aten::fft_fftn(Tensor self, SymInt[1]? s=None, int[1]? dim=None, str? norm=None) -> Tensor", out;
            /// The inverse of `fft_fftn`.
            pub FftIfftn = "aten::fft_ifftn(Tensor self, SymInt[1]? s=None, int[1]? dim=None, str? norm=None) -> Tensor", out;
            /// The first half of the transform of real numbers along dimensions.
            pub FftRfftn = "aten::fft_rfftn(Tensor self, SymInt[1]? s=None, int[1]? dim=None, str? norm=None) -> Tensor", out;
            /// The inverse of `fft_rfftn`.
            pub FftIrfftn = "aten::fft_irfftn(Tensor self, SymInt[1]? s=None, int[1]? dim=None, str? norm=None) -> Tensor", out;
            /// `fft_fftn` along two dimensions.
            pub FftFft2 = "aten::fft_fft2(Tensor self, SymInt[1]? s=None, int[1] dim=[-2, -1], str? norm=None) -> Tensor", out;
            /// `fft_ifftn` along two dimensions.
            pub FftIfft2 = "aten::fft_ifft2(Tensor self, SymInt[1]? s=None, int[1] dim=[-2, -1], str? norm=None) -> Tensor", out;
            /// `fft_rfftn` along two dimensions.
            pub FftRfft2 = "aten::fft_rfft2(Tensor self, SymInt[1]? s=None, int[1] dim=[-2, -1], str? norm=None) -> Tensor", out;
            /// `fft_irfftn` along two dimensions.
            pub FftIrfft2 = "aten::fft_irfft2(Tensor self, SymInt[1]? s=None, int[1] dim=[-2, -1], str? norm=None) -> Tensor", out;
        }

        fftshift {
            /// The frequency 0 in the middle.
            pub FftFftshift = "aten::fft_fftshift(Tensor self, int[1]? dim=None) -> Tensor";
            /// The frequency 0 in front.
            pub FftIfftshift = "aten::fft_ifftshift(Tensor self, int[1]? dim=None) -> Tensor";
        }

        hfft {
            /// The transform of numbers of which the second half are conjugates of the first.
            pub FftHfft = "aten::fft_hfft(Tensor self, SymInt? n=None, int dim=-1, str? norm=None) -> Tensor", out;
            /// The inverse of `fft_hfft`.
            pub FftIhfft = "aten::fft_ihfft(Tensor self, SymInt? n=None, int dim=-1, str? norm=None) -> Tensor", out;
        }

        hfftn {
            /// The transform of numbers of which the second half are conjugates of the first, along dimensions.
            pub FftHfftn = "aten::fft_hfftn(Tensor self, SymInt[1]? s=None, int[1]? dim=None, str? norm=None) -> Tensor", out;
            /// The inverse of `fft_hfftn`.
            pub FftIhfftn = "aten::fft_ihfftn(Tensor self, SymInt[1]? s=None, int[1]? dim=None, str? norm=None) -> Tensor", out;
            /// `fft_hfftn` along two dimensions.
            pub FftHfft2 = "aten::fft_hfft2(Tensor self, SymInt[1]? s=None, int[1] dim=[-2, -1], str? norm=None) -> Tensor", out;
            /// `fft_ihfftn` along two dimensions.
            pub FftIhfft2 = "aten::fft_ihfft2(Tensor self, SymInt[1]? s=None, int[1] dim=[-2, -1], str? norm=None) -> Tensor", out;
        }

        stft {
            /// The Fourier transforms of parts of signals, which overlap.
            pub StftCenter = "aten::stft.center(Tensor self, int n_fft, int? hop_length=None, int? win_length=None, Tensor? window=None, bool center=True, str pad_mode=\"reflect\", bool normalized=False, bool? onesided=None, bool? return_complex=None, bool? align_to_window=None) -> Tensor";
            /// As `stft.center`, without padding.
            pub Stft = "aten::stft(Tensor self, int n_fft, int? hop_length=None, int? win_length=None, Tensor? window=None, bool normalized=False, bool? onesided=None, bool? return_complex=None, bool? align_to_window=None) -> Tensor";
            /// The signals whose parts have these Fourier transforms.
            pub Istft = "aten::istft(Tensor self, int n_fft, int? hop_length=None, int? win_length=None, Tensor? window=None, bool center=True, bool normalized=False, bool? onesided=None, int? length=None, bool return_complex=False) -> Tensor";
        }
    }
}
