// A radeon device that does nothing, for a process that is started with it in LD_PRELOAD. Mesa's driver compiles for it as
// for a Radeon HD 6970, and what it submits is dropped.
//
// TREE names a folder with the device's files (dump.sh makes them): paths below /dev/dri and /sys/dev/char/226: are looked
// up there. The file of the render node holds the buffers, so that they can be mapped.
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <drm.h>
#include <radeon_drm.h>

#define NODE "/dev/dri/renderD128"
#define MAJOR 226
#define MINOR 128
#define CAYMAN_XT 0x6718
#define PAGE 4096

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

// The path that stands for `path`: in `room` if it is one of the device's.
static const char *redirect(const char *path, char room[static PATH_MAX]) {
    const char *tree = getenv("TREE");
    if (!tree || (strncmp(path, "/dev/dri", 8) && strncmp(path, "/sys/dev/char/226:", 18)))
        return path;
    snprintf(room, PATH_MAX, "%s%s", tree, path);
    return room;
}

int open(const char *path, int flags, ...) {
    char room[PATH_MAX];
    va_list rest;
    va_start(rest, flags);
    const int mode = va_arg(rest, int);
    va_end(rest);
    return REAL(open)(redirect(path, room), flags, mode);
}

int open64(const char *path, int flags, ...) {
    char room[PATH_MAX];
    va_list rest;
    va_start(rest, flags);
    const int mode = va_arg(rest, int);
    va_end(rest);
    return REAL(open64)(redirect(path, room), flags, mode);
}

int __open_2(const char *path, int flags) { return open(path, flags); }
int __open64_2(const char *path, int flags) { return open64(path, flags); }

FILE *fopen(const char *path, const char *mode) {
    char room[PATH_MAX];
    return REAL(fopen)(redirect(path, room), mode);
}

FILE *fopen64(const char *path, const char *mode) {
    char room[PATH_MAX];
    return REAL(fopen64)(redirect(path, room), mode);
}

DIR *opendir(const char *path) {
    char room[PATH_MAX];
    return REAL(opendir)(redirect(path, room));
}

int access(const char *path, int mode) {
    char room[PATH_MAX];
    return REAL(access)(redirect(path, room), mode);
}

ssize_t readlink(const char *path, char *out, size_t size) {
    char room[PATH_MAX];
    return REAL(readlink)(redirect(path, room), out, size);
}

char *realpath(const char *path, char *out) {
    char room[PATH_MAX];
    return REAL(realpath)(redirect(path, room), out);
}

char *__realpath_chk(const char *path, char *out, size_t size) {
    (void)size;
    return realpath(path, out);
}

// A file that looks like a character device to those who ask: whether it is the node, by its inode.
static int disguise(int status, dev_t dev, ino_t ino, mode_t *mode, dev_t *rdev) {
    char room[PATH_MAX];
    struct stat node;
    if (status == 0 && REAL(stat)(redirect(NODE, room), &node) == 0 && node.st_dev == dev && node.st_ino == ino) {
        *mode = (*mode & ~S_IFMT) | S_IFCHR;
        *rdev = makedev(MAJOR, MINOR);
    }
    return status;
}

#define STAT(name, type, first_type, first)                                                                            \
    int name(first_type what, struct type *out) {                                                                      \
        const int status = REAL(name)(first, out);                                                                     \
        return disguise(status, out->st_dev, out->st_ino, &out->st_mode, &out->st_rdev);                               \
    }
#define OF_PATH redirect(what, (char[PATH_MAX]){0})

STAT(stat, stat, const char *, OF_PATH)
STAT(stat64, stat64, const char *, OF_PATH)
STAT(lstat, stat, const char *, OF_PATH)
STAT(lstat64, stat64, const char *, OF_PATH)
STAT(fstat, stat, int, what)
STAT(fstat64, stat64, int, what)

static void version(struct drm_version *out) {
    // The last version of the kernel's driver.
    out->version_major = 2;
    out->version_minor = 50;
    out->version_patchlevel = 0;
    if (out->name && out->name_len >= 6)
        memcpy(out->name, "radeon", 6);
    if (out->date && out->date_len >= 8)
        memcpy(out->date, "20080528", 8);
    if (out->desc && out->desc_len >= 10)
        memcpy(out->desc, "AMD Radeon", 10);
    out->name_len = 6;
    out->date_len = 8;
    out->desc_len = 10;
}

