// Exponentials and what is made of them, in loops that a compiler vectorises. Part of a kernels.cpp.
#pragma once

constexpr float LARGEST = 87;  // whose exponential is a float, as that of its negative

// e^x = 2^n e^r, where x = n ln 2 + r with |r| <= ln 2 / 2.
struct PowerOfTwo {
    int32_t exponent;
    float less_one;  // e^r - 1, by its Taylor series, whose first term left out is 5e-9
};

// Of x within +- 11,000, up to which n ln 2 is exact in its first part.
INLINE PowerOfTwo exponential_as_power(float x) {
    const float high = 0.693359375f, low = -2.12194440e-4f;  // ln 2, the first of few bits: n times it is exact
    const float rounder = 12582912;  // 1.5 2^23: beyond it floats are whole numbers, and end with their bits
    const float shifted = x * 1.44269504f + rounder, n = shifted - rounder;
    const float r = (x - n * high) - n * low;
    const float series =
        r + r * r * (1 / 2.f + r * (1 / 6.f + r * (1 / 24.f + r * (1 / 120.f + r * (1 / 720.f + r * (1 / 5040.f))))));
    uint32_t bits, bits_of_rounder;
    std::memcpy(&bits, &shifted, sizeof bits);
    std::memcpy(&bits_of_rounder, &rounder, sizeof bits_of_rounder);
    return {static_cast<int32_t>(bits - bits_of_rounder), series};
}

struct Exponential {
    float power, less_one;  // 2^n; e^r - 1
};

INLINE Exponential exponential_parts(float x) {
    const PowerOfTwo of = exponential_as_power(std::min(std::max(x, -LARGEST), LARGEST));
    const uint32_t bits = static_cast<uint32_t>(of.exponent + 127) << 23;
    float power;
    std::memcpy(&power, &bits, sizeof power);
    return {power, of.less_one};
}

INLINE float exponential(float x) {
    const auto [power, less_one] = exponential_parts(x);
    return power * less_one + power;
}

// e^x - 1, near 0 too.
INLINE float exponential_less_one(float x) {
    const auto [power, less_one] = exponential_parts(x);
    return power * less_one + (power - 1);
}

INLINE float sigmoid(float x) { return 1 / (2 + exponential_less_one(-x)); }

INLINE float hyperbolic_tangent(float x) {
    const float less_one = exponential_less_one(2 * x);
    return less_one / (less_one + 2);
}
