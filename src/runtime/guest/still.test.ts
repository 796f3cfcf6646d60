import { Duplex } from "node:stream";
import { expect, it } from "vitest";
import { encodeFields, type Field } from "../../protocol/fields.ts";
import { encodeFrame } from "../../protocol/frames.ts";
import { FRAME, OPERATION } from "../../protocol/wire.ts";
import { createGuest } from "./create-guest.ts";

type Answer = (stream: Duplex, operation: number, write: number) => void;

/** A guest whose answer to each write the test decides. The second byte after the mark of a head is its operation. */
function guestThat(answer: Answer, answerMs?: number): ReturnType<typeof createGuest> {
  const connect = async (): Promise<Duplex> => {
    let writes = 0;
    let operation = 0;
    return new Duplex({
      read() {},
      write(chunk: Buffer, _encoding, done) {
        if (writes === 0) operation = chunk.readUInt8(3);
        answer(this, operation, (writes += 1));
        done();
      },
    });
  };
  return createGuest(connect, answerMs === undefined ? {} : { answerMs });
}

function send(stream: Duplex, type: number, fields: readonly Field[] = []): void {
  stream.push(encodeFrame(type, 0, encodeFields(fields)));
}

const soon = (): AbortSignal => AbortSignal.timeout(10_000);

it("tells for how long everything stood", async () => {
  const guest = guestThat((stream, _operation, write) => send(stream, write === 1 ? FRAME.STARTED : FRAME.REPLY));
  const still = await guest.still(soon());
  expect(await still.end()).toBeLessThanOrEqual(performance.now() - still.since);
  expect(await still.end()).toBe(await still.end());
});

it("says that everything went on too early", async () => {
  const guest = guestThat((stream, _operation, write) => {
    if (write === 1) send(stream, FRAME.STARTED);
    else stream.push(encodeFrame(FRAME.ERROR, 0, Buffer.from([0, 23, 0, 0, ...Buffer.from("everything goes on")])));
  });
  const still = await guest.still(soon());
  await expect(still.end()).rejects.toMatchObject({ code: "SANDBOX_UNRESPONSIVE", message: expect.stringContaining("no one moment") });
});

it("refuses an end after everything went on, and after its own disposal", async () => {
  let stream: Duplex | undefined;
  const guest = guestThat((mine) => {
    stream = mine;
    send(mine, FRAME.STARTED);
  });
  const lost = await guest.still(soon());
  stream?.destroy();
  await expect.poll(() => lost.end().catch((error: unknown) => error)).toMatchObject({ code: "GUEST_PROTOCOL" });
  const disposed = await guest.still(soon());
  await disposed[Symbol.asyncDispose]();
  await expect(disposed.end()).rejects.toMatchObject({ code: "SANDBOX_UNRESPONSIVE" });
});

it("waits a limited time for a guest that says nothing", async () => {
  const silent = guestThat(() => undefined, 20);
  await expect(silent.still(soon())).rejects.toMatchObject({ code: "SANDBOX_UNRESPONSIVE" });
  const halfSilent = guestThat((stream, _operation, write) => void (write === 1 && send(stream, FRAME.STARTED)), 20);
  await expect((await halfSilent.still(soon())).end()).rejects.toMatchObject({ code: "SANDBOX_UNRESPONSIVE" });
});

it("refuses an end that nobody asked for", async () => {
  const guest = guestThat((stream) => send(stream, FRAME.REPLY));
  await expect(guest.still(soon())).rejects.toMatchObject({ code: "GUEST_PROTOCOL" });
});

it("lets other calls wait as long as the guest says that everything stands still", async () => {
  let pings = 0;
  let waiting: Duplex | undefined;
  const guest = guestThat((stream, operation) => {
    if (operation !== OPERATION.PING) waiting = stream;
    else if ((pings += 1) < 4) send(stream, FRAME.REPLY, [["PHASE", 2]]);
    else if (waiting) {
      send(stream, FRAME.REPLY, [["PHASE", 2]]);
      send(waiting, FRAME.REPLY);
    }
  }, 40);
  await guest.files.remove("x", { signal: soon() });
  expect(pings).toBe(4);
});

it("does not wait for a guest that answers otherwise", async () => {
  const guest = guestThat((stream, operation) => void (operation === OPERATION.PING && send(stream, FRAME.REPLY)), 40);
  await expect(guest.files.remove("x", { signal: soon() })).rejects.toMatchObject({ code: "SANDBOX_UNRESPONSIVE" });
});
