// Threads with tools, buffers that come back, time in use.
#include "crew.hpp"

#include <atomic>
#include <set>
#include <stdexcept>

#include "busy_time.hpp"
#include "catch.hpp"
#include "device_memory.hpp"

namespace ckitchen::cli::test {
namespace {

using namespace std::chrono_literals;

TEST_CASE("A crew works off what it is given, each tool on one thread") {
    std::deque<std::thread::id> tools(3);
    {
        Crew<std::thread::id> crew(tools);
        std::vector<std::future<int>> results;
        for (int i = 0; i < 200; ++i) {
            results.push_back(crew.submit([i](std::thread::id& tool) {
                if (tool == std::thread::id()) tool = std::this_thread::get_id();
                if (tool != std::this_thread::get_id()) throw std::logic_error("another thread's tool");
                return i * i;
            }));
        }
        for (int i = 0; i < 200; ++i) CHECK(results[static_cast<std::size_t>(i)].get() == i * i);
    }
    std::set<std::thread::id> different(tools.begin(), tools.end());
    different.erase(std::thread::id());
    CHECK(!different.empty());
}

TEST_CASE("A task may wait for one that was given before it") {
    std::deque<int> tools(2);
    Crew<int> crew(tools);
    std::promise<int> first;
    const std::shared_future<int> known = first.get_future().share();
    auto one = crew.submit([&](int&) {
        std::this_thread::sleep_for(20ms);
        first.set_value(7);
        return 0;
    });
    std::vector<std::future<int>> others;
    for (int i = 0; i < 10; ++i) others.push_back(crew.submit([known](int&) { return known.get(); }));
    for (auto& other : others) CHECK(other.get() == 7);
    CHECK(one.get() == 0);
}

TEST_CASE("A task's exception reaches who asked for the result, and the crew goes on") {
    std::deque<int> tools(1);
    Crew<int> crew(tools);
    auto bad = crew.submit([](int&) -> int { throw std::runtime_error("device"); });
    auto good = crew.submit([](int&) { return 1; });
    CHECK_THROWS_WITH(bad.get(), "device");
    CHECK(good.get() == 1);
}

TEST_CASE("What a crew has not begun when it ends is dropped") {
    std::deque<int> tools(1);
    std::atomic<int> done = 0;
    std::future<void> last;
    {
        Crew<int> crew(tools);
        for (int i = 0; i < 1000; ++i) {
            last = crew.submit([&](int&) {
                std::this_thread::sleep_for(1ms);
                ++done;
            });
        }
        crew.submit([](int&) {});
    }
    CHECK(done < 1000);
    CHECK_THROWS_AS(last.get(), std::future_error);
}

TEST_CASE("Buffers come back and are lent again") {
    const Session session({CK_BACKEND_CPU, 0, 1});
    BufferPool pool(session);
    const std::byte* first = nullptr;
    {
        Buffer buffer = pool.take(5000);
        CHECK(buffer.size() == 5000);
        first = buffer.bytes().data();
        CHECK(pool.allocated_bytes() == 8192);
        const Buffer moved = std::move(buffer);
        CHECK(moved.bytes().data() == first);
        CHECK(moved.size() == 5000);
    }
    const Buffer same = pool.take(8192);
    CHECK(same.bytes().data() == first);
    CHECK(pool.allocated_bytes() == 8192);
    const Buffer other = pool.take(8192);
    CHECK(other.bytes().data() != first);
    const Buffer small = pool.take(1);
    CHECK(small.size() == 1);
    CHECK(pool.allocated_bytes() == 2 * 8192 + 4096);
    CHECK(pool.take(0).size() == 0);
}

TEST_CASE("Time that several spend inside counts once") {
    BusyTime busy;
    CHECK(busy.seconds() == 0);
    const auto start = std::chrono::steady_clock::now();
    {
        const BusyTime::Scope one(busy);
        const BusyTime::Scope two(busy);
        std::this_thread::sleep_for(20ms);
        CHECK(busy.seconds() == 0);
    }
    const double first = busy.seconds();
    CHECK(first >= 0.02);
    CHECK(first <= std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
    std::this_thread::sleep_for(5ms);
    CHECK(busy.seconds() == first);
    { const BusyTime::Scope again(busy); }
    CHECK(busy.seconds() >= first);
}

}  // namespace
}  // namespace ckitchen::cli::test
