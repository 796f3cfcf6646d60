#include "unpack.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#define SHOWN_MAX 200u
/* The overlay whose files an image has. */
#define OVERLAY "root"
#define ROOT OVERLAY "/upper"

static const uint64_t RIGHTS = 1ull << CAP_CHOWN | 1ull << CAP_DAC_OVERRIDE | 1ull << CAP_FOWNER | 1ull << CAP_FSETID;

/* ---- refusals ---- */

static _Noreturn void end_with(int code, const char *what, const char *path) {
  char shown[SHOWN_MAX + 1];
  size_t length = 0;
  for (; path[length] != 0 && length < SHOWN_MAX; length++) shown[length] = path[length] >= ' ' && path[length] < 127 ? path[length] : '?';
  shown[length] = 0;
  dprintf(STDERR_FILENO, "%s%s%s\n", what, length > 0 ? ": " : "", shown);
  _exit(code);
}

void refuse_archive(const char *what, const char *path) { end_with(EXIT_MALFORMED, what, path); }
void refuse_archive_at(const char *what) { end_with(EXIT_MALFORMED, what, ""); }

void count_entry(struct unpack *unpack) {
  if (unpack->entries == unpack->entries_max) end_with(EXIT_TOO_LARGE, "it has too many entries", unpack->entry.path);
  unpack->entries++;
}

void count_bytes(struct unpack *unpack, uint64_t bytes) {
  if (bytes > unpack->bytes_max - unpack->bytes) end_with(EXIT_TOO_LARGE, "its files have too many bytes", unpack->entry.path);
  unpack->bytes += bytes;
}

/* ---- the process that reads the archive ---- */

/* Whoever gives up waiting kills the parent, and may remove at once what this process has made. */
static void end_with_parent(pid_t parent) {
  if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0) fail_job("tie the unpacking to", "its caller");
  if (getppid() != parent) _exit(EXIT_FAILURE);
}

/* Nothing but the layer can be named from here on. */
static int enter_layer(int frozen) {
  if (fchdir(frozen) < 0 || chroot(".") < 0) fail_job("enter", "the layer");
  close(frozen);
  umask(0);
  if (mkdir(OVERLAY, 0700) < 0 || mkdir(ROOT, 0755) < 0) fail_job("make", ROOT);
  int root = open(ROOT, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (root < 0) fail_job("open", ROOT);
  keep_capabilities_alone(RIGHTS);
  return root;
}

/* What follows the end of the archive fills its last block, and counts like anything else. */
static void drain(struct unpack *unpack) {
  const uint8_t *bytes;
  size_t length;
  while ((length = tar_take(&unpack->tar.input, TAR_BUFFER, &bytes)) > 0) count_bytes(unpack, length);
}

/*
 * The name servers of whoever made the image: the sandbox has one of its own, which the file that lies below all layers names. Most images have
 * an empty file there, since others mount theirs over it. A whiteout goes as well; what is a folder stays.
 */
static void leave_out_name_servers(int root) {
  int etc = open_in_layer(root, "etc", O_RDONLY | O_DIRECTORY);
  if (etc < 0) return;
  if (unlinkat(etc, "resolv.conf", 0) < 0 && errno != ENOENT && errno != EISDIR) fail_job("leave out", "etc/resolv.conf");
  close(etc);
}

/* What is left out, hidden or written over counts too: so all ends. */
static void unpack_all(struct unpack *unpack) {
  while (next_tar_entry(&unpack->tar, &unpack->entry)) {
    count_entry(unpack);
    count_bytes(unpack, unpack->entry.size + (unpack->entry.kind == TAR_LINK ? strlen(unpack->entry.link) : 0));
    unpack_entry(unpack);
  }
  drain(unpack);
  leave_out_name_servers(unpack->root);
  set_folder_times(&unpack->times, unpack->root);
}

static struct {
  int frozen;
  pid_t parent;
  int below[LOWER_LAYERS_MAX];
} given;

/* As mounts of their own, out of which nothing leads. Only root may make them outside: an ordinary user's process does in a namespace of its own. */
static void open_below(const struct spec *spec) {
  for (unsigned i = 0; i < spec->source_count; i++) given.below[i] = open_source(spec, &spec->sources[i], -1, false);
}

/* No entry has told of the root yet. */
static void begin_like_lower(struct unpack *unpack) {
  if (unpack->below_count == 0) return;
  struct shown lower = {.layer = unpack->below[0]};
  if (fstat(lower.layer, &lower.status) < 0) fail_job("look at", "a lower layer");
  copy_folder(unpack, &lower, "", unpack->root);
}

static int unpack_as_owner(const struct spec *spec) {
  struct unpack *unpack = calloc(1, sizeof *unpack);
  if (unpack == NULL) fail_job("make room for", "the archive");
  end_with_parent(given.parent);
  if (spec->id_map != ID_MAP_SLOT) {
    if (unshare(CLONE_NEWNS) < 0) fail_job("leave", "the mounts of the host");
    open_below(spec);
  }
  unpack->below = given.below;
  unpack->below_count = spec->source_count;
  unpack->root = enter_layer(given.frozen);
  unpack->has_ids = spec->id_map != ID_MAP_SINGLE;
  unpack->bytes_max = spec->disk;
  unpack->entries_max = spec->files;
  unpack->parent = -1;
  begin_like_lower(unpack);
  open_tar(&unpack->tar, STDIN_FILENO);
  unpack_all(unpack);
  printf("%" PRIu64 " %" PRIu64 " %" PRIu64 "\n", unpack->bytes, unpack->entries, unpack->skipped);
  return fflush(stdout) == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

/*
 * Makes FROZEN of the archive that follows the specification on standard input: LIMIT_DISK bytes and LIMIT_FILES entries at most. It lies on
 * the layers that the sources name, the topmost first. Prints how many bytes and entries it has, and how many device nodes were left out.
 */
int unpack_main(void) {
  static struct spec spec;
  parse_spec(read_spec(STDIN_FILENO), &spec);
  if (spec.frozen == NULL || spec.frozen[0] != '/' || spec.layer == NULL || spec.layer[0] != '/') refuse("the job on layers lacks a path");
  if (spec.source_count > LOWER_LAYERS_MAX) refuse("an image has more layers than the kernel takes");
  prctl(PR_SET_NAME, "belljar-unpack", 0, 0, 0);
  lock_frozen(&spec);
  given.frozen = make_frozen(&spec);
  given.parent = getpid();
  if (spec.id_map == ID_MAP_SLOT) open_below(&spec);
  return run_in_namespace(&spec, unpack_as_owner);
}
