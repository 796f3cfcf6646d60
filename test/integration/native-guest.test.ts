import { execFileSync } from "node:child_process";
import { createServer, connect, type AddressInfo } from "node:net";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { beforeAll, describe, expect, test } from "vitest";
import { FLAG, GUEST_CREDIT_BYTES, GUEST_ERROR, HOST_CREDIT_BYTES, OPERATION } from "../../src/protocol/wire.ts";
import {
  argv,
  buildNativeTests,
  dataOf,
  errorOf,
  exitOf,
  fieldsOf,
  NativeGuest,
  type RawStream,
  rawHead,
  shell,
  type Build,
} from "../support/native-guest.ts";

const BUILDS: readonly Build[] = ["guest-main", "guest-main-sanitized"];
const SIGTERM = Buffer.from([0, 0, 0, 15]);

beforeAll(buildNativeTests, 120_000);

describe.each(BUILDS)("%s", (build) => {
  test("keeps the streams apart and tells the exit code", async () => {
    await using guest = await NativeGuest.open(build);
    const frames = await guest.ask("EXEC", shell("echo out; echo err >&2; exit 3"));
    expect(frames[0]?.type).toBe("STARTED");
    expect([dataOf(frames, 1), dataOf(frames, 2)]).toEqual(["out\n", "err\n"]);
    expect(exitOf(frames)).toMatchObject({ code: 3, signal: 0 });
  });

  test("makes nothing stand still where it is not PID 1", async () => {
    await using guest = await NativeGuest.open(build);
    expect(errorOf(await guest.ask("STILL", []))[0]).toBe(GUEST_ERROR.NOT_SUPPORTED);
    expect(exitOf(await guest.ask("EXEC", shell("exit 3")))).toMatchObject({ code: 3 });
  });

  test("gives the input to the program and ends it at END", async () => {
    await using guest = await NativeGuest.open(build);
    const stream = await guest.call("EXEC", argv("cat"));
    const frames = await stream.send("DATA", 0, Buffer.from("hello")).send("END", 0).rest();
    expect(dataOf(frames, 1)).toBe("hello");
  });

  test.each([
    ["a missing command", argv("no-such-command"), GUEST_ERROR.COMMAND_NOT_FOUND],
    ["a file without the right to run it", argv("/etc/passwd"), GUEST_ERROR.NOT_EXECUTABLE],
    ["a missing working folder", [...argv("true"), ["CWD", "/no/such"]], GUEST_ERROR.NOT_FOUND],
    ["an unknown user", [...argv("true"), ["USER", "nobody-by-this-name"]], GUEST_ERROR.UNKNOWN_USER],
    ["an argument of 200,000 bytes", argv("true", "x".repeat(200_000)), GUEST_ERROR.BAD_REQUEST],
    ["no command at all", [], GUEST_ERROR.BAD_REQUEST],
    ["too many channels", [...argv("true"), ["CHANNELS", 17]], GUEST_ERROR.BAD_REQUEST],
  ] as const)("refuses %s", async (_what, fields, code) => {
    await using guest = await NativeGuest.open(build);
    expect(errorOf(await guest.ask("EXEC", fields))[0]).toBe(code);
  });

  test("ends with the process although a background child holds its output, and lets that child live", async () => {
    await using guest = await NativeGuest.open(build);
    const frames = await guest.ask(
      "EXEC",
      shell("(read line < wait; echo late; echo lived > proof) & echo $!").concat([["CWD", fifo(guest)]]),
    );
    expect(exitOf(frames).code).toBe(0);
    await guest.ask("EXEC", shell("echo go > wait; until [ -s proof ]; do read x < proof; done").concat([["CWD", guest.folder]]));
    expect(readFileSync(guest.path("proof"), "utf8")).toBe("lived\n");
  });

  test("tells a timeout from a kill", async () => {
    await using guest = await NativeGuest.open(build);
    const timedOut = exitOf(await guest.ask("EXEC", [...argv("sleep", "100"), ["TIMEOUT_MS", 50]]));
    const killed = exitOf(await guest.ask("EXEC", shell("kill -9 $$")));
    expect(timedOut).toMatchObject({ signal: 9, flags: 1 });
    expect(killed).toMatchObject({ signal: 9, flags: 0 });
  });

  test("signals the whole process group", async () => {
    await using guest = await NativeGuest.open(build);
    const stream = await guest.call("EXEC", shell("trap 'wait; exit 7' TERM; sh -c 'echo ready; exec sleep 100' & wait"));
    await stream.until("DATA");
    expect(exitOf(await stream.send("SIGNAL", 0, SIGTERM).rest()).code).toBe(7);
  });

  test("kills the group when the host goes away", async () => {
    await using guest = await NativeGuest.open(build);
    const stream = await guest.call("EXEC", shell("exec 3> held; echo open; sleep 100").concat([["CWD", fifo(guest, "held")]]));
    const held = guest.ask("EXEC", argv("cat", guest.path("held")));
    await stream.until("DATA");
    stream.close();
    expect(exitOf(await held).code).toBe(0);
  });

  test("sends no more than the credit of a channel, and goes on with more", async () => {
    await using guest = await NativeGuest.open(build);
    const total = 1_000_000;
    const stream = await guest.call("EXEC", [...shell(`head -c ${total} /dev/zero; read line <&3; echo free >&3`), ["CHANNELS", 1]]);
    let received = 0;
    while (received < GUEST_CREDIT_BYTES) received += (await stream.until("DATA")).payload.length;
    expect(received).toBe(GUEST_CREDIT_BYTES);
    stream.grant(1, total).send("DATA", 3, Buffer.from("go\n"));
    const frames = await stream.rest();
    expect(received + dataOf(frames, 1).length).toBe(total);
    expect(dataOf(frames, 3)).toBe("free\n");
  });

  test("a full output does not hold up an extra channel", async () => {
    await using guest = await NativeGuest.open(build);
    const stream = await guest.call("EXEC", [...shell("cat /dev/zero & cat <&3 >&3; kill $!; wait"), ["CHANNELS", 1]]);
    let received = 0;
    while (received < GUEST_CREDIT_BYTES) received += (await stream.until("DATA")).payload.length;
    stream.send("DATA", 3, Buffer.from("through"));
    expect(await stream.until("DATA")).toMatchObject({ channel: 3, payload: Buffer.from("through") });
    stream.send("END", 3).grant(1, 100_000_000);
    expect(exitOf(await stream.rest()).signal).toBe(0);
  });

  test("ends a stream that sends beyond its credit", async () => {
    await using guest = await NativeGuest.open(build);
    const stream = await guest.call("EXEC", argv("sleep", "100"));
    const half = Buffer.alloc(HOST_CREDIT_BYTES / 2);
    stream.send("DATA", 0, half).send("DATA", 0, half).send("DATA", 0, half).send("DATA", 0, half).send("DATA", 0, half);
    expect(errorOf(await stream.rest())[0]).toBe(GUEST_ERROR.BAD_REQUEST);
  });

  test("runs a program on a terminal of the asked size", async () => {
    await using guest = await NativeGuest.open(build);
    const frames = await guest.ask("EXEC", [...shell("test -t 0 -a -t 2 && stty size"), ["FLAGS", 1], ["ROWS", 30], ["COLS", 100]]);
    expect(dataOf(frames, 0)).toBe("30 100\r\n");
  });

  test("dials a port inside and says when nobody listens", async () => {
    await using guest = await NativeGuest.open(build);
    const server = createServer((socket) => socket.pipe(socket)).listen(0, "127.0.0.1");
    await once(server, "listening");
    const port = (server.address() as AddressInfo).port;
    const stream = await guest.call("DIAL", [["PORT", port]]);
    const frames = await stream.send("DATA", 0, Buffer.from("echo")).send("END", 0).rest();
    expect(dataOf(frames, 0)).toBe("echo");
    server.close();
    await once(server, "close");
    expect(errorOf(await guest.ask("DIAL", [["PORT", port]]))[0]).toBe(GUEST_ERROR.CONNECTION_REFUSED);
  });

  test("hands a connection from inside to a waiting stream", async () => {
    await using guest = await NativeGuest.open(build);
    const stream = await guest.call("ACCEPT", [["SERVICE", "egress"]]);
    await guest.ask("PING");
    const inside = connect(`${guest.services}/egress.sock`);
    inside.end("from inside");
    expect(fieldsOf(await stream.until("STARTED")).number("PEER_PID")).toBe(process.pid);
    expect((await stream.until("DATA")).payload.toString()).toBe("from inside");
    stream.send("DATA", 0, Buffer.from("back")).send("END", 0);
    const [answer] = (await once(inside, "data")) as [Buffer];
    expect(answer.toString()).toBe("back");
  });

  test("passes on an END that came before there was a connection", async () => {
    await using guest = await NativeGuest.open(build);
    const stream = await guest.call("ACCEPT", [["SERVICE", "egress"]]);
    stream.send("END", 0);
    await guest.ask("PING");
    const inside = connect({ path: `${guest.services}/egress.sock`, allowHalfOpen: true }).resume();
    await once(inside, "end");
    inside.end("still heard");
    expect(dataOf(await stream.rest(), 0)).toBe("still heard");
  });

  test("refuses a service name that would leave its folder", async () => {
    await using guest = await NativeGuest.open(build);
    expect(errorOf(await guest.ask("ACCEPT", [["SERVICE", "../up"]]))[0]).toBe(GUEST_ERROR.BAD_REQUEST);
  });

  test("tells where a connection from inside came to, and what it sent before it broke off", async () => {
    await using guest = await NativeGuest.open(build);
    const port = await freePort();
    const listening = await listen(guest, [[127, 0, 0, 1, port]]);
    await listening.until("STARTED");
    const stream = await guest.call("ACCEPT", [
      ["SERVICE", "names"],
      ["FLAGS", FLAG.LISTENED],
    ]);
    const inside = connect(port, "127.0.0.1");
    await once(inside, "connect");
    const started = fieldsOf(await stream.until("STARTED"));
    expect(started.all("ADDRESS")).toEqual([address([127, 0, 0, 1, port])]);
    inside.write("before", () => inside.resetAndDestroy());
    const frames = await stream.rest();
    expect([dataOf(frames, 0), errorOf(frames)[0]]).toEqual(["before", GUEST_ERROR.CONNECTION_RESET]);
  });

  test.each([
    ["an address of somebody else", [[8, 8, 8, 8, 80]]],
    ["a network beside the one of names", [[198, 20, 0, 1, 80]]],
    ["the port 0", [[127, 0, 0, 1, 0]]],
    ["more addresses than a stream may hold", Array.from({ length: 65 }, (_, index) => [127, 0, 0, 1, 20_000 + index])],
  ] as const)("listens not on %s", async (_what, addresses) => {
    await using guest = await NativeGuest.open(build);
    expect(errorOf(await (await listen(guest, addresses)).rest())[0]).toBe(GUEST_ERROR.BAD_REQUEST);
  });

  test("lets go of all addresses when one is taken, and says who has it", async () => {
    await using guest = await NativeGuest.open(build);
    const server = createServer().listen(0, "127.0.0.1");
    await once(server, "listening");
    const [taken, free] = [(server.address() as AddressInfo).port, await freePort()];
    const refused = await listen(guest, [
      [127, 0, 0, 1, free],
      [127, 0, 0, 1, taken],
    ]);
    const [code, text] = errorOf(await refused.rest());
    expect([code, text]).toEqual([GUEST_ERROR.ADDRESS_IN_USE, expect.stringContaining(`127.0.0.1:${taken}`)]);
    server.close();
    await (await listen(guest, [[127, 0, 0, 1, free]])).until("STARTED");
  });

  test("serves commands when the network has all the streams that it may have", async () => {
    await using guest = await NativeGuest.open(build);
    const accept = [["SERVICE", "many"] as const, ["FLAGS", FLAG.LISTENED] as const];
    const streams: RawStream[] = [];
    for (let count = 0; count < 800; count++) streams.push(await guest.call("ACCEPT", accept));
    expect(errorOf((await streams.at(-1)?.rest()) ?? [])[0]).toBe(GUEST_ERROR.TOO_MANY);
    expect(exitOf(await guest.ask("EXEC", argv("true"))).code).toBe(0);
    for (const stream of streams) stream.close();
    expect((await guest.ask("PING")).at(-1)?.type).toBe("REPLY");
    const again = (await guest.call("ACCEPT", accept)).send("END", 1);
    expect(errorOf(await again.rest())[0]).toBe(GUEST_ERROR.BAD_REQUEST);
  });

  test("names both versions when they differ", async () => {
    await using guest = await NativeGuest.open(build);
    const [code, text] = errorOf(await (await guest.raw(rawHead(9, OPERATION.PING, 0))).rest());
    expect(code).toBe(GUEST_ERROR.VERSION_MISMATCH);
    expect(text).toMatch(/version 9.*version 1/);
  });

  test("serves nobody without the secret", async () => {
    await using guest = await NativeGuest.open(build, "s3cret");
    expect(errorOf(await guest.ask("PING"))[0]).toBe(GUEST_ERROR.UNAUTHORIZED);
    expect(errorOf(await guest.ask("PING", [["SECRET", "s3crey"]]))[0]).toBe(GUEST_ERROR.UNAUTHORIZED);
    expect((await guest.ask("PING", [["SECRET", "s3cret"]])).at(-1)?.type).toBe("REPLY");
  });

  test("lists what a command left behind and ends it on request", async () => {
    await using guest = await NativeGuest.open(build);
    // Popen returns once the new program runs.
    const leave = "import subprocess; print(subprocess.Popen(['sleep', '100'], stdout=-3, stderr=-3).pid)";
    const pid = Number(dataOf(await guest.ask("EXEC", argv("/usr/bin/python3", "-c", leave)), 1));
    const rows = (await guest.ask("PROCESSES")).filter((frame) => frame.type === "ENTRY").map(fieldsOf);
    const row = rows.find((fields) => fields.number("PID") === pid);
    expect(row?.all("ARG").map(String)).toEqual(["sleep", "100"]);
    expect(row?.number("PPID")).toBe(guest.pid);
    expect(
      (
        await guest.ask("SIGNAL_PROCESS", [
          ["PID", pid],
          ["SIGNAL", 9],
        ])
      ).at(-1)?.type,
    ).toBe("REPLY");
  });

  test("lists all processes beside one with more arguments than a row holds", async () => {
    await using guest = await NativeGuest.open(build);
    const crowd = "import os; os.execv('/usr/bin/python3', ['python3', '-c', 'print(1, flush=True); input()'] + [''] * 20000)";
    const stream = await guest.call("EXEC", argv("/usr/bin/python3", "-c", crowd));
    const pid = fieldsOf(await stream.until("STARTED")).needNumber("PID");
    await stream.until("DATA");
    const answer = await guest.ask("PROCESSES");
    expect(answer.at(-1)?.type).toBe("REPLY");
    const row = answer
      .slice(0, -1)
      .map(fieldsOf)
      .find((fields) => fields.number("PID") === pid);
    expect(row?.all("ARG").slice(0, 2).map(String)).toEqual(["python3", "-c"]);
    stream.close();
  });

  test("takes no signal for itself", async () => {
    await using guest = await NativeGuest.open(build);
    expect(
      errorOf(
        await guest.ask("SIGNAL_PROCESS", [
          ["PID", guest.pid],
          ["SIGNAL", 9],
        ]),
      )[0],
    ).toBe(GUEST_ERROR.PERMISSION_DENIED);
  });

  test("shutting down asks every process first and then ends", async () => {
    await using guest = await NativeGuest.open(build);
    const stream = await guest.call("EXEC", shell("trap 'echo bye; exit 5' TERM; sh -c 'echo ready; exec sleep 100' & wait"));
    await stream.until("DATA");
    const [last, frames] = await Promise.all([guest.shutDown(30_000), stream.rest()]);
    expect(last.at(-1)?.type).toBe("REPLY");
    expect([dataOf(frames, 1), exitOf(frames).code]).toEqual(["bye\n", 5]);
  });
});

