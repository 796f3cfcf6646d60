import { expect, it, vi } from "vitest";
import { LOCAL } from "../../../src/sandbox/sandbox.ts";
import type { DebianOptions } from "../../../src/template/wire/template-schema.ts";
import { findDebianMirrors, MIRRORS } from "../../support/debian-mirrors.ts";
import { shell } from "../../support/state-home.ts";
import { openTemplateHome, type TemplateHome } from "../../support/template-home.ts";

const { reason } = await findDebianMirrors();

async function make({ templates, runtime }: TemplateHome, debian: DebianOptions, more: object = { network: { allow: MIRRORS } }) {
  let [log, atUnpack] = ["", ""];
  const states = runtime.layers.states!;
  const unpack = states.unpack.bind(states);
  using _ = vi.spyOn(states, "unpack").mockImplementation((...args) => ((atUnpack = log), unpack(...args)));
  const signal = new AbortController().signal;
  const made = templates.make(LOCAL, { name: "suite", debian, ...more }, signal, (text) => void (log += text));
  return { ...(await made), log, atUnpack };
}

it("a Debian suite is put together in a sandbox, with the packages that were named", { timeout: 300_000 }, async ({ skip }) => {
  skip(reason !== undefined, reason);
  await using home = await openTemplateHome();
  const { log, atUnpack, ...made } = await make(home, { suite: "bookworm", packages: ["hostname"] });
  expect(made).toMatchObject({ name: "suite", base: "bare", layers: 1, user: "0", source: { kind: "debian", suite: "bookworm" } });
  expect(log).toContain("installing remaining packages");
  expect(atUnpack).toContain("installing remaining packages"); // an archive is not waited for as long as the packages may take
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
  skip(reason !== undefined, reason);
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
