import { execFile } from "node:child_process";
import { once } from "node:events";
import { createServer, type Server } from "node:net";
import { expect } from "vitest";
import { useLab } from "./support/lab.ts";
import { outside } from "./support/outside.ts";
import { verifies } from "./verifies.ts";

const lab = useLab(["abstract"]);

/** A listener of the host that greets whoever comes. */
async function openListener(where: { readonly port: number; readonly host: string }): Promise<Server & AsyncDisposable> {
  const server = createServer((socket) => socket.on("error", () => {}).end("hello from the host\n"));
  server.listen(where);
  await once(server, "listening");
  const close = async (): Promise<void> => {
    server.close();
    await once(server, "close");
  };
  return Object.assign(server, { [Symbol.asyncDispose]: close });
}

function portOf(server: Server): number {
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("the listener has no port");
  return address.port;
}

const dial = (host: string, port: number): readonly string[] => [
  "timeout",
  "5",
  "bash",
  "-c",
  `exec 3<>/dev/tcp/${host}/${port} && cat <&3`,
];

verifies("no-network", async () => {
  const links = (out: string): readonly string[] => [...out.matchAll(/^[ \t]*([^\s:]+):/gm)].map(([, name]) => name ?? "");
  await using box = await lab.box();
  const { out } = await box.run(["cat", "/proc/net/dev"], { user: "root" });
  expect(links(out)).toEqual(["lo"]);
  expect((await box.run(["cat", "/proc/net/route"])).out.trim().split("\n")).toHaveLength(1);
  for (const user of ["root", "user"])
    expect(await box.run(dial("192.0.2.1", 80), { user })).toMatchObject({ out: "", err: expect.stringContaining("unreachable") });
  for (const call of ["socket", "socketpair"]) {
    const raw = `import errno, socket\ntry:\n  socket.${call}(socket.AF_PACKET, socket.SOCK_RAW)\n  print("reached")\nexcept OSError as e:\n  print(errno.errorcode[e.errno])`;
    expect((await outside(["python3", "-c", raw])).out).not.toBe("EAFNOSUPPORT\n");
    expect((await box.run(["python3", "-c", raw], { user: "root" })).out).toBe("EAFNOSUPPORT\n");
  }
});

verifies("host-ports-closed", async () => {
  await using server = await openListener({ port: 0, host: "127.0.0.1" });
  const port = portOf(server);
  expect((await outside(dial("127.0.0.1", port))).out).toContain("hello");
  await using box = await lab.box();
  for (const user of ["root", "user"]) expect((await box.run(dial("127.0.0.1", port), { user })).out).toBe("");
  const hex = port.toString(16).toUpperCase().padStart(4, "0");
  expect((await outside(["cat", "/proc/net/tcp"])).out).toContain(`:${hex} `);
  expect((await box.run(["cat", "/proc/net/tcp"], { user: "root" })).out).not.toContain(`:${hex} `);
  const listen = `import socket\ns=socket.create_server(("0.0.0.0",${port}))\nprint("bound",flush=True)\ns.accept()[0].close()`;
  await using inside = await box.guest.exec({ argv: ["python3", "-c", listen], stdin: false, signal: AbortSignal.timeout(30_000) });
  await once(inside.stdout, "data");
  expect((await outside(dial("127.0.0.1", port))).out).toContain("hello");
  inside.kill(9);
  inside.stdout.resume();
  inside.stderr.resume();
  await inside.exited;
});

verifies("host-sockets-closed", async () => {
  const name = `belljar-test-${process.pid}`;
  const server = execFile(lab.attack("abstract"), [name, "listen"]);
  const exit = once(server, "exit");
  await once(server.stdout ?? server, "data");
  expect((await outside([lab.attack("abstract"), name])).out).toBe("connected\n");
  await using box = await lab.box();
  const path = await box.install("abstract");
  for (const user of ["root", "user"]) {
    expect((await box.run([path, name], { user })).out).toBe("refused\n");
    expect((await box.run(["cat", "/proc/net/unix"], { user })).out).not.toContain(name);
  }
  server.stdin?.end();
  await exit;
});
