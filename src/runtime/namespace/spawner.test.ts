import { writeFileSync } from "node:fs";
import { afterEach, expect, it, vi } from "vitest";
import { makeShellProgram, type ShellProgram } from "../../../test/support/shell-program.ts";
import { encodeFields, type Field } from "../../protocol/fields.ts";
import { encodeFrame } from "../../protocol/frames.ts";
import { FRAME, GUEST_ERROR } from "../../protocol/wire.ts";
import { Spawner } from "./spawner.ts";

const SPEC = Buffer.from("spec");
/** Notes each start of its own, waits for all specifications, and answers with a file. */
const answering = (specs: number): string =>
  `echo "$@" >> "$here/starts"; head -c ${specs * SPEC.length} <&3 > "$here/specs"; cat "$here/answers" >&3`;

const started = (id: string, generation: number) =>
  answer(FRAME.STARTED, [
    ["ID", id],
    ["RUN", generation],
  ]);
const refused = (...fields: readonly Field[]) => answer(FRAME.EVENT, fields);
const run = (id: string, generation = 1) => ({ id, generation, folder: "/nowhere" });

function answer(type: number, fields: readonly Field[]): Buffer {
  return encodeFrame(type, 0, encodeFields(fields));
}

/** A spawner that answers all at once when it has so many specifications. */
function makeSpawner(specs: number, ...answers: readonly Buffer[]): { readonly spawner: Spawner; readonly program: ShellProgram } {
  const program = makeShellProgram(answering(specs));
  writeFileSync(program.file("answers"), Buffer.concat(answers));
  return { spawner: new Spawner(program.path), program };
}

/** How each start went, in the order in which they were settled. */
async function outcomesOf(starts: Readonly<Record<string, Promise<void>>>): Promise<readonly string[]> {
  const order: string[] = [];
  const settle = async ([name, start]: readonly [string, Promise<void>]): Promise<void> => {
    const how = await start.then(
      () => "started",
      (cause: { readonly code: string }) => cause.code,
    );
    order.push(`${name} ${how}`);
  };
  await Promise.all(Object.entries(starts).map(settle));
  return order;
}

afterEach(() => vi.useRealTimers());

it("starts its process once, and tells each run's own answer, in whatever order they come", async () => {
  const late = refused(["ID", "a"], ["RUN", 1], ["REASON", "no memory"]);
  const { spawner, program } = makeSpawner(3, started("b", 1), started("a", 2), started("unknown", 1), late);
  using _program = program;
  const starts = { first: spawner.start(run("a"), SPEC), second: spawner.start(run("a", 2), SPEC), other: spawner.start(run("b"), SPEC) };
  expect(await outcomesOf(starts)).toEqual(["other started", "second started", "first RUNTIME_FAILED"]);
  expect(program.read("starts")).toBe("spawner\n");
  expect(program.read("specs")).toBe("specspecspec");
});

it.each<readonly [string, readonly Field[], string, string]>([
  ["a step that failed", [["REASON", "jail: mount"]], "RUNTIME_FAILED", "could not be built: jail: mount."],
  ["no reason", [], "RUNTIME_FAILED", "no reason was given"],
  [
    "another kind",
    [
      ["REASON", "x"],
      ["KIND", GUEST_ERROR.NO_SPACE],
    ],
    "RUNTIME_FAILED",
    "could not be built: x.",
  ],
  [
    "layers that are gone",
    [
      ["REASON", "no layers"],
      ["KIND", GUEST_ERROR.NOT_FOUND],
    ],
    "SANDBOX_FILES_LOST",
    "is gone: no layers.",
  ],
])("refuses a start with %s", async (_, fields, code, words) => {
  const { spawner, program } = makeSpawner(1, refused(["ID", "a"], ["RUN", 1], ...fields));
  using _program = program;
  const error = expect.objectContaining({ code, message: expect.stringContaining(words) as string }) as Error;
  await expect(spawner.start(run("a"), SPEC)).rejects.toThrow(error);
});

it.each([
  ["of which no sandbox is told", [["REASON", "out of files"]], "could not be built: out of files."],
  ["that says of no sandbox that it started", undefined, "an answer names no sandbox"],
] as const)("refuses all starts after an answer %s, and starts another process for the next", async (_, fields, words) => {
  const { spawner, program } = makeSpawner(2, fields ? refused(...fields) : answer(FRAME.STARTED, [["RUN", 1]]));
  using _program = program;
  const error = expect.objectContaining({ code: "RUNTIME_FAILED", message: expect.stringContaining(words) as string }) as Error;
  const starts = [spawner.start(run("a"), SPEC), spawner.start(run("b"), SPEC)];
  for (const start of starts) await expect(start).rejects.toThrow(error);
  writeFileSync(program.file("answers"), Buffer.concat([started("d", 1), started("c", 1)]));
  await Promise.all([spawner.start(run("c"), SPEC), spawner.start(run("d"), SPEC)]);
  expect(program.read("starts")).toBe("spawner\nspawner\n");
});

it.each([
  ["no frame", Buffer.from("not at all a frame")],
  ["a frame of broken fields", encodeFrame(FRAME.STARTED, 0, Buffer.from([255, 0, 0, 0, 9]))],
])("refuses all starts after bytes that are %s", async (_, bytes) => {
  const { spawner, program } = makeSpawner(1, bytes);
  using _program = program;
  const error = expect.objectContaining({
    code: "RUNTIME_FAILED",
    message: expect.stringContaining("cannot be understood") as string,
  }) as Error;
  await expect(spawner.start(run("a"), SPEC)).rejects.toThrow(error);
});

it("refuses all starts when its process ends, and starts another one for the next", async () => {
  using program = makeShellProgram(`if [ -e "$here/again" ]; then ${answering(1)}; exit; fi; touch "$here/again"; head -c 8 <&3`);
  writeFileSync(program.file("answers"), started("c", 1));
  const spawner = new Spawner(program.path);
  const gone = expect.objectContaining({ code: "RUNTIME_FAILED", message: expect.stringContaining("is gone") as string }) as Error;
  const starts = [spawner.start(run("a"), SPEC), spawner.start(run("b"), SPEC)];
  for (const start of starts) await expect(start).rejects.toThrow(gone);
  await spawner.start(run("c"), SPEC);
});

it("says that the native part is missing, each time", async () => {
  using program = makeShellProgram("exit 0");
  const spawner = new Spawner(program.file("gone"));
  const missing = expect.objectContaining({ code: "RUNTIME_UNAVAILABLE" }) as Error;
  await expect(spawner.start(run("a"), SPEC)).rejects.toThrow(missing);
  await expect(spawner.start(run("a"), SPEC)).rejects.toThrow(missing);
});

it("waits a minute for a sandbox, and no longer", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  using program = makeShellProgram("cat <&3 > /dev/null");
  const start = new Spawner(program.path).start(run("a"), SPEC);
  let isSettled = false;
  const settled = start.catch((cause: unknown) => cause).finally(() => (isSettled = true));
  await vi.advanceTimersByTimeAsync(59_999);
  expect(isSettled).toBe(false);
  await vi.advanceTimersByTimeAsync(1);
  expect(await settled).toMatchObject({ code: "SANDBOX_UNRESPONSIVE" });
});

it("refuses a start whose specification its process does not take", async () => {
  using program = makeShellProgram("exec 3<&-; exit 0");
  const gone = expect.objectContaining({ code: "RUNTIME_FAILED" }) as Error;
  await expect(new Spawner(program.path).start(run("a"), Buffer.alloc(10_000_000))).rejects.toThrow(gone);
});
