// OpenCL 1.2 has no dispatch packet, no waves, and only workgroups of equal size.
typedef struct {
    uint global_id[3], local_id[3], group_id[3];
    uint local_size[3], enqueued_size[3], groups[3], global_size[3], offset[3];
    uint dims;
    uint packet_group[3], packet_grid[3];
    uint lane;
} record;

kernel void launch_state(global record *records) {
    record r;
    for (uint d = 0; d < 3; d++) {
        r.global_id[d] = get_global_id(d);
        r.local_id[d] = get_local_id(d);
        r.group_id[d] = get_group_id(d);
        r.local_size[d] = r.enqueued_size[d] = r.packet_group[d] = get_local_size(d);
        r.groups[d] = get_num_groups(d);
        r.global_size[d] = r.packet_grid[d] = get_global_size(d);
        r.offset[d] = get_global_offset(d);
    }
    r.dims = get_work_dim();
    r.lane = ((get_local_id(2) * get_local_size(1) + get_local_id(1)) * get_local_size(0) + get_local_id(0)) % 64;
    const size_t flat = ((get_global_id(2) - get_global_offset(2)) * get_global_size(1) + get_global_id(1) -
                         get_global_offset(1)) * get_global_size(0) + get_global_id(0) - get_global_offset(0);
    records[flat] = r;
}
