/* A layer between SQLite and the file system, loaded with LD_PRELOAD.
 *
 * It watches the files of one store (the database, its write-ahead log, its rollback journal, and for faults
 * also the shared-memory and the lock file) and can
 *
 *   - record every operation, with the bytes written, in a trace from which crash states are built later;
 *   - kill the process before the n-th operation, or in the middle of it;
 *   - make the n-th operation fail, or all from the n-th on, with ENOSPC or EIO;
 *   - write less than was asked for (short writes);
 *   - set the clock (CLOCK_REALTIME) to any time.
 *
 * All other files and calls pass through. Control is by the functions at the end (ctypes finds them), or for
 * a process that is started elsewhere by the environment variable TORTURE_ARM="path mode n mask error".
 * Everything goes by raw system calls, so that nothing here depends on what libc calls internally.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

enum file { NONE, MAIN, WAL, JOURNAL, FOLDER, SHM, LOCK };
enum op { CREATE = 1, WRITE, TRUNCATE, SYNC, UNLINK, MARK };
enum mode { PASS, KILL, KILL_TORN, FAIL_ONCE, FAIL_ON, FAIL_PARTLY, SHORT };

#define MOST_FDS 65536
static char store[4096], folder[4096];
static unsigned char files[MOST_FDS];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int mode = PASS, mask = 0, error_number = ENOSPC, trace = -1, failed_partly = 0;
static long count = 0, at = 0, hits = 0;
static int clock_is_set = 0;
static struct timespec clock_now;

struct record {
  uint32_t op, file;
  uint64_t offset, length;
};

static enum file file_of(const char *path) {
  if (store[0] == 0 || path == NULL) return NONE;
  if (strcmp(path, folder) == 0) return FOLDER;
  size_t length = strlen(store);
  if (strncmp(path, store, length) != 0) return NONE;
  const char *rest = path + length;
  if (*rest == 0) return MAIN;
  if (strcmp(rest, "-wal") == 0) return WAL;
  if (strcmp(rest, "-journal") == 0) return JOURNAL;
  if (strcmp(rest, "-shm") == 0) return SHM;
  if (strcmp(rest, "-lock") == 0) return LOCK;
  return NONE;
}

static enum file file_at(int fd) { return fd >= 0 && fd < MOST_FDS ? files[fd] : NONE; }

static void put(enum op op, enum file file, uint64_t offset, const void *bytes, uint64_t length) {
  if (trace < 0 || file == SHM || file == LOCK) return;
  struct record head = {op, file, offset, length};
  struct iovec parts[2] = {{&head, sizeof head}, {(void *)bytes, bytes == NULL ? 0 : length}};
  ssize_t want = (ssize_t)(parts[0].iov_len + parts[1].iov_len);
  if (syscall(SYS_writev, trace, parts, 2) != want) abort(); /* a trace with holes would prove nothing */
}

static void die(void) {
  syscall(SYS_kill, syscall(SYS_getpid), SIGKILL);
  for (;;) pause();
}

/* Whether an operation is to fail now; called with the lock held. May not return. */
static int strikes(enum op op) {
  if (mode == PASS || !(mask & (1 << op))) return 0;
  count++;
  if (count == at && (mode == KILL || (mode == KILL_TORN && op != WRITE))) die();
  int struck = (mode == FAIL_ONCE && count == at) || (mode == FAIL_ON && count >= at);
  struck |= mode == FAIL_PARTLY && failed_partly;
  if (struck) {
    hits++;
    errno = error_number;
  }
  return struck;
}

