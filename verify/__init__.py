"""Tasks, verifiers and splits: what a good answer is, and on which rows it is asked for.

import verify
verify.verifier("gsm8k")({"answer": "… #### 18"}, "9 · 2 = 18\n#### 18").value  # 1.0
"""

from verify.registry import KINDS, verifier
from verify.verdict import Fault, Item, Verdict, Verifier

__all__ = ["KINDS", "Fault", "Item", "Verdict", "Verifier", "verifier"]
