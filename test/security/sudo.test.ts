import { expect } from "vitest";
import { readUntil, waitUntilGone } from "../contract/contract-sandbox.ts";
import { openTeamLab } from "../support/team-lab.ts";
import { textOf } from "../support/tool-caller.ts";
import { inEachIdMap } from "./support/id-maps.ts";
import type { Box } from "./support/lab.ts";
import { useLab } from "./support/lab.ts";
import { verifies } from "./verifies.ts";

const lab = useLab();
const signal = (): AbortSignal => AbortSignal.timeout(30_000);

const status = async (box: Box, argv: readonly string[], user: string): Promise<string> =>
  (await box.run([...argv, "grep", "-E", "^(Uid|Gid|Groups|NoNewPrivs|Seccomp|Cap...):", "/proc/self/status"], { user })).out;

/** The list of capabilities.c: CHOWN 0, DAC_OVERRIDE 1, FOWNER 3, FSETID 4, KILL 5, SETGID 6, SETUID 7, SETPCAP 8, NET_BIND_SERVICE 10, SYS_CHROOT 18, AUDIT_WRITE 29. */
const KEPT = [0, 1, 3, 4, 5, 6, 7, 8, 10, 18, 29].reduce((mask, bit) => mask | (1n << BigInt(bit)), 0n);

/** The attacks of every other test here are made through sudo too (`expectRefused`). */
verifies("root-stays-inside", async () => {
  await inEachIdMap(lab, async (box, kind) => {
    const asRoot = await status(box, [], "root");
    expect(await status(box, ["sudo"], "user")).toBe(kind === "single" ? await status(box, [], "user") : asRoot);
    expect(asRoot).toMatch(/NoNewPrivs:\s*1\nSeccomp:\s*2/);
    const sets = [...asRoot.matchAll(/^Cap(Prm|Eff|Bnd):\s*([0-9a-f]+)$/gm)].map(([, , set]) => BigInt(`0x${set}`));
    expect({ kind, sets }).toEqual({ kind, sets: kind === "single" ? [0n, 0n, 0n] : [KEPT, KEPT, KEPT] });
    if (kind === "single") return;
    // The guest has a mark that not even root inside can take.
    const meddle = "kill -9 1; kill -STOP 1; cat /proc/1/environ /proc/1/maps; ls -l /proc/1/fd; gdb -p 1; echo x > /opt/belljar/bin/sudo";
    await box.run(["sudo", "bash", "-c", meddle], { user: "user" });
    expect((await box.run(["sudo", "id", "-u"])).out).toBe("0\n");
  });
});

verifies("root-off-holds", async () => {
  const tryIn = async (box: Box): Promise<readonly string[]> => {
    await box.guest.files.write("/etc/passwd", "toor:x:0:0::/root:/bin/sh\nuser:x:1000:1000::/home/user:/bin/sh\n", {
      user: "root",
      signal: signal(),
    });
    const named = ["root", "0", "toor"].map((user) =>
      box.run(["sh", "-c", "echo ran"], { user }).then(
        ({ out }) => out,
        (error: { readonly code: string }) => error.code,
      ),
    );
    const asked = ["sudo echo ran", "sudo -u toor echo ran", "sudo -i echo ran", "sudo -u user echo ran"].map(
      async (line) => (await box.run(["sh", "-c", `${line} 2>&1`])).out,
    );
    return Promise.all([...named, ...asked, box.run(["python3", "-c", CONNECT]).then(({ out }) => out)]);
  };
  await inEachIdMap(lab, async (box) => {
    const ran = (await tryIn(box)).slice(0, -1).map((text) => text.split("\n").at(-2));
    expect(ran).toEqual(Array.from({ length: 7 }, () => "ran"));
  });
  const refused = "sudo: this sandbox was made with root off: no command runs as root\n";
  await inEachIdMap(
    lab,
    async (box) => {
      expect(await tryIn(box)).toEqual([
        "USER_UNKNOWN",
        "USER_UNKNOWN",
        "USER_UNKNOWN",
        refused,
        refused,
        refused,
        refused,
        "ECONNREFUSED\n",
      ]);
      // Whoever takes the name of the door inside is not the guest.
      expect((await box.run(["python3", "-c", IMPERSONATE])).out).toBe("sudo: another program answers in the guest's place\n");
    },
    { root: false },
  );
});

verifies("root-off-holds", async () => {
  const asRoot = async (root: boolean) => {
    await using team = await openTeamLab({ runtime: lab.runtime, root });
    const made = await team.ask(team.alice, "POST /v1/sandboxes", { root: true });
    await team.ask(team.alice, "POST /v1/sandboxes", { name: "plain" });
    const call = { command: "echo ran", user: "root", sandbox: "plain" };
    const said = textOf(await team.catalog.call(team.alice.principal, "run_command", call, { signal: signal() }));
    return { status: made.status, said: /^(ran|USER_UNKNOWN)/.exec(said)?.[0] };
  };
  expect(await asRoot(true)).toEqual({ status: 201, said: "ran" });
  expect(await asRoot(false)).toEqual({ status: 403, said: "USER_UNKNOWN" });
});

const CONNECT = `
import errno, socket
door = socket.socket(socket.AF_UNIX)
try: door.connect("\\0sudo")
except OSError as error: print(errno.errorcode[error.errno])
`;

const IMPERSONATE = `
import socket, subprocess
door = socket.socket(socket.AF_UNIX)
door.bind("\\0sudo")
door.listen()
print(subprocess.run(["sudo", "id"], capture_output=True, text=True).stderr, end="")
`;

