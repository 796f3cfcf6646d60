import { join } from "node:path";
import { expect, it } from "vitest";
import { encodeFields } from "../../../../src/protocol/fields.ts";
import { encodeFrame } from "../../../../src/protocol/frames.ts";
import { FRAME } from "../../../../src/protocol/wire.ts";
import type { Runtime } from "../../../../src/runtime/contract/runtime.ts";
import { createSandbox } from "../../../contract/contract-sandbox.ts";
import { findSpeakers, freeze, LIES, replaceGuest } from "../../../support/freeze.ts";
import { type Home, makeHome } from "../../../support/namespace-home.ts";
import { runName } from "../../../support/run-of.ts";

const DEADLINE = new Date("2099-01-02T03:04:05.678Z");

const make = (runtime: Runtime) => createSandbox(async () => runtime, { ephemeral: false, deadline: DEADLINE, deadlineAction: "kill" });
const socketsOf = ({ path }: Home, id: string): string => join(path, "run", runName(id));

it("tells how runs are that answer, in their order, and nothing of the others", async () => {
  await using home = await makeHome();
  const runtime = await home.open("home");
  await using one = await make(runtime);
  await using two = await make(runtime);
  await using dead = await make(runtime);
  await dead.running.kill("killed");
  const looks = await runtime.look?.([two.spec, dead.spec, one.spec, { ...one.spec, generation: 2 }]);
  const lives = expect.objectContaining({ phase: "running", deadline: DEADLINE, deadlineAction: "kill" }) as unknown;
  expect(looks).toEqual([lives, undefined, lives, undefined]);
  await one.running.extend(undefined);
  expect((await runtime.look?.([one.spec]))?.[0]?.deadline).toBeUndefined();
});

it("tells why a run is paused, whose guest cannot answer", async (context) => {
  await using home = await makeHome();
  const runtime = await home.open("home");
  context.skip(!(await runtime.probe()).pause, "this user has no freezer");
  await using sandbox = await make(runtime);
  await sandbox.running.pause();
  expect(await runtime.look?.([sandbox.spec])).toEqual([expect.objectContaining({ phase: "paused", pauseReason: "asked" })]);
  await sandbox.running.resume();
  expect(await runtime.look?.([sandbox.spec])).toEqual([expect.objectContaining({ phase: "running" })]);
});

it("tells nothing of a run whose guest or keeper does not answer, or was killed", async () => {
  await using home = await makeHome();
  const runtime = await home.open("home");
  await using sandbox = await make(runtime);
  const { guest, keeper } = findSpeakers(sandbox.spec.folder);
  for (const pid of [guest, keeper]) {
    await using _frozen = await freeze(pid);
    expect(await runtime.look?.([sandbox.spec])).toEqual([undefined]);
  }
  expect(await runtime.look?.([sandbox.spec])).toEqual([expect.objectContaining({ phase: "running" })]);
  process.kill(keeper, "SIGKILL");
  await sandbox.running.ended;
  expect(await runtime.look?.([sandbox.spec])).toEqual([undefined]);
});

const ERROR = encodeFrame(FRAME.ERROR, 0, Buffer.alloc(4));
const NO_FIELDS = encodeFrame(FRAME.REPLY, 0, Buffer.from([250, 1, 2]));
const MUCH = encodeFrame(FRAME.REPLY, 0, encodeFields([["ARG", "x".repeat(5_000)]]));

it("believes no guest that answers something else", async () => {
  await using home = await makeHome();
  const runtime = await home.open("home");
  await using sandbox = await make(runtime);
  const lies = { ...LIES, refuses: ERROR, "says nonsense": NO_FIELDS, "says too much": MUCH };
  for (const lie of Object.values(lies)) {
    await using _liar = await replaceGuest(
      socketsOf(home, sandbox.spec.id),
      typeof lie === "function" ? lie : (stream) => void stream.write(lie),
    );
    expect(await runtime.look?.([sandbox.spec])).toEqual([undefined]);
  }
});
