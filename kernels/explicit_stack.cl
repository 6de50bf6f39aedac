// Recursive algorithms with a stack of their own, in private memory.

// The longest run of values, and how many parts of it can wait: the larger part always does, so each is at most half as
// long as what it came from.
#define LONGEST 64
#define WAITING 8

// Sorts many short runs, each with quicksort by one work-item: run i is y[start[i]] up to y[start[i + 1]].
kernel void quicksort(global int *y, global const uint *restrict start, uint runs) {
    const uint i = get_global_id(0);
    if (i >= runs)
        return;
    global int *run = y + start[i];
    const uint length = start[i + 1] - start[i];
    int value[LONGEST];
    for (uint j = 0; j < length; j++)
        value[j] = run[j];

    uchar first[WAITING], behind[WAITING];
    uint waiting = 0, low = 0, high = length;
    while (high > low + 1 || waiting > 0) {
        if (high <= low + 1) {
            waiting--;
            low = first[waiting];
            high = behind[waiting];
            continue;
        }
        // Values from low to middle - 1 are not above the pivot, those from middle on not below; neither part is empty.
        const int pivot = value[(low + high - 1) / 2];
        uint left = low, middle = high;
        while (true) {
            while (value[left] < pivot)
                left++;
            do
                middle--;
            while (value[middle] > pivot);
            if (left >= middle)
                break;
            const int t = value[left];
            value[left++] = value[middle];
            value[middle] = t;
        }
        middle++;
        const bool left_waits = middle - low > high - middle;
        first[waiting] = left_waits ? low : middle;
        behind[waiting++] = left_waits ? middle : high;
        low = left_waits ? middle : low;
        high = left_waits ? high : middle;
    }
    for (uint j = 0; j < length; j++)
        run[j] = value[j];
}

// The largest board.
#define ROWS 16

// In how many ways a board on which the first rows have their queens can be filled, one board per work-item: board[i] is
// the columns that are taken, and those that the queens so far attack in the next row by diagonals to either side.
kernel void queens(global const uint4 *restrict board, global uint *restrict ways, uint boards, uint size) {
    const uint i = get_global_id(0);
    if (i >= boards)
        return;
    const uint all = (1u << size) - 1;
    // For each row: columns taken above it, columns attacked by diagonals to either side, columns still to be tried.
    uint4 level[ROWS];
    level[0] = (uint4)(board[i].xyz, all & ~(board[i].x | board[i].y | board[i].z));
    uint found = 0;
    int row = 0;
    while (row >= 0) {
        const uint4 now = level[row];
        if (now.w == 0) {
            row--;
            continue;
        }
        const uint queen = now.w & -now.w;
        level[row].w = now.w ^ queen;
        const uint taken = now.x | queen, left = (now.y | queen) << 1, right = (now.z | queen) >> 1;
        if (taken == all)
            found++;
        else
            level[++row] = (uint4)(taken, left, right, all & ~(taken | left | right));
    }
    ways[i] = found;
}
