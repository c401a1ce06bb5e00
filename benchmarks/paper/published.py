"""Numbers printed in the paper, in per cent, as far as they were at hand when this was written."""

from __future__ import annotations

TABLE3 = {
    "reals": {
        "Tree": 77.8,
        "RF": 80.4,
        "Ada": 79.3,
        "agreement Tree": 80.2,
        "agreement RF": 86.4,
        "agreement Ada": 92.4,
    },
    "marginals": {
        "Tree": 57.9,
        "RF": 63.8,
        "Ada": 69.2,
        "agreement Tree": 58.5,
        "agreement RF": 65.4,
        "agreement Ada": 75.6,
    },
    "ω=11": {
        "Tree": 72.4,
        "RF": 75.3,
        "Ada": 78.0,
        "agreement Tree": 73.9,
        "agreement RF": 79.0,
        "agreement Ada": 83.0,
    },
}
TABLE4 = {
    "not private": {"LR": 79.9, "SVM": 78.5},
    "output perturbation": {"LR": 69.7, "SVM": 76.2},
    "objective perturbation": {"LR": 76.3, "SVM": 78.2},
    "marginals": {"LR": 68.9, "SVM": 68.9},
    "ω=11": {"LR": 77.6, "SVM": 77.2},
}
TABLE5 = {
    "marginals": {"RF": 79.8, "Tree": 73.2},
    "ω=11": {"RF": 62.3, "Tree": 58.9},
    "ω∈[5-11]": {"RF": 61.4, "Tree": 58.4},
}
