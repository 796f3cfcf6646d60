import { expect, it } from "vitest";
import { type LimitedTools, openLimitedTools } from "../support/limited-tools.ts";
import type { Home } from "../support/namespace-home.ts";
import { textOf } from "../support/tool-caller.ts";

const HOG = "python3 -c 'held = bytearray(512 << 20)'";
const USED_UP = "memory was used up";

/** In sandboxes of 64 MiB. */
function openPlace(shared?: Home): Promise<LimitedTools> {
  return openLimitedTools({ limits: { memoryBytes: 64 * 2 ** 20 }, storage: "home", ...(shared && { shared }) });
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