static ssize_t written(int fd, const void *bytes, size_t length, off_t offset) {
  enum file file = file_at(fd);
  if (file == NONE || file == FOLDER || file == LOCK)
    return offset < 0 ? syscall(SYS_write, fd, bytes, length) : syscall(SYS_pwrite64, fd, bytes, length, offset);
  pthread_mutex_lock(&lock);
  ssize_t done = -1;
  if (!strikes(WRITE)) {
    size_t part = length;
    int torn = mode == KILL_TORN && (mask & (1 << WRITE)) && count == at;
    int partly = mode == FAIL_PARTLY && (mask & (1 << WRITE)) && count == at;
    if ((torn || partly || mode == SHORT) && length > 1) part = length / 2;
    if (mode == SHORT || partly) hits++;
    off_t start = offset < 0 ? lseek(fd, 0, SEEK_CUR) : offset;
    done = syscall(SYS_pwrite64, fd, bytes, part, start);
    if (done > 0 && offset < 0) lseek(fd, done, SEEK_CUR);
    if (done > 0) put(WRITE, file, (uint64_t)start, bytes, (uint64_t)done);
    if (torn) die();
    failed_partly |= partly;
  }
  int saved = errno;
  pthread_mutex_unlock(&lock);
  errno = saved;
  return done;
}

static int synced(int fd, long number) {
  enum file file = file_at(fd);
  if (file == NONE || file == SHM || file == LOCK) return (int)syscall(number, fd);
  pthread_mutex_lock(&lock);
  int rc = -1;
  if (!strikes(SYNC)) {
    rc = (int)syscall(number, fd);
    if (rc == 0) put(SYNC, file, 0, NULL, 0);
  }
  int saved = errno;
  pthread_mutex_unlock(&lock);
  errno = saved;
  return rc;
}

static int truncated(int fd, off_t length) {
  enum file file = file_at(fd);
  if (file == NONE || file == LOCK) return (int)syscall(SYS_ftruncate, fd, length);
  pthread_mutex_lock(&lock);
  int rc = -1;
  if (!strikes(TRUNCATE)) {
    rc = (int)syscall(SYS_ftruncate, fd, length);
    if (rc == 0) put(TRUNCATE, file, (uint64_t)length, NULL, 0);
  }
  int saved = errno;
  pthread_mutex_unlock(&lock);
  errno = saved;
  return rc;
}

static int opened(int folder_fd, const char *path, int flags, mode_t rights) {
  enum file file = file_of(path);
  if (file == NONE || (flags & O_DIRECTORY && file != FOLDER)) {
    int fd = (int)syscall(SYS_openat, folder_fd, path, flags, rights);
    if (fd >= 0 && fd < MOST_FDS) files[fd] = NONE;
    return fd;
  }
  pthread_mutex_lock(&lock);
  int made = (flags & O_CREAT) && syscall(SYS_faccessat, AT_FDCWD, path, F_OK) != 0;
  int fd = -1;
  if (!(made && strikes(CREATE))) {
    fd = (int)syscall(SYS_openat, folder_fd, path, flags, rights);
    if (fd >= 0 && fd < MOST_FDS) files[fd] = (unsigned char)file;
    if (fd >= 0 && made) put(CREATE, file, 0, NULL, 0);
    if (fd >= 0 && !made && (flags & O_TRUNC)) put(TRUNCATE, file, 0, NULL, 0);
  }
  int saved = errno;
  pthread_mutex_unlock(&lock);
  errno = saved;
  return fd;
}

static int unlinked(int folder_fd, const char *path, int flags) {
  enum file file = file_of(path);
  if (file == NONE) return (int)syscall(SYS_unlinkat, folder_fd, path, flags);
  pthread_mutex_lock(&lock);
  int rc = -1;
  if (!strikes(UNLINK)) {
    rc = (int)syscall(SYS_unlinkat, folder_fd, path, flags);
    if (rc == 0) put(UNLINK, file, 0, NULL, 0);
  }
  int saved = errno;
  pthread_mutex_unlock(&lock);
  errno = saved;
  return rc;
}

/* ------------------------------------------------------------------------------- what libc's callers call */

