"""A vLLM plug-in: `--load-format slowload` is the default loader at SLOWLOAD_MBPS megabytes a second.

The reading, the progress bar and the engine stay vLLM's own; only the iterator over tensors waits.
"""

import os
import time


def register():
    from vllm.model_executor.model_loader import register_model_loader
    from vllm.model_executor.model_loader.default_loader import DefaultModelLoader

    @register_model_loader("slowload")
    class SlowLoader(DefaultModelLoader):
        def __init__(self, load_config):
            load_config.load_format = "auto"
            super().__init__(load_config)

        def _get_weights_iterator(self, source):
            bytes_per_s = float(os.environ.get("SLOWLOAD_MBPS", "1")) * 1e6
            for name, tensor in super()._get_weights_iterator(source):
                time.sleep(tensor.numel() * tensor.element_size() / bytes_per_s)
                yield name, tensor
