import { existsSync } from "node:fs";
import { connect } from "node:net";
import { beforeAll, expect, it } from "vitest";
import { LOCAL } from "../../../src/sandbox/sandbox.ts";
import type { DebianOptions } from "../../../src/template/wire/template-schema.ts";
import { shell } from "../../support/state-home.ts";
import { openTemplateHome, type TemplateHome } from "../../support/template-home.ts";

const HOSTS = ["deb.debian.org", "security.debian.org"];
/** Each by its exact rule: a mirror may lie in the network of this machine. */
const NETWORK = { allow: HOSTS.map((host) => `${host}:80`) };
const MISSING = existsSync("/usr/bin/mmdebstrap") ? undefined : "the package mmdebstrap is not installed: npm run setup";
let isReached = false;

async function reaches(host: string): Promise<boolean> {
  const socket = connect({ host, port: 80, timeout: 5_000 });
  const reached = new Promise<boolean>((resolve) => {
    socket.once("connect", () => resolve(true));
    for (const event of ["timeout", "error"]) socket.once(event, () => resolve(false));
  });
  return reached.finally(() => socket.destroy());
}

beforeAll(async () => {
  isReached = (await Promise.all(HOSTS.map(reaches))).every(Boolean);
});

async function make({ templates }: TemplateHome, debian: DebianOptions, more: object = { network: NETWORK }) {
  let log = "";
  const signal = new AbortController().signal;
  const made = templates.make(LOCAL, { name: "suite", debian, ...more }, signal, (text) => void (log += text));
  return { ...(await made), log };
}

it("a Debian suite is put together in a sandbox, with the packages that were named", { timeout: 300_000 }, async ({ skip }) => {
  skip(MISSING !== undefined, MISSING);
  skip(!isReached, "Debian's mirrors cannot be reached");
  await using home = await openTemplateHome();
  const { log, ...made } = await make(home, { suite: "bookworm", packages: ["hostname"] });
  expect(made).toMatchObject({ name: "suite", base: "bare", layers: 1, user: "0", source: { kind: "debian", suite: "bookworm" } });
  expect(log).toContain("installing remaining packages");
  const sandbox = await home.sandboxes.create(LOCAL, { template: "suite" }, new AbortController().signal);
  const look = '. /etc/os-release; echo $VERSION_CODENAME; stat -c "%U:%G %a" /etc/shadow; dpkg --verify hostname; id -u';
  expect(await shell(sandbox, look)).toBe("bookworm\nroot:shadow 640\n0");
  await sandbox.kill();
  await expect(make(home, { suite: "none-such" })).rejects.toMatchObject({
    code: "COMMAND_FAILED",
    message: expect.stringContaining("none-such Release"),
  });
  await home.templates.remove(LOCAL, "suite");
  await home.sweepOld();
  expect(await home.layers()).toEqual([]);
});

it("a suite that is larger than a template may be leaves nothing", { timeout: 300_000 }, async ({ skip }) => {
  skip(MISSING !== undefined, MISSING);
  skip(!isReached, "Debian's mirrors cannot be reached");
  await using home = await openTemplateHome({ maxBytes: 2 ** 20 });
  await expect(make(home, { suite: "bookworm" })).rejects.toMatchObject({ code: "IMAGE_TOO_LARGE" });
  expect(await home.layers()).toEqual([]);
});

it("is refused without a network, and with texts that would be options of a program", async () => {
  await using home = await openTemplateHome();
  await expect(make(home, { suite: "bookworm" }, { network: "none" })).rejects.toMatchObject({
    code: "ARGUMENTS_INVALID",
    message: expect.stringContaining("comes from a mirror"),
  });
  const wrong: readonly DebianOptions[] = [
    { suite: "--hook-dir=/tmp" },
    { suite: "a b" },
    { suite: "" },
    { suite: "bookworm", packages: ["-x"] },
    { suite: "bookworm", packages: ["one,two"] },
    { suite: "bookworm", mirror: "--help" },
    { suite: "bookworm", mirror: "http://host/a b" },
    { suite: "bookworm", mirror: "file:///etc" },
    { suite: "bookworm", mirror: "deb http://host/ x" },
  ];
  for (const debian of wrong) await expect(make(home, debian), JSON.stringify(debian)).rejects.toMatchObject({ code: "ARGUMENTS_INVALID" });
});
