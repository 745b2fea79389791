"""Sound as arrays: image method, late reverberation, mixing, filters, transforms. Arrays in, arrays out.

No recipes and no examples; `kernels` holds the compiled inner loops.
"""
