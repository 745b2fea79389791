// NumPy's arrays in kernels of training, what is expected of them, and their sums. Part of a kernels.cpp.
#pragma once

template <size_t RANK>
using Floats = nb::ndarray<const float, nb::ndim<RANK>, nb::c_contig, nb::device::cpu>;
template <size_t RANK>
using Integers = nb::ndarray<const int32_t, nb::ndim<RANK>, nb::c_contig, nb::device::cpu>;
template <size_t RANK>
using ConstBytes = nb::ndarray<const uint8_t, nb::ndim<RANK>, nb::c_contig, nb::device::cpu>;
template <size_t RANK>
using Bytes = nb::ndarray<uint8_t, nb::ndim<RANK>, nb::c_contig, nb::device::cpu>;
template <size_t RANK>
using Sums = nb::ndarray<float, nb::ndim<RANK>, nb::c_contig, nb::device::cpu>;

FASTEST void add_values(const float* __restrict values, size_t count, float* __restrict sums) {
    for (size_t i = 0; i < count; ++i) sums[i] += values[i];
}

void expect(bool holds, const char* what) {
    if (!holds) throw nb::value_error(what);
}
