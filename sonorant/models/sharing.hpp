// Work that threads share. Part of a kernels.cpp.
#pragma once

// Call `work` with the first of each thread's share of so many, and the one behind its last; a share has `least` or more.
template <typename Work>
void share(size_t count, size_t threads, size_t least, const Work& work) {
    const size_t each = std::max(least, (count + threads - 1) / std::max<size_t>(threads, 1));
    std::vector<std::thread> others;
    size_t first = each;
    try {
        for (; first < count; first += each) others.emplace_back(std::cref(work), first, std::min(first + each, count));
    } catch (const std::system_error&) {  // the machine has no more threads
        work(first, count);
    }
    work(0, std::min(each, count));
    for (std::thread& other : others) other.join();
}
