/* Fails the N-th write, fsync or rename below a folder, counted over all processes of a run.
 *
 * Loaded by LD_PRELOAD. NTH_FOLDER: the folder. NTH_COUNTER: a file of 4096 bytes that all
 * processes count in (8 bytes), and that says which call failed (the rest: its name and path).
 * NTH_FAULT: "count" (fail nothing), or "N ENOSPC", "N EIO", "N KILL".
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

static char folder[4096];
#define SIZE 4096
static long *counter;
static char *said;  /* what failed; in the counter's file, so that it outlives a kill */
static long target;
static int fault;  /* an errno, or -1 for kill -9 */

__attribute__((constructor)) static void start(void) {
    const char *where = getenv("NTH_FOLDER"), *file = getenv("NTH_COUNTER");
    const char *what = getenv("NTH_FAULT");
    char name[16] = "";
    if (!where || !file || !what) return;
    int fd = open(file, O_RDWR | O_CLOEXEC);
    if (fd < 0) return;
    void *place = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    if (place == MAP_FAILED) return;
    snprintf(folder, sizeof folder, "%s/", where);
    if (sscanf(what, "%ld %15s", &target, name) == 2)
        fault = !strcmp(name, "KILL") ? -1 : !strcmp(name, "EIO") ? EIO : ENOSPC;
    counter = place;
    said = (char *)place + sizeof(long);
}

/* Whether this call is the one to fail; errno is set if so. */
static int fails(const char *call, const char *path) {
    if (!counter || strncmp(path, folder, strlen(folder))) return 0;
    if (__atomic_add_fetch(counter, 1, __ATOMIC_SEQ_CST) != target || !fault) return 0;
    snprintf(said, SIZE - sizeof(long), "%s %s", call, path + strlen(folder));
    if (fault < 0) kill(getpid(), SIGKILL);
    errno = fault;
    return 1;
}

static int fails_at(const char *call, int fd) {
    char link[64], path[4096];
    if (!counter) return 0;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t n = readlink(link, path, sizeof path - 1);
    if (n <= 0) return 0;
    path[n] = 0;
    return fails(call, path);
}

static int fails_named(const char *call, int dir, const char *name) {
    char path[8192];
    if (!counter) return 0;
    if (name[0] == '/') return fails(call, name);
    if (dir == AT_FDCWD) {
        if (!getcwd(path, 4096)) return 0;
    } else {
        char link[64];
        snprintf(link, sizeof link, "/proc/self/fd/%d", dir);
        ssize_t n = readlink(link, path, 4095);
        if (n <= 0) return 0;
        path[n] = 0;
    }
    strncat(path, "/", 2);
    strncat(path, name, 4000);
    return fails(call, path);
}

#define REAL(type, name, ...) \
    static type (*real)(__VA_ARGS__); \
    if (!real) real = (type (*)(__VA_ARGS__))dlsym(RTLD_NEXT, name)

ssize_t write(int fd, const void *data, size_t n) {
    REAL(ssize_t, "write", int, const void *, size_t);
    return fails_at("write", fd) ? -1 : real(fd, data, n);
}

ssize_t writev(int fd, const struct iovec *parts, int n) {
    REAL(ssize_t, "writev", int, const struct iovec *, int);
    return fails_at("writev", fd) ? -1 : real(fd, parts, n);
}

ssize_t pwrite(int fd, const void *data, size_t n, off_t place) {
    REAL(ssize_t, "pwrite", int, const void *, size_t, off_t);
    return fails_at("pwrite", fd) ? -1 : real(fd, data, n, place);
}

ssize_t pwrite64(int fd, const void *data, size_t n, off64_t place) {
    REAL(ssize_t, "pwrite64", int, const void *, size_t, off64_t);
    return fails_at("pwrite64", fd) ? -1 : real(fd, data, n, place);
}

int fsync(int fd) {
    REAL(int, "fsync", int);
    return fails_at("fsync", fd) ? -1 : real(fd);
}

int fdatasync(int fd) {
    REAL(int, "fdatasync", int);
    return fails_at("fdatasync", fd) ? -1 : real(fd);
}

int rename(const char *from, const char *to) {
    REAL(int, "rename", const char *, const char *);
    return fails_named("rename", AT_FDCWD, to) ? -1 : real(from, to);
}

int renameat(int a, const char *from, int b, const char *to) {
    REAL(int, "renameat", int, const char *, int, const char *);
    return fails_named("renameat", b, to) ? -1 : real(a, from, b, to);
}
