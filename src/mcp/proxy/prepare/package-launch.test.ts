import { expect, it } from "vitest";
import { readPackageLaunch } from "./package-launch.ts";

const read = (line: string) => {
  const [command = "", ...args] = line.split(" ");
  const launch = readPackageLaunch({ name: "one", command, args });
  return launch && [launch.wish.requirements.join(" "), launch.program ?? "(its own)", launch.args.join(" ")];
};

it.each([
  ["npx -y @scope/server a -y", "@scope/server", "(its own)", "a -y"],
  ["npx server@latest", "server@latest", "(its own)", ""],
  ["npx --yes @scope/server@^1.2 --", "@scope/server@^1.2", "(its own)", "--"],
  ["npx -y -- server --flag", "server", "(its own)", "--flag"],
  ["npx --package=@scope/x@1 bin a", "@scope/x@1", "bin", "a"],
  ["npx -y -p x -p y bin", "x y", "bin", ""],
  ["/usr/local/bin/npx -y server", "server", "(its own)", ""],
  ["npm exec -y -- server --flag", "server", "(its own)", "--flag"],
  ["npm exec -y server a -- --flag", "server", "(its own)", "a --flag"],
  ["pnpm dlx server a", "server", "(its own)", "a"],
  ["bunx server", "server", "(its own)", ""],
  ["uvx server", "server", "server", ""],
  ["uvx server@1.2 a", "server==1.2", "server", "a"],
  ["uvx server@latest", "server", "server", ""],
  ["uvx server[x,y]==1.2", "server[x,y]==1.2", "server", ""],
  ["uvx --from server>=1 bin --flag", "server>=1", "bin", "--flag"],
  ["uvx --with beside --from=server bin", "beside server", "bin", ""],
  ["uv tool run server", "server", "server", ""],
])("reads %j", (line, requirements, program, args) => {
  expect(read(line)).toEqual([requirements, program, args]);
});

it.each(["node server.mjs", "uv run server", "npm start", "pnpm exec x", "docker run x", "/work/mynpx x", "/workspace/bin/npx x"])(
  "leaves %j as it is",
  (line) => {
    expect(read(line)).toBeUndefined();
  },
);

it.each([
  ["npx", "names no package"],
  ["npx -p x", "names no program"],
  ["npx -c ls", '"-c" of npx is not taken'],
  ["npx --registry=http://evil.test x", '"--registry" of npx is not taken'],
  ["npx --yes=false x", '"--yes" of npx is not taken'],
  ["npx -p", "-p has no value"],
  ["npx github:user/repository", "is no package of the index"],
  ["npx ./folder", "is no package of the index"],
  ["npx x@npm:other", "is no requirement for npm"],
  ["npx ..", "is no requirement for npm"],
  ["npm exec x --flag", "--flag is an option of npm exec there: write -- before it"],
  ["uvx --from git+https://evil.test/x bin", "is no package of the index"],
  ["uvx --index-url=http://evil.test x", '"--index-url" of uvx is not taken'],
  ["uvx x@1@2", "is no package of the index"],
  ["bunx --bun x", '"--bun" of bunx is not taken'],
])("refuses %j", (line, problem) => {
  expect(() => read(line)).toThrow(expect.objectContaining({ code: "CONFIG_INVALID", message: expect.stringContaining(problem) }));
});