test("serves on after hundreds of streams of broken frames", async () => {
  await using guest = await NativeGuest.open("guest-main-sanitized");
  const random = randomFrom(Date.now());
  for (let i = 0; i < 300; i++) {
    const stream = await guest.call("EXEC", [
      ...shell(["cat", "cat /dev/zero", "cat <&3 >&3", "sleep 100 & exit"][random(4)] ?? ""),
      ["CHANNELS", random(3)],
    ]);
    for (let frames = random(6); frames > 0; frames--) stream.socket.write(brokenFrame(random));
    if (random(2) === 0) await stream.next();
    stream.close();
  }
  expect((await guest.ask("PING")).at(-1)?.type).toBe("REPLY");
});

/** An IPv4 address and a port, as numbers. */
function address(parts: readonly number[]): Buffer {
  const bytes = Buffer.from([...parts.slice(0, 4), 0, 0]);
  bytes.writeUInt16BE(parts[4] ?? 0, 4);
  return bytes;
}

function listen(guest: NativeGuest, addresses: readonly (readonly number[])[]): Promise<RawStream> {
  return guest.call("LISTEN", [["SERVICE", "names"], ...addresses.map((parts) => ["ADDRESS", address(parts)] as const)]);
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, "close");
  return port;
}

/** Makes a FIFO in the guest's folder: opening it waits for the other side. */
function fifo(guest: NativeGuest, name = "wait"): string {
  execFileSync("mkfifo", [guest.path(name)]);
  return guest.folder;
}

/** A small generator of numbers below a bound, so that a failure can be run again from its seed. */
function randomFrom(seed: number): (below: number) => number {
  let state = seed >>> 0 || 1;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

/** Often close to a right one: a known type on a known channel, with a number that makes no sense. */
function brokenFrame(random: (below: number) => number): Buffer {
  const payload = Buffer.alloc([0, 4, 4, 5, 4_000, 65_536][random(6)] ?? 0, random(256));
  const header = Buffer.from([random(13), random(5), 0, random(20) === 0 ? 1 : 0, 0, 0, 0, 0]);
  header.writeUInt32BE(random(10) === 0 ? 0xffff_ffff : payload.length, 4);
  return Buffer.concat([header, payload]).subarray(0, random(8) === 0 ? random(8 + payload.length) : undefined);
}
