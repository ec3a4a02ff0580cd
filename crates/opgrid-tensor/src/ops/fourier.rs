//! Discrete Fourier transforms.

declarations! {
    /// # Fourier transforms
    fourier {
        fft {
            /// The discrete Fourier transform along a dimension.
            pub FftFft = "aten::fft_fft(Tensor self, SymInt? n=None, int dim=-1, str? norm=None) -> Tensor", out;
            /// The inverse of `fft_fft`.
            pub FftIfft = "aten::fft_ifft(Tensor self, SymInt? n=None, int dim=-1, str? norm=None) -> Tensor", out;
            /// The discrete Fourier transform of real input: the frequencies from 0 to half the sampling rate.
            pub FftRfft = "aten::fft_rfft(Tensor self, SymInt? n=None, int dim=-1, str? norm=None) -> Tensor", out;
            /// The inverse of `fft_rfft`.
            pub FftIrfft = "aten::fft_irfft(Tensor self, SymInt? n=None, int dim=-1, str? norm=None) -> Tensor", out;
        }

        fft_c2c {
            /// The discrete Fourier transform of complex input along several dimensions.
            pub FftC2c = "aten::_fft_c2c(Tensor self, SymInt[] dim, int normalization, bool forward) -> Tensor", out;
            /// The discrete Fourier transform of real input along several dimensions.
            pub FftR2c = "aten::_fft_r2c(Tensor self, int[] dim, int normalization, bool onesided) -> Tensor", out;
            /// The inverse transform of half a Hermitian spectrum, which gives real numbers.
            pub FftC2r = "aten::_fft_c2r(Tensor self, int[] dim, int normalization, SymInt last_dim_size) -> Tensor", out;
        }

        fftfreq {
            /// The sample frequencies of a discrete Fourier transform.
            pub FftFftfreq = "aten::fft_fftfreq(int n, float d=1., *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor", out;
            /// The sample frequencies of a discrete Fourier transform of real input.
            pub FftRfftfreq = "aten::fft_rfftfreq(int n, float d=1., *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor", out;
        }

        fftn {
            /// The discrete Fourier transform along several dimensions.
            pub FftFftn = "aten::fft_fftn(Tensor self, SymInt[1]? s=None, int[1]? dim=None, str? norm=None) -> Tensor", out;
            /// The inverse of `fft_fftn`.
            pub FftIfftn = "aten::fft_ifftn(Tensor self, SymInt[1]? s=None, int[1]? dim=None, str? norm=None) -> Tensor", out;
            /// The discrete Fourier transform of real input along several dimensions: half of the frequencies of the last one.
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
            /// Moves the frequency 0 to the middle.
            pub FftFftshift = "aten::fft_fftshift(Tensor self, int[1]? dim=None) -> Tensor";
            /// Moves the frequency 0 to the front: the inverse of `fft_fftshift`.
            pub FftIfftshift = "aten::fft_ifftshift(Tensor self, int[1]? dim=None) -> Tensor";
        }

        hfft {
            /// The discrete Fourier transform of Hermitian input, of which the first half is given.
            pub FftHfft = "aten::fft_hfft(Tensor self, SymInt? n=None, int dim=-1, str? norm=None) -> Tensor", out;
            /// The inverse of `fft_hfft`.
            pub FftIhfft = "aten::fft_ihfft(Tensor self, SymInt? n=None, int dim=-1, str? norm=None) -> Tensor", out;
        }

        hfftn {
            /// The discrete Fourier transform of Hermitian input along several dimensions.
            pub FftHfftn = "aten::fft_hfftn(Tensor self, SymInt[1]? s=None, int[1]? dim=None, str? norm=None) -> Tensor", out;
            /// The inverse of `fft_hfftn`.
            pub FftIhfftn = "aten::fft_ihfftn(Tensor self, SymInt[1]? s=None, int[1]? dim=None, str? norm=None) -> Tensor", out;
            /// `fft_hfftn` along two dimensions.
            pub FftHfft2 = "aten::fft_hfft2(Tensor self, SymInt[1]? s=None, int[1] dim=[-2, -1], str? norm=None) -> Tensor", out;
            /// `fft_ihfftn` along two dimensions.
            pub FftIhfft2 = "aten::fft_ihfft2(Tensor self, SymInt[1]? s=None, int[1] dim=[-2, -1], str? norm=None) -> Tensor", out;
        }

        stft {
            /// The short-time Fourier transform of signals, padded at both ends if `center` is true.
            pub StftCenter = "aten::stft.center(Tensor self, int n_fft, int? hop_length=None, int? win_length=None, Tensor? window=None, bool center=True, str pad_mode=\"reflect\", bool normalized=False, bool? onesided=None, bool? return_complex=None, bool? align_to_window=None) -> Tensor";
            /// As `stft.center`, without padding.
            pub Stft = "aten::stft(Tensor self, int n_fft, int? hop_length=None, int? win_length=None, Tensor? window=None, bool normalized=False, bool? onesided=None, bool? return_complex=None, bool? align_to_window=None) -> Tensor";
            /// The inverse of the short-time Fourier transform.
            pub Istft = "aten::istft(Tensor self, int n_fft, int? hop_length=None, int? win_length=None, Tensor? window=None, bool center=True, bool normalized=False, bool? onesided=None, int? length=None, bool return_complex=False) -> Tensor";
        }
    }
}
