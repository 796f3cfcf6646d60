import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { currentLogin, withLogin } from "./login-record.ts";
import type { Login } from "./login-record.ts";
import { LoginStore } from "./login-store.ts";

const SERVER = new URL("https://far.example/mcp?a=1");
let root = "";
let folder = "";
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "bj-"));
  folder = join(root, "logins");
});
afterEach(() => rmSync(root, { recursive: true }));

function login(token: string): Login {
  return { client: { client_id: "c", source: "registered" }, tokens: { access_token: token }, resource: "r", authorizationServer: "a" };
}

it("keeps the logins of servers apart, also of one origin, and forgets them", async () => {
  const store = new LoginStore(folder);
  await store.change(SERVER, (now) => withLogin(now, "i", login("t1")));
  const others = ["https://far.example/mcp", "https://far.example/mcp?a=2", "https://far.example/other"];
  for (const other of others) expect((await store.read(new URL(other))).logins).toEqual({});
  expect(currentLogin(await new LoginStore(folder).read(SERVER))?.tokens?.access_token).toBe("t1");
  await store.remove(SERVER);
  expect(readdirSync(folder)).toEqual([]);
});

it("keeps what one issuer gave from another, for a few of them", async () => {
  const store = new LoginStore(folder);
  for (const issuer of ["a", "b", "c", "d", "e", "f", "g"]) await store.change(SERVER, (now) => withLogin(now, issuer, login(issuer)));
  const record = await store.read(SERVER);
  expect(record.issuer).toBe("g");
  expect(Object.keys(record.logins)).toEqual(["c", "d", "e", "f", "g"]);
});

it("lets one renewal run at a time, and the next one see what it did", async () => {
  const [one, other] = [new LoginStore(folder), new LoginStore(folder)];
  const order: string[] = [];
  let goOn: () => void = () => undefined;
  const held = new Promise<void>((resolve) => (goOn = resolve));
  let began: () => void = () => undefined;
  const begun = new Promise<void>((resolve) => (began = resolve));
  const first = one.renew(SERVER, async () => {
    order.push("first");
    began();
    await held;
    await one.change(SERVER, (now) => withLogin(now, "i", login("new")));
  });
  await begun;
  const second = other.renew(SERVER, async () => {
    order.push("second");
    return currentLogin(await other.read(SERVER))?.tokens?.access_token;
  });
  const cancelled = other.renew(SERVER, async () => order.push("cancelled"), AbortSignal.abort());
  await expect(cancelled).rejects.toMatchObject({ code: "CANCELLED" });
  goOn();
  await first;
  expect(await second).toBe("new");
  expect(order).toEqual(["first", "second"]);
});

it("waits for no process that has ended", async () => {
  const child = spawn("true");
  await once(child, "exit");
  const store = new LoginStore(folder);
  const until = Date.now() + 20_000;
  await store.change(SERVER, (now) => ({ ...now, renewal: { by: child.pid ?? 0, token: "x", until } }));
  expect(await store.renew(SERVER, async () => "mine")).toBe("mine");
});

it("takes a damaged file, and one of another server, for no login", async () => {
  const store = new LoginStore(folder);
  await store.change(SERVER, (now) => withLogin(now, "i", login("t1")));
  const [name = ""] = readdirSync(folder);
  mkdirSync(folder, { recursive: true });
  for (const text of ["", "{", '{"version":1,"server":"https://evil.example","logins":{}}', '{"version":1,"logins":{"i":{"tokens":{}}}}']) {
    writeFileSync(join(folder, name), text);
    expect((await store.read(SERVER)).logins).toEqual({});
  }
});
