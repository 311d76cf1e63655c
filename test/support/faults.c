/*
 * Faults of disk and clock for a process that is started with this library in LD_PRELOAD. The file that FAULTS_CONTROL names says at any
 * moment which: byte 0 is 'f' (the disk under FAULTS_FOLDER is full: no file grows) or 'r' (it is read-only), bytes 8 to 15 are the
 * seconds by which the clock of the machine is wrong. If FAULTS_FLUSHED names a folder, it gets a copy of each file under FAULTS_FOLDER as
 * it was when its last completed flush began: what a loss of power leaves at least.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

struct control {
  volatile char disk;
  char unused[7];
  volatile int64_t shift_seconds;
};

static const struct control *control;
static const char *folder;
static const char *flushed;

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

__attribute__((constructor)) static void begin(void) {
  const char *file = getenv("FAULTS_CONTROL");
  folder = getenv("FAULTS_FOLDER");
  flushed = getenv("FAULTS_FLUSHED");
  if (file == NULL || folder == NULL) return;
  int fd = REAL(open)(file, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return;
  void *mapped = mmap(NULL, sizeof(struct control), PROT_READ, MAP_SHARED, fd, 0);
  close(fd);
  if (mapped != MAP_FAILED) control = mapped;
}

static int is_under(const char *path) {
  return strncmp(path, folder, strlen(folder)) == 0;
}

static int find_path(int fd, char *path, size_t size) {
  char link[64];
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  ssize_t length = readlink(link, path, size - 1);
  if (length < 0) return 0;
  path[length] = 0;
  return is_under(path);
}

static int is_file(int fd) {
  char path[4096];
  return find_path(fd, path, sizeof path);
}

/* Where the copy of a file under the folder lies: '/' becomes '%'. */
static int find_copy(const char *path, char *copy, size_t size) {
  if (flushed == NULL || !is_under(path) || path[strlen(folder)] != '/') return 0;
  int start = snprintf(copy, size, "%s/", flushed);
  snprintf(copy + start, size - (size_t)start, "%s", path + strlen(folder) + 1);
  for (char *at = copy + start; *at != 0; at++)
    if (*at == '/') *at = '%';
  return 1;
}

