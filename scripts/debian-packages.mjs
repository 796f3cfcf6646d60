/** What the tests need from Debian: a command (or file) that shows it is there, the package that brings it, and why. */
export const BUILD_PACKAGES = [
  { shows: "cc", package: "gcc", why: "builds the native binary" },
  { shows: "make", package: "make", why: "builds the native binary" },
  { shows: "/usr/include/stdio.h", package: "libc6-dev", why: "builds the native binary" },
];

export const TEST_PACKAGES = [
  ...BUILD_PACKAGES,
  { shows: "clang", package: "clang", why: "builds the fuzzers of the native binary" },
  { shows: "/usr/share/doc/libclang-rt-dev", package: "libclang-rt-dev", why: "finds inputs that break the native readers" },
  { shows: "newuidmap", package: "uidmap", why: "gives an ordinary user's sandboxes two ids" },
  { shows: "mkfs.btrfs", package: "btrfs-progs", why: "makes the storage pool with its disk limits" },
  { shows: "/usr/bin/go", package: "golang-go", why: "Go programs that the tests run in sandboxes" },
  { shows: "/usr/bin/perl", package: "perl", why: "Perl programs that the tests run in sandboxes" },
  { shows: "python3", package: "python3", why: "programs that the tests run in sandboxes" },
  { shows: "/usr/bin/pip3", package: "python3-pip", why: "pip, whose way out of a sandbox the tests try" },
  { shows: "/usr/share/doc/python3-venv", package: "python3-venv", why: "packages for the tests of the Python kernel" },
  { shows: "/usr/bin/git", package: "git", why: "git, for the tools and the way out" },
  { shows: "/usr/bin/curl", package: "curl", why: "a client whose way out the tests try" },
  { shows: "/usr/bin/wget", package: "wget", why: "a client whose way out the tests try" },
  { shows: "/usr/bin/openssl", package: "openssl", why: "checks the certificates that sandboxes trust" },
  { shows: "/usr/bin/docker-registry", package: "docker-registry", why: "serves the images that the tests pull" },
  { shows: "/usr/share/doc/postgresql", package: "postgresql", why: "the database in which the tests keep users' tools" },
  { shows: "/usr/bin/skopeo", package: "skopeo", why: "copies the images that the tests compare" },
  { shows: "/usr/bin/umoci", package: "umoci", why: "unpacks the images that the tests compare" },
  { shows: "/usr/bin/mmdebstrap", package: "mmdebstrap", why: "puts the Debian suites of templates together" },
  { shows: "/usr/bin/chromium", package: "chromium", why: "the browser of sandboxes; shows the page of an example" },
  { shows: "/etc/ssl/certs/ca-certificates.crt", package: "ca-certificates", why: "what sandboxes trust beside their own authority" },
];
