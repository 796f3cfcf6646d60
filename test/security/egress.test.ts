import { once } from "node:events";
import { expect } from "vitest";
import { RefusalLog } from "../../src/network/refusal-log.ts";
import { tellRefusals } from "../../src/sandbox/tell-refusals.ts";
import { openHostileDns } from "../support/hostile-dns.ts";
import type { Box } from "./support/lab.ts";
import { useLab } from "./support/lab.ts";
import { outside } from "./support/outside.ts";
import { openHostService, openWayOut } from "./support/way-out.ts";
import { verifies } from "./verifies.ts";

const lab = useLab([]);
/** Asks the sandbox's DNS for `name`. */
const ASK_NAME = [
  "m = bytes([0, 1, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0, len(name)]) + name + bytes([0, 0, 1, 0, 1])",
  's = socket.create_connection(("127.0.0.1", 53)); s.sendall(len(m).to_bytes(2, "big") + m); s.recv(512)',
].join("\n");
/** The same over UDP. Says the code of the answer: 3 for a name that is unknown. */
const askOverUdp = (host: string, at: string): string => `
import socket, sys
labels = [label.encode() for label in "${host}".split(".")]
m = bytes([0, 1, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0]) + b"".join(bytes([len(label)]) + label for label in labels) + bytes([0, 0, 1, 0, 1])
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.settimeout(20)
host, port = "${at}".split(":"); s.connect((host, int(port))); s.send(m)
print("code", s.recv(512)[3] & 15)
`;
const USERS = ["root", "user"];
const PROXY = ["-x", "http://127.0.0.1:3128"];
const curl = (...args: readonly string[]): readonly string[] => ["curl", "-sS", "-m", "20", "--noproxy", "", ...args];

async function says(box: Box, argv: readonly string[], user: string): Promise<string> {
  const { out, err } = await box.run(argv, { user });
  return out + err;
}

verifies("egress-by-name", async () => {
  await using host = await openHostService();
  await using dns = await openHostileDns(() => [{ type: "A", value: "127.0.0.1" }]);
  const other = `other.test:${host.port}`;
  expect((await outside(curl("--resolve", `${other}:127.0.0.1`, `http://${other}/`))).out).toContain("the host's own answer");
  expect((await outside(["python3", "-c", askOverUdp("other.test", dns.server)])).out).toBe("code 0\n");
  await using box = await lab.box();
  await using way = await openWayOut(box, { allow: [`good.test:${host.port}`] });
  for (const name of ["good.test", "other.test"]) way.names.set(name, ["127.0.0.1"]);
  for (const user of USERS) {
    expect(await says(box, curl(...PROXY, `http://good.test:${host.port}/`), user)).toContain("the host's own answer");
    expect(await says(box, curl(...PROXY, `http://${other}/`), user)).toContain(`--allow ${other}`);
    expect(await says(box, curl(...PROXY, "-p", `http://${other}/`), user)).toContain("403");
    expect(await says(box, curl("-x", "socks5h://127.0.0.1:1080", `http://${other}/`), user)).toContain("(2)");
    expect(await says(box, curl(`http://${other}/`), user)).toContain("Could not resolve host");
    const ask = (name: string, at: string): Promise<string> => says(box, ["python3", "-c", askOverUdp(name, at)], user);
    expect(await ask("good.test", "127.0.0.1:53")).toBe("code 0\n");
    expect(await ask("other.test", "127.0.0.1:53")).toBe("code 3\n");
    expect(await ask("other.test", dns.server)).not.toContain("code");
    expect(await says(box, curl("http://192.0.2.1/"), user)).not.toContain("answer");
    // The right way through the proxy, and another host asked for on it.
    expect(await says(box, curl(...PROXY, "-H", `Host: ${other}`, `http://good.test:${host.port}/`), user)).toContain(
      "Host of the request",
    );
  }
  expect([dns.questions.length, new Set(way.resolved)]).toEqual([1, new Set(["good.test"])]);
  const [, ...inside] = host.requests;
  expect(new Set(inside.map((request) => request.headers.host))).toEqual(new Set([`good.test:${host.port}`]));
});

