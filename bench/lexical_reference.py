"""BM25 in float64 numpy over the same terms: what the native dialect's scores are compared with."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

__all__ = ["Reference", "agrees"]

K1 = 1.2
B = 0.75


class Reference:
    """Scores chunks of one set by BM25 with Lucene's idf, times k1 + 1.

    ``chunks`` maps ids to terms joined by spaces; only ``vocabulary`` can be asked for.
    """

    def __init__(self, chunks: Mapping[int, str], vocabulary: Iterable[str]) -> None:
        wanted = set(vocabulary)
        self.ids = np.fromiter(chunks, dtype=np.int64, count=len(chunks))
        self._places: dict[str, list[int]] = {term: [] for term in wanted}
        self._counts: dict[str, list[int]] = {term: [] for term in wanted}
        lengths = np.zeros(len(chunks))
        for place, text in enumerate(chunks.values()):
            terms = text.split()
            lengths[place] = len(terms)
            for term, count in Counter(term for term in terms if term in wanted).items():
                self._places[term].append(place)
                self._counts[term].append(count)
        self._norm = K1 * (1 - B + B * lengths / lengths.mean())

    def scores(self, terms: Sequence[str]) -> NDArray[np.float64]:
        """Shape (chunks,), in the order of `ids`; 0 where no term occurs."""
        total = np.zeros(len(self.ids))
        for term, repeats in Counter(terms).items():
            places = np.asarray(self._places[term], dtype=np.int64)
            tf = np.asarray(self._counts[term], dtype=np.float64)
            df = len(places)
            idf = np.log(1 + (len(self.ids) - df + 0.5) / (df + 0.5))
            total[places] += repeats * (K1 + 1) * idf * tf / (tf + self._norm[places])
        return total


def agrees(
    hits: Sequence[tuple[int, float]], ids: NDArray[np.int64], scores: NDArray[np.float64], k: int
) -> bool:
    """Whether ``hits`` are the best ``k``: right scores (rtol 1e-9), right order, up to ties."""
    best = np.sort(scores[scores > 0])[::-1][:k]
    if len(hits) != len(best):
        return False
    place = {int(chunk): index for index, chunk in enumerate(ids)}
    own = np.array([scores[place[chunk]] for chunk, _ in hits])
    found = np.array([score for _, score in hits])
    return bool(np.allclose(found, own, rtol=1e-9) and np.allclose(found, best, rtol=1e-9))
