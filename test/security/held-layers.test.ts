import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmod, readFile, rename } from "node:fs/promises";
import { join } from "node:path";
import { expect } from "vitest";
import { createGuest } from "../../src/runtime/guest/create-guest.ts";
import { ID_MAP_KIND, type IdMap } from "../../src/runtime/namespace/id-map.ts";
import { openNamespaceRuntime } from "../../src/runtime/namespace/namespace-runtime.ts";
import { createSandbox, run, soon } from "../contract/contract-sandbox.ts";
import { holderOf, keeperOf, removerOf } from "../support/home-traces.ts";
import { BINARY, makeHome } from "../support/namespace-home.ts";
import { idMapKinds } from "./support/id-maps.ts";
import { isRoot, outside, statusOf } from "./support/outside.ts";
import { verifies } from "./verifies.ts";

const ATTACK = join(import.meta.dirname, "../fixtures/attacks/take-layers.py");
const CAP_SYS_ADMIN = (1n << 21n).toString(16).padStart(16, "0");
/** What a program may see of layers: an overlay names its own by the numbers of the stage, and nobody else's. */
const LAYERS =
  "ls /storage /proc/[0-9]*/root/storage /holder; grep -c belljar-holder /proc/[0-9]*/comm | grep -v ':0$'; grep tmpfs /proc/mounts";

const SERVE = `
import socket, sys
server = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
server.bind(sys.argv[1])
server.listen()
print("ready", flush=True)
while True: server.accept()[0].close()
`;

verifies("held-layers-apart", async () => {
  const program = await readFile(ATTACK);
  for (const idMap of idMapKinds()) {
    await using home = await makeHome();
    const runtimeDirectory = join(home.path, "run");
    const runtime = await openNamespaceRuntime({ home: home.path, runtimeDirectory, storage: "tmpfs", binary: BINARY, idMap });
    await using victim = await createSandbox(async () => runtime);
    await victim.guest.files.write("secret", "x", { signal: soon() });
    await victim.running.stop();
    const holder = holderOf(runtimeDirectory);
    const steal = [
      "/usr/bin/python3",
      "-",
      join(runtimeDirectory, `holder-${ID_MAP_KIND[idMap]}`),
      victim.spec.id,
      join(victim.spec.folder, "runs"),
    ];
    // The user who owns the home, on the host: the layers are there, and the program that asks for them is right.
    expect(await outside(["sh", "-c", `exec "$@" < ${ATTACK}`, "sh", ...steal])).toMatchObject({ code: 0, out: "root usr\n" });
    if (isRoot) {
      expect(await asStranger(steal, program)).toContain("Permission denied");
      await openToAll(home.path, runtimeDirectory, victim.spec.folder, steal[2] ?? "");
      expect(await asStranger(steal, program)).toMatch(/Connection reset by peer|Broken pipe/);
    }

    if (isRoot) await expectNoOtherHolder(home.path, idMap);
    await using attacker = await createSandbox(async () => runtime);
    // The keeper of an ordinary user's sandbox is in the holder's user namespace, where it had all rights.
    if (!isRoot) expect(await facts(keeperOf(attacker.spec.folder))).toMatchObject({ CapPrm: "0".repeat(16), CapEff: "0".repeat(16) });
    for (const user of ["root", "user"]) {
      const stolen = await attacker.guest.run({ argv: steal, input: program, user, signal: soon() });
      expect([stolen.exitCode, stolen.stderr.toString()]).toEqual([1, expect.stringContaining("FileNotFoundError")]);
      await run(attacker.guest, `kill -9 ${holder}; kill -9 -1`, { user }).catch(() => undefined);
      const seen = await run(attacker.guest, LAYERS, { user });
      expect(seen.stdout.toString().replaceAll(/^tmpfs? \/(dev|proc)\S* .*\n/gm, "")).not.toMatch(/storage|holder|size=1048576k/);
    }
    expect(holderOf(runtimeDirectory)).toBe(holder);
    for (const pid of [holder, removerOf(holder)])
      expect(await facts(pid)).toEqual({
        CapPrm: CAP_SYS_ADMIN,
        CapEff: CAP_SYS_ADMIN,
        CapBnd: CAP_SYS_ADMIN,
        NoNewPrivs: "1",
        Seccomp: "2",
      });

    // Nobody has taken the files meanwhile.
    await using again = await runtime.create({ ...victim.spec, generation: 2 }, soon());
    const guest = createGuest((signal) => again.connect(signal), { ended: again.ended });
    expect((await guest.files.read("secret", { signal: soon() })).toString()).toBe("x");
  }
});

/** Another user's process that has got hold of the holder's place is told nothing: it would be given the folder of the sandbox's runs. */
async function expectNoOtherHolder(home: string, idMap: IdMap["kind"]): Promise<void> {
  const runtimeDirectory = join(home, "other");
  const socket = join(home, "socket");
  await using _other = await serveAsStranger(socket);
  const runtime = await openNamespaceRuntime({ home, runtimeDirectory, storage: "tmpfs", binary: BINARY, idMap });
  await rename(socket, join(runtimeDirectory, `holder-${ID_MAP_KIND[idMap]}`));
  const refused = {
    code: "RUNTIME_FAILED",
    message: expect.stringContaining("reach the holder of layers in memory: Operation not permitted"),
  };
  await expect(createSandbox(async () => runtime)).rejects.toMatchObject(refused);
}

/** So that the modes of folders and socket, which protect them too, stop nobody. */
async function openToAll(...paths: readonly string[]): Promise<void> {
  for (const path of paths) await chmod(path, 0o777);
}

async function facts(pid: number): Promise<Readonly<Record<string, string>>> {
  const names = ["CapPrm", "CapEff", "CapBnd", "NoNewPrivs", "Seccomp"];
  return Object.fromEntries(await Promise.all(names.map(async (name) => [name, await statusOf(pid, name)] as const)));
}

/** A socket of another user of the host, who closes what connects. */
async function serveAsStranger(path: string): Promise<AsyncDisposable> {
  const child = spawn("/usr/bin/python3", ["-c", SERVE, path], {
    uid: 54_321,
    gid: 54_321,
    cwd: "/",
    stdio: ["ignore", "pipe", "inherit"],
  });
  await once(child.stdout, "data");
  return {
    [Symbol.asyncDispose]: async () => {
      child.kill();
      await once(child, "close");
    },
  };
}

/** What the attack says as another user of the host, for whom all folders but Belljar's own are open. */
async function asStranger([file = "", ...args]: readonly string[], program: Buffer): Promise<string> {
  const child = spawn(file, args, { uid: 54_321, gid: 54_321, cwd: "/", stdio: ["pipe", "ignore", "pipe"] });
  let said = "";
  child.stderr.on("data", (chunk: Buffer) => void (said += chunk.toString()));
  child.stdin.end(program);
  await once(child, "close");
  return said;
}