verifies("sudo-clients-harmless", async () => {
  await using box = await lab.box();
  if (lab.isolation.users === "one") return;
  // The door is open to user: what follows is refused for what it is.
  expect((await box.run(["sudo", "id", "-u"])).out).toBe("0\n");
  const { out, err } = await box.run(["sudo", "-u", "www-data", "sudo", "id"]);
  expect([out, err]).toEqual(["", "sudo: only root and the sandbox's own user may use sudo here\n"]);
  const said = (await box.run(["python3", "-c", HOSTILE])).out.split("\n");
  expect(said.slice(0, -1)).toEqual([
    "garbage 1",
    "version 1",
    "operation 1",
    "no descriptors 1",
    "five descriptors 1",
    "secret 1",
    "no command 1",
    "long 1",
    "early end 0",
    "bad frame ended",
  ]);
  // With few processes the guest's own are in danger too.
  await using small = await lab.box({ limits: { memoryBytes: 256 << 20, pids: 16 } });
  for (const one of [box, small]) await expectSilentClientsHarmless(one);
  await expectStoppedClientHarmless(box);
  const orphan = await box.run(["sudo", "sh", "-c", "echo $$; kill -9 $PPID; exec sleep 600"]);
  expect(orphan).toMatchObject({ code: 1, err: "sudo: the guest ended the command\n" });
  expect(await waitUntilGone(box.guest, Number(orphan.out))).toMatchObject({ exitCode: 0 });
});

/** Says for each bad request which code the guest's last frame has; none for a client that left by itself. */
const HOSTILE = `
import array, socket, struct
NULL = open("/dev/null", "r+")
def field(tag, value): return bytes([tag]) + struct.pack(">I", len(value)) + value
def head(fields, operation=2, version=1, length=None):
  return b"BJ" + bytes([version, operation]) + struct.pack(">I", len(fields) if length is None else length) + fields
def send(data, count):
  door = socket.socket(socket.AF_UNIX)
  door.connect("\\0sudo")
  rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [NULL.fileno()] * count))] if count else []
  door.sendmsg([data], rights)
  return door
def answer(door):
  data = b""
  try:
    while part := door.recv(65536): data += part
  except ConnectionResetError: pass
  return struct.unpack(">H", data[8:10])[0] if data[:1] == b"\\x0b" else 0
run = field(2, b"id")
print("garbage", answer(send(b"GET / HTTP/1.1\\r\\n\\r\\n", 3)))
print("version", answer(send(head(run, version=9), 3)))
print("operation", answer(send(head(run, operation=23), 3)))
print("no descriptors", answer(send(head(run), 0)))
print("five descriptors", answer(send(head(run), 5)))
print("secret", answer(send(head(field(1, b"x") + run), 3)))
print("no command", answer(send(head(b""), 3)))
print("long", answer(send(head(run, length=262145), 3)))
early = send(head(run)[:9], 3)
early.shutdown(socket.SHUT_WR)
print("early end", answer(early))
running = send(head(field(2, b"sleep") + field(2, b"600")), 3)
running.send(b"\\x04\\0\\0\\0\\0\\0\\0\\x05\\0\\0\\0\\x01")
print("bad frame", "ended" if running.recv(10) == b"" else "goes on")
`;

/** More of them than have a place. Each is dropped after five seconds: the last line comes when all are. */
async function expectSilentClientsHarmless(box: Box): Promise<void> {
  await using silent = await box.guest.exec({ argv: ["python3", "-c", SILENT], stdin: false, signal: signal() });
  silent.stderr.resume();
  await readUntil(silent.stdout, "connected\n");
  await box.guest.ping(signal());
  expect((await box.run(["echo", "alive"])).out).toBe("alive\n");
  expect((await box.run(["sudo", "true"])).err).toMatch(/^sudo: (as many commands of sudo run as|the sandbox has no room)/);
  await readUntil(silent.stdout, "dropped\n");
  expect((await box.run(["sudo", "id", "-u"])).out).toBe("0\n");
}

const SILENT = `
import socket
doors = [socket.socket(socket.AF_UNIX) for _ in range(100)]
for door in doors: door.connect("\\0sudo")
print("connected", flush=True)
for door in doors:
  try:
    while door.recv(4096): pass
  except ConnectionResetError: pass
print("dropped", flush=True)
`;

async function expectStoppedClientHarmless(box: Box): Promise<void> {
  const script = "sudo sh -c 'sleep 600.75 & echo started; wait' & echo client $!; wait";
  await using stopped = await box.guest.exec({ argv: ["bash", "-c", script], stdin: false, signal: signal() });
  stopped.stderr.resume();
  const said = await readUntil(stopped.stdout, /^client \d+\nstarted\n|^started\nclient \d+\n/);
  const client = Number(/\d+/.exec(said)?.[0]);
  await box.run(["kill", "-STOP", String(client)]);
  await box.guest.ping(signal());
  expect((await box.run(["sudo", "id", "-u"])).out).toBe("0\n");
  stopped.kill(9);
  stopped.stdout.resume();
  await stopped.exited;
  expect(await waitUntilGone(box.guest, client)).toMatchObject({ exitCode: 0 });
  // The command's children go with it.
  const wait = "while pgrep -u root -fx 'sleep 600.75' >/dev/null; do sleep 0.01; done";
  expect(await box.run(["sh", "-c", wait], { timeoutMs: 10_000 })).toMatchObject({ code: 0 });
}
