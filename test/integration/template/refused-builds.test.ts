import { symlinkSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { LOCAL } from "../../../src/sandbox/sandbox.ts";
import { type BuildLab, inside, openBuildLab } from "../../support/build-lab.ts";

async function living(lab: BuildLab): Promise<readonly unknown[]> {
  return (await lab.home.sandboxes.list(LOCAL)).sandboxes.filter(({ state }) => state !== "ended");
}

it.each([
  ["that fails", "RUN echo before; echo late >&2; exit 3", { code: "COMMAND_FAILED", message: /Line 2 .* exit code 3[^]*before\nlate/ }],
  [
    "that writes too much",
    "RUN i=0; while [ $i -lt 40 ]; do echo $i; i=$((i+1)); cat /bin/sh >> /srv/big; done",
    { code: "IMAGE_TOO_LARGE" },
  ],
  ["that forks without end", "RUN f() { f | f & }; f; sleep 1; exit 4", { code: "COMMAND_FAILED" }],
  ["with a program that is not there", 'RUN ["nothing"]', { code: "COMMAND_NOT_FOUND" }],
  ["of a user that is not there", "USER nobody-here\nRUN true", { code: "USER_UNKNOWN" }],
  ["that copies from outside", "COPY ../x /", { code: "DOCKERFILE_INVALID", message: /leads out/ }],
  ["that copies through a link", "COPY out/passwd /", { code: "DOCKERFILE_INVALID", message: /not there/ }],
  ["that copies a link", "COPY out /", { code: "DOCKERFILE_INVALID", message: /is a link/ }],
  ["that copies what is left out", "COPY secret /", { code: "DOCKERFILE_INVALID", message: /not there/ }],
  ["that copies a whiteout", "COPY dir /srv/", { code: "DOCKERFILE_INVALID", message: /\.wh\./ }],
  ["that copies into a file", "COPY file /srv/app/first/x", { code: "DOCKERFILE_INVALID", message: /is no folder/ }],
  ["that copies a file in a folder's place", "COPY tree /", { code: "DOCKERFILE_INVALID", message: /is a folder/ }],
  ["with a user that chown does not find", "COPY --chown=nobody file /srv/", { code: "DOCKERFILE_INVALID", message: /names nobody/ }],
])("a build with a step %s makes no template, and says why", async (_what, step, error) => {
  await using lab = await openBuildLab({ maxBytes: 6_000_000 });
  lab.put("file", "content");
  lab.put("secret", "s");
  lab.put("tree/srv", "s");
  lab.put("dir/.wh.app", "");
  lab.put(".dockerignore", "sec*\n");
  symlinkSync("/etc", join(lab.context, "out"));
  const { message = /./, ...code } = error as { code: string; message?: RegExp };
  await expect(lab.build(`FROM ${lab.image}\n${step}`)).rejects.toMatchObject({
    ...code,
    message: expect.stringMatching(message) as string,
  });
  expect(await lab.home.templates.list(LOCAL)).toEqual([]);
  expect(await living(lab)).toEqual([]);
  await lab.home.sandboxes.sweep();
  await lab.home.templates.prune(LOCAL);
  expect(await lab.home.layers()).toEqual([]);
});

it("links in a folder are copied as links, and lead nowhere outside", async () => {
  await using lab = await openBuildLab();
  const long = `${"long/".repeat(30)}n\u00f6me`;
  lab.put("dir/file", "content");
  lab.put(`dir/${long}`, "far");
  symlinkSync("/etc/passwd", join(lab.context, "dir/link"));
  symlinkSync("x".repeat(150), join(lab.context, "dir/far"));
  await lab.build(`FROM ${lab.image}\nCOPY dir /srv/dir`);
  expect(await inside(lab, `readlink /srv/dir/link; cat /srv/dir/file /srv/dir/${long}`)).toBe("/etc/passwd\ncontentfar");
  expect(await inside(lab, "readlink /srv/dir/far")).toBe("x".repeat(150));
});

it("a build of a name waits for nobody: the second one is refused", async () => {
  await using lab = await openBuildLab();
  const both = await Promise.allSettled(["one", "two"].map((text) => lab.build(`FROM ${lab.image}\nRUN echo ${text}; sleep 1`)));
  const failed = both.flatMap((one) => (one.status === "rejected" ? [one.reason as unknown] : []));
  expect(failed).toEqual([expect.objectContaining({ code: "TEMPLATE_BUSY" })]);
});

it("a build that is cancelled ends its command, and leaves nothing", async () => {
  await using lab = await openBuildLab();
  const cancelled = new AbortController();
  const dockerfile = `FROM ${lab.image}\nRUN echo begun; sleep 600`;
  const log = (text: string): void => void (text.includes("begun\n") && !text.startsWith("RUN") && cancelled.abort());
  const building = lab.home.templates.make(LOCAL, { name: "built", dockerfile }, cancelled.signal, log);
  await expect(building).rejects.toMatchObject({ code: "CANCELLED" });
  expect(await living(lab)).toEqual([]);
  expect(await lab.home.layers()).toEqual([]);
});

it("a build counts against its owner's quota of bytes, and leaves nothing if there is no room", async () => {
  await using lab = await openBuildLab({ quotas: { templateBytes: 8_000_000 } });
  const file = (text: string): string => `FROM ${lab.image}\nRUN cat /bin/sh /bin/sh > /srv/${text}`;
  await lab.build(file("one"), { name: "one" });
  await expect(lab.build(file("two"), { name: "two" })).rejects.toMatchObject({ code: "QUOTA_EXCEEDED" });
  expect((await lab.home.templates.list(LOCAL)).map(({ name }) => name)).toEqual(["one"]);
  const { layers } = await lab.build(file("one"), { name: "one" });
  await lab.home.templates.prune(LOCAL);
  expect(await lab.home.layers()).toHaveLength(layers);
});

it("all images of one build have the room of one template", async () => {
  await using lab = await openBuildLab();
  const { bytes } = await lab.build(`FROM ${lab.image}`, { name: "measure" });
  await using other = await openBuildLab({ maxBytes: bytes + 1_000 });
  const second = `FROM ${lab.image} AS one\nFROM ${other.image}\nCOPY --from=one /etc/group /srv/group`;
  await expect(other.build(second)).rejects.toMatchObject({ code: "IMAGE_TOO_LARGE" });
  const twice = `FROM ${lab.image} AS one\nFROM ${lab.image}\nCOPY --from=one /etc/group /srv/group`;
  expect(await other.build(twice)).toMatchObject({ name: "built" });
});
