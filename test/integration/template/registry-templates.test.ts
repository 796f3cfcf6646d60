import { expect, it } from "vitest";
import type { ClientRecord } from "../../../src/network/egress/client-gate.ts";
import { LOCAL, type Principal } from "../../../src/sandbox/sandbox.ts";
import { hasDockerRegistry, startDockerRegistry } from "../../support/docker-registry.ts";
import { addImage, BlobStore, tarOf } from "../../support/image-maker.ts";
import { NO_LISTENERS } from "../../support/no-listeners.ts";
import { USER } from "../../support/registry-lab.ts";
import { openTemplateHome } from "../../support/template-home.ts";

const signal = new AbortController().signal;
const OTHER: Principal = { id: "other", name: "other" };

/** Debian's registry with one image, and a home whose owner has the password of it. */
async function open() {
  const registry = await startDockerRegistry();
  const store = new BlobStore();
  await registry.push(store, { stable: addImage(store, { layers: [{ plain: tarOf({ "srv/file": "of the registry" }) }] }) });
  const records: ClientRecord[] = [];
  const settings = { insecure: true, secret: "registry" };
  const home = await openTemplateHome({
    registry: {
      registries: { [registry.authority]: settings },
      reveal: async (owner, name) => (owner === "local" && name === "registry" ? `${USER.user}:${USER.password}` : undefined),
      listeners: NO_LISTENERS,
      record: (record) => void records.push(record),
    },
  });
  const image = `${registry.authority}/team/app:stable`;
  const allowed = { allow: [registry.authority] };
  return {
    home,
    records,
    allowed,
    make: (network: "none" | "all" | typeof allowed = allowed, principal = LOCAL) =>
      home.templates.make(principal, { name: "pulled", image, network }, signal),
    build: (network: "none" | "all" | typeof allowed) =>
      home.templates.make(LOCAL, { name: "built", dockerfile: `FROM ${image}\nENV MADE=here\n`, network }, signal),
    async [Symbol.asyncDispose]() {
      await home[Symbol.asyncDispose]();
      await registry[Symbol.asyncDispose]();
    },
  };
}

it.skipIf(!hasDockerRegistry)("an image of a registry is a template, with the password that its owner has", async () => {
  await using lab = await open();
  expect(await lab.make()).toMatchObject({ name: "pulled", source: { kind: "image" }, layers: 1 });
  const sandbox = await lab.home.sandboxes.create(LOCAL, { template: "pulled" }, signal);
  expect((await sandbox.guest.files.read("/srv/file", { signal })).toString()).toBe("of the registry");
  expect(lab.records.length).toBeGreaterThan(0);
});

it.skipIf(!hasDockerRegistry)(
  "a registry is asked only where the caller's network allows it, and by its exact rule on this machine",
  async () => {
    await using lab = await open();
    for (const network of ["none", "all"] as const) await expect(lab.make(network)).rejects.toMatchObject({ code: "NETWORK_DENIED" });
    expect(await lab.home.templates.list(LOCAL)).toEqual([]);
  },
);

it.skipIf(!hasDockerRegistry)("the password of one owner serves no other", async () => {
  await using lab = await open();
  await expect(lab.make("all", OTHER)).rejects.toMatchObject({ code: "SECRET_NOT_FOUND" });
  expect(lab.records).toEqual([]);
});

it.skipIf(!hasDockerRegistry)("a Dockerfile begins with an image of a registry that its network allows", async () => {
  await using lab = await open();
  for (const network of ["none", "all"] as const) await expect(lab.build(network)).rejects.toMatchObject({ code: "NETWORK_DENIED" });
  expect(await lab.build(lab.allowed)).toMatchObject({ name: "built", layers: 1, env: { MADE: "here" } });
});
