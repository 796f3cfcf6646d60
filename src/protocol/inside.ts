/**
 * What every sandbox shows inside, whichever runtime made it. `docs/reference/inside.md` says it to users, the contract suite tests it on
 * each runtime, and `native/common/inside.h` has the same values for the jail and the guest.
 */
export const INSIDE = {
  /** The user of commands and file operations that name none. */
  user: "user",
  userId: 1000,
  userHome: "/home/user",
  root: "root",
  rootId: 0,
  rootHome: "/root",
  /** Where the workspace is, or a link to it; without one, a link to the user's home. */
  workspace: "/workspace",
  /** Who commits with git, by the system's configuration, until somebody says otherwise. */
  committer: "Belljar user",
  committerEmail: "user@belljar.invalid",
  /** Belljar's own programs, read-only. */
  programs: "/opt/belljar",
  executables: "/opt/belljar/bin",
  kernels: "/opt/belljar/kernels",
  node: "/opt/belljar/node",
  /** What the browser has written, below the home of its user. */
  browserFolder: ".cache/belljar-browser",
} as const;
