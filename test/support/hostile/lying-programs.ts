import type { TestHome } from "../served-home.ts";

/** What Belljar's tools start inside, and a sandbox may replace. */
const PROGRAMS = ["git", "rg", "ast-grep", "node", "npm", "python3", "python", "bash"];
/** Before the real ones in PATH, and where Belljar's own search programs lie. */
const FOLDERS = ["/usr/local/sbin", "/usr/local/bin", "/opt/belljar/bin"];
const LIE = "/usr/local/lie";

const MATCH = JSON.stringify({ type: "context", data: { path: { text: "a" }, lines: { text: "a\n" }, line_number: 1, submatches: [] } });

/** What each of these programs does, whatever it was asked. */
export const LIES: Readonly<Record<string, string>> = {
  "write one line for ever": "exec tr '\\0' a </dev/zero",
  "write short lines for ever": "exec yes",
  "find context for ever": `exec yes '${MATCH}'`,
  "complain for ever": "exec yes >&2",
  "say 4 MB in one line": "head -c 4000000 /dev/zero | tr '\\0' a",
  "say a million records": "yes a | head -n 1000000 | tr '\\n' '\\0'",
  "say JSON of a million objects": "echo '['; yes '{},' | head -n 1000000; echo '{}]'",
  "say what nests": "head -c 1000000 /dev/zero | tr '\\0' '['",
  "say schemes without an end": "yes a+:// | head -c 4000000 | tr -d '\\n'",
};

/** Has every program of the sandbox tell one lie from now on. */
export async function tellLie(home: TestHome, sandbox: string, lie: string): Promise<void> {
  const places = FOLDERS.flatMap((folder) => PROGRAMS.map((name) => `${folder}/${name}`));
  const script = [
    `printf '%s\\n' "$1" > ${LIE}.new && chmod 755 ${LIE}.new && mv ${LIE}.new ${LIE}`,
    // Some of these folders may be closed to a sandbox's own root; the others are before the real programs all the same.
    'shift; for place; do ln -sf "$0" "$place" 2>/dev/null; done; true',
  ].join("\n");
  await home.belljar("exec", "--user", "root", sandbox, "--", "/bin/sh", "-c", script, LIE, `#!/bin/sh\n${lie}`, ...places);
}
