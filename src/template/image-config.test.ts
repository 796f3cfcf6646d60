import { expect, it } from "vitest";
import { commandOf, takeConfig } from "./image-config.ts";
import type { ImageConfig } from "./oci/image-config.ts";

const BARE = { env: [], diffIds: [] } as unknown as ImageConfig;

it("takes variables, user, folder, and the entry point before the command", () => {
  const image = {
    ...BARE,
    env: ["PATH=/bin", "A=b=c", "EMPTY="],
    user: "ann:staff",
    workingDir: "/srv",
    entrypoint: ["sh"],
    cmd: ["-c", "ls"],
  };
  expect(takeConfig(image)).toEqual({
    env: { PATH: "/bin", A: "b=c", EMPTY: "" },
    user: "ann:staff",
    workingDir: "/srv",
    entrypoint: ["sh"],
    cmd: ["-c", "ls"],
  });
  expect(commandOf(takeConfig(image))).toEqual(["sh", "-c", "ls"]);
});

it("is root where the image names nobody, and has no command where it has none", () => {
  for (const user of [undefined, ""]) expect(takeConfig({ ...BARE, user })).toEqual({ env: {}, user: "0" });
  expect(commandOf(takeConfig(BARE))).toEqual([]);
});

it.each(["srv", "", "/a\0b"])("leaves out the folder %j, which is none", (workingDir) => {
  expect(takeConfig({ ...BARE, workingDir })).not.toHaveProperty("workingDir");
});

it("leaves out variables that no shell could set", () => {
  expect(takeConfig({ ...BARE, env: ["1A=x", "A B=x", "=x", "noequals", "a-b=x", "ok=1"] }).env).toEqual({ ok: "1" });
});

it("takes a name of a variable for a name alone", () => {
  const { env } = takeConfig({ ...BARE, env: ["__proto__=x", "constructor=y"] });
  expect([env["constructor"], Object.getPrototypeOf(env)]).toEqual(["y", Object.prototype]);
});

it.each([
  ["a variable with a NUL byte", { env: ["A=b\0c"] }],
  ["too many variables", { env: Array.from({ length: 300 }, (_, at) => `A${at}=x`) }],
  ["variables that are too large", { env: [`A=${"x".repeat(100_000)}`] }],
  ["a user with a space", { user: "a b" }],
  ["a user with three parts", { user: "a:b:c" }],
  ["a user of a group alone", { user: ":staff" }],
  ["a very long user", { user: "a".repeat(257) }],
  ["a command of very many arguments", { cmd: Array.from({ length: 1_001 }, () => "x") }],
] as const)("refuses %s", (_what, config) => {
  expect(() => takeConfig({ ...BARE, ...config } as ImageConfig)).toThrow(expect.objectContaining({ code: "IMAGE_INVALID" }));
});
