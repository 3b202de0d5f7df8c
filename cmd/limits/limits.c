#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

// The Go runtime starts several threads and reserves address space for its tables, by its own
// rules. If the limit of address space is below TRIAL_SPACE, trial processes find out whether the
// runtime can start: one with all of the space and one with SPARE_SPACE bytes less, because the
// runtime may reserve more if more is available.
static const rlim_t TRIAL_SPACE = (rlim_t)4 << 30;
static const size_t SPARE_SPACE = (size_t)64 << 20;
enum { LEAST_THREADS = 6 };
static int trial; // this process is a trial: it ends after the runtime has started

// say writes a line to standard error. It may be called in a signal handler.
static void say(const char *const *words, int n) {
    char line[600];
    size_t at = 0;
    for (int i = 0; i < n; i++)
        for (const char *w = words[i]; *w && at < sizeof line - 1; w++)
            line[at++] = *w;
    line[at++] = '\n';
    if (write(2, line, at) < 0)
        return;
}

// limit formats a resource limit in units of the given size, into text, which has room bytes. It
// returns "unlimited" if the resource has no limit.
static const char *limit(int what, rlim_t unit, char *text, size_t room) {
    struct rlimit l;
    if (getrlimit(what, &l) != 0 || l.rlim_cur == RLIM_INFINITY)
        return "unlimited";
    char *p = text + room;
    *--p = 0;
    rlim_t n = l.rlim_cur / unit;
    do
        *--p = (char)('0' + n % 10);
    while ((n /= 10) > 0 && p > text);
    return p;
}

static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;

static void *wait_at_gate(void *unused) {
    (void)unused;
    pthread_mutex_lock(&gate);
    pthread_mutex_unlock(&gate);
    return 0;
}

// threads reports whether LEAST_THREADS threads, the number that the runtime starts with, can exist
// at the same time. Their stacks are small, because address space is tested separately.
static int threads(void) {
    pthread_t t[LEAST_THREADS];
    pthread_attr_t small;
    int n = 0;
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, 64 << 10);
    pthread_mutex_lock(&gate);
    while (n < LEAST_THREADS && pthread_create(&t[n], &small, wait_at_gate, 0) == 0)
        n++;
    pthread_mutex_unlock(&gate);
    for (int i = 0; i < n; i++)
        pthread_join(t[i], 0);
    return n == LEAST_THREADS;
}

// begins reports whether the runtime starts in a copy of this process with less bytes of address
// space removed.
static int begins(size_t less) {
    pid_t child = fork();
    if (child == 0) {
        trial = 1;
        int null = open("/dev/null", O_RDWR);
        dup2(null, 1);
        dup2(null, 2);
        int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
        if (less > 0 && mmap(0, less, PROT_NONE, flags, -1, 0) == MAP_FAILED)
            _exit(1);
        return 1;
    }
    int status = 0;
    while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR)
        ;
    return status == 0;
}

// guard_closed replaces a closed standard input or output by a file that can't be read or written,
// so that each use fails. The runtime would open /dev/null for reading and writing, and results
// would be lost silently.
static void guard_closed(void) {
    for (int fd = 0; fd < 2; fd++)
        if (fcntl(fd, F_GETFD) < 0 && errno == EBADF)
            open("/dev/null", fd == 0 ? O_WRONLY : O_RDONLY); // gets the lowest free descriptor: fd
}

__attribute__((constructor)) static void probe(void) {
    char a[32], u[32];
    struct rlimit space;
    guard_closed();
    if (!threads()) {
        const char *words[] = {
            program_invocation_short_name,
            ": there are too few threads to begin: the user's limit is ",
            limit(RLIMIT_NPROC, 1, u, sizeof u),
            " processes and threads (ulimit -u), and a cgroup may set another (pids.max)"};
        say(words, 4);
        _exit(1);
    }
    if (getrlimit(RLIMIT_AS, &space) != 0 || space.rlim_cur >= TRIAL_SPACE)
        return;
    if (!begins(0) || (!trial && !begins(SPARE_SPACE))) {
        const char *words[] = {program_invocation_short_name,
                               ": there is too little address space to begin: the limit is ",
                               limit(RLIMIT_AS, 1024, a, sizeof a),
                               " KiB (ulimit -v), and 4 GiB or more are wanted"};
        say(words, 4);
        _exit(1);
    }
}

static struct sigaction older;

// on_abort ends the process if the process sent SIGABRT to itself; the reason was printed before.
// A SIGABRT from another process is passed to the runtime's handler.
static void on_abort(int sig, siginfo_t *info, void *context) {
    if (info->si_code == SI_TKILL && info->si_pid == getpid()) {
        char a[32], u[32];
        const char *words[] = {program_invocation_short_name,
                               ": ended by what is said above; address space: ",
                               limit(RLIMIT_AS, 1024, a, sizeof a),
                               " KiB (ulimit -v), processes and threads: ",
                               limit(RLIMIT_NPROC, 1, u, sizeof u), " (ulimit -u)"};
        say(words, 6);
        _exit(1);
    }
    if (older.sa_flags & SA_SIGINFO)
        older.sa_sigaction(sig, info, context);
}

int dst_limits_trial(void) { return trial; }

void dst_limits_passed(void) { _exit(0); }

void dst_limits_arm(void) {
    struct sigaction mine;
    memset(&mine, 0, sizeof mine);
    mine.sa_sigaction = on_abort;
    mine.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART;
    sigfillset(&mine.sa_mask);
    sigaction(SIGABRT, &mine, &older);
}
