//! Operators of opgrid that neural networks are made of: one file for each family; to add one, write its file, its line in the list below, and its declaration
//! in `opgrid-tensor`.

#![deny(unsafe_code)]

mod kinds;
mod prelude;

opgrid_kinds::operators! {
    /// Says how far predictions are from what they should be.
    losses {
        binary_cross_entropy,
        binary_cross_entropy_with_logits,
        cosine_similarity,
        cross_entropy_loss,
        ctc_loss,
        hinge_embedding_loss,
        huber_loss,
        kl_div,
        l1_loss,
        margin_ranking_loss,
        mse_loss,
        multi_margin_loss,
        multilabel_margin_loss,
        nll_loss,
        nll_loss_backward,
        poisson_nll_loss,
        smooth_l1_loss,
        soft_margin_loss,
        triplet_margin_loss,
    }

    /// Takes averages away from elements and divides by deviations.
    normalisations {
        batch_norm,
        native_batch_norm,
        native_batch_norm_backward,
        native_group_norm,
        native_group_norm_backward,
        native_layer_norm,
        native_layer_norm_backward,
        rms_norm,
        weight_norm,
    }

    /// Sums products of filters with the patches of images.
    convolutions {
        conv,
        conv_tbc,
        conv_transpose,
        convolution,
        convolution_backward,
    }

    /// Makes one element of those under a window that moves over images.
    pooling {
        adaptive_avg_pool,
        adaptive_max_pool,
        avg_pool,
        fractional_max_pool,
        max_pool,
        max_unpool,
    }

    /// Puts a frame around tensors.
    padding {
        constant,
        pad,
        reflection,
        replication,
    }

    /// Computes images of other sizes, or puts their elements elsewhere.
    resampling {
        affine_grid_generator,
        grid_sampler,
        im2col,
        pixel_shuffle,
        upsample_aa,
        upsample_bicubic2d,
        upsample_linear,
        upsample_nearest,
    }

    /// Adds up values by how well queries fit keys.
    attention {
        flash_attention,
        flash_attention_backward,
        safe_softmax,
        scaled_dot_product_attention,
    }

    /// Goes through sequences step by step.
    recurrent {
        gru,
        lstm,
        rnn,
    }

    /// Looks up rows of tables.
    embeddings {
        embedding,
        embedding_bag,
        embedding_bag_backward,
        embedding_dense_backward,
        embedding_renorm,
    }

    /// Updates parameters by their gradients.
    optimizers {
        amp_non_finite_check_and_unscale,
        amp_update_scale,
        foreach,
        foreach_unary,
        fused_adam,
        fused_sgd,
    }
}
