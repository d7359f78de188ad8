"""What a reader should know about the reach of the model; said in every report."""

MODELLED = (
    "Accesses of every memory by operand, counted exactly for the mapping shown: ragged tiles, windows "
    "that overlap, strides, padding that is not data, multicast, spatial reduction, partial sums at "
    "accumulator width.",
    "Whole words: an access moves full words of the memory, per step and instance.",
    "Capacity with all buffers, in words at the width of each format.",
    "Time: steps of the slowest PE, every port's bandwidth per step, fills and drains of single and "
    "double buffers, array ramp; only the layer's latency is rounded up.",
    "Energy of memories, links, additions, MACs by mode, vector operations, and leakage over the whole "
    "latency.",
    "Area of memories, named blocks of the PE, links, vector and floating-point unit.",
    "Vector operators, bias and activation in the drain of their layer, and conversions between formats.",
    "Measured accuracy (where there is labelled data): weights and inputs of every MAC layer rounded to "
    "their formats.",
)
NOT_MODELLED = (
    "Overlap between layers: layers run in sequence, and every tensor rests in the outermost memory "
    "between them.",
    "The product of network energy and network latency is not optimised jointly: each layer takes its "
    "own best mapping.",
    "The floating-point unit beside the array is a closed-form estimate, marked as such.",
    "Rounding of what vector operators read, in the measured accuracy: sums and other operators are "
    "exact there.",
    "Data-dependent effects: sparsity, toggling, zero gating, early exit.",
    "DRAM refresh, row misses and bank conflicts; contention with anything else on the chip.",
    "Instruction fetch, control, clock tree and input or output of the chip, unless an entry of the "
    "architecture states them.",
)
