import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { Duplex } from "node:stream";
import { expect } from "vitest";
import { createGuest } from "../../src/runtime/guest/create-guest.ts";
import type { Guest } from "../../src/runtime/guest/guest.ts";
import { expectRefused } from "./support/calls.ts";
import type { Box } from "./support/lab.ts";
import { useLab } from "./support/lab.ts";
import { verifies } from "./verifies.ts";

const lab = useLab(["call"]);
const signal = (): AbortSignal => AbortSignal.timeout(30_000);

verifies("guest-untouchable", async () => {
  await using box = await lab.box();
  await expectRefused(lab, box, ["ptrace-init", "read-init-memory", "list-init-files", "init-root", "init-environment"]);
  for (const user of ["root", "user"]) {
    await box.run(["bash", "-c", "kill -9 1; kill -STOP 1; kill -SEGV 1; echo 1000 > /proc/1/oom_score_adj"], { user });
    expect((await box.run(["echo", "alive"], { user })).out).toBe("alive\n");
    expect((await box.run(["cat", "/proc/net/unix"], { user })).out).not.toMatch(/belljar|guest|sandboxes/);
  }
});

const head = (version: number, operation: number, length: number): Buffer => {
  const bytes = Buffer.from([0x42, 0x4a, version, operation, 0, 0, 0, 0]);
  bytes.writeUInt32BE(length, 4);
  return bytes;
};

const PING = 1;
const BAD_REQUESTS: readonly Buffer[] = [
  Buffer.from("GET / HTTP/1.1\r\n\r\n"),
  randomBytes(4_096),
  head(9, PING, 0),
  head(1, 250, 0),
  head(1, PING, 0xffff_ffff),
  head(1, PING, 262_145),
  Buffer.concat([head(1, 2, 5), Buffer.from([1, 0xff, 0xff, 0xff, 0xff])]),
  Buffer.concat([head(1, 2, 5), Buffer.from([0xee, 0, 0, 0, 0])]),
  head(1, PING, 100).subarray(0, 5),
];

verifies("bad-requests-harmless", async () => {
  await using box = await lab.box();
  for (const request of BAD_REQUESTS) {
    await sendRaw(box, request);
    await box.guest.ping(signal());
  }
  const idle = await Promise.all(Array.from({ length: 64 }, () => box.running.connect(signal())));
  await box.guest.ping(signal());
  expect((await box.run(["echo", "alive"])).out).toBe("alive\n");
  for (const stream of idle) stream.destroy();
});

/** Sends it, says that nothing more comes, and waits until the guest has closed its side. */
async function sendRaw(box: Box, request: Buffer): Promise<void> {
  const stream = await box.running.connect(signal());
  stream.on("error", () => {});
  stream.resume();
  const closed = once(stream, "close");
  stream.end(request);
  await closed;
}

/** A guest that reads the request and answers with these bytes. */
function lyingGuest(answer: Buffer): Guest {
  const open = (): Duplex => {
    const stream: Duplex = new Duplex({
      read() {},
      write(_chunk, _encoding, done) {
        stream.push(answer);
        stream.push(null);
        done();
      },
    });
    return stream;
  };
  return createGuest(async () => open());
}

function frame(type: number, channel: number, payload: Buffer, length = payload.length): Buffer {
  const bytes = Buffer.from([type, channel, 0, 0, 0, 0, 0, 0]);
  bytes.writeUInt32BE(length, 4);
  return Buffer.concat([bytes, payload]);
}

const LIES: readonly Buffer[] = [
  randomBytes(4_096),
  Buffer.alloc(64),
  Buffer.alloc(0),
  ...Array.from({ length: 16 }, (_, type) => frame(type, 0, randomBytes(64))),
  ...Array.from({ length: 16 }, (_, type) => frame(type, 255, Buffer.alloc(0))),
  ...Array.from({ length: 16 }, (_, type) => frame(type, 1, Buffer.alloc(8), 0xffff_ffff)),
];

verifies("lying-guest-harmless", async () => {
  for (const lie of LIES) {
    const guest = lyingGuest(lie);
    const calls = [
      guest.run({ argv: ["true"], signal: signal() }),
      guest.files.read("/etc/hosts", { signal: signal() }),
      guest.files.stat("/etc/hosts", { signal: signal() }),
      guest.processes(signal()),
      guest.ping(signal()),
    ];
    const results = await Promise.allSettled(calls);
    // An empty REPLY is a true answer to the last two; nothing here is one to the others.
    expect(results.slice(0, 3).map(({ status }) => status)).toEqual(["rejected", "rejected", "rejected"]);
    for (const result of results) {
      if (result.status === "fulfilled") continue;
      expect(result.reason).toMatchObject({ name: "BelljarError", code: expect.not.stringMatching(/^INTERNAL$/) });
    }
  }
});
