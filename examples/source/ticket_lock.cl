// A ticket lock that work-items of one wave cannot take in turn: the lane whose ticket is served waits at the end of the
// loop for the other lanes, and they wait for it. It hangs on a GPU; docs/stuck-grids.md shows the report of it.
kernel void count(global uint *ticket, volatile global uint *serving, global uint *total) {
    uint mine = atomic_inc(ticket);
    while (*serving != mine)
        ;
    *total += 1;
    *serving = mine + 1;
}
