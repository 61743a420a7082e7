"""Asks advisory services about every locked package: ``python .ci/audit.py``.

Exit 1 when a lock holds a package with a known vulnerability. Where no service answers (no
network, or a package index that knows no advisories) it says so and exits 0: silence is no finding.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

__all__ = ["Answer", "audit", "main"]

SERVICES = ("pypi", "osv")
TIMEOUT_S = 600


@dataclass(frozen=True, slots=True)
class Answer:
    """What pip-audit said of one lock; ``dependencies`` None: it broke off, for ``reason``."""

    dependencies: list[dict[str, Any]] | None
    reason: str = ""

    @property
    def useful(self) -> bool:
        """Whether the service knows advisories of at least one package."""
        return any("vulns" in each for each in self.dependencies or ())


Ask = Callable[[Path, str], Answer]


def ask(lock: Path, service: str) -> Answer:
    """Run pip-audit on a lock."""
    command = [sys.executable, "-m", "pip_audit", "--requirement", str(lock), "--no-deps"]
    command += ["--disable-pip", "--format", "json", "--progress-spinner", "off"]
    command += ["--vulnerability-service", service]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_S)
        return Answer(json.loads(done.stdout)["dependencies"])
    except subprocess.TimeoutExpired:
        return Answer(None, "it took too long")
    except (ValueError, KeyError):
        return Answer(None, _why(done.stderr))


def audit(locks: list[Path], ask: Ask) -> int:
    """Ask about each lock, of the first service that knows anything; the exit code."""
    reasons = []
    for service in SERVICES:
        first = ask(locks[0], service)
        if first.useful:
            answers = {locks[0]: first, **{lock: ask(lock, service) for lock in locks[1:]}}
            return _report(service, answers)
        reasons.append(f"{service}: {first.reason or 'knows none of the packages'}")
    print(f"Audit skipped, no advisory service answers ({'; '.join(reasons)}).")
    return 0


def _report(service: str, answers: dict[Path, Answer]) -> int:
    failed = False
    for lock, answer in answers.items():
        if answer.dependencies is None:
            print(f"{lock}: not audited ({answer.reason})")
            failed = True
            continue
        for each in answer.dependencies:
            for vulnerability in each.get("vulns", ()):
                fixed = ", ".join(vulnerability["fix_versions"]) or "no version"
                print(
                    f"{lock}: {each['name']} {each['version']}: {vulnerability['id']}, fixed in {fixed}"
                )
                failed = True
        unknown = [each["name"] for each in answer.dependencies if "vulns" not in each]
        if unknown:
            print(f"{lock}: not known to {service}: {', '.join(unknown)}")
    print(f"Audited by {service}: " + ("findings" if failed else "no known vulnerability"))
    return int(failed)


def _why(said: str) -> str:
    """The kind of the error alone: its text holds addresses."""
    last = said.strip().splitlines()[-1] if said.strip() else "no answer"
    return last.partition(":")[0].rpartition(".")[2] or last[:80]


def main() -> int:
    """Audit the locks, the largest first."""
    locks = sorted(Path("requirements").glob("*.txt"), key=lambda lock: -lock.stat().st_size)
    return audit(locks, ask)


if __name__ == "__main__":
    sys.exit(main())
