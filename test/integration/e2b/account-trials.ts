import { Sandbox, Secret, Template, Volume } from "e2b";
import { expect } from "vitest";
import type { Method, Trial } from "./trial.ts";

export const SECRETS: Readonly<Record<string, Method>> = {
  "Secret.create": async ({ options }) => expect(await Secret.create("made", "value", options)).toMatchObject({ name: "made" }),
  "Secret.update": async ({ options }) => expect(await Secret.update("made", "other", options)).toMatchObject({ version: 2 }),
  "Secret.getInfo": async ({ options }) => expect(await Secret.getInfo("made", options)).toMatchObject({ name: "made" }),
  "Secret.list": async ({ options }) => expect((await Secret.list(options).nextItems()).map(({ name }) => name)).toEqual(["made"]),
  "Secret.exists": async ({ options }) => expect(await Secret.exists("made", options)).toBe(true),
  "Secret.destroy": async ({ options }) =>
    expect([await Secret.destroy("made", options), await Secret.destroy("made", options)]).toEqual([true, false]),
};

export const TEMPLATES: Readonly<Record<string, Method>> = {
  "Template.build": async ({ options }) => {
    const template = Template().fromTemplate("base").runCmd("echo built > /home/user/built.txt").setWorkdir("/home/user");
    const { templateId } = await Template.build(template, "tried", options);
    const made = await Sandbox.create("tried", options);
    expect([templateId !== "", await made.files.read("/home/user/built.txt")]).toEqual([true, "built\n"]);
    await made.kill();
  },
  "Template.buildInBackground": async ({ options }) => {
    const info = await Template.buildInBackground(Template().fromTemplate("base").runCmd("true"), "behind", options);
    expect(await settled(info, options)).toBe("ready");
  },
  "Template.getBuildStatus": async ({ options }) => {
    const info = await Template.buildInBackground(Template().fromTemplate("base").runCmd("exit 7"), "failing", options);
    expect(await settled(info, options)).toBe("error");
  },
  "Template.exists": async ({ options }) =>
    expect([await Template.exists("tried", options), await Template.exists("never", options)]).toEqual([true, false]),
  "Template.aliasExists": async ({ options }) => expect(await Template.aliasExists("tried", options)).toBe(true),
  "Template.assignTags": async ({ options }) =>
    expect(await Template.assignTags("tried:default", ["v1"], options)).toMatchObject({ tags: ["v1"] }),
  "Template.getTags": async ({ options }) =>
    expect((await Template.getTags("tried", options)).map(({ tag }) => tag).toSorted()).toEqual(["default", "v1"]),
  "Template.removeTags": async ({ options }) => Template.removeTags("tried", ["v1"], options),
};

async function settled(info: Parameters<typeof Template.getBuildStatus>[0], options: Trial["options"]): Promise<string> {
  for (;;) {
    const { status } = await Template.getBuildStatus(info, options);
    if (status === "ready" || status === "error") return status;
  }
}

const NO_VOLUMES = "volumes are not served yet";
const noVolume = (ask: (options: Trial["options"]) => Promise<unknown>): Method => ({
  refused: NO_VOLUMES,
  trial: ({ options }) => expect(ask(options)).rejects.toThrow(NO_VOLUMES),
});
const ofVolume = (use: (volume: Volume, options: Trial["options"]) => Promise<unknown>): Method =>
  noVolume((options) => use(new Volume("v1", "none", "token"), options));

export const VOLUMES: Readonly<Record<string, Method>> = {
  "Volume.create": noVolume((options) => Volume.create("made", options)),
  "Volume.connect": noVolume((options) => Volume.connect("v1", options)),
  "Volume.getInfo": noVolume((options) => Volume.getInfo("v1", options)),
  "Volume.list": noVolume((options) => Volume.list(options)),
  "Volume.destroy": noVolume((options) => Volume.destroy("v1", options)),
  list: ofVolume((volume, options) => volume.list("/", options)),
  makeDir: ofVolume((volume, options) => volume.makeDir("/a", options)),
  getInfo: ofVolume((volume, options) => volume.getInfo("/a", options)),
  exists: ofVolume((volume, options) => volume.exists("/a", options)),
  updateMetadata: ofVolume((volume, options) => volume.updateMetadata("/a", { mode: 0o600 }, options)),
  readFile: ofVolume((volume, options) => volume.readFile("/a", options)),
  writeFile: ofVolume((volume, options) => volume.writeFile("/a", "x", options)),
  remove: ofVolume((volume, options) => volume.remove("/a", options)),
};
