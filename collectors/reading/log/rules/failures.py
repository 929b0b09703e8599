"""All kinds of failure: the tables of the themes together, in the order in which they are tried."""

from collectors.reading.log.rules.failure import Matcher
from collectors.reading.log.rules.failures_architecture import ARCHITECTURE
from collectors.reading.log.rules.failures_compile import COMPILE
from collectors.reading.log.rules.failures_config import CONFIG
from collectors.reading.log.rules.failures_death import DEATHS
from collectors.reading.log.rules.failures_distributed import DISTRIBUTED
from collectors.reading.log.rules.failures_drafter import DRAFTER
from collectors.reading.log.rules.failures_host import HOST
from collectors.reading.log.rules.failures_hub import HUB
from collectors.reading.log.rules.failures_install import INSTALL
from collectors.reading.log.rules.failures_kernels import KERNELS
from collectors.reading.log.rules.failures_memory import MEMORY
from collectors.reading.log.rules.failures_outside import OUTSIDE
from collectors.reading.log.rules.failures_quantisation import QUANTISATION
from collectors.reading.log.rules.failures_runtime import RUNTIME
from collectors.reading.log.rules.failures_serving import SERVING_FAILURES
from collectors.reading.log.rules.failures_sglang import SGLANG_FAILURES
from collectors.reading.log.rules.failures_weights import WEIGHTS

FAILURES = (
    MEMORY
    + DEATHS
    + HUB
    + QUANTISATION
    + WEIGHTS
    + DRAFTER
    + CONFIG
    + ARCHITECTURE
    + DISTRIBUTED
    + HOST
    + RUNTIME
    + COMPILE
    + INSTALL
    + KERNELS
    + SERVING_FAILURES
    + OUTSIDE
    + SGLANG_FAILURES
)
KINDS = Matcher(FAILURES)
