"""What the examples print when they run as scripts."""

from __future__ import annotations

PRINTED = {
    "beam_reordering": """\
histories of three beams, then parents 1, 1, 0 with the words 5, 6, 5:
[[[3 8 5]
  [3 8 6]
  [3 7 5]]]
""",
    "boxes_of_class": """\
boxes of class 7: [[0.0, 0.0, 2.0, 2.0], [5.0, 5.0, 6.0, 9.0]]
room for 3, no wait: [[0.0, 0.0, 2.0, 2.0], [5.0, 5.0, 6.0, 9.0], [0.0, 0.0, 0.0, 0.0]]
""",
    "channel_statistics": """\
means: [31.5 47.5 63.5] variances: [597.25 597.25 597.25]
""",
    "label_smoothing": """\
labels 2 and ignored:
[[0.05 0.05 0.85 0.05]
 [0.05 0.05 0.05 0.05]]
""",
    "masked_log_softmax": """\
log-probabilities; of the second row all is masked:
[[-0.313 -1.313   -inf]
 [  -inf   -inf   -inf]]
""",
    "memory_map": """\
the first elements of three rows of 3 million:
[0. 7. 0.]
""",
    "moe_routing": """\
loads of the experts: [2 1] and, with room for one token each, the results:
[[ 7.5 15. ]
 [ 0.   0. ]
 [-5.  -6. ]]
""",
    "onnx_executor": """\
votes: [1 2 0]
""",
    "padded_embedding": """\
the sentences 2 0 and 1, padded:
[[[5. 6.]
  [1. 2.]]

 [[3. 4.]
  [0. 0.]]]
""",
    "voxel_grid": """\
cells: [[0, 0, 1], [1, 0, 0]] features: [50. 25.] too many: [ True]
""",
}
