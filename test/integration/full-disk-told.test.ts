import { expect, it } from "vitest";
import { type LimitedTools, openLimitedTools } from "../support/limited-tools.ts";
import type { StorageName } from "../support/namespace-home.ts";

const MEBIBYTE = 2 ** 20;
const isRoot = process.getuid?.() === 0;
/** A pool has a quota, which the counts of its file system do not show. */
const STORAGES: readonly StorageName[] = isRoot ? ["tmpfs", "btrfs"] : ["tmpfs"];
const FILL = "dd if=/dev/zero of=/tmp/big bs=1M count=64";
const EMPTY = "rm /tmp/big; sync -f /tmp";
const FULL = "the sandbox's disk is full";

async function openPlace(storage: StorageName): Promise<LimitedTools & { readonly isLimited: boolean }> {
  const tools = await openLimitedTools({ limits: { memoryBytes: 256 * MEBIBYTE, diskBytes: 16 * MEBIBYTE }, storage });
  return { ...tools, isLimited: tools.enforced.includes("diskBytes") };
}

it.each(STORAGES)("every failed command tells of a full disk on %s, until there is room again", async (storage) => {
  await using place = await openPlace(storage);
  const run = (command: string, session?: string): Promise<string> =>
    place.text("run_command", { command, ...(session !== undefined && { session }) });
  expect(await run("false")).not.toContain(FULL);
  for (const session of [undefined, "s"]) {
    for (const failed of [FILL, "false", "kill -KILL $BASHPID"]) expect((await run(failed, session)).includes(FULL)).toBe(place.isLimited);
    expect(await run("true", session)).not.toContain(FULL);
    expect(await run(`${EMPTY}; false`, session)).not.toContain(FULL);
  }
});

it.each(STORAGES)("git and npm tell of a full disk on %s", async (storage) => {
  await using place = await openPlace(storage);
  const make = `git init -q; printf '{"scripts":{"fails":"exit 3"}}' > package.json; echo a > file; ${FILL}`;
  expect((await place.text("run_command", { command: make })).includes(FULL)).toBe(place.isLimited);
  expect((await place.text("git_add", { paths: ["file"] })).includes(FULL)).toBe(place.isLimited);
  expect((await place.text("npm_run", { script: "fails" })).includes(FULL)).toBe(place.isLimited);
  await place.text("run_command", { command: EMPTY });
  expect(await place.text("git_add", { paths: ["missing"] })).not.toContain(FULL);
  expect(await place.text("npm_run", { script: "fails" })).not.toContain(FULL);
});

it.each(STORAGES)("a background process, a program and sandbox_exec tell of a full disk on %s", async (storage) => {
  await using place = await openPlace(storage);
  const program = (code: string): Promise<string> => place.text("execute_code", { language: "bash", entrypoint_code: code });
  expect((await program(FILL)).includes(FULL)).toBe(place.isLimited);
  expect(await program(`${FILL}; exit 0`)).not.toContain(FULL);
  const { value } = await place.call("sandbox_create", {});
  const exec = (cmd: string): Promise<string> => place.text("sandbox_exec", { id: (value as { id: string }).id, cmd });
  expect((await exec(FILL)).includes(FULL)).toBe(place.isLimited);
  expect(await exec(`${EMPTY}; false`)).not.toContain(FULL);
  expect(await place.textBehind("false")).not.toContain(FULL);
  expect((await place.textBehind(`${FILL}; exit 3`)).includes(FULL)).toBe(place.isLimited);
});
