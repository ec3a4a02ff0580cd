"""Architectures of transformers, each with a few small layers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from networks import Inputs, Network, image, patterns, tokens

VOCABULARY = 99
LENGTH = 12

TEXT: dict[str, Any] = {
    "vocab_size": VOCABULARY,
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 64,
    "max_position_embeddings": 64,
}
"""The size of most models of text."""

GROUPED = {**TEXT, "num_key_value_heads": 2, "use_cache": False}
"""Models whose queries share keys, as Llama's do."""

VISION: dict[str, Any] = {
    "image_size": 32,
    "patch_size": 8,
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 64,
}

SEQUENCES: dict[str, Any] = {
    "vocab_size": VOCABULARY,
    "d_model": 32,
    "encoder_layers": 2,
    "decoder_layers": 2,
    "encoder_attention_heads": 4,
    "decoder_attention_heads": 4,
    "encoder_ffn_dim": 64,
    "decoder_ffn_dim": 64,
    "max_position_embeddings": 64,
    "use_cache": False,
}

MASKED = {
    "bert": ("BertConfig", "BertForMaskedLM", TEXT),
    "distilbert": ("DistilBertConfig", "DistilBertForMaskedLM", {"vocab_size": VOCABULARY, "dim": 32, "n_layers": 2, "n_heads": 4, "hidden_dim": 64, "max_position_embeddings": 64}),
    "roberta": ("RobertaConfig", "RobertaForSequenceClassification", TEXT),
    "albert": ("AlbertConfig", "AlbertForMaskedLM", {**TEXT, "embedding_size": 16}),
    "electra": ("ElectraConfig", "ElectraForPreTraining", {**TEXT, "embedding_size": 16}),
    "deberta": ("DebertaConfig", "DebertaForMaskedLM", {**TEXT, "relative_attention": True, "pos_att_type": ["p2c", "c2p"]}),
    "deberta_v2": ("DebertaV2Config", "DebertaV2ForMaskedLM", {**TEXT, "relative_attention": True, "position_buckets": 8, "pos_att_type": ["p2c", "c2p"], "norm_rel_ebd": "layer_norm", "share_att_key": True}),
    "mpnet": ("MPNetConfig", "MPNetForMaskedLM", TEXT),
    "modernbert": ("ModernBertConfig", "ModernBertForMaskedLM", {**TEXT, "global_attn_every_n_layers": 2, "local_attention": 8, "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2, "cls_token_id": 1, "sep_token_id": 2}),
    "mobilebert": ("MobileBertConfig", "MobileBertForMaskedLM", {**TEXT, "embedding_size": 32, "intra_bottleneck_size": 32, "num_feedforward_networks": 2}),
    "squeezebert": ("SqueezeBertConfig", "SqueezeBertForMaskedLM", {**TEXT, "embedding_size": 32}),
    "convbert": ("ConvBertConfig", "ConvBertForMaskedLM", {**TEXT, "embedding_size": 32}),
    "fnet": ("FNetConfig", "FNetForMaskedLM", TEXT),
    "funnel": ("FunnelConfig", "FunnelForMaskedLM", {"vocab_size": VOCABULARY, "d_model": 32, "block_sizes": [1, 1], "n_head": 4, "d_head": 8, "d_inner": 64, "num_decoder_layers": 1}),
    "layoutlm": ("LayoutLMConfig", "LayoutLMForMaskedLM", TEXT),
    "roformer": ("RoFormerConfig", "RoFormerForMaskedLM", TEXT),
    "xlnet": ("XLNetConfig", "XLNetLMHeadModel", {"vocab_size": VOCABULARY, "d_model": 32, "n_layer": 2, "n_head": 4, "d_inner": 64, "use_mems_eval": False}),
    "longformer": ("LongformerConfig", "LongformerForMaskedLM", {**TEXT, "attention_window": 4}),
}

CAUSAL = {
    "gpt2": ("GPT2Config", "GPT2LMHeadModel", {"vocab_size": VOCABULARY, "n_embd": 32, "n_layer": 2, "n_head": 4, "n_positions": 64, "use_cache": False}),
    "gpt_neo": ("GPTNeoConfig", "GPTNeoForCausalLM", {"vocab_size": VOCABULARY, "hidden_size": 32, "num_layers": 2, "num_heads": 4, "attention_types": [[["global", "local"], 1]], "window_size": 4, "max_position_embeddings": 64, "use_cache": False}),
    "gpt_neox": ("GPTNeoXConfig", "GPTNeoXForCausalLM", {**TEXT, "use_cache": False}),
    "gptj": ("GPTJConfig", "GPTJForCausalLM", {"vocab_size": VOCABULARY, "n_embd": 32, "n_layer": 2, "n_head": 4, "n_positions": 64, "rotary_dim": 4, "use_cache": False}),
    "llama": ("LlamaConfig", "LlamaForCausalLM", GROUPED),
    "qwen2": ("Qwen2Config", "Qwen2ForCausalLM", GROUPED),
    "qwen3": ("Qwen3Config", "Qwen3ForCausalLM", {**GROUPED, "head_dim": 8}),
    "mistral": ("MistralConfig", "MistralForCausalLM", {**GROUPED, "sliding_window": 6}),
    "mixtral": ("MixtralConfig", "MixtralForCausalLM", {**GROUPED, "num_local_experts": 4, "num_experts_per_tok": 2, "experts_implementation": "batched_mm"}),
    "gemma": ("GemmaConfig", "GemmaForCausalLM", {**GROUPED, "head_dim": 8}),
    "gemma2": ("Gemma2Config", "Gemma2ForCausalLM", {**GROUPED, "head_dim": 8, "sliding_window": 6}),
    "gemma3": ("Gemma3TextConfig", "Gemma3ForCausalLM", {**GROUPED, "head_dim": 8, "sliding_window": 6}),
    "phi": ("PhiConfig", "PhiForCausalLM", GROUPED),
    "phi3": ("Phi3Config", "Phi3ForCausalLM", {**GROUPED, "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2}),
    "opt": ("OPTConfig", "OPTForCausalLM", {"vocab_size": VOCABULARY, "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "ffn_dim": 64, "max_position_embeddings": 64, "word_embed_proj_dim": 32, "use_cache": False}),
    "bloom": ("BloomConfig", "BloomForCausalLM", {"vocab_size": VOCABULARY, "hidden_size": 32, "n_layer": 2, "n_head": 4, "use_cache": False}),
    "falcon": ("FalconConfig", "FalconForCausalLM", {"vocab_size": VOCABULARY, "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "use_cache": False}),
    "stablelm": ("StableLmConfig", "StableLmForCausalLM", GROUPED),
    "starcoder2": ("Starcoder2Config", "Starcoder2ForCausalLM", GROUPED),
    "cohere": ("CohereConfig", "CohereForCausalLM", {**GROUPED, "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2}),
    "olmo": ("OlmoConfig", "OlmoForCausalLM", {**GROUPED, "pad_token_id": 0}),
    "granite": ("GraniteConfig", "GraniteForCausalLM", GROUPED),
    "mamba": ("MambaConfig", "MambaForCausalLM", {"vocab_size": VOCABULARY, "hidden_size": 32, "num_hidden_layers": 2, "state_size": 4, "use_cache": False}),
    "mamba2": ("Mamba2Config", "Mamba2ForCausalLM", {"vocab_size": VOCABULARY, "hidden_size": 32, "num_hidden_layers": 2, "state_size": 8, "num_heads": 8, "head_dim": 8, "n_groups": 2, "chunk_size": 8, "use_cache": False}),
    "rwkv": ("RwkvConfig", "RwkvForCausalLM", {"vocab_size": VOCABULARY, "hidden_size": 32, "num_hidden_layers": 2, "attention_hidden_size": 32, "intermediate_size": 64, "use_cache": False}),
}

ENCODER_DECODERS = {
    "t5": ("T5Config", "T5ForConditionalGeneration", {"vocab_size": VOCABULARY, "d_model": 32, "d_kv": 8, "d_ff": 64, "num_layers": 2, "num_heads": 4, "use_cache": False}),
    "bart": ("BartConfig", "BartForConditionalGeneration", SEQUENCES),
    "marian": ("MarianConfig", "MarianMTModel", {**SEQUENCES, "pad_token_id": 0, "decoder_start_token_id": 0, "eos_token_id": 1}),
    "pegasus": ("PegasusConfig", "PegasusForConditionalGeneration", SEQUENCES),
    "mbart": ("MBartConfig", "MBartForConditionalGeneration", SEQUENCES),
    "blenderbot": ("BlenderbotConfig", "BlenderbotForConditionalGeneration", SEQUENCES),
}

VISION_MODELS = {
    "vit": ("ViTConfig", "ViTForImageClassification", VISION, 32),
    "deit": ("DeiTConfig", "DeiTForImageClassification", VISION, 32),
    "beit": ("BeitConfig", "BeitForImageClassification", {**VISION, "use_relative_position_bias": True}, 32),
    "swin": ("SwinConfig", "SwinForImageClassification", {"image_size": 32, "patch_size": 2, "embed_dim": 16, "depths": [2, 2], "num_heads": [2, 4], "window_size": 4}, 32),
    "swinv2": ("Swinv2Config", "Swinv2ForImageClassification", {"image_size": 32, "patch_size": 2, "embed_dim": 16, "depths": [2, 2], "num_heads": [2, 4], "window_size": 4}, 32),
    "convnext": ("ConvNextConfig", "ConvNextForImageClassification", {"hidden_sizes": [16, 32], "depths": [1, 1], "num_stages": 2}, 64),
    "convnextv2": ("ConvNextV2Config", "ConvNextV2ForImageClassification", {"hidden_sizes": [16, 32], "depths": [1, 1], "num_stages": 2}, 64),
    "dpt": ("DPTConfig", "DPTForDepthEstimation", {**VISION, "num_hidden_layers": 4, "backbone_out_indices": [0, 1, 2, 3], "neck_hidden_sizes": [16, 16, 32, 32], "fusion_hidden_size": 32, "is_hybrid": False}, 32),
    "dinov2": ("Dinov2Config", "Dinov2ForImageClassification", {"image_size": 32, "patch_size": 8, "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4}, 32),
    "segformer": ("SegformerConfig", "SegformerForSemanticSegmentation", {"hidden_sizes": [16, 32, 32, 32], "depths": [1, 1, 1, 1], "num_attention_heads": [1, 2, 2, 4], "decoder_hidden_size": 32}, 64),
    "glpn": ("GLPNConfig", "GLPNForDepthEstimation", {"hidden_sizes": [16, 32, 32, 32], "depths": [1, 1, 1, 1], "num_attention_heads": [1, 2, 2, 4], "decoder_hidden_size": 32}, 64),
    "resnet": ("ResNetConfig", "ResNetForImageClassification", {"embedding_size": 16, "hidden_sizes": [16, 32], "depths": [1, 1]}, 32),
    "regnet": ("RegNetConfig", "RegNetForImageClassification", {"embedding_size": 16, "hidden_sizes": [16, 32, 32, 32], "depths": [1, 1, 1, 1], "groups_width": 8}, 32),
    "mobilevit": ("MobileViTConfig", "MobileViTForImageClassification", {"image_size": 64, "hidden_sizes": [32, 40, 48], "neck_hidden_sizes": [8, 16, 24, 32, 40, 48, 64]}, 64),
    "levit": ("LevitConfig", "LevitForImageClassification", {"image_size": 64, "hidden_sizes": [32, 48, 64], "num_attention_heads": [2, 3, 4], "depths": [1, 1, 1], "key_dim": [8, 8, 8]}, 64),
    "poolformer": ("PoolFormerConfig", "PoolFormerForImageClassification", {"hidden_sizes": [16, 16, 32, 32], "depths": [1, 1, 1, 1]}, 64),
    "cvt": ("CvtConfig", "CvtForImageClassification", {"depth": [1, 2, 3]}, 64),
    "yolos": ("YolosConfig", "YolosForObjectDetection", {**VISION, "image_size": [32, 32], "num_detection_tokens": 5}, 32),
    "pvt": ("PvtConfig", "PvtForImageClassification", {"image_size": 64, "hidden_sizes": [16, 32, 32, 32], "depths": [1, 1, 1, 1], "num_attention_heads": [1, 2, 2, 4]}, 64),
    "focalnet": ("FocalNetConfig", "FocalNetForImageClassification", {"image_size": 32, "patch_size": 2, "embed_dim": 16, "depths": [1, 1]}, 32),
    "detr": ("DetrConfig", "DetrForObjectDetection", {"d_model": 32, "encoder_layers": 1, "decoder_layers": 1, "encoder_attention_heads": 4, "decoder_attention_heads": 4, "encoder_ffn_dim": 64, "decoder_ffn_dim": 64, "num_queries": 6}, 64),
}

QUICK = {"bert", "llama", "t5", "mamba", "clip"}


def networks() -> list[Network]:
    found = [network(name, row, tokens(LENGTH, VOCABULARY, attention_mask=mask)) for name, row in MASKED.items()]
    found += [network(name, row, tokens(LENGTH, VOCABULARY)) for name, row in CAUSAL.items()]
    found += [network(name, row, tokens(LENGTH, VOCABULARY, decoder_input_ids=shorter)) for name, row in ENCODER_DECODERS.items()]
    found += [network(name, row[:3], image(row[3])) for name, row in VISION_MODELS.items()]
    found.append(Network("transformers.clip", lambda: paired("CLIP"), paired_inputs, is_quick=True))
    found.append(Network("transformers.siglip", lambda: paired("Siglip"), paired_inputs))
    found += [network(name, row, sound) for name, row in SPEECH.items()]
    found.append(network("ast", ("ASTConfig", "ASTForAudioClassification", {**TEXT, "max_length": 32, "num_mel_bins": 16, "patch_size": 8, "frequency_stride": 8, "time_stride": 8}), spectrogram))
    found.append(network("whisper", ("WhisperConfig", "WhisperForConditionalGeneration", WHISPER), heard))
    found.append(network("perceiver", ("PerceiverConfig", "PerceiverForMaskedLM", PERCEIVER), tokens(LENGTH, VOCABULARY, attention_mask=mask)))
    found.append(network("llama_bfloat16", CAUSAL["llama"], tokens(LENGTH, VOCABULARY), "bfloat16"))
    found.append(network("vit_bfloat16", VISION_MODELS["vit"][:3], image(32), "bfloat16"))
    found.append(network("bert_float16", MASKED["bert"], tokens(LENGTH, VOCABULARY, attention_mask=mask), "float16"))
    return found


SMALL_SPEECH = {
    "vocab_size": VOCABULARY,
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 64,
    "conv_dim": [16, 16, 16],
    "conv_stride": [5, 4, 4],
    "conv_kernel": [10, 6, 6],
    "num_feat_extract_layers": 3,
    "num_conv_pos_embeddings": 16,
    "num_conv_pos_embedding_groups": 4,
}

SPEECH = {
    "wav2vec2": ("Wav2Vec2Config", "Wav2Vec2ForCTC", SMALL_SPEECH),
    "hubert": ("HubertConfig", "HubertForCTC", SMALL_SPEECH),
    "wavlm": ("WavLMConfig", "WavLMForCTC", SMALL_SPEECH),
    "sew": ("SEWConfig", "SEWForCTC", {**SMALL_SPEECH, "squeeze_factor": 2}),
}

WHISPER = {**{key: value for key, value in SEQUENCES.items() if key != "max_position_embeddings"}, "num_mel_bins": 16, "max_source_positions": 20, "max_target_positions": 30, "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2, "decoder_start_token_id": 1, "suppress_tokens": None, "begin_suppress_tokens": None}

PERCEIVER = {"vocab_size": VOCABULARY, "num_latents": 8, "d_latents": 32, "d_model": 32, "num_blocks": 1, "num_self_attends_per_block": 2, "num_self_attention_heads": 4, "num_cross_attention_heads": 4, "max_position_embeddings": LENGTH, "qk_channels": 32, "v_channels": 32}


def network(name: str, row: tuple[str, str, dict[str, Any]], inputs: Callable[[int], Inputs], dtype: str = "float32") -> Network:
    def make() -> Any:
        import transformers

        config, model, options = row
        if name == "detr":
            backbone = transformers.ResNetConfig(embedding_size=16, hidden_sizes=[16, 32], depths=[1, 1], out_features=["stage2"])
            options = {**options, "backbone_config": backbone, "use_timm_backbone": False, "use_pretrained_backbone": False, "backbone": None}
        return getattr(transformers, model)(getattr(transformers, config)(**options))

    return Network(f"transformers.{name}", make, inputs, dtype=dtype, is_quick=name in QUICK)


def mask(batch: int) -> Any:
    """The last places of every other text are empty."""
    import torch

    mask = torch.ones(batch, LENGTH, dtype=torch.long)
    mask[1::2, -3:] = 0
    return mask


def shorter(batch: int) -> Any:
    import torch

    return torch.randint(3, VOCABULARY, (batch, LENGTH - 3))


def paired(family: str) -> Any:
    """A model of texts and images."""
    import transformers

    text = {**TEXT, "bos_token_id": 1, "eos_token_id": 2, "pad_token_id": 0, "projection_dim": 16}
    config = getattr(transformers, f"{family}Config")(text_config=text, vision_config={**VISION, "projection_dim": 16})
    return getattr(transformers, f"{family}Model")(config)


def paired_inputs(batch: int) -> Inputs:
    import torch

    ids = torch.randint(3, VOCABULARY, (batch, LENGTH))
    ids[:, -1] = 2
    return (), {"input_ids": ids, "pixel_values": patterns(batch, 3, 32, 32)}


def sound(batch: int) -> Inputs:
    import torch

    return (torch.randn(batch, 2000),), {}


def spectrogram(batch: int) -> Inputs:
    import torch

    return (torch.randn(batch, 32, 16),), {}


def heard(batch: int) -> Inputs:
    import torch

    return (), {"input_features": torch.randn(batch, 16, 40), "decoder_input_ids": torch.randint(3, VOCABULARY, (batch, 8))}
