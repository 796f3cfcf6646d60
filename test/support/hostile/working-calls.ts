import { HOSTILE_FOLDER } from "./hostile-files.ts";

const [folder, file] = [HOSTILE_FOLDER, `${HOSTILE_FOLDER}/equal-lines.txt`];
const MANY_PATTERNS = Array.from({ length: 100 }, (_, index) => `${"*a".repeat(20)}${index}/**/${"*b".repeat(20)}`);
const SWAP = [
  { old_string: "a", new_string: "bb", replace_all: true },
  { old_string: "b", new_string: "aa", replace_all: true },
];

/**
 * Calls that come to the tool's real work, where the least that its schema takes does not. A tool that is not here is driven from its
 * schema alone.
 */
export const WORKING_CALLS: Readonly<Record<string, readonly object[]>> = {
  execute_code: [{ language: "python", entrypoint_code: "print(1)" }],
  run_code: [{ code: "1" }],
  read_file: [{ path: file }, { path: `${folder}/longer-line.txt`, line_numbers: true }],
  edit_file: [
    { path: `${folder}/no-break.txt`, edits: SWAP },
    { path: `${folder}/large.txt`, edits: SWAP },
    { path: file, edits: [{ old_string: "a\n".repeat(100_000), new_string: "c" }] },
  ],
  apply_patch: [{ patch: "--- a/long-line.txt\n+++ b/long-line.txt\n@@ -1 +1 @@\n-a\n+b\n", cwd: folder }],
  list_directory: [{ path: folder, depth: 20, ignore: MANY_PATTERNS }],
  search_files: [{ path: folder, pattern: "**/*a*b*c*", include_ignored: true }],
  search_content: [
    { path: folder, pattern: "a", context: 10, include_ignored: true },
    { path: folder, pattern: "a", mode: "count", include_ignored: true },
  ],
  search_code: [{ path: folder, pattern: "a($A, a)", language: "python", include_ignored: true }],
  create_directory: [{ path: `${folder}/made` }],
  move_file: [{ source: `${folder}/not-utf8.txt`, destination: `${folder}/moved.txt` }],
  delete_file: [{ path: `${folder}/bytes` }],
  git_diff: [{ path: folder }, { path: folder, context: 1_000 }, { path: folder, from: "HEAD~1", to: "HEAD" }],
  git_log: [{ path: folder }, { path: folder, grep: "a" }],
  git_add: [{ path: folder, all: true }],
  git_commit: [{ path: folder, message: "a" }],
  git_branch: [{ path: folder }, { path: folder, remotes: true }],
  git_checkout: [{ path: folder, branch: "main" }],
  git_clone: [{ url: `file://${folder}`, path: "/tmp/clone" }],
  read_result: [{ uri: `belljar://results/${"0".repeat(32)}` }],
  sandbox_write_file: [{ content_base64: "" }],
  npm_install: [{ path: folder }],
  npm_run: [{ path: folder, script: "a" }],
  // Of a sandbox that nobody has: the walk goes on in the one that there is.
  sandbox_kill: [{ id: "aaaaaaaaaaaaaaaaaaaa" }],
  web_visit: ["page.html", "texts/", "equal-lines.txt", "no-break.txt"].map((name) => ({ url: `http://127.0.0.1:8000/${name}` })),
  register_port: [{ port: 8_000 }],
  describe_tool: [{ name: "edit_file" }],
  call_tool: [{ name: "read_file", arguments: { path: file } }],
};