/* False if it is no file under the folder, or could not be copied. */
static int copy_file(int fd, char *copy, size_t size) {
  char path[4096], own[64];
  struct stat status;
  if (!find_path(fd, path, sizeof path) || fstat(fd, &status) != 0 || !S_ISREG(status.st_mode)) return 0;
  find_copy(path, copy, size);
  char temporary[8300];
  snprintf(temporary, sizeof temporary, "%s.%ld", copy, (long)syscall(SYS_gettid));
  snprintf(own, sizeof own, "/proc/self/fd/%d", fd);
  int from = REAL(open)(own, O_RDONLY | O_CLOEXEC);
  int to = REAL(open)(temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  char block[65536];
  ssize_t count = -1;
  if (from >= 0 && to >= 0)
    while ((count = read(from, block, sizeof block)) > 0)
      if (REAL(write)(to, block, (size_t)count) != count) break;
  if (from >= 0) close(from);
  if (to >= 0) close(to);
  return count == 0;
}

static int flush(int fd, int (*real)(int)) {
  if (flushed == NULL) return real(fd);
  int saved = errno;
  char copy[8200], temporary[8300];
  int is_copied = copy_file(fd, copy, sizeof copy);
  errno = saved;
  int result = real(fd);
  if (result == 0 && is_copied) {
    snprintf(temporary, sizeof temporary, "%s.%ld", copy, (long)syscall(SYS_gettid));
    REAL(rename)(temporary, copy);
    errno = saved;
  }
  return result;
}

/* Names are durable at once here: a journaling file system writes them in order, ahead of the next flush. */
int unlink(const char *path) {
  char copy[8200];
  int result = REAL(unlink)(path);
  int saved = errno;
  if (result == 0 && find_copy(path, copy, sizeof copy)) REAL(unlink)(copy);
  errno = saved;
  return result;
}
int rename(const char *from, const char *to) {
  char copy_from[8200], copy_to[8200];
  int result = REAL(rename)(from, to);
  int saved = errno;
  if (result == 0 && find_copy(from, copy_from, sizeof copy_from) && find_copy(to, copy_to, sizeof copy_to))
    REAL(rename)(copy_from, copy_to);
  errno = saved;
  return result;
}

int fdatasync(int fd) {
  return flush(fd, REAL(fdatasync));
}
int fsync(int fd) {
  return flush(fd, REAL(fsync));
}

/* True, with errno set, if the write must fail. `end` is where it would end in the file; -1 for the end of the file. */
static int refuses(int fd, off_t end) {
  int saved = errno;
  if (control == NULL || control->disk == 0 || !is_file(fd)) {
    errno = saved;
    return 0;
  }
  if (control->disk == 'r') {
    errno = EROFS;
    return 1;
  }
  struct stat status;
  if (end >= 0 && fstat(fd, &status) == 0 && end <= status.st_size) {
    errno = saved;
    return 0;
  }
  errno = ENOSPC;
  return 1;
}

static off_t end_of_write(int fd, size_t count) {
  if (control == NULL || control->disk == 0) return 0;
  off_t at = lseek(fd, 0, SEEK_CUR);
  return at < 0 ? -1 : at + (off_t)count;
}

ssize_t write(int fd, const void *data, size_t count) {
  return refuses(fd, end_of_write(fd, count)) ? -1 : REAL(write)(fd, data, count);
}
ssize_t writev(int fd, const struct iovec *parts, int count) {
  return refuses(fd, -1) ? -1 : REAL(writev)(fd, parts, count);
}
ssize_t pwrite(int fd, const void *data, size_t count, off_t at) {
  return refuses(fd, at + (off_t)count) ? -1 : REAL(pwrite)(fd, data, count, at);
}
ssize_t pwrite64(int fd, const void *data, size_t count, off64_t at) {
  return refuses(fd, at + (off_t)count) ? -1 : REAL(pwrite64)(fd, data, count, at);
}
int ftruncate(int fd, off_t length) {
  return refuses(fd, length) ? -1 : REAL(ftruncate)(fd, length);
}
int ftruncate64(int fd, off64_t length) {
  return refuses(fd, length) ? -1 : REAL(ftruncate64)(fd, length);
}
int posix_fallocate(int fd, off_t at, off_t length) {
  return refuses(fd, at + length) ? errno : REAL(posix_fallocate)(fd, at, length);
}

static int refuses_open(const char *path, int flags) {
  if (control == NULL || control->disk == 0 || !is_under(path)) return 0;
  int saved = errno;
  if (control->disk == 'r' && (flags & (O_WRONLY | O_RDWR | O_CREAT)) != 0) {
    errno = EROFS;
    return 1;
  }
  if ((flags & O_CREAT) != 0 && access(path, F_OK) != 0) {
    errno = ENOSPC;
    return 1;
  }
  errno = saved;
  return 0;
}

#define MODE(flags)                            \
  mode_t mode = 0;                             \
  if ((flags & (O_CREAT | O_TMPFILE)) != 0) {  \
    va_list rest;                              \
    va_start(rest, flags);                     \
    mode = va_arg(rest, mode_t);               \
    va_end(rest);                              \
  }

int open(const char *path, int flags, ...) {
  MODE(flags)
  return refuses_open(path, flags) ? -1 : REAL(open)(path, flags, mode);
}
int open64(const char *path, int flags, ...) {
  MODE(flags)
  return refuses_open(path, flags) ? -1 : REAL(open64)(path, flags, mode);
}
int openat(int at, const char *path, int flags, ...) {
  MODE(flags)
  return refuses_open(path, flags) ? -1 : REAL(openat)(at, path, flags, mode);
}

int clock_gettime(clockid_t which, struct timespec *now) {
  int result = REAL(clock_gettime)(which, now);
  if (result == 0 && control != NULL && (which == CLOCK_REALTIME || which == CLOCK_REALTIME_COARSE))
    now->tv_sec += control->shift_seconds;
  return result;
}
int gettimeofday(struct timeval *now, void *zone) {
  int result = REAL(gettimeofday)(now, zone);
  if (result == 0 && control != NULL) now->tv_sec += control->shift_seconds;
  return result;
}
time_t time(time_t *store) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  if (store != NULL) *store = now.tv_sec;
  return now.tv_sec;
}
