"""What plain NumPy implementations of the papers found on fixed rows in their given order.

Tuples of numbers in the order named; the data are described in `_noise_figures`. None: not given.
"""

from __future__ import annotations

Numbers = tuple[float | None, ...]

# Chapter 6 of the thesis, by (data, C, gamma) and learner: support vectors, dual objective, accuracy and,
# where the learner counts them, outliers or skipped rows.
CHAPTER_6: dict[tuple[str, float, float], dict[str, Numbers]] = {
    ("wdbc", 1, 0.02): {
        "FullSVM": (124, 62.396, 0.9859),
        "LASVMG": (124, 62.396, 0.9859),
        "LASVMNC": (124, 62.396, 0.9859, 0),
        "LASVMI": (125, 62.376, 0.9859, 149),
        "LASVMI, min_support=0": (123, None, None, 395),
    },
    ("wdbc", 100, 0.02): {
        "FullSVM": (66, 764.82, 0.9982),
        "LASVMG": (66, 764.82, 0.9982),
        "LASVMNC": (66, 764.82, 0.9982, 0),
        "LASVMI": (66, 764.82, 0.9982, 0),
        "LASVMI, min_support=0": (41, None, None, 472),
    },
    ("banana1000", 10, 1): {
        "FullSVM": (254, 1901.3, 0.9023),
        "LASVMG": (254, 1892.3, 0.8992),
        "LASVMNC": (185, 1367.2, 0.9008, 24),
        "LASVMI": (202, 1410.5, 0.8962, 552),
        "LASVMI, min_support=0": (177, None, None, 747),
    },
    ("usps2000", 1, 1): {
        "FullSVM": (226, 83.248, 0.9910),
        "LASVMG": (229, 83.257, 0.9910),
        "LASVMNC": (223, 81.624, 0.9910, 1),
        "LASVMI": (219, 81.516, 0.9910, 1466),
        "LASVMI, min_support=0": (215, None, None, 1609),
    },
    ("usps2000+N", 1, 1): {
        "FullSVM": (831, 482.60, 0.9880),
        "LASVMG": (856, 481.18, 0.9895),
        "LASVMNC": (357, 159.77, 0.9895, 155),
        "LASVMI": (374, 169.91, 0.9885, 1433),
        "LASVMI, min_support=0": (334, None, None, 1519),
    },
}
# Kernel values on usps2000+N, without those that another cache computes again
VALUES = {"FullSVM": 1_999_000, "LASVMG": 1_246_100, "LASVMNC": 891_400, "LASVMI": 561_070}

# Offline ramp loss on the first 1000 rows: rows with z >= s, support vectors, accuracy, and the objectives
# after the start and after each round
OFFLINE: dict[tuple[str, float, float], Numbers] = {
    ("wdbc", 1, 0.02): (568, 105, 0.9859, 63.6279, 63.5061),
    ("banana1000", 10, 1): (972, 150, 0.8985, 1825.95, 1768.3291, 1760.2956, 1760.1365, 1759.7866),
    ("usps1000", 1, 1): (1000, 168, 0.9865, 62.9377, 62.9377),
    ("usps1000+N", 1, 1): (966, 344, 0.9851, 254.6249, 251.7922, 251.2931, 251.0834),
}
# Online: support vectors, accuracy, then the ramp objective over all rows or the number of labels asked for
ONLINE: dict[tuple[str, float, float], dict[str, Numbers]] = {
    ("wdbc", 1, 0.02): {
        "OnlineSVMR": (106, 0.9859, 63.532),
        "max_idle=100": (106, 0.9859),
        "max_idle=0": (98, 0.9842),
        "RampRegion": (103, 0.9859, 178),
        "s=-inf": (109, 0.9859),
        "RecentMargin(5)": (73, 0.9772, 113),
    },
    ("banana1000", 10, 1): {
        "OnlineSVMR": (135, 0.9008, 1755.29),
        "max_idle=100": (126, 0.8977),
        "max_idle=0": (70, 0.8877),
        "RampRegion": (117, 0.8954, 221),
        "s=-inf": (225, 0.9015),
        "RecentMargin(5)": (88, 0.9000, 200),
    },
    ("usps1000", 1, 1): {
        "OnlineSVMR": (169, 0.9865, 63.021),
        "max_idle=100": (169, 0.9865),
        "max_idle=0": (150, 0.9865),
        "RampRegion": (165, 0.9856, 317),
        "s=-inf": (170, 0.9865),
        "RecentMargin(5)": (120, 0.9846, 200),
    },
    ("usps1000+N", 1, 1): {
        "OnlineSVMR": (245, 0.9851, 250.30),
        "max_idle=100": (242, 0.9851),
        "max_idle=0": (217, 0.9836),
        "RampRegion": (225, 0.9851, 376),
        "s=-inf": (474, 0.9865),
        "RecentMargin(5)": (148, 0.9875, 200),
    },
}
# Generated rows, 1000 for training: accuracy and support vectors. Another draw, so for orientation only.
GENERATED: dict[tuple[str, float, float], dict[str, Numbers]] = {
    ("Gauss", 1, 0.5): {
        "FullSVM, finished": (0.8126, 440),
        "OnlineSVMR": (0.8172, 244),
        "RampRegion": (0.8160, 213),
        "RampSVM": (0.8178, 240),
        "LASVMG": (0.8056, 472),
        "LASVMNC": (0.8186, 285),
        "LASVMI": (0.8184, 301),
    },
    ("NCheckerboard", 10, 4): {
        "FullSVM, finished": (0.9064, 523),
        "OnlineSVMR": (0.9304, 218),
        "RampRegion": (0.9218, 175),
        "RampSVM": (0.9150, 244),
        "LASVMG": (0.8972, 574),
        "LASVMNC": (0.8998, 305),
        "LASVMI": (0.9098, 285),
    },
}