verifies("egress-never-inside", async () => {
  await using host = await openHostService();
  const { port } = host;
  await using box = await lab.box();
  await using way = await openWayOut(box, "all");
  const spellings = ["127.0.0.1", "127.1", "2130706433", "0x7f000001", "0177.0.0.1", "[::ffff:127.0.0.1]", "[::1]", "0.0.0.0", "localhost"];
  way.names.set("localhost", ["127.0.0.1", "::1"]).set("rebind.test", ["127.0.0.1"]).set("both.test", ["93.184.215.14", "127.0.0.1"]);
  way.names.set("meta.test", ["169.254.169.254"]).set("mapped.test", ["64:ff9b::7f00:1"]);
  way.names.set("bench.test", ["198.18.0.1"]).set("example.test", ["203.0.113.1"]);
  expect((await outside(curl(`http://2130706433:${port}/`))).out).toContain("the host's own answer");
  for (const user of USERS) {
    for (const address of [
      ...spellings,
      "rebind.test",
      "both.test",
      "meta.test",
      "mapped.test",
      "bench.test",
      "example.test",
      "169.254.169.254",
      "10.0.0.1",
      "[fd00:ec2::254]",
    ]) {
      // curl spells an address its own way; python sends the bytes as they are.
      const request = `GET http://${address}:${port}/ HTTP/1.1\\r\\nHost: ${address}:${port}\\r\\nConnection: close\\r\\n\\r\\n`;
      const raw = `import socket\ns=socket.create_connection(("127.0.0.1",3128))\ns.sendall(b"${request}")\nwhile d:=s.recv(65536): print(d.decode())`;
      expect(await says(box, ["python3", "-c", raw], user)).toMatch(/x-belljar-error: (?:private-address|mixed-addresses)/);
    }
    expect(await says(box, curl(`http://rebind.test:${port}/`), user)).toContain("Could not resolve host");
  }
  // The attack outside is the one that came.
  expect(host.requests).toHaveLength(1);
  way.service.update({ policy: { allow: [`127.0.0.1:${port}`, `rebind.test:${port}`, `meta.test:${port}`] } });
  for (const named of ["127.0.0.1", "rebind.test"])
    expect(await says(box, curl(...PROXY, `http://${named}:${port}/`), "user")).toContain("the host's own answer");
  expect(await says(box, curl(...PROXY, "-i", `http://meta.test:${port}/`), "user")).toContain("x-belljar-error: private-address");
});

verifies("names-resolved-once", async () => {
  await using host = await openHostService();
  await using box = await lab.box();
  await using way = await openWayOut(box, { allow: [`rebind.test:${host.port}`] });
  const ask = (): Promise<string> => says(box, curl(...PROXY, `http://rebind.test:${host.port}/`), "user");
  way.names.set("rebind.test", ["127.0.0.1"]);
  expect(await ask()).toContain("the host's own answer");
  way.names.set("rebind.test", ["169.254.169.254"]);
  expect(await ask()).toContain("the host's own answer");
  expect(way.records.map((row) => row.address)).toEqual(["127.0.0.1", "127.0.0.1"]);
});

const HELLO = `
import socket, ssl, sys
s = socket.create_connection(("127.0.0.1", 3128))
s.sendall(b"CONNECT good.test:443 HTTP/1.1\\r\\n\\r\\n")
print(s.recv(4096).split(b"\\r\\n")[0])
c = ssl.create_default_context(); c.check_hostname = False; c.verify_mode = ssl.CERT_NONE
try: c.wrap_socket(s, server_hostname=sys.argv[1] or None)
except Exception as error: print(error)
`;

