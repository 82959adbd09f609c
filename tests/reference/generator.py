"""Plain Python random numbers of the core: what a learner draws, draw for draw.

D. Blackman, S. Vigna, "Scrambled Linear Pseudorandom Number Generators" (2018): xoshiro256**, whose state is
four words of 64 bits. G. E. P. Box, M. E. Muller, "A Note on the Generation of Random Normal Deviates"
(1958).
"""

import math

import numpy as np

WORD = 2**64


def turned(word, by):
    """Return a word with its bits turned to the left."""
    return (word << by | word >> (64 - by)) % WORD


class ReferenceGenerator:
    """Four words in, numbers out; `below` and `normals` are what the twins of learners ask for."""

    def __init__(self, words):
        self.state = [int(word) for word in words]

    @classmethod
    def of(cls, random_state, column=0):
        """The generator of a binary problem of a learner with that random_state, an integer."""
        words = np.random.RandomState(random_state).randint(1, 2**63 - 1, size=4, dtype=np.int64)
        first = cls(words)
        own = [first.next() for _ in range(4 * column + 4)]
        return cls(own[-4:])

    def next(self):
        s = self.state
        result = turned(s[1] * 5 % WORD, 7) * 9 % WORD
        shifted = (s[1] << 17) % WORD
        s[2] ^= s[0]
        s[3] ^= s[1]
        s[1] ^= s[2]
        s[0] ^= s[3]
        s[2] ^= shifted
        s[3] = turned(s[3], 45)
        return result

    def below(self, n):
        """Return one of 0, …, n − 1; draws beyond the last whole multiple of n do not count."""
        most = (WORD - 1) // n * n
        while (draw := self.next()) >= most:
            pass
        return draw % n

    def uniform(self):
        """Return a number between 0 and 1, both excluded."""
        return ((self.next() >> 11) + 0.5) * 2.0**-53

    def normals(self, n):
        """Return n standard normal numbers, from two uniform ones each."""
        pairs = [(self.uniform(), self.uniform()) for _ in range(n)]
        return np.array([math.sqrt(-2 * math.log(u)) * math.cos(2 * math.pi * v) for u, v in pairs])
