"""Patches for one launch of a vLLM server. To add one: a row here, a module in plugin/specwatch_vllm_patches/."""

from typing import NamedTuple


class Patch(NamedTuple):
    id: str
    changes: str
    why: str
    versions: str
    parts: tuple[str, ...]


PATCHES: tuple[Patch, ...] = (
    Patch(
        "eagle3",
        "adds DeepSeek-V2/V3, Kimi-K2 and Kimi-K2.5 to the targets of EAGLE-3: the list of accepted model types, the "
        "image token of Kimi-K2.5's configuration, the SupportsEagle3 interface of both model classes",
        "vLLM 0.10 to 0.17 refuse an EAGLE-3 drafter for these targets at those three places, in turn",
        "0.10 – 0.17 (native from 0.18: nothing is touched there)",
        ("eagle3.whitelist", "eagle3.image_token", "eagle3.interface_deepseek", "eagle3.interface_kimi"),
    ),
)