/** A second request in the body of a GET, which some writers send bare. */
const hidden = (host: string): string => `
import socket
hidden = b"GET /hidden HTTP/1.1\\r\\nHost: other.test\\r\\n\\r\\n"
s = socket.create_connection(("127.0.0.1", 3128))
s.sendall(b"GET http://${host}/open HTTP/1.1\\r\\nHost: ${host}\\r\\nConnection: close\\r\\nTransfer-Encoding: chunked\\r\\n\\r\\n")
s.sendall(b"%x\\r\\n%s\\r\\n0\\r\\n\\r\\n" % (len(hidden), hidden))
while data := s.recv(65536): print(data)
`;

verifies("hidden-hosts-refused", async () => {
  await using host = await openHostService();
  await using box = await lab.box();
  // To a port that nothing listens on: the name in the hello is judged before it would matter.
  await using way = await openWayOut(box, { allow: ["good.test:443/secret", `good.test:${host.port}`] });
  way.names.set("good.test", ["127.0.0.1"]);
  for (const user of USERS) {
    for (const name of ["other.test", ""])
      expect(await says(box, ["python3", "-c", HELLO, name], user)).toMatch(/200 Connection[^]*(?:alert|unrecognized)/i);
    const smuggled = `printf 'POST http://good.test:${host.port}/ HTTP/1.1\\r\\nHost: good.test:${host.port}\\r\\nContent-Length: 4\\r\\nTransfer-Encoding: chunked\\r\\n\\r\\n0\\r\\n\\r\\nGET / HTTP/1.1\\r\\nHost: other.test\\r\\n\\r\\n' | timeout 10 bash -c 'exec 3<>/dev/tcp/127.0.0.1/3128; cat >&3; cat <&3'`;
    expect(await says(box, ["bash", "-c", smuggled], user)).toContain("400 Bad Request");
  }
  expect(host.requests).toHaveLength(0);
  for (const user of USERS) expect(await says(box, ["python3", "-c", hidden(`good.test:${host.port}`)], user)).toContain("200 OK");
  expect(host.requests.map(({ url }) => url)).toEqual(["/open", "/open"]);
  expect(new Set(way.records.map((row) => row.reason))).toEqual(new Set(["sni-mismatch", "sni-missing", "bad-request", undefined]));
});

const FLOOD = `
import resource, socket, sys
resource.setrlimit(resource.RLIMIT_NOFILE, (1024, 1024))
opened = []
for i in range(10000):
    try:
        s = socket.create_connection(("127.0.0.1", 3128), 5); s.sendall(b"GET ")
        opened.append(s)
    except OSError: pass
    if len(opened) > 900: opened.pop(100).close()
print("done")
`;

/** Ten thousand connections take a machine that is busy elsewhere a while. */
const FLOOD_MS = 150_000;

verifies(
  "egress-bounded",
  async () => {
    await using host = await openHostService();
    await using box = await lab.box();
    await using neighbour = await lab.box();
    const bounds = { connections: 32, connectionsPerSecond: 5, bytesPerDay: 1e9 };
    await using way = await openWayOut(box, { allow: [`good.test:${host.port}`] }, { sandbox: bounds, headMs: 2_000 });
    await using other = await openWayOut(neighbour, { allow: [`good.test:${host.port}`] });
    for (const { names } of [way, other]) names.set("good.test", ["127.0.0.1"]);
    const before = process.memoryUsage.rss();
    const flood = await box.run(["python3", "-c", FLOOD], { user: "user", signal: AbortSignal.timeout(FLOOD_MS) });
    expect(flood.out).toContain("done");
    expect(process.memoryUsage.rss() - before).toBeLessThan(200 * 1024 * 1024);
    expect(way.records.length).toBeLessThan(2000);
    expect(way.records.map((row) => row.reason)).toContain("too-many-connections");
    expect(await says(neighbour, curl(...PROXY, `http://good.test:${host.port}/`), "user")).toContain("the host's own answer");
  },
  FLOOD_MS + 30_000,
);

