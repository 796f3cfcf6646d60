import { once } from "node:events";
import { createServer, connect, type Server, type Socket } from "node:net";
import type { Duplex } from "node:stream";
import { beforeAll, describe, expect, it } from "vitest";
import { BelljarError } from "../../src/errors.ts";
import { createGuest } from "../../src/runtime/guest/create-guest.ts";
import type { Guest } from "../../src/runtime/guest/guest.ts";
import type { SandboxEnd } from "../../src/runtime/contract/run.ts";
import { collect, execOptions, readUntil, run, soon } from "../contract/contract-sandbox.ts";
import { buildNativeTests, NativeGuest } from "../support/native-guest.ts";

beforeAll(buildNativeTests, 120_000);

async function openSocket(path: string): Promise<Duplex> {
  const socket = connect(path);
  await once(socket, "connect");
  return socket;
}

function guestOf(native: NativeGuest, options: Parameters<typeof createGuest>[1] = {}): Guest {
  return createGuest(() => openSocket(native.path("guest.sock")), options);
}

describe("the guest connection, to the native guest", () => {
  it("runs a command with its input", async () => {
    await using native = await NativeGuest.open("guest-main-sanitized");
    const result = await guestOf(native).run({ argv: ["cat"], cwd: "/", input: "x".repeat(500_000), signal: soon() });
    expect([result.stdout.length, result.exitCode]).toEqual([500_000, 0]);
  });

  it("carries a channel beside a stdout that nobody reads", async () => {
    await using native = await NativeGuest.open("guest-main-sanitized");
    await using command = await guestOf(native).exec(
      execOptions("cat <&3 >&3 & exec 3>&-; head -c 1000000 /dev/zero; wait", { cwd: "/", channels: 1, stdin: false }),
    );
    const [channel] = command.channels;
    if (!channel) throw new Error("no channel");
    channel.end(Buffer.alloc(3_000_000, "b"));
    expect((await collect(channel)).length).toBe(3_000_000);
    expect((await collect(command.stdout)).length).toBe(1_000_000);
    expect(await command.exited).toMatchObject({ exitCode: 0 });
  });

  it("is refused without the secret, and served with it", async () => {
    await using native = await NativeGuest.open("guest-main", "s3cret");
    await expect(guestOf(native).ping(soon())).rejects.toMatchObject({ code: "GUEST_UNAUTHORIZED" });
    await guestOf(native, { secret: "s3cret" }).ping(soon());
  });

  it("tells every open operation why the sandbox ended", async () => {
    await using native = await NativeGuest.open("guest-main");
    let end: (end: SandboxEnd) => void = () => {};
    const ended = new Promise<SandboxEnd>((resolve) => {
      end = resolve;
    });
    const guest = guestOf(native, { ended });
    const command = await guest.exec(execOptions("echo ready; exec sleep 600", { cwd: "/" }));
    await readUntil(command.stdout, "ready");
    const stdout = collect(command.stdout);
    end({ reason: "out_of_memory", at: new Date() });
    await expect(stdout).rejects.toMatchObject({ code: "SANDBOX_ENDED", message: expect.stringContaining("out_of_memory") });
    await expect(command.exited).rejects.toMatchObject({ code: "SANDBOX_ENDED" });
    await expect(guest.ping(soon())).rejects.toMatchObject({ code: "SANDBOX_ENDED" });
  });

  it("adds its own environment below that of a command", async () => {
    await using native = await NativeGuest.open("guest-main");
    const guest = guestOf(native, { env: { A: "below", B: "below" } });
    expect((await run(guest, 'echo "$A $B"', { cwd: "/", env: { B: "own" } })).stdout.toString()).toBe("below own\n");
  });
});

/** A guest that was taken over: it says `answer` to whoever asks. */
async function lyingGuest(answer: (socket: Socket) => void): Promise<{ guest: Guest; server: Server }> {
  const server = createServer((socket) => {
    socket.on("error", () => {});
    socket.once("data", () => answer(socket));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  const port = typeof address === "object" && address ? address.port : 0;
  const dial = async (): Promise<Duplex> => {
    const socket = connect(port, "127.0.0.1");
    await once(socket, "connect");
    return socket;
  };
  return { guest: createGuest(dial), server };
}

describe("a guest that lies", () => {
  const lies: Record<string, (socket: Socket) => void> = {
    "says nothing and goes": (socket) => socket.end(),
    "speaks another protocol": (socket) => socket.end("HTTP/1.1 200 OK\r\n\r\n"),
    "cuts a frame": (socket) => socket.end(Buffer.from([8, 0, 0, 0, 0, 0, 1])),
    "claims a frame without end": (socket) => socket.write(Buffer.from([1, 1, 0, 0, 0xff, 0xff, 0xff, 0xff])),
    "sends fields that are none": (socket) => socket.write(Buffer.from([8, 0, 0, 0, 0, 0, 0, 3, 1, 2, 3])),
    "sends output beyond its credit": (socket) => {
      socket.write(Buffer.from([6, 0, 0, 0, 0, 0, 0, 9, 21, 0, 0, 0, 4, 0, 0, 0, 1]));
      for (let index = 0; index < 5; index++) socket.write(Buffer.concat([Buffer.from([1, 7, 0, 0, 0, 1, 0, 0]), Buffer.alloc(65_536)]));
    },
    "gives credit for nothing": (socket) =>
      socket.write(Buffer.from([6, 0, 0, 0, 0, 0, 0, 9, 21, 0, 0, 0, 4, 0, 0, 0, 1, 3, 0, 0, 0, 0, 0, 0, 4, 0, 0, 0, 1])),
  };
  for (const [lie, answer] of Object.entries(lies)) {
    it(`and ${lie} is an error of the protocol`, async () => {
      const { guest, server } = await lyingGuest(answer);
      try {
        const failed = await run(guest, "true", { input: "" }).catch((error: unknown) => error);
        expect(failed).toBeInstanceOf(BelljarError);
        expect(failed).toMatchObject({ code: "GUEST_PROTOCOL" });
      } finally {
        server.close();
      }
    });
  }
});
