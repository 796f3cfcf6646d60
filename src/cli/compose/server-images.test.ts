import { expect, it } from "vitest";
import { LOCAL } from "../../sandbox/sandbox.ts";
import type { TemplateDetail } from "../../template/wire/template-schema.ts";
import { serverImages } from "./server-images.ts";

const made = (name: string, source: TemplateDetail["source"]): TemplateDetail => ({
  id: "a".repeat(20),
  name,
  owner: "local",
  createdAt: new Date(0),
  source,
  runtime: "namespace",
  base: "bare",
  layers: 1,
  bytes: 1,
  env: {},
  isShared: false,
  command: ["serve", name],
  entrypoint: ["serve"],
});
const image = (from: string): TemplateDetail["source"] => ({ kind: "image", from, digest: "sha256:1", platform: "linux/amd64" });

const images = serverImages(async () => ({
  list: async () => [
    made("fetching", image("docker.io/mcp/fetch")),
    made("mine", { kind: "dockerfile", from: "base" }),
    made("ghcr.io-team-server-1.2", image("/srv/image.tar")),
  ],
}));

it.each([
  ["mcp/fetch", "fetching"],
  ["mcp/fetch:latest", "fetching"],
  ["docker.io/mcp/fetch", "fetching"],
  ["mine", "mine"],
  ["mine:latest", "mine"],
  ["ghcr.io/team/server:1.2", "ghcr.io-team-server-1.2"],
])("finds the template of the image %s", async (name, template) => {
  expect(await images.find(LOCAL, name)).toEqual({ template, command: ["serve", template], entrypoint: ["serve"] });
});

it("finds none of another version, registry or name", async () => {
  for (const name of ["mcp/fetch:1", "ghcr.io/mcp/fetch", "fetch", "mine:2"]) expect(await images.find(LOCAL, name)).toBeUndefined();
  await expect(images.find(LOCAL, "$(id)")).rejects.toMatchObject({ code: "ARGUMENTS_INVALID" });
});

it("says the command that makes one", () => {
  expect(images.remedy("mcp/fetch")).toBe(
    "make it with `belljar template import mcp-fetch-latest mcp/fetch --network docker.io,registry-1.docker.io,auth.docker.io,production.cloudflare.docker.com`",
  );
});
