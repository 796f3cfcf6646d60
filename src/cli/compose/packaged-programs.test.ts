import { execFileSync } from "node:child_process";
import { expect, it } from "vitest";
import { findPackagedPrograms } from "./packaged-programs.ts";

it("finds programs that run", () => {
  const programs = findPackagedPrograms();
  expect(Object.keys(programs)).toEqual(["rg", "ast-grep"]);
  for (const path of Object.values(programs))
    expect(execFileSync(path, ["--version"], { encoding: "utf8" })).toMatch(/^(ripgrep|ast-grep) /);
});

it("leaves out programs without a build for the machine", () => {
  expect(findPackagedPrograms("mips")).toEqual({});
});
