import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer, type Server, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { encodeFrame, encodeFrameHeader } from "../../../../src/protocol/frames.ts";
import { FRAME } from "../../../../src/protocol/wire.ts";
import { askTogether } from "../../../../src/runtime/namespace/ask-together.ts";
import { drips } from "../../../support/freeze.ts";
import { BINARY } from "../../../support/namespace-home.ts";

const REQUEST = Buffer.from("what?");

let folder: string;
let servers: Server[];
let open: Set<Socket>;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "bj-ask-"));
  [servers, open] = [[], new Set()];
});
afterEach(() => {
  for (const stream of open) stream.destroy();
  for (const server of servers) server.close();
  rmSync(folder, { recursive: true });
});

/** A socket that answers so. */
async function listen(name: string, answer: (stream: Socket, request: Buffer) => void) {
  const path = join(folder, name);
  const server = createServer((stream) => {
    open.add(stream);
    stream.on("error", () => stream.destroy());
    stream.once("data", (request) => answer(stream, request));
  }).listen(path);
  servers.push(server);
  await once(server, "listening");
  return { path, request: REQUEST };
}

const reply = (text: string) => encodeFrame(FRAME.REPLY, 0, Buffer.from(text));

it("has the answers in the order of the questions, however they come", async () => {
  const late: (() => void)[] = [];
  const first = await listen("first", (stream, request) => late.push(() => stream.write(reply(`first ${String(request)}`))));
  const second = await listen("second", (stream) => {
    stream.write(reply("second"));
    for (const answer of late) answer();
  });
  expect(await askTogether(BINARY, [first, second])).toEqual([reply("first what?"), reply("second")]);
});

it("asks more than the program asks at once", async () => {
  const question = await listen("many", (stream) => stream.write(reply("many")));
  const answers = await askTogether(BINARY, Array<typeof question>(300).fill(question));
  expect([answers.length, answers.filter((answer) => answer?.equals(reply("many"))).length]).toEqual([300, 300]);
});

it("puts an answer together that comes in pieces", async () => {
  const pieces = [...reply("pieces")].map((byte) => Buffer.from([byte]));
  const question = await listen("pieces", (stream) => {
    const next = (): void => void stream.write(pieces.shift() ?? "", () => pieces.length > 0 && setImmediate(next));
    next();
  });
  expect(await askTogether(BINARY, [question])).toEqual([reply("pieces")]);
});

it("has no answer of those that say nothing, too much or nonsense, and loses no other one", async () => {
  const honest = await listen("honest", (stream) => stream.write(reply("honest")));
  const questions = [
    await listen("silent", () => {}),
    await listen("drips", (stream) => drips(stream)),
    await listen("half", (stream) => stream.write(reply("half").subarray(0, 9))),
    await listen("closes", (stream) => stream.destroy()),
    await listen("long", (stream) => stream.write(encodeFrameHeader(FRAME.REPLY, 0, 65_536))),
    await listen("nonsense", (stream) => stream.write(Buffer.alloc(100, 255))),
    { path: join(folder, "absent"), request: REQUEST },
    { path: join(folder, "x".repeat(200)), request: REQUEST },
    { path: honest.path, request: Buffer.alloc(10_000) },
  ];
  const answers = await askTogether(
    BINARY,
    questions.flatMap((question) => [question, honest]),
  );
  expect(answers.filter((_, at) => at % 2 === 1)).toEqual(questions.map(() => reply("honest")));
  // The first frame of the one that drips is whole.
  expect(answers.filter((answer, at) => at % 2 === 0 && at !== 2 && answer)).toEqual([]);
});

it("has no answers where the program cannot run", async () => {
  const question = await listen("honest", (stream) => stream.write(reply("honest")));
  expect(await askTogether(join(folder, "absent"), [question, question])).toEqual([undefined, undefined]);
});