#define RIGHTS(flags)                                  \
  mode_t rights = 0;                                   \
  if ((flags) & (O_CREAT | O_TMPFILE)) {               \
    va_list rest;                                      \
    va_start(rest, flags);                             \
    rights = (mode_t)va_arg(rest, int);                \
    va_end(rest);                                      \
  }

int open(const char *path, int flags, ...) {
  RIGHTS(flags)
  return opened(AT_FDCWD, path, flags, rights);
}
int open64(const char *path, int flags, ...) {
  RIGHTS(flags)
  return opened(AT_FDCWD, path, flags, rights);
}
int openat(int at_fd, const char *path, int flags, ...) {
  RIGHTS(flags)
  return opened(at_fd, path, flags, rights);
}
int openat64(int at_fd, const char *path, int flags, ...) {
  RIGHTS(flags)
  return opened(at_fd, path, flags, rights);
}
int close(int fd) {
  if (fd >= 0 && fd < MOST_FDS) files[fd] = NONE;
  return (int)syscall(SYS_close, fd);
}
ssize_t write(int fd, const void *bytes, size_t length) { return written(fd, bytes, length, -1); }
ssize_t pwrite(int fd, const void *bytes, size_t length, off_t offset) {
  return written(fd, bytes, length, offset);
}
ssize_t pwrite64(int fd, const void *bytes, size_t length, off_t offset) {
  return written(fd, bytes, length, offset);
}
int ftruncate(int fd, off_t length) { return truncated(fd, length); }
int ftruncate64(int fd, off_t length) { return truncated(fd, length); }
int fsync(int fd) { return synced(fd, SYS_fsync); }
int fdatasync(int fd) { return synced(fd, SYS_fdatasync); }
int unlink(const char *path) { return unlinked(AT_FDCWD, path, 0); }
int unlinkat(int at_fd, const char *path, int flags) { return unlinked(at_fd, path, flags); }
int clock_gettime(clockid_t which, struct timespec *now) {
  if (clock_is_set && which == CLOCK_REALTIME) {
    *now = clock_now;
    return 0;
  }
  return (int)syscall(SYS_clock_gettime, which, now);
}

/* --------------------------------------------------------------------------------------------- control */

/* Watch the files of the store at this path; operations of kinds in `kinds` (1 << op) count towards `n`. */
void torture_arm(const char *path, int how, long n, int kinds, int error) {
  pthread_mutex_lock(&lock);
  snprintf(store, sizeof store, "%s", path);
  snprintf(folder, sizeof folder, "%s", path);
  char *slash = strrchr(folder, '/');
  if (slash != NULL) *slash = 0;
  mode = how, at = n, mask = kinds, error_number = error;
  count = hits = failed_partly = 0;
  pthread_mutex_unlock(&lock);
}

/* From now on operations succeed, and are still watched. */
void torture_pass(void) { mode = PASS; }

long torture_count(void) { return count; }
long torture_hits(void) { return hits; }

int torture_trace(const char *path) {
  trace = (int)syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND, 0644);
  return trace >= 0;
}

/* The caller has been told that everything up to `number` is durable. */
void torture_mark(uint64_t number) {
  pthread_mutex_lock(&lock);
  put(MARK, NONE, number, NULL, 0);
  pthread_mutex_unlock(&lock);
}

void torture_clock(double seconds) {
  clock_now.tv_sec = (time_t)(seconds < 0 ? seconds - 1 : seconds);
  clock_now.tv_nsec = (long)((seconds - (double)clock_now.tv_sec) * 1e9);
  clock_is_set = 1;
}

void torture_real_clock(void) { clock_is_set = 0; }

__attribute__((constructor)) static void from_environment(void) {
  const char *wanted = getenv("TORTURE_ARM");
  char path[4096];
  int how, kinds, error;
  long n;
  if (wanted != NULL && sscanf(wanted, "%4095s %d %ld %d %d", path, &how, &n, &kinds, &error) == 5)
    torture_arm(path, how, n, kinds, error);
}