// The numbers of a Radeon HD 6970.
static int info(const struct drm_radeon_info *ask) {
    uint32_t *out = (uint32_t *)(uintptr_t)ask->value;
    switch (ask->request) {
    case RADEON_INFO_DEVICE_ID: *out = CAYMAN_XT; return 0;
    case RADEON_INFO_ACCEL_WORKING: *out = 1; return 0;
    case RADEON_INFO_ACCEL_WORKING2: *out = 3; return 0;
    case RADEON_INFO_TILING_CONFIG: *out = 0x12012; return 0;
    case RADEON_INFO_WANT_HYPERZ:
    case RADEON_INFO_WANT_CMASK: *out = 0; return 0;
    case RADEON_INFO_CLOCK_CRYSTAL_FREQ: *out = 27000; return 0;
    case RADEON_INFO_NUM_BACKENDS: *out = 8; return 0;
    case RADEON_INFO_NUM_TILE_PIPES: *out = 8; return 0;
    case RADEON_INFO_BACKEND_MAP: *out = 0x76543210; return 0;
    case RADEON_INFO_MAX_PIPES: *out = 8; return 0;
    case RADEON_INFO_MAX_SE: *out = 2; return 0;
    case RADEON_INFO_MAX_SH_PER_SE: *out = 1; return 0;
    case RADEON_INFO_MAX_SCLK: *out = 880000; return 0;
    case RADEON_INFO_ACTIVE_CU_COUNT: *out = 24; return 0;
    case RADEON_INFO_RING_WORKING: *out = 0; return 0;
    case RADEON_INFO_TIMESTAMP:
    case RADEON_INFO_VRAM_USAGE:
    case RADEON_INFO_GTT_USAGE:
    case RADEON_INFO_NUM_BYTES_MOVED: memset(out, 0, 8); return 0;
    case RADEON_INFO_GPU_RESET_COUNTER: *out = 0; return 0;
    default: return EINVAL;
    }
}

// Buffers are parts of the node's file, one after another; a handle is the number of its first page. Page 0 is nobody's.
static int create(int fd, struct drm_radeon_gem_create *ask) {
    static uint64_t end = PAGE;
    const uint64_t size = (ask->size + PAGE - 1) / PAGE * PAGE;
    const uint64_t at = __atomic_fetch_add(&end, size, __ATOMIC_SEQ_CST);
    struct stat now;
    if (REAL(fstat)(fd, &now))
        return errno;
    if ((uint64_t)now.st_size < at + size && ftruncate(fd, (off_t)(at + size)))
        return errno;
    ask->handle = (uint32_t)(at / PAGE);
    return 0;
}

static int answer(int fd, unsigned long request, void *data) {
    switch (_IOC_NR(request)) {
    case _IOC_NR(DRM_IOCTL_VERSION): version(data); return 0;
    case _IOC_NR(DRM_IOCTL_GET_CAP): ((struct drm_get_cap *)data)->value = 0; return 0;
    case DRM_COMMAND_BASE + DRM_RADEON_INFO: return info(data);
    case DRM_COMMAND_BASE + DRM_RADEON_GEM_INFO: {
        struct drm_radeon_gem_info *out = data;
        out->gart_size = 1ull << 30;
        out->vram_size = 2ull << 30;
        out->vram_visible = 256ull << 20;
        return 0;
    }
    case DRM_COMMAND_BASE + DRM_RADEON_GEM_CREATE: return create(fd, data);
    case DRM_COMMAND_BASE + DRM_RADEON_GEM_MMAP: {
        struct drm_radeon_gem_mmap *ask = data;
        ask->addr_ptr = (uint64_t)ask->handle * PAGE;
        return 0;
    }
    case DRM_COMMAND_BASE + DRM_RADEON_GEM_BUSY: ((struct drm_radeon_gem_busy *)data)->domain = RADEON_GEM_DOMAIN_VRAM; return 0;
    case _IOC_NR(DRM_IOCTL_GEM_CLOSE):
    case DRM_COMMAND_BASE + DRM_RADEON_GEM_WAIT_IDLE:
    case DRM_COMMAND_BASE + DRM_RADEON_GEM_SET_DOMAIN:
    case DRM_COMMAND_BASE + DRM_RADEON_GEM_SET_TILING:
    case DRM_COMMAND_BASE + DRM_RADEON_GEM_GET_TILING:
    case DRM_COMMAND_BASE + DRM_RADEON_CS: return 0;
    default: return EINVAL;
    }
}

int ioctl(int fd, unsigned long request, ...) {
    va_list rest;
    va_start(rest, request);
    void *data = va_arg(rest, void *);
    va_end(rest);
    if (_IOC_TYPE(request) != DRM_IOCTL_BASE)
        return REAL(ioctl)(fd, request, data);
    const int error = answer(fd, request, data);
    if (error == 0)
        return 0;
    errno = error;
    return -1;
}
