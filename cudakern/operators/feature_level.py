"""DirectML feature levels.

Source: the DirectML feature-level history (windows-ai-docs, ``dml-feature-level-history``).
"""

from __future__ import annotations

from enum import IntEnum


class FeatureLevel(IntEnum):
    """What a descriptor may use; each level is a superset of the ones below it.

    Level *a_b* has DirectML's value ``0xab00``. ``EXTENDED`` is not part of DirectML: it is the
    superset that the functions use (more data types, zero-size tensors, any buffer alignment).
    """

    LEVEL_1_0 = 0x1000
    LEVEL_2_0 = 0x2000
    LEVEL_2_1 = 0x2100
    LEVEL_3_0 = 0x3000
    LEVEL_3_1 = 0x3100
    LEVEL_4_0 = 0x4000
    LEVEL_4_1 = 0x4100
    LEVEL_5_0 = 0x5000
    LEVEL_5_1 = 0x5100
    LEVEL_5_2 = 0x5200
    LEVEL_6_0 = 0x6000
    LEVEL_6_1 = 0x6100
    LEVEL_6_2 = 0x6200
    LEVEL_6_3 = 0x6300
    LEVEL_6_4 = 0x6400
    EXTENDED = 0xFFFF

    @property
    def label(self) -> str:
        """The level as DirectML writes it, such as ``"4_1"``."""
        if self is FeatureLevel.EXTENDED:
            return "extended"
        return f"{self >> 12}_{(self >> 8) & 0xF}"
