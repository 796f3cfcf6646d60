import { relative } from "node:path";
import { expect, it } from "vitest";
import { findReason } from "../../sandbox/workspace/runs-unasked.ts";
import { HOSTS } from "./hosts.ts";

it("names no file in a project that a sandbox could write unasked: a host starts what stands there", () => {
  const inProject = Object.values(HOSTS)
    .map((host) => relative("/project", host.file("/project")))
    .filter((path) => !path.startsWith(".."));
  expect(inProject.length).toBeGreaterThan(3);
  for (const path of inProject) expect(findReason(`packages/one/${path}`), path).toBeDefined();
  for (const path of ["opencode.jsonc", ".opencode/plugin/a.ts", ".zed/settings.json", ".windsurf/rules"])
    expect(findReason(path), path).toBeDefined();
});
