//! Adds up values by how well queries fit keys.

declarations! {
    /// # Attention
    attention {
        flash_attention {
            pub ScaledDotProductFlashAttentionForCpu = "aten::_scaled_dot_product_flash_attention_for_cpu(Tensor query, Tensor key, Tensor value, float dropout_p=0., bool is_causal=False, *, Tensor? attn_mask=None, float? scale=None) -> (Tensor output, Tensor logsumexp)";
        }

        flash_attention_backward {
            pub ScaledDotProductFlashAttentionForCpuBackward = "aten::_scaled_dot_product_flash_attention_for_cpu_backward(Tensor grad_out, Tensor query, Tensor key, Tensor value, Tensor out, Tensor logsumexp, float dropout_p, bool is_causal, *, Tensor? attn_mask=None, float? scale=None) -> (Tensor grad_query, Tensor grad_key, Tensor grad_value)";
        }

        safe_softmax {
            pub SafeSoftmax = "aten::_safe_softmax(Tensor self, int dim, ScalarType? dtype=None) -> Tensor";
        }

        scaled_dot_product_attention {
            pub ScaledDotProductAttention = "aten::scaled_dot_product_attention(Tensor query, Tensor key, Tensor value, Tensor? attn_mask=None, float dropout_p=0., bool is_causal=False, *, float? scale=None, bool enable_gqa=False) -> Tensor";
            pub ScaledDotProductAttentionMath = "aten::_scaled_dot_product_attention_math(Tensor query, Tensor key, Tensor value, Tensor? attn_mask=None, float dropout_p=0., bool is_causal=False, Tensor? dropout_mask=None, *, float? scale=None, bool enable_gqa=False) -> (Tensor, Tensor)";
        }
    }
}
