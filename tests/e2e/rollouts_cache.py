"""The cache of the controller of Argo Rollouts 1.9."""

from __future__ import annotations

import time

from tests.e2e.programs import version


def wait_for_cache() -> None:
    """Wait until the controller of Argo Rollouts can see a change that follows its status.

    In 1.9 and earlier, the controller writes the status also into its cache, over a newer object
    from the API server. It then does not see a change that follows the status at once.
    (rollout/controller.go: writeBackToInformer; 1.10 compares resource versions instead)
    """
    if version("rollouts-controller") < (1, 10):
        time.sleep(2)
