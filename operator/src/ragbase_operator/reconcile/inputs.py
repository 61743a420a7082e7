"""What builders are told: Secrets that exist, those that the spec refers to, foreign kinds."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Mapping

from ragbase_operator.builders import names
from ragbase_operator.builders.inputs import Inputs
from ragbase_operator.builders.kinds import FRESH
from ragbase_operator.builders.names import digest
from ragbase_operator.builders.objects import canonical
from ragbase_operator.builders.references import SecretUse, secret_uses
from ragbase_operator.models.manifest import Manifest
from ragbase_operator.models.objects import RagBase
from ragbase_operator.reconcile.context import Context
from ragbase_operator.reconcile.observe import Observed
from ragbase_operator.status.faults import Fault
from ragbase_operator.status.reasons import Reason

__all__ = ["decoded", "gather_inputs", "missing_secrets", "probe_key"]


def gather_inputs(ragbase: RagBase, observed: Observed, context: Context) -> Inputs:
    """Inputs of this pass. Values are drawn anew each time, so that a deleted Secret is rotated."""
    used = {use.name for use in secret_uses(ragbase.spec)}
    return Inputs(
        version=context.version,
        images=context.images,
        secrets={
            name: decoded(observed.secrets[name])
            for name in _generated(ragbase.name)
            if name in observed.secrets
        },
        fresh={purpose: context.draw() for purpose in FRESH},
        referenced={
            name: digest(canonical(observed.secrets[name].get("data") or {}), 16)
            for name in sorted(used & set(observed.secrets))
        },
        kinds=observed.kinds,
    )


def missing_secrets(
    uses: Iterable[SecretUse], secrets: Mapping[str, Manifest]
) -> tuple[Fault, ...]:
    """A fault for each Secret or key that is referred to and absent."""
    return tuple(
        fault for use in sorted(set(uses)) if (fault := _missing(use, secrets)) is not None
    )


def probe_key(ragbase: RagBase, secrets: Mapping[str, Manifest]) -> str | None:
    """The key with which the readiness search is made; None where the API asks for none."""
    auth = ragbase.spec.api.auth
    if not auth.enabled:
        return None
    own = auth.existing_secret
    name = own.name if own is not None else names.api_key_secret(ragbase.name)
    return decoded(secrets.get(name, {})).get("probe")


def decoded(secret: Manifest) -> dict[str, str]:
    """Values of a Secret; those that are no text are left out."""
    found = {}
    for key, value in (secret.get("data") or {}).items():
        try:
            found[key] = base64.b64decode(value, validate=True).decode()
        except ValueError:
            continue
    return found


def _generated(ragbase: str) -> tuple[str, ...]:
    return (
        names.database_secret(ragbase),
        names.memgraph_secret(ragbase),
        names.api_key_secret(ragbase),
        names.client_secret(ragbase),
    )


def _missing(use: SecretUse, secrets: Mapping[str, Manifest]) -> Fault | None:
    secret = secrets.get(use.name)
    if secret is None:
        return Fault(
            Reason.SECRET_MISSING,
            f"the spec refers to Secret {use.name}, which is not there; create it"
            + (f" with key `{use.key}`" if use.key else ""),
        )
    if use.key and not (secret.get("data") or {}).get(use.key):
        return Fault(
            Reason.SECRET_KEY_MISSING,
            f"Secret {use.name} has no key `{use.key}`, to which the spec refers; add it",
        )
    return None
