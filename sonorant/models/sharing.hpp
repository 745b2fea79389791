// Work that threads share. Part of a kernels.cpp.
#pragma once

// Call `work` with the first of each thread's share of so many, and the one behind its last; a share has `least` or more.
// Throws what `work` does, after the end of all.
template <typename Work>
void share(size_t count, size_t threads, size_t least, const Work& work) {
    const size_t each = std::max(least, (count + threads - 1) / std::max<size_t>(threads, 1));
    std::vector<std::exception_ptr> failures(1 + count / each);
    const auto attempt = [&](size_t first, size_t last) {
        try {
            work(first, last);
        } catch (...) {
            failures[first / each] = std::current_exception();
        }
    };
    std::vector<std::thread> others;
    others.reserve(count / each);
    size_t first = each;
    try {
        for (; first < count; first += each) others.emplace_back(attempt, first, std::min(first + each, count));
    } catch (const std::system_error&) {  // the machine has no more threads
        attempt(first, count);
    }
    attempt(0, std::min(each, count));
    for (std::thread& other : others) other.join();
    for (const std::exception_ptr& failure : failures)
        if (failure) std::rethrow_exception(failure);
}
