import { expect, it } from "vitest";
import { type LimitedTools, openLimitedTools } from "../support/limited-tools.ts";
import type { Home } from "../support/namespace-home.ts";
import { textOf } from "../support/tool-caller.ts";

const HOG = "python3 -c 'held = bytearray(512 << 20)'";
const USED_UP = "memory was used up";

const MEBIBYTE = 2 ** 20;

function openPlace(shared?: Home, memoryBytes = 64 * MEBIBYTE): Promise<LimitedTools> {
  return openLimitedTools({ limits: { memoryBytes }, storage: "home", ...(shared && { shared }) });
}

const limitsMemory = ({ enforced }: LimitedTools): boolean => enforced.includes("memoryBytes");

it("a command that used up the memory is told so, where memory is limited, and its sandbox lives on", async () => {
  await using place = await openPlace();
  const text = async (command: string) => textOf(await place.call("run_command", { command }));
  for (const command of [HOG, `${HOG}; exit $?`]) {
    await text("echo kept > file");
    expect((await text(command)).includes(USED_UP)).toBe(limitsMemory(place));
    expect(await text("cat file; kill -KILL $$")).not.toContain(USED_UP);
    expect(await text("cat file")).toContain("kept\n");
  }
});

it("a command is told of a killed child, whatever the command itself answers, and the next one is not", async () => {
  await using place = await openPlace();
  const text = (command: string) => place.text("run_command", { command });
  for (const command of [`bash -c "${HOG}"; echo on`, `${HOG} | cat`, `${HOG} || exit 3`]) {
    expect((await text(command)).includes(USED_UP), command).toBe(limitsMemory(place));
    for (const next of ["true", "false"]) expect(await text(next)).not.toContain(USED_UP);
  }
});

it("git and npm tell of what they ran and used up the memory, where memory is limited", async () => {
  await using place = await openPlace(undefined, 256 * MEBIBYTE);
  const make = [
    "git init -q && git config user.name a && git config user.email a@b",
    `printf '#!/bin/sh\n${HOG.replaceAll("'", String.raw`'\''`)} || exit 1\n' > .git/hooks/pre-commit`,
    "chmod +x .git/hooks/pre-commit && echo a > file && git add file",
    `printf '{"scripts":{"hog":"%s || exit 4"}}' ${JSON.stringify(HOG)} > package.json`,
  ].join(" && ");
  expect(await place.text("run_command", { command: make })).toContain("exit_code: 0");
  expect((await place.text("git_commit", { message: "a" })).includes(USED_UP)).toBe(limitsMemory(place));
  expect((await place.text("npm_run", { script: "hog" })).includes(USED_UP)).toBe(limitsMemory(place));
  expect(await place.text("git_checkout", { branch: "none" })).not.toContain(USED_UP);
});

it("a process that did not see a sandbox use up its memory does not tell so of what somebody else kills", async () => {
  await using first = await openPlace();
  await first.call("run_command", { command: `${HOG}; echo on` });
  await using second = await openPlace(first.home);
  const text = async (command: string) => textOf(await second.call("run_command", { command }));
  expect(await text("kill -KILL $$")).not.toContain(USED_UP);
  expect((await text(HOG)).includes(USED_UP)).toBe(limitsMemory(second));
});

it("a program that used up the memory is told so, where memory is limited, whether a part or the whole of it was killed", async () => {
  await using place = await openPlace();
  const run = (entrypoint_code: string) => place.call("execute_code", { language: "bash", entrypoint_code });
  for (const code of [`exec ${HOG}`, `${HOG}; exit $?`]) {
    const result = await run(code);
    expect(result.isError).toBe(limitsMemory(place));
    expect(textOf(result).includes(USED_UP)).toBe(limitsMemory(place));
  }
  expect(textOf(await run("kill -KILL $$"))).not.toContain(USED_UP);
});

it("a session and a background process tell of a command that used up the memory, where memory is limited", async () => {
  await using place = await openPlace();
  expect(await place.text("run_command", { session: "s", command: "bash -c 'kill -KILL $$'" })).not.toContain(USED_UP);
  expect(await place.textBehind("kill -KILL $$")).not.toContain(USED_UP);
  expect((await place.text("run_command", { session: "s", command: HOG })).includes(USED_UP)).toBe(limitsMemory(place));
  expect((await place.textBehind(HOG)).includes(USED_UP)).toBe(limitsMemory(place));
});
