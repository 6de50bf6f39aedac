// Litmus tests of the memory model between workgroups. Every lane of a group plays its own copy of a test against the
// same lane of the other groups of its team, once for each round, on fresh cells: cell = round * cells per round +
// (team * 64 + lane) * stride. All cells, results and `gate` counters are zero before the launch. The groups of a team
// meet at a gate before each round, so they must run at the same time.
#define LANES 64

// Waits until all `players` groups of the team have come to this round.
static void meet(global atomic_uint *gate, uint players, uint round) {
    if (get_local_id(0) == 0) {
        atomic_fetch_add_explicit(gate, 1u, memory_order_relaxed, memory_scope_device);
        while (atomic_load_explicit(gate, memory_order_relaxed, memory_scope_device) < players * (round + 1))
            ;
    }
    barrier(CLK_GLOBAL_MEM_FENCE);
}

static uint cell_of(uint teams, uint team, uint round, uint stride) {
    return ((round * teams + team) * LANES + get_local_id(0)) * stride;
}

// Store buffering: x = 1; r0 = y || y = 1; r1 = x. Forbidden: r0 == 0 and r1 == 0.
// seen[2 * test + player] with test = (round * teams + team) * 64 + lane.
kernel __attribute__((reqd_work_group_size(LANES, 1, 1))) void
litmus_store_buffering(global atomic_uint *x, global atomic_uint *y, global uint *seen, global atomic_uint *gate,
                       uint rounds, uint stride) {
    const uint teams = get_num_groups(0) / 2, team = get_group_id(0) / 2, player = get_group_id(0) % 2;
    for (uint round = 0; round < rounds; round++) {
        const uint cell = cell_of(teams, team, round, stride), test = cell_of(teams, team, round, 1);
        global atomic_uint *mine = (player ? y : x) + cell, *other = (player ? x : y) + cell;
        meet(&gate[team], 2, round);
        atomic_store_explicit(mine, 1u, memory_order_seq_cst, memory_scope_device);
        seen[2 * test + player] = atomic_load_explicit(other, memory_order_seq_cst, memory_scope_device);
    }
}

// Message passing: data = 1; flag = 1 (release) || r0 = flag (acquire); r1 = data. Forbidden: r0 == 1 and r1 == 0.
// The data is not atomic. seen[2 * test] is r0, seen[2 * test + 1] is r1.
kernel __attribute__((reqd_work_group_size(LANES, 1, 1))) void
litmus_message_passing(global uint *data, global atomic_uint *flag, global uint *seen, global atomic_uint *gate,
                       uint rounds, uint stride) {
    const uint teams = get_num_groups(0) / 2, team = get_group_id(0) / 2, player = get_group_id(0) % 2;
    for (uint round = 0; round < rounds; round++) {
        const uint cell = cell_of(teams, team, round, stride), test = cell_of(teams, team, round, 1);
        meet(&gate[team], 2, round);
        if (player == 0) {
            data[cell] = 1;
            atomic_store_explicit(&flag[cell], 1u, memory_order_release, memory_scope_device);
        } else {
            const uint r0 = atomic_load_explicit(&flag[cell], memory_order_acquire, memory_scope_device);
            const uint r1 = r0 ? data[cell] : 1;
            seen[2 * test] = r0;
            seen[2 * test + 1] = r1;
        }
    }
}

// Independent reads of independent writes: x = 1 || y = 1 || r0 = x; r1 = y || r2 = y; r3 = x.
// Forbidden: r0 == 1, r1 == 0, r2 == 1, r3 == 0. seen[4 * test + register].
kernel __attribute__((reqd_work_group_size(LANES, 1, 1))) void
litmus_iriw(global atomic_uint *x, global atomic_uint *y, global uint *seen, global atomic_uint *gate, uint rounds,
            uint stride) {
    const uint teams = get_num_groups(0) / 4, team = get_group_id(0) / 4, player = get_group_id(0) % 4;
    for (uint round = 0; round < rounds; round++) {
        const uint cell = cell_of(teams, team, round, stride), test = cell_of(teams, team, round, 1);
        global atomic_uint *first = (player % 2 ? y : x) + cell, *second = (player % 2 ? x : y) + cell;
        meet(&gate[team], 4, round);
        if (player < 2) {
            atomic_store_explicit(first, 1u, memory_order_seq_cst, memory_scope_device);
        } else {
            const uint r0 = atomic_load_explicit(first, memory_order_seq_cst, memory_scope_device);
            const uint r1 = atomic_load_explicit(second, memory_order_seq_cst, memory_scope_device);
            seen[4 * test + 2 * (player - 2)] = r0;
            seen[4 * test + 2 * (player - 2) + 1] = r1;
        }
    }
}
