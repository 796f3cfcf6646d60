import { expect, it } from "vitest";
import type { StateView } from "../../../runtime/contract/state-store.ts";
import { selectStatePaths } from "./select-state-paths.ts";

const sandbox = { inside: { env: {}, home: "/home/user", workspace: "/srv/w", cwd: "/home/me/w" } } as unknown as StateView["sandbox"];

it.each([
  { paths: undefined, selected: ["/etc/x", "/home/user/.cachet"], left: ["/tmp/x", "/home/user/.cache/x", "/etc/hosts", "/etc/ssl/certs/a", "/opt/belljar/bin/x"] },
  { paths: ["/"], selected: ["/a"], left: ["/tmp", "/run/x"] },
  { paths: ["/tmp/mine"], selected: ["/tmp/mine", "/tmp/mine/x"], left: ["/tmp/minor", "/tmp", "/a"] },
  { paths: ["/var"], selected: ["/var", "/var/lib/x"], left: ["/var/cache/x"] },
  { paths: ["/a//b/./c/"], selected: ["/a/b/c", "/a/b/c/d"], left: ["/a/b", "/a/b/cd"] },
  { paths: ["/workspace/x", "/home/me/w/y"], selected: ["/srv/w/x", "/srv/w/y/z"], left: ["/workspace/x", "/srv/w/z"] },
])("paths $paths select $selected and leave $left", ({ paths, selected, left }) => {
  const isSelected = selectStatePaths(paths, sandbox);
  expect(selected.filter((key) => !isSelected(key))).toEqual([]);
  expect(left.filter(isSelected)).toEqual([]);
}); // prettier-ignore

it.each(["relative", "", "/a/../b", "/a\0b"])("%j is no path of a state", (path) => {
  expect(() => selectStatePaths([path], sandbox)).toThrow(expect.objectContaining({ code: "PATH_INVALID" }));
});
