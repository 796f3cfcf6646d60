import { expect, it } from "vitest";
import { execRequest } from "./exec-request.ts";

const START = { PWD: "/home/ada/a" };

it.each([
  ["the start folder", START, {}, "/home/ada/a"],
  ["a folder below it", START, { cwd: "b/../c" }, "/home/ada/a/c"],
  ["a folder elsewhere", START, { cwd: "/srv/b" }, "/srv/b"],
  ["what the caller says", START, { cwd: "/srv/b", env: { PWD: "/x" } }, "/x"],
  ["nothing where there is no other path than the real one", {}, { cwd: "/srv/b" }, undefined],
] as const)("sets PWD to %s", (_what, defaults, options, pwd) => {
  const { fields } = execRequest(defaults, { argv: ["true"], ...options });
  expect(fields.filter(([name]) => name === "ENV")).toEqual(pwd === undefined ? [] : [["ENV", `PWD=${pwd}`]]);
});
