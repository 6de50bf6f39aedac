// Workgroups that wait for one another within a launch.
#define RING_GROUP 128
#define SLOTS 4
#define CHAIN_GROUP 256

// Waits until a counter that another group writes has reached `value`; then what that group wrote before is there for all
// items of this one. The wave that waits may sleep for a moment after each look.
static void await(global atomic_uint *counter, uint value, bool sleepy) {
    if (get_local_id(0) == 0)
        while (atomic_load_explicit(counter, memory_order_acquire, memory_scope_device) < value)
            if (sleepy)
                __builtin_amdgcn_s_sleep(1);
    barrier(CLK_GLOBAL_MEM_FENCE);
}

// Publishes what all items of this group have written so far.
static void announce(global atomic_uint *counter, uint value) {
    barrier(CLK_GLOBAL_MEM_FENCE);
    if (get_local_id(0) == 0)
        atomic_store_explicit(counter, value, memory_order_release, memory_scope_device);
}

// Producer and consumer: group 2t fills the slots of ring t one after another, group 2t + 1 empties them, so both must run
// at the same time. The counters are zero before the launch. y is a hash of all that came, lanes in opposite order.
kernel __attribute__((reqd_work_group_size(RING_GROUP, 1, 1))) void
handoff_ring(global const uint *restrict x, global uint *ring, global atomic_uint *produced,
             global atomic_uint *consumed, global uint *restrict y, uint rounds) {
    const uint team = get_group_id(0) / 2, l = get_local_id(0), i = team * RING_GROUP + l;
    global uint *slots = ring + team * SLOTS * RING_GROUP;
    if (get_group_id(0) % 2 == 0) {
        uint value = x[i];
        for (uint round = 0; round < rounds; round++) {
            if (round >= SLOTS)
                await(&consumed[team], round - SLOTS + 1, false);
            slots[round % SLOTS * RING_GROUP + l] = value;
            announce(&produced[team], round + 1);
            value = value * 1664525 + 1013904223;
        }
    } else {
        uint hash = 0;
        for (uint round = 0; round < rounds; round++) {
            await(&produced[team], round + 1, false);
            hash = 31 * hash + slots[round % SLOTS * RING_GROUP + RING_GROUP - 1 - l];
            announce(&consumed[team], round + 1);
        }
        y[i] = hash;
    }
}

static void draw(global atomic_uint *next, local uint *lot) {
    if (get_local_id(0) == 0)
        *lot = atomic_fetch_add_explicit(next, 1u, memory_order_relaxed, memory_scope_device);
    barrier(CLK_LOCAL_MEM_FENCE);
}

// Inclusive prefix sums in one launch: each group waits for the sum of all before it. Groups draw their parts in turn, so
// that a group waits only for such as have begun already. `next` and `ready` are zero before the launch; total[g] becomes
// the sum of parts 0 to g.
kernel __attribute__((reqd_work_group_size(CHAIN_GROUP, 1, 1))) void
handoff_chain(global const uint *restrict x, global uint *restrict y, global uint *total, global atomic_uint *ready,
              global atomic_uint *next, uint n) {
    local uint sums[CHAIN_GROUP];
    local uint drawn;
    const uint l = get_local_id(0);
    draw(next, &drawn);
    const uint part = drawn, i = part * CHAIN_GROUP + l;

    uint sum = i < n ? x[i] : 0;
    for (uint distance = 1; distance < CHAIN_GROUP; distance *= 2) {
        sums[l] = sum;
        barrier(CLK_LOCAL_MEM_FENCE);
        if (l >= distance)
            sum += sums[l - distance];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (part > 0) {
        await(&ready[part - 1], 1, true);
        sum += total[part - 1];
    }
    if (l == CHAIN_GROUP - 1)
        total[part] = sum;
    announce(&ready[part], 1);
    if (i < n)
        y[i] = sum;
}
