// Sums of n floats in an order that depends only on the launch, so the result is the same on every run.
#define GROUP 256

// The sum of the group's items, in item 0: a tree over LDS, halves folded together.
static float group_sum(local float *scratch, float mine) {
    const uint l = get_local_id(0);
    scratch[l] = mine;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint half_size = GROUP / 2; half_size > 0; half_size /= 2) {
        if (l < half_size)
            scratch[l] += scratch[l + half_size];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    return scratch[0];
}

// The sum of the elements that belong to one item: every (global size)th from its id on.
static float item_sum(global const float *restrict x, uint n) {
    float sum = 0.0f;
    for (uint i = get_global_id(0); i < n; i += get_global_size(0))
        sum += x[i];
    return sum;
}

// One partial sum for each group; scratch is dynamic LDS of GROUP floats.
kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void reduction(global const float *restrict x,
                                                                          global float *restrict partial, uint n,
                                                                          local float *scratch) {
    const float sum = group_sum(scratch, item_sum(x, n));
    if (get_local_id(0) == 0)
        partial[get_group_id(0)] = sum;
}

// Publishes the group's partial sum; `last` tells the group whether it was the last to do so.
static void publish(global float *partial, float sum, global atomic_uint *arrived, local uint *last) {
    if (get_local_id(0) == 0) {
        partial[get_group_id(0)] = sum;
        const uint before = atomic_fetch_add_explicit(arrived, 1u, memory_order_acq_rel, memory_scope_device);
        *last = before == get_num_groups(0) - 1;
    }
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
}

// The whole sum in one launch: the group that arrives last adds up the partial sums of all. `arrived` is zero before
// the launch and after it.
kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
reduction_single_pass(global const float *restrict x, global float *partial, global float *total,
                      global atomic_uint *arrived, uint n) {
    local float scratch[GROUP];
    local uint last;
    const uint l = get_local_id(0), groups = get_num_groups(0);

    publish(partial, group_sum(scratch, item_sum(x, n)), arrived, &last);
    if (!last)
        return;

    float rest = 0.0f;
    for (uint g = l; g < groups; g += GROUP)
        rest += partial[g];
    const float all = group_sum(scratch, rest);
    if (l == 0) {
        *total = all;
        atomic_store_explicit(arrived, 0u, memory_order_relaxed, memory_scope_device);
    }
}
