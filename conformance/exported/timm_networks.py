"""A small member of many families of timm."""

from __future__ import annotations

from typing import Any

from networks import Network, image

CLASSES = 20

MODELS: dict[str, tuple[int, dict[str, Any]]] = {
    "beit_base_patch16_224": (64, {"img_size": 64, "depth": 2, "embed_dim": 64, "num_heads": 4}),
    "cait_xxs24_224": (64, {"img_size": 64, "depth": 2, "embed_dim": 64, "num_heads": 4}),
    "coat_lite_tiny": (64, {"img_size": 64}),
    "coatnet_nano_rw_224": (64, {"img_size": 64}),
    "convit_tiny": (64, {"img_size": 64, "depth": 4}),
    "convmixer_768_32": (64, {}),
    "convnextv2_atto": (64, {}),
    "crossvit_tiny_240": (240, {}),
    "cspresnet50": (64, {}),
    "davit_tiny": (64, {"embed_dims": (32, 64), "depths": (1, 1), "num_heads": (2, 4)}),
    "dla34": (64, {}),
    "dpn68": (64, {}),
    "edgenext_xx_small": (64, {}),
    "efficientformer_l1": (224, {"depths": (1, 1, 1, 2)}),
    "efficientvit_b0": (64, {}),
    "eva02_tiny_patch14_224": (56, {"img_size": 56, "depth": 2}),
    "fastvit_t8": (64, {}),
    "focalnet_tiny_srf": (64, {}),
    "gernet_s": (64, {}),
    "ghostnet_050": (64, {}),
    "gmlp_s16_224": (64, {"img_size": 64}),
    "hardcorenas_a": (64, {}),
    "hgnet_tiny": (64, {}),
    "hrnet_w18_small": (64, {}),
    "inception_next_tiny": (64, {"depths": (1, 1, 1, 1), "dims": (32, 48, 64, 96)}),
    "lambda_resnet26t": (128, {}),
    "levit_128s": (224, {}),
    "maxvit_rmlp_pico_rw_256": (64, {"img_size": 64}),
    "mixer_s32_224": (64, {"img_size": 64}),
    "mobilevit_xxs": (64, {}),
    "nest_tiny": (64, {"img_size": 64}),
    "nf_resnet50": (64, {}),
    "poolformer_s12": (64, {}),
    "pvt_v2_b0": (64, {}),
    "repvgg_a0": (64, {}),
    "repvit_m1": (64, {}),
    "res2net50_26w_4s": (64, {}),
    "resmlp_12_224": (64, {"img_size": 64}),
    "resnest14d": (64, {}),
    "rexnet_100": (64, {}),
    "selecsls42b": (64, {}),
    "seresnet18": (64, {}),
    "skresnet18": (64, {}),
    "tinynet_e": (64, {}),
    "tnt_s_patch16_224": (64, {"img_size": 64, "depth": 2}),
    "tresnet_m": (64, {}),
    "twins_svt_small": (64, {"img_size": 64, "depths": (1, 1, 1, 1)}),
    "visformer_tiny": (224, {}),
    "volo_d1_224": (64, {"img_size": 64}),
    "xception41": (64, {}),
    "xcit_nano_12_p16_224": (64, {"img_size": 64, "depth": 2}),
}
"""With the size of images, and what is smaller than in the original."""


QUICK = {"convnextv2_atto", "mobilevit_xxs"}


def networks() -> list[Network]:
    return [network(name, *row) for name, row in MODELS.items()]


def network(name: str, size: int, options: dict[str, Any]) -> Network:
    def make() -> Any:
        import timm

        return timm.create_model(name, pretrained=False, num_classes=CLASSES, **options)

    return Network(f"timm.{name}", make, image(size), is_quick=name in QUICK)