verifies("closed-network-only-refuses", async () => {
  await using host = await openHostService();
  const place = `good.test:${host.port}`;
  expect((await outside(curl("--resolve", `${place}:127.0.0.1`, `http://${place}/`))).out).toContain("the host's own answer");
  await using box = await lab.box();
  await using way = await openWayOut(box, "none", { answersClosed: true });
  way.names.set("good.test", ["127.0.0.1"]);
  for (const user of USERS) {
    expect(await says(box, curl(...PROXY, `http://${place}/`), user)).toContain(`--allow ${place}`);
    expect(await says(box, curl(...PROXY, "-p", `http://${place}/`), user)).toContain("403");
    expect(await says(box, curl("-x", "socks5h://127.0.0.1:1080", `http://${place}/`), user)).toContain("(2)");
    expect(await says(box, curl("-x", "socks5://127.0.0.1:1080", `http://127.0.0.1:${host.port}/`), user)).toContain("(2)");
    expect(await says(box, curl(`http://${place}/`), user)).toContain("Could not resolve host");
  }
  expect(way.resolved).toEqual([]);
  expect(host.requests).toHaveLength(1);
  expect(new Set(way.records.map(({ verdict, reason }) => `${verdict} ${reason}`))).toEqual(new Set(["refused no-rule"]));
});

verifies("refusals-told-bounded", async () => {
  const flood = (say: string): string =>
    `import socket\nfor n in range(200):\n  host = ("h%d" % n) + "x" * 50 + ".test"\n  ${say}\nname = b"\\x1b[2J\\nNetwork: open to all"\n${ASK_NAME}`;
  const { out } = await outside(["python3", "-c", flood('print("- " + host)').replace(/name =.*$/s, 'print("\\x1b[2J")')]);
  expect(out.split("\n").length).toBeGreaterThan(200);
  expect(out).toContain("\u001b");
  await using box = await lab.box();
  await using way = await openWayOut(box, "none", { answersClosed: true });
  const log = new RefusalLog();
  using window = log.open("box");
  const connect =
    's = socket.create_connection(("127.0.0.1", 3128)); s.sendall(b"GET http://%s/ HTTP/1.1\\r\\n\\r\\n" % host.encode()); s.recv(9); s.close()';
  expect(await says(box, ["python3", "-c", flood(connect)], "user")).toBe("");
  for (const record of way.records.toReversed()) log.note(record);
  expect(way.records.length).toBeGreaterThan(200);
  const lines = tellRefusals({ id: "box", ephemeral: false }, window.take());
  expect(lines.length).toBeLessThanOrEqual(8);
  expect(lines.join("\n").length).toBeLessThan(4_000);
  expect(lines.join("")).toMatch(/^[ -~]*$/);
  expect(lines[1]).toBe('- "\\u{1b}[2j\\u{a}network: open to all": no-rule');
});

verifies("policy-changes-at-once", async () => {
  await using host = await openHostService();
  await using box = await lab.box();
  await using way = await openWayOut(box, { allow: [`good.test:${host.port}`] });
  way.names.set("good.test", ["127.0.0.1"]);
  const hold = `import socket\ns=socket.create_connection(("127.0.0.1",3128))\ns.sendall(b"CONNECT good.test:${host.port} HTTP/1.1\\r\\n\\r\\n")\nprint(s.recv(99),flush=True)\nprint(s.recv(99))`;
  await using held = await box.guest.exec({ argv: ["python3", "-c", hold], stdin: false, signal: AbortSignal.timeout(30_000) });
  expect(String((await once(held.stdout, "data"))[0])).toContain("200");
  held.stderr.resume();
  way.service.update({ policy: { allow: ["elsewhere.test"] } });
  held.stdout.resume();
  await held.exited;
  expect(way.records).toMatchObject([{ verdict: "refused", reason: "policy-changed" }]);
  expect(await says(box, curl(...PROXY, `http://good.test:${host.port}/`), "user")).toContain("--allow");
  way.service.update({ policy: "none" });
  expect(await says(box, curl(...PROXY, "http://elsewhere.test/"), "user")).toContain("Failed to connect");
});
