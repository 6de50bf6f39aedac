// What a work-item knows of the launch, written out: a test of launch state in one, two and three dimensions, with
// uneven edges and offsets. An item's record is 32 words; records are in order of the flat global id.
typedef struct {
    uint global_id[3], local_id[3], group_id[3];
    uint local_size[3], enqueued_size[3], groups[3], global_size[3], offset[3];
    uint dims;
    uint packet_group[3], packet_grid[3]; // the dispatch packet's own fields
    uint lane;                            // position in the wave
} record;

kernel void launch_state(global record *records) {
    record r;
    for (uint d = 0; d < 3; d++) {
        r.global_id[d] = get_global_id(d);
        r.local_id[d] = get_local_id(d);
        r.group_id[d] = get_group_id(d);
        r.local_size[d] = get_local_size(d);
        r.enqueued_size[d] = get_enqueued_local_size(d);
        r.groups[d] = get_num_groups(d);
        r.global_size[d] = get_global_size(d);
        r.offset[d] = get_global_offset(d);
    }
    constant const ushort *packet = (constant const ushort *)__builtin_amdgcn_dispatch_ptr();
    r.dims = packet[1] & 3;
    for (uint d = 0; d < 3; d++) {
        r.packet_group[d] = packet[2 + d];
        r.packet_grid[d] = ((constant const uint *)packet)[3 + d];
    }
    r.lane = __builtin_amdgcn_mbcnt_hi(~0u, __builtin_amdgcn_mbcnt_lo(~0u, 0u));
    const size_t flat = ((get_global_id(2) - get_global_offset(2)) * get_global_size(1) + get_global_id(1) -
                         get_global_offset(1)) * get_global_size(0) + get_global_id(0) - get_global_offset(0);
    records[flat] = r;
}
