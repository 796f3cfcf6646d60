import { describe, expect, it } from "vitest";
import { createEgressClient } from "../../../src/network/egress/egress-client.ts";
import { hostPlatform } from "../../../src/template/oci/platform.ts";
import { parseReference } from "../../../src/template/oci/registry/reference.ts";
import { openRegistryImage } from "../../../src/template/oci/registry/registry-image.ts";
import { type DockerRegistry, hasDockerRegistry, startDockerRegistry } from "../../support/docker-registry.ts";
import { addImage, BlobStore, collect, type Descriptor, digestOf, OCI, tarOf, zstdFrame } from "../../support/image-maker.ts";
import { NO_LISTENERS } from "../../support/no-listeners.ts";
import { USER } from "../../support/registry-lab.ts";

const SIGNAL = AbortSignal.timeout(60_000);
const PLAIN = tarOf({ "a.txt": "a".repeat(1_000_000) });

const MISSING = "the package docker-registry is not installed: npm run setup";

interface Pushed extends AsyncDisposable {
  readonly registry: DockerRegistry;
  readonly manifest: Descriptor;
  pull(
    name: string,
    credential?: { readonly user: string; readonly password: string },
  ): Promise<{ readonly digest: string; readonly diffIds: readonly string[] }>;
}

async function push(): Promise<Pushed> {
  const registry = await startDockerRegistry();
  const store = new BlobStore();
  const manifest = addImage(store, { layers: [{ plain: PLAIN }, { plain: PLAIN, mediaType: OCI.zstd, stored: zstdFrame(PLAIN) }] });
  const other = addImage(store, { config: { architecture: "s390x" } });
  const manifests = [
    { ...other, platform: { os: "linux", architecture: "s390x" } },
    { ...manifest, platform: hostPlatform() },
  ];
  const index = store.add({ schemaVersion: 2, mediaType: OCI.index, manifests }, OCI.index);
  await registry.push(store, { [manifest.digest]: manifest, [other.digest]: other, many: index, one: manifest });
  const egress = createEgressClient({
    owner: "local",
    state: { policy: { allow: [registry.authority] } },
    listeners: NO_LISTENERS,
    record: () => undefined,
  });
  return {
    registry,
    manifest,
    async pull(name, credential) {
      const reference = parseReference(`${registry.authority}/team/app${name}`);
      await using image = await openRegistryImage(reference, { egress, insecure: true, ...(credential && { credential }) }, SIGNAL);
      const layers = await Promise.all(image.layers.map((layer) => collect(layer.open({ maxBytes: 2_000_000 }, SIGNAL))));
      return { digest: image.digest, diffIds: layers.map((bytes) => digestOf(bytes)) };
    },
    async [Symbol.asyncDispose]() {
      egress[Symbol.dispose]();
      await registry[Symbol.asyncDispose]();
    },
  };
}

describe("an image in Debian's docker-registry", () => {
  it("is read by tag, by digest and through an index", async ({ skip }) => {
    skip(!hasDockerRegistry, MISSING);
    await using pushed = await push();
    const { digest } = pushed.manifest;
    for (const name of [":one", ":many", `@${digest}`])
      expect(await pushed.pull(name, USER)).toEqual({ digest, diffIds: [digestOf(PLAIN), digestOf(PLAIN)] });
  });

  it("is read by nobody without the password", async ({ skip }) => {
    skip(!hasDockerRegistry, MISSING);
    await using pushed = await push();
    for (const credential of [undefined, { ...USER, password: "wrong" }])
      await expect(pushed.pull(":one", credential)).rejects.toMatchObject({ code: "REGISTRY_DENIED" });
  });

  it("is not found by another name", async ({ skip }) => {
    skip(!hasDockerRegistry, MISSING);
    await using pushed = await push();
    for (const name of [":two", "-b:one", `@sha256:${"0".repeat(64)}`])
      await expect(pushed.pull(name, USER)).rejects.toMatchObject({ code: "IMAGE_NOT_FOUND" });
  });
});
